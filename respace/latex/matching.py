"""Finding the ground truth of extracted paragraphs: spans of the source's text that differ from them only by spaces.

The source's text is one long string of characters (without spaces) with gap bits. An index over its stretches of
`ANCHOR` characters says where a stretch of the paragraph stands in it; from there the two are compared in both
directions, run by run. Building the index is one sort, looking a paragraph up is linear in the paragraph: the whole is
linear in the document but for the sort's logarithm, where searching every paragraph in the whole text is quadratic.

What only LaTeX knows (the labels of citations and references, the numbers of footnotes) is a mark in the source's
text. There, and only there, the paragraph may have characters of its own.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from respace.gaps import Bits, code_points, join, split
from respace.hashing import stretch_hashes
from respace.latex.comparison import CITATION, FOOTNOTE, MARKS, REFERENCE, Piece, walk

ANCHOR = 12
# Text that repeats itself offers an anchor many times; more candidates than these are not looked at.
_MOST_CANDIDATES = 8

# One character each, so that positions stay the same: what extractors and typesetters write differently. Small capitals
# come out of a PDF as capitals, so case does not count; both sides of a pair have the extracted characters anyway.
_SAME = str.maketrans(
    {
        **{chr(code): chr(code).lower() for code in range(0x24F) if len(chr(code).lower()) == 1},
        **dict.fromkeys("−–—‐‑‒", "-"),
        **dict.fromkeys("’‘′`´", "'"),
        **dict.fromkeys("“”„″", '"'),
        **dict.fromkeys("∗⋆", "*"),
        **dict.fromkeys("∼˜", "~"),
        **dict.fromkeys("∊ϵǫɛ", "ε"),
        **dict.fromkeys("ϕ", "φ"),
        **dict.fromkeys("µ", "μ"),
        **dict.fromkeys("∆△", "Δ"),
        **dict.fromkeys("∑", "Σ"),
        **dict.fromkeys("∏", "Π"),
        **dict.fromkeys("⩽", "≤"),
        **dict.fromkeys("⩾", "≥"),
        **dict.fromkeys("⋅∙", "·"),
        **dict.fromkeys("∘○", "◦"),
        **dict.fromkeys("∣", "|"),
        **dict.fromkeys("〈〈", "⟨"),
        **dict.fromkeys("〉〉", "⟩"),
        **dict.fromkeys("∖", "\\"),
        **dict.fromkeys("\u2126", "\u03a9"),
        **dict.fromkeys("ℏ", "~"),
    }
)
_HEADING = re.compile(
    r"(?:(?:Theorem|Lemma|Proposition|Corollary|Definition|Remark|Example|Proof|Figure|Fig\.|Table|Algorithm|Claim"
    r"|Conjecture|Fact|Observation|Assumption|Abstract|Section|Chapter|Appendix)\b\s*[\dA-Z.]*\s*(?:\([^)]{1,80}\))?"
    r"\s*[.:—–-]*|[•·∗*▪◦–-]|\(?(?:\d{1,3}|[ivxIVX]{1,5}|[a-zA-Z])[.):]|\d{1,2}(?:\.\d{1,2}){0,3}\.?)\s+"
)


@dataclass(frozen=True, slots=True)
class Match:
    """A paragraph and its ground truth: the same characters, spaced as in the source.

    Args:
        extracted: the paragraph as it was extracted, without a heading's number or a list's bullet before it.
        truth: its characters with the source's spacing.
        position: where it begins among the source's characters.
        labels: how many citations, references and footnote numbers were taken from the paragraph itself.
    """

    extracted: str
    truth: str
    position: int
    labels: int


class GroundTruth:
    """The source's text, indexed.

    >>> truth = GroundTruth(["We take F(R, T) to be smooth everywhere, see [1]."])
    >>> truth.find("take F (R, T ) to be smooth every where,").truth
    'take F(R, T) to be smooth everywhere,'
    """

    def __init__(self, paragraphs: Sequence[str]) -> None:
        characters, bits = split("\n".join(paragraphs))
        self._characters = characters.translate(_SAME)
        self._reversed = self._characters[::-1]
        self._bits = bits
        self._marks = [place for place, character in enumerate(characters) if character in MARKS]
        self._reversed_marks = [len(characters) - 1 - place for place in reversed(self._marks)]
        hashes = stretch_hashes(code_points(self._characters), ANCHOR)
        self._order = np.argsort(hashes, kind="stable")
        self._sorted = hashes[self._order]
        self._short = {split(text)[0].translate(_SAME): place for place, text in self._starts(paragraphs)}

    @staticmethod
    def _starts(paragraphs: Sequence[str]) -> Iterator[tuple[int, str]]:
        place = 0
        for text in paragraphs:
            size = len(split(text)[0])
            if size < ANCHOR:
                yield place, text
            place += size

    def find(self, paragraph: str) -> Match | str:
        """The ground truth of a paragraph, or the reason why there is none.

        The paragraph may begin with what LaTeX numbers: "Theorem 1.2.", "3.1", a bullet. Without a match it is tried
        again without that.
        """
        reason = ""
        for text in _with_and_without_heading(paragraph):
            found = self._find(text)
            if isinstance(found, Match):
                return found
            reason = reason or found
        return reason

    def _find(self, paragraph: str) -> Match | str:
        text = " ".join(paragraph.split())
        characters, _ = split(text)
        wanted = characters.translate(_SAME)
        if len(wanted) < ANCHOR:
            place = self._short.get(wanted)
            if place is None:
                return "too short to be looked up"
            return Match(text, join(characters, self._bits_from(place, len(wanted))), place, 0)
        reason = "no stretch of it is in the source"
        for start, here in self._anchors(wanted):
            forward = self._compare(wanted, characters, start, here, backward=False)
            if isinstance(forward, int):
                reason = self._difference(forward)
                continue
            backward = self._compare(wanted, characters, start, here, backward=True)
            if isinstance(backward, int):
                reason = self._difference(backward)
                continue
            pieces = [*reversed(backward), *forward]
            first, last = pieces[0], pieces[-1]
            if not (self._is_edge(first.source_start) and self._is_edge(last.source_stop)):
                reason = "begins or ends inside a word"
                continue
            labels = sum(piece.is_label for piece in pieces)
            return Match(text, join(characters, self._bits_of(text, pieces)), first.source_start, labels)
        return reason

    def _anchors(self, wanted: str) -> list[tuple[int, int]]:
        """Places (in the source, in the paragraph) where a stretch that is rare in the source is found."""
        hashes = stretch_hashes(code_points(wanted), ANCHOR)
        low = np.searchsorted(self._sorted, hashes, side="left")
        high = np.searchsorted(self._sorted, hashes, side="right")
        counts = high - low
        known = np.flatnonzero(counts)
        if not len(known):
            return []
        here = int(known[np.argmin(counts[known])])
        places = self._order[low[here] : min(high[here], low[here] + _MOST_CANDIDATES)]
        stretch = wanted[here : here + ANCHOR]
        return [(int(place), here) for place in places if self._characters.startswith(stretch, int(place))]

    def _difference(self, place: int) -> str:
        """What stands in the source where a paragraph begins to differ from it."""
        character = self._characters[place] if 0 <= place < len(self._characters) else ""
        if character == "-":
            return "a hyphen lost at a line's end"
        if character in MARKS:
            return "a citation or reference of another form"
        if unicodedata.category(character or " ") == "Co":
            return "a command without a known meaning"
        return "other words or symbols" if character.isascii() else "a formula that reads differently"

    def _compare(self, wanted: str, printed: str, start: int, here: int, *, backward: bool) -> list[Piece] | int:
        """From an anchor to the paragraph's end, or backwards to its beginning.

        Returns:
            The pieces that agree; or, if they do not lead there, the place in the source where they end.
        """
        if not backward:
            return walk(self._characters, self._marks, start, wanted, here, printed, reverse=False)
        pieces = walk(
            self._reversed,
            self._reversed_marks,
            len(self._characters) - start,
            wanted[::-1],
            len(wanted) - here,
            printed[::-1],
            reverse=True,
        )
        size, length = len(self._characters), len(wanted)
        if isinstance(pieces, int):
            return size - 1 - pieces
        return [
            Piece(size - p.source_stop, size - p.source_start, length - p.stop, length - p.start, p.is_label)
            for p in pieces
        ]

    def _is_edge(self, place: int) -> bool:
        return place in (0, len(self._bits)) or bool(self._bits[place])

    def _bits_from(self, place: int, size: int) -> Bits:
        return self._bits[place : place + size].copy()

    def _bits_of(self, text: str, pieces: list[Piece]) -> Bits:
        """The source's gap bits where it has the characters; a label keeps the spacing that it was extracted with."""
        bits = split(text)[1]
        for piece in pieces:
            if piece.is_label:
                # Some styles put a blank before the label where the author did not.
                if piece.start < piece.stop:
                    bits[piece.start] |= self._bits[piece.source_start]
            else:
                bits[piece.start : piece.stop] = self._bits[piece.source_start : piece.source_stop]
        return bits


def _with_and_without_heading(paragraph: str) -> Iterator[str]:
    text = paragraph.strip()
    yield text
    for _ in range(2):
        heading = _HEADING.match(text)
        if heading is None:
            return
        text = text[heading.end() :]
        if not text:
            return
        yield text


__all__ = ["CITATION", "FOOTNOTE", "REFERENCE", "GroundTruth", "Match"]
