"""Spelling correctors that look at one word at a time: Hunspell and SymSpell (the extra ``spelling``).

The paper used Google Docs. These know no context and change less; what they show is the same: how much more of the
misspelled words can be righted once the spaces are right.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from functools import lru_cache
from importlib import resources

import numpy as np

from respace import gaps
from respace.storage.errors import BadOption
from respace.storage.installing import install_hint

Corrector = Callable[[str], str]
_WORD = re.compile(r"^(\W*)(\w(?:.*\w)?)(\W*)$", re.DOTALL)
_LETTERS = re.compile(r"[A-Za-z]{3,}(?:['’][A-Za-z]+)?")


def hunspell() -> Corrector:
    """Hunspell's dictionary and rules, American English, its first suggestion."""
    try:
        from spylls.hunspell import Dictionary
    except ImportError as error:
        raise _missing("hunspell", error) from error
    dictionary = Dictionary.from_files("en_US")

    @lru_cache(maxsize=1 << 18)
    def correct(word: str) -> str:
        return word if dictionary.lookup(word) else next(iter(dictionary.suggest(word)), word)

    return correct


def symspell() -> Corrector:
    """The most frequent word within two changes of letters."""
    try:
        from symspellpy import SymSpell, Verbosity
    except ImportError as error:
        raise _missing("symspell", error) from error
    known = SymSpell(max_dictionary_edit_distance=2, prefix_length=7)
    with resources.as_file(resources.files("symspellpy") / "frequency_dictionary_en_82_765.txt") as path:
        known.load_dictionary(path, term_index=0, count_index=1)

    @lru_cache(maxsize=1 << 18)
    def correct(word: str) -> str:
        found = known.lookup(word, Verbosity.TOP, max_edit_distance=2, transfer_casing=True)
        return str(found[0].term) if found else word

    return correct


CORRECTORS: dict[str, Callable[[], Corrector]] = {"hunspell": hunspell, "symspell": symspell}


def load_corrector(name: str) -> Corrector:
    """
    Raises:
        BadOption: there is none of that name, or it is not installed.
    """
    if name not in CORRECTORS:
        raise BadOption(f"--correctors {name}: expected one of {', '.join(CORRECTORS)}")
    return CORRECTORS[name]()


def correct_text(text: str, corrector: Corrector) -> str:
    """Corrects every token that is a word of letters, with the punctuation around it kept.

    >>> correct_text("(teh) x2y", lambda word: "the" if word == "teh" else word)
    '(the) x2y'
    """
    return " ".join(_correct_token(token, corrector) for token in text.split())


def _correct_token(token: str, corrector: Corrector) -> str:
    parts = _WORD.match(token)
    if parts is None or not _LETTERS.fullmatch(parts[2]):
        return token
    return parts[1] + corrector(parts[2]) + parts[3]


def without_inner_punctuation(before: str, after: str) -> str:
    """The repaired text, without the punctuation inside of tokens that the repair merged; as the paper did.

    A word that was cut at the end of a line keeps its hyphen when its halves are merged, and no corrector knows it.

    >>> without_inner_punctuation("a pre- diction is well-known", "a pre-diction is well-known")
    'a prediction is well-known'
    """
    characters, given = gaps.split(before)
    bits = gaps.split(after)[1]
    merged = given & ~bits
    starts = [0, *np.flatnonzero(bits).tolist(), len(bits)]
    tokens = []
    for start, stop in itertools.pairwise(starts):
        token = characters[start:stop]
        parts = _WORD.match(token) if merged[start:stop].any() else None
        inner = parts and parts[1] + "".join(one for one in parts[2] if one.isalnum()) + parts[3]
        tokens.append(inner or token)
    return " ".join(tokens)


def _missing(name: str, error: ImportError) -> BadOption:
    return BadOption(f"--correctors {name}: {error}. Install it with: {install_hint('spelling')}")
