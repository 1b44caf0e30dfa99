"""Passages: stretches of text around uncertain gaps, each read by itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits

# A passage reaches this far to either side of its uncertain gaps, and is not longer than this, in characters.
CONTEXT, LONGEST = 80, 224
# It begins and ends between words of the likeliest reading, if there is a gap between words so near.
SNAP = 20
# At most so many gaps of one passage are decided, so that its tokens are bounded.
MOST_GAPS = 24

Floats = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Span:
    """Places ``start:stop`` of a text, read to decide its uncertain gaps from ``first`` to ``last``."""

    start: int
    stop: int
    first: int
    last: int


@dataclass(frozen=True, kw_only=True)
class Passages:
    """Passages one after the other: passage i is ``offsets[i]:offsets[i + 1]``.

    Attributes:
        offsets: where each begins, and the end of the last.
        characters: of all.
        given: their given gap bits.
        logits: of all gaps, after rescoring.
        gaps: places of the gaps to decide, rising.
        layer: FAST's last layer at these gaps.
        evidence: FAST's evidence at these gaps.
        network_logits: of these gaps, before rescoring.
    """

    offsets: NDArray[np.int64]
    characters: NDArray[np.int32]
    given: Bits
    logits: NDArray[Any]
    gaps: NDArray[np.int64]
    layer: NDArray[Any]
    evidence: NDArray[Any]
    network_logits: NDArray[Any]

    def __len__(self) -> int:
        return len(self.offsets) - 1


def spans_around(
    uncertain: NDArray[np.intp], reading: Bits, context: int = CONTEXT, longest: int = LONGEST
) -> list[Span]:
    """Spans of a text so that each of its uncertain gaps is decided in one of them.

    It depends on nothing but the text near them.

    Args:
        uncertain: the gaps, rising.
        reading: the likeliest gap bits.
        context, longest: how far a span reaches around its gaps, and its greatest length, in characters.

    >>> reading = np.arange(100) % 5 == 0
    >>> [(one.start, one.stop, one.first, one.last) for one in spans_around(np.array([50, 60, 92]), reading, 21, 62)]
    [(30, 80, 50, 60), (75, 100, 92, 92)]
    """
    size = len(reading)
    found: list[Span] = []
    at, reach = 0, max(1, longest - 2 * context)
    while at < len(uncertain):
        first = int(uncertain[at])
        behind = min(at + MOST_GAPS, int(np.searchsorted(uncertain, first + reach)))
        last = int(uncertain[behind - 1])
        start, stop = _snap(reading, max(0, first - context), 1), _snap(reading, min(size, last + context), -1)
        found.append(Span(start, stop, first, last))
        at = behind
    return found


def _snap(reading: Bits, at: int, step: int) -> int:
    """The next gap between words, towards the middle of the span."""
    if at in (0, len(reading)):
        return at
    for place in range(at, at + SNAP * step, step):
        if reading[place]:
            return place
    return at
