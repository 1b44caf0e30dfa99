"""Windows: a long sequence cut into stretches that fit a model, so that the cut changes nothing.

Each window is read whole, but only its middle decides; the middles tile the sequence exactly. A model whose decision
for a gap depends on at most ``context`` characters on either side gives the same answer with windows as without.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Window:
    """Characters ``start:stop`` are read; gaps ``keep_start:keep_stop`` are decided."""

    start: int
    stop: int
    keep_start: int
    keep_stop: int


def windows(length: int, size: int, context: int) -> list[Window]:
    """Windows of at most ``size`` characters over a sequence of ``length``.

    >>> [(w.start, w.stop, w.keep_start, w.keep_stop) for w in windows(10, size=6, context=2)]
    [(0, 6, 0, 4), (2, 8, 4, 6), (4, 10, 6, 10)]
    """
    if context < 0 or size <= 2 * context:
        raise ValueError(f"window size {size} with context {context}: expected size > 2 * context >= 0")
    cut: list[Window] = []
    keep_start = 0
    while keep_start < length:
        start = max(0, keep_start - context)
        stop = min(length, start + size)
        keep_stop = length if stop == length else stop - context
        cut.append(Window(start, stop, keep_start, keep_stop))
        keep_start = keep_stop
    return cut
