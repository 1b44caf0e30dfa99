"""Misspellings by people: collections of (correct word, misspelling, count), their files and their two halves."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib import resources
from itertools import accumulate
from pathlib import Path
from typing import Literal, NamedTuple

from respace.hashing import text_hash

Half = Literal["train", "test", "all"]


class Typo(NamedTuple):
    correct: str
    misspelled: str
    frequency: int = 1


def half_of(misspelled: str) -> Literal["train", "test"]:
    """The half of a misspelling, whatever it is meant to be and however it is capitalised.

    So no misspelling of a test was ever trained on, while most words are misspelled in either half.
    """
    return "train" if text_hash(f"typo half {misspelled.lower()}") % 2 == 0 else "test"


def in_half(typos: Iterable[Typo], half: Half) -> Iterator[Typo]:
    return (typo for typo in typos if half == "all" or half_of(typo.misspelled) == half)


def read_typos(path: str | Path) -> list[Typo]:
    """Reads a file of tab-separated lines: correct, misspelled, and optionally a count and sources.

    Pairs with whitespace on either side are left out: they are space errors, which have a noise of their own.
    """
    typos = []
    for number, line in enumerate(Path(path).read_text(encoding="utf-8").split("\n"), start=1):
        if not line.strip("\r"):
            continue
        fields = line.rstrip("\r").split("\t")
        if len(fields) < 2 or not (fields[2:3] == [] or fields[2].isdecimal()):
            raise ValueError(f"{path}, line {number}: {line!r}: expected correct, misspelled, count, separated by tabs")
        typo = Typo(fields[0], fields[1], int(fields[2]) if len(fields) > 2 else 1)
        if _is_single_words(typo):
            typos.append(typo)
    if not typos:
        raise ValueError(
            f"{path}: no pair of single words. Expected lines of correct, misspelled, count (tabs between)"
        )
    return typos


@lru_cache(maxsize=1)
def codespell_typos() -> tuple[Typo, ...]:
    """The dictionary of the codespell package: the default, which needs no file."""
    text = (resources.files("codespell_lib") / "data" / "dictionary.txt").read_text(encoding="utf-8")
    return tuple(parse_codespell(text))


def parse_codespell(text: str) -> Iterator[Typo]:
    """Lines such as ``wich->which, witch,``; after the last comma may stand a remark.

    >>> list(parse_codespell("wich->which, witch,\\nalot->a lot"))
    [Typo(correct='which', misspelled='wich', frequency=1), Typo(correct='witch', misspelled='wich', frequency=1)]
    """
    for line in text.splitlines():
        misspelled, arrow, corrections = line.partition("->")
        if not arrow:
            continue
        candidates = corrections.split(",")
        for correct in candidates[:-1] if len(candidates) > 1 else candidates:
            typo = Typo(correct.strip(), misspelled.strip())
            if _is_single_words(typo):
                yield typo


def _is_single_words(typo: Typo) -> bool:
    words = (typo.correct, typo.misspelled)
    return typo.correct != typo.misspelled and typo.frequency > 0 and all(len(word.split()) == 1 for word in words)


# Inserted and replaced letters are drawn as often as English uses them, or lie beside each other on a keyboard.
LETTER_FREQUENCIES = {
    "e": 12.7, "t": 9.1, "a": 8.2, "o": 7.5, "i": 7.0, "n": 6.7, "s": 6.3, "h": 6.1, "r": 6.0, "d": 4.3, "l": 4.0,
    "u": 2.8, "c": 2.8, "m": 2.4, "w": 2.4, "f": 2.2, "y": 2.0, "g": 2.0, "p": 1.9, "b": 1.5, "v": 1.0, "k": 0.8,
    "j": 0.15, "x": 0.15, "q": 0.1, "z": 0.07,
}  # fmt: skip
_KEYBOARD = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
# Kinds of slips, as often as in collections of them: another letter, one too many, one too few, two swapped.
_SLIPS = (0.4, 0.67, 0.87, 1.0)


@lru_cache(maxsize=1)
def _letters_beside() -> dict[str, str]:
    """Letters that lie beside each one on a keyboard, and the letter itself: it may be struck twice.

    >>> _letters_beside()["a"]
    'aqwszx'
    """
    found = {}
    for row, keys in enumerate(_KEYBOARD):
        for column, key in enumerate(keys):
            rows = _KEYBOARD[max(0, row - 1) : row + 2]
            found[key] = key + "".join(near[max(0, column - 1) : column + 2].replace(key, "") for near in rows)
    return found


def slip(word: str, kind: float, place: float, letter: float, near: float) -> str | None:
    """The word with one slip of the fingers, chosen by four draws in [0, 1); None if that leaves it as it is.

    >>> slip("with", 0.5, 0.99, 0.0, 0.9), slip("with", 0.8, 0.3, 0, 0), slip("with", 0.9, 0.3, 0, 0)
    ('withe', 'wth', 'wtih')
    """
    kinds = bisect_right(_SLIPS, kind)
    at = int(place * (len(word) + (kinds == 1)))
    if kinds == 3:
        found = word[:at] + word[at : at + 2][::-1] + word[at + 2 :]
    elif kinds == 2:
        found = word[:at] + word[at + 1 :]
    else:
        beside = _letters_beside().get(word[min(at, len(word) - 1)].lower()) if near < 0.5 else None
        drawn = beside[int(letter * len(beside))] if beside else _frequent_letter(letter)
        found = word[:at] + drawn + word[at + (kinds == 0) :]
    return found if found and found != word else None


def _frequent_letter(draw: float) -> str:
    letters, limits = _letter_limits()
    return letters[bisect_right(limits, draw * limits[-1])]


@lru_cache(maxsize=1)
def _letter_limits() -> tuple[str, list[float]]:
    return "".join(LETTER_FREQUENCIES), list(accumulate(LETTER_FREQUENCIES.values()))


class TypoTable:
    """Misspellings of a word, drawn by their counts."""

    def __init__(self, typos: Iterable[Typo]) -> None:
        grouped: dict[str, dict[str, int]] = {}
        for correct, misspelled, count in typos:
            group = grouped.setdefault(correct, {})
            group[misspelled] = group.get(misspelled, 0) + count
        self._by_word = {word: (list(group), list(accumulate(group.values()))) for word, group in grouped.items()}

    def __len__(self) -> int:
        return len(self._by_word)

    def misspell(self, word: str, draw: float) -> str | None:
        """A misspelling of the word chosen by ``draw`` in [0, 1), or None if the table has none."""
        entry = self._by_word.get(word)
        if entry is not None:
            return self._pick(entry, draw)
        lowered = word.lower()
        entry = self._by_word.get(lowered)
        if entry is None or lowered == word:
            return None
        misspelled = self._pick(entry, draw)
        return misspelled.upper() if word.isupper() and len(word) > 1 else misspelled[0].upper() + misspelled[1:]

    @staticmethod
    def _pick(entry: tuple[list[str], list[int]], draw: float) -> str:
        choices, limits = entry
        if len(choices) == 1:
            return choices[0]
        wanted = draw * limits[-1]
        return next(choice for choice, limit in zip(choices, limits, strict=True) if wanted < limit)


@lru_cache(maxsize=8)
def typo_table(path: str | None, half: Half) -> TypoTable:
    """The table of a file, or of codespell if there is none; cached."""
    return TypoTable(in_half(codespell_typos() if path is None else read_typos(path), half))
