"""Text as characters and gap bits: the one representation that everything else is written on.

*Characters* are the non-space characters of a text, in order. The *gap* ``i`` is the place before character ``i``;
its *bit* says whether there is whitespace. A text is its characters, its gap bits, and the exact bytes of its
whitespace runs, which are kept wherever a bit does not change.

>>> characters, bits = split("a  bc\\td")
>>> characters, bits.astype(int).tolist()
('abcd', [0, 1, 0, 1])
>>> join(characters, bits)
'a bc d'
>>> wanted = bits.copy(); wanted[2] = True; wanted[3] = False
>>> apply("a  bc\\td", wanted)
'a  b cd'
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

Bits = NDArray[np.bool_]
Codes = NDArray[np.uint32]

# Every whitespace code point is at most U+3000, so one small table answers `str.isspace` for a whole array at once;
# the last entry stands for all code points above it.
_LAST_SPACE = 0x3000
_IS_SPACE = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])
_LINE_BREAKS = "\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
_IS_LINE_BREAK = np.array([chr(code) in _LINE_BREAKS for code in range(_LAST_SPACE + 2)])


@dataclass(frozen=True, slots=True)
class Edit:
    """One gap whose bit changes.

    Attributes:
        gap: before which character.
        kind: of the change.
        confidence: the model's probability of the new bit.
        doubt: what spoke against any edit there, so that more evidence was asked for; empty elsewhere.
    """

    gap: int
    kind: Literal["insertion", "deletion"]
    confidence: float = 1.0
    doubt: str = ""


def code_points(text: str) -> Codes:
    """The code points of a text. Lone surrogates, which broken input contains, are code points like any other."""
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4")


def from_code_points(codes: Codes) -> str:
    return codes.astype("<u4").tobytes().decode("utf-32-le", "surrogatepass")


def is_space(codes: Codes) -> Bits:
    return _IS_SPACE[np.minimum(codes, _LAST_SPACE + 1)]


def is_line_break(codes: Codes) -> Bits:
    return _IS_LINE_BREAK[np.minimum(codes, _LAST_SPACE + 1)]


def split(text: str) -> tuple[str, Bits]:
    """Takes a text apart into its characters and its gap bits."""
    codes = code_points(text)
    positions = np.flatnonzero(~is_space(codes))
    return from_code_points(codes[positions]), gap_bits(positions)


def gap_bits(positions: NDArray[np.intp]) -> Bits:
    """The gap bits of characters that stand at these positions of a text."""
    bits = np.zeros(len(positions), dtype=bool)
    bits[1:] = np.diff(positions) > 1
    return bits


def join(characters: str, bits: Bits) -> str:
    """The inverse of `split`, with one blank for every set bit."""
    codes = code_points(characters)
    _check_length(len(codes), bits)
    places = np.arange(len(codes)) + np.cumsum(_inner(bits))
    out = np.full(int(places[-1]) + 1 if len(places) else 0, ord(" "), dtype="<u4")
    out[places] = codes
    return from_code_points(out)


def edits(before: Bits, after: Bits) -> list[Edit]:
    """What turns the one spacing into the other, in the order of the gaps."""
    _check_length(len(before), after)
    changed = np.flatnonzero(_inner(before) != _inner(after))
    return [Edit(int(gap), "insertion" if after[gap] else "deletion") for gap in changed]


def apply_edits(bits: Bits, changes: list[Edit]) -> Bits:
    """Gap bits after these edits.

    Raises:
        ValueError: an edit does not fit the bits, for instance an insertion where there is a space already.
    """
    out = bits.copy()
    for edit in changes:
        if not 0 < edit.gap < len(bits):
            raise ValueError(f"edit at gap {edit.gap}: expected a gap between 1 and {len(bits) - 1}")
        if out[edit.gap] == (edit.kind == "insertion"):
            state = "already" if out[edit.gap] else "no"
            raise ValueError(
                f"{edit.kind} at gap {edit.gap}: there is {state} space. Is this the text it was made for?"
            )
        out[edit.gap] = edit.kind == "insertion"
    return out


def apply(text: str, bits: Bits) -> str:
    """The text with this spacing. Where a bit stays as it is, so does every byte of the whitespace there."""
    codes = code_points(text)
    positions = np.flatnonzero(~is_space(codes))
    _check_length(len(positions), bits)
    changed = np.flatnonzero(_inner(bits) != gap_bits(positions))
    if not len(changed):
        return text
    pieces = []
    start = 0
    for gap in changed:
        end_of_last, here = int(positions[gap - 1]) + 1, int(positions[gap])
        pieces.append(text[start:end_of_last])
        if bits[gap]:
            pieces.append(" ")
        start = here
    pieces.append(text[start:])
    return "".join(pieces)


def count_near(bits: Bits, reach: int) -> NDArray[np.int64]:
    """How many bits are set up to so far from each gap, its own among them.

    >>> count_near(np.array([True, False, False, True, True]), 1).tolist()
    [1, 1, 1, 2, 2]
    """
    so_far = np.concatenate([[0], np.cumsum(bits)])
    here = np.arange(len(bits))
    near: NDArray[np.int64] = so_far[np.minimum(here + reach + 1, len(bits))] - so_far[np.maximum(here - reach, 0)]
    return near


def line_break_gaps(text: str) -> Bits:
    """Gaps whose whitespace holds a line break. Lines are the document's own layout: repair leaves them alone."""
    codes = code_points(text)
    return line_breaks_between(codes, np.flatnonzero(~is_space(codes)))


def line_breaks_between(codes: Codes, positions: NDArray[np.intp]) -> Bits:
    """Gaps with a line break, of characters that stand at these positions of a text."""
    breaks_before = np.concatenate([[0], np.cumsum(is_line_break(codes))])
    bits = np.zeros(len(positions), dtype=bool)
    bits[1:] = breaks_before[positions[1:]] > breaks_before[positions[:-1] + 1] if len(positions) else False
    return bits


def _inner(bits: Bits) -> Bits:
    """Gap 0 is before the first character: what is written there is leading whitespace, never a space of the text."""
    if len(bits) and bits[0]:
        bits = bits.copy()
        bits[0] = False
    return bits


def _check_length(characters: int, bits: Bits) -> None:
    if len(bits) != characters:
        raise ValueError(f"{len(bits)} gap bits for {characters} characters: expected one bit per character")
