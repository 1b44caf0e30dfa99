"""Comparing a paragraph with its source, run by run, where the source has marks for what only LaTeX knows.

At a mark (a citation, a reference, the number of a footnote) the paragraph may have a label of its own; everywhere else
the two must have the same characters.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from dataclasses import dataclass

CITATION, REFERENCE, FOOTNOTE = "\ue000", "\ue001", "\ue003"
MARKS = CITATION + REFERENCE + FOOTNOTE
_MOST_LABEL_ENDS = 4
# Repetitive text allows many ways to read its labels; a paragraph that needs more tries than these has no match.
_MOST_TRIES = 2000

_LABELS = {
    CITATION: re.compile(
        r"(?:\[[^\[\]]{1,80}\](?:[,;–-]\[[^\[\]]{1,80}\])*|[\[(]?[^\[\]]{0,160}?\d[^\[\]]{0,4}[\])]?)\Z"
    ),
    REFERENCE: re.compile(
        r"(?:[A-Z][a-z]{2,}\.?)?\(?(?:[A-Z]|[A-Z]?\.?\d[\d.]*[a-z]?|[ivxIVX]+)(?:[-–,]\d[\d.]*)*\)?\Z"
    ),
    FOOTNOTE: re.compile(r"[\d*∗†‡§¶,]{0,3}\Z"),
}
_LONGEST_LABEL = {CITATION: 170, REFERENCE: 30, FOOTNOTE: 3}


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters ``start:stop`` of the paragraph stand for ``source_start:source_stop`` of the source."""

    source_start: int
    source_stop: int
    start: int
    stop: int
    is_label: bool


def walk(
    source: str, marks: list[int], at: int, wanted: str, here: int, printed: str, *, reverse: bool
) -> list[Piece] | int:
    """Compares from a place in the source and in the paragraph to the paragraph's end.

    Args:
        source: the source's characters, with marks.
        marks: where they are.
        at: place in the source.
        wanted: the paragraph's characters, normalised as the source's are.
        here: place in the paragraph.
        printed: the paragraph's characters as they were extracted; labels are read from these.
        reverse: both texts are read backwards.

    Returns:
        The pieces that agree; or, if they do not lead to the end, the farthest place in the source they lead to. Of
        several ends of a label, the first that leads on is taken.
    """
    farthest = at
    pieces: list[Piece] = []
    alternatives: list[tuple[int, int, int, int, list[int]]] = []  # (pieces kept, mark, after it, label's start, ends)
    for _ in range(_MOST_TRIES):
        next_mark = bisect_left(marks, at)
        stop = marks[next_mark] if next_mark < len(marks) else len(source)
        size = min(stop - at, len(wanted) - here)
        if source[at : at + size] == wanted[here : here + size]:
            if size:
                pieces.append(Piece(at, at + size, here, here + size, False))
            at, here = at + size, here + size
            if here == len(wanted):
                return pieces
            farthest = max(farthest, at)
            if at < len(source):
                after = at + 1
                while after < len(source) and source[after] in MARKS:
                    after += 1
                ends = _label_ends(source, at, after, wanted, here, printed, reverse)
                alternatives.append((len(pieces), at, after, here, ends))
        else:
            farthest = max(farthest, at + _agreeing(source[at : at + size], wanted[here : here + size]))
        while alternatives and not alternatives[-1][4]:
            alternatives.pop()
        if not alternatives:
            return farthest
        kept, mark, at, label_start, ends = alternatives[-1]
        here = ends.pop(0)
        del pieces[kept:]
        pieces.append(Piece(mark, at, label_start, here, True))
        if here == len(wanted):
            return pieces
    return farthest


def _agreeing(one: str, other: str) -> int:
    """How many characters the two have in common at their beginning."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _label_ends(source: str, mark: int, after: int, wanted: str, here: int, printed: str, reverse: bool) -> list[int]:
    """Where in the paragraph the label of the marks ``mark:after`` may end, the nearest first."""
    kinds = source[mark:after]
    kind = CITATION if CITATION in kinds else REFERENCE if REFERENCE in kinds else FOOTNOTE
    longest = _LONGEST_LABEL[kind] * (1 if kind == FOOTNOTE else len(kinds))
    following = source[after : after + 6]
    for place, character in enumerate(following):
        if character in MARKS:
            following = following[:place]
            break
    ends: list[int] = []
    place = here - 1
    while len(ends) < _MOST_LABEL_ENDS:
        # Near the paragraph's end less of what follows is left.
        place = wanted.find(following, place + 1, here + longest + len(following)) if following else len(wanted)
        if place < 0:
            if not ends and len(wanted) - here <= longest + len(following):
                ends += _ends_near_the_end(following, wanted, here, printed, kind, reverse)
            break
        if _is_label(printed[here:place], kind, reverse):
            ends.append(place)
        if not following:
            break
    return ends


def _ends_near_the_end(following: str, wanted: str, here: int, printed: str, kind: str, reverse: bool) -> list[int]:
    ends = []
    for overlap in range(min(len(following), len(wanted) - here), -1, -1):
        place = len(wanted) - overlap
        if wanted.endswith(following[:overlap]) and _is_label(printed[here:place], kind, reverse):
            ends.append(place)
    return ends[:_MOST_LABEL_ENDS]


def _is_label(text: str, kind: str, reverse: bool) -> bool:
    return _LABELS[kind].match(text[::-1] if reverse else text) is not None
