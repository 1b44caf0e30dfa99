"""Paragraphs to sentences, and which sentences are fit to learn spacing from.

>>> split_sentences('Dr. Ada Lovelace met C. Babbage in 1833. "Is it so?" she asked.')
['Dr. Ada Lovelace met C. Babbage in 1833.', '"Is it so?" she asked.']
>>> defect("It is about from the coast￼.")
'lost_object'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable

from respace.wikipedia.wikitext import LOST, paragraphs


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# A full stop after one of these does not end a sentence: a name, number or example follows.
_ABBREVIATIONS = _words(
    """
    mr mrs ms dr prof st rev hon gen col lt maj capt cmdr sgt adm gov sen rep pres messrs mme mlle fr vs v cf ca c e.g
    i.e viz al no nos vol vols p pp ch chap fig figs eq eqs sec art op ed eds trans approx est jan feb mar apr jun jul
    aug sept sep oct nov dec b d r fl mt ft bros univ dept cit ibid lit esp resp cap bn m k
    """
)
# These end a sentence as often as not; the next word decides: `in the U.S. The` but `the U.S. Army`.
_OPEN_ABBREVIATIONS = _words("u.s u.k b.c a.d ph.d inc ltd co corp jr sr p.m a.m etc d.c")
# Words that start a sentence after such an abbreviation far more often than they continue a name.
_STARTERS = _words(
    """
    the a an in on at it he she they this that these those his her its their there when while after before although
    however but and as for from by if since many most some several during i we you
    """
)
_CLOSERS = "\"'”’»)]"
_OPENERS = "\"'“‘«(["
# A boundary candidate: final punctuation, what closes around it, blanks, and what may start a sentence.
_CANDIDATE = re.compile(rf"(?P<mark>[.!?…]+)(?P<close>[{re.escape(_CLOSERS)}]*)\s+(?=[{re.escape(_OPENERS)}]*\S)")
_LAST_WORD = re.compile(r"(\S+)$")
_FIRST_WORD = re.compile(rf"[{re.escape(_OPENERS)}]*([^\s,.;:!?{re.escape(_CLOSERS)}]+)")
_INITIALS = re.compile(r"(?:\w\.)*\w$")


def split_sentences(paragraph: str) -> list[str]:
    """Cuts at sentence ends; nothing but the blanks at the cuts is lost."""
    sentences = []
    start = 0
    for candidate in _CANDIDATE.finditer(paragraph):
        if _ends_sentence(paragraph, start, candidate):
            sentences.append(paragraph[start : candidate.end("close")])
            start = candidate.end()
    sentences.append(paragraph[start:].rstrip())
    return [sentence for sentence in sentences if sentence]


def _ends_sentence(paragraph: str, start: int, candidate: re.Match[str]) -> bool:
    first = _FIRST_WORD.match(paragraph, candidate.end())
    if first is None:
        return False
    following = first.group(1)
    if not (following[0].isupper() or following[0].isdigit() or not following[0].isalpha()):
        return False
    if _open_brackets(paragraph[start : candidate.end("close")]) > 0:
        return False
    if candidate["mark"] != "." or candidate["close"]:
        return True
    last = _LAST_WORD.search(paragraph, start, candidate.start())
    if last is None:
        return False
    word = last.group(1).lstrip(_OPENERS).lower()
    if word in _OPEN_ABBREVIATIONS:
        return following.lower() in _STARTERS
    # Initials, as in `C. Babbage`, unless the letter is a word: `He was I.` is rarer than `George I.`
    return word not in _ABBREVIATIONS and not (_INITIALS.fullmatch(word) and not word.isdigit())


def _open_brackets(text: str) -> int:
    return text.count("(") - text.count(")") + text.count("[") - text.count("]")


MAX_CHARACTERS = 1000
_END = re.compile(rf"[.!?…][{re.escape(_CLOSERS)}]*$")
_MARKUP = re.compile(
    r"\[\[|\]\]|\{\{|\}\}|''|==|\||</?[a-zA-Z]|/>|<!--|-->|__|&[a-zA-Z]+;|\b(?:style|align|class|width)="
)
_ADDRESS = re.compile(r"https?:|www\.|\S+@\S+\.\S")
_HOLE = re.compile(r"\(\s*[,;:.)]|[(\[]\s*[)\]]|[,;:]\s*[,;:)]|\s[,.;:!?](?:\s|$)|\(\s|\s\)|[^\W\d]\s'\s?s\b")
_GLUED = re.compile(r"[a-z]{2}[.!?][A-Z][a-z]|[a-z],[A-Za-z]{2}|[a-z]{2}\)[A-Za-z]{2}|[a-z]{2}[;:][A-Za-z]{2}")
_ITEM = re.compile(r"^[*#•·–—-]|^\d+[.)]\s")


def _unfinished(sentence: str) -> bool:
    return not _END.search(sentence)


def _starts_inside(sentence: str) -> bool:
    first = sentence.lstrip(_OPENERS)[:1]
    return not (first.isupper() or first.isdigit())


def _unbalanced(sentence: str) -> bool:
    return (
        sentence.count("(") != sentence.count(")")
        or sentence.count("[") != sentence.count("]")
        or sentence.count('"') % 2 == 1
        or sentence.count("“") != sentence.count("”")
    )


def _few_letters(sentence: str) -> bool:
    letters = sum(map(str.isalpha, sentence))
    return letters < 0.5 * (len(sentence) - sentence.count(" "))


# In the order they are asked; the first that applies is the one counted.
DEFECTS: dict[str, tuple[Callable[[str], object], str]] = {
    "lost_object": (lambda s: LOST in s, "a template, formula or code stood in it: its spacing is not the author's"),
    "left_over_markup": (_MARKUP.search, "markup that did not parse is not English"),
    "address": (_ADDRESS.search, "URLs and mail addresses have no words to space"),
    "list_item": (_ITEM.search, "starts like an item of a list"),
    "unfinished": (_unfinished, "no full stop, question or exclamation mark at the end: a title, caption or fragment"),
    "starts_inside": (_starts_inside, "starts with a small letter or a mark: its beginning was cut off"),
    "too_short": (lambda s: s.count(" ") < 2, "fewer than three words: a stub"),
    "too_long": (
        lambda s: len(s) > MAX_CHARACTERS,
        f"over {MAX_CHARACTERS} characters: a list or a missed sentence end",
    ),
    "unbalanced": (_unbalanced, "a bracket or quotation mark without its partner: cut in the wrong place"),
    "hole": (_HOLE.search, "empty brackets or a blank before a comma: something was taken out here"),
    "glued": (_GLUED.search, "a blank is missing after a mark: the writer's own spacing error"),
    "few_letters": (_few_letters, "less than half letters: figures or formulas"),
}


def defect(sentence: str) -> str | None:
    """Why a sentence is not fit to learn spacing from (a key of `DEFECTS`), or None if it is."""
    return next((name for name, (applies, _) in DEFECTS.items() if applies(sentence)), None)


def clean_sentences(wikitext: str) -> tuple[list[str], Counter[str]]:
    """The sentences of an article that are fit to learn from.

    Returns:
        The sentences in order, and what was dropped on the way: markup by kind, and sentences by their defect
        (`sentence:unfinished`, ...).
    """
    counts: Counter[str] = Counter()
    kept = []
    for paragraph in paragraphs(wikitext, counts):
        for sentence in split_sentences(paragraph):
            reason = defect(sentence)
            if reason is None:
                kept.append(sentence)
            else:
                counts[f"sentence:{reason}"] += 1
    return kept, counts
