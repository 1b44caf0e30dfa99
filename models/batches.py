"""Sequences of any length as padded batches: cut into windows, sorted by length, put back together afterwards."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.windows import Window, windows


@dataclass(frozen=True, kw_only=True)
class WindowBatch:
    """Windows of about the same length, and the numbers of the sequences they were cut from."""

    numbers: list[int]
    windows: list[Window]

    @property
    def lengths(self) -> NDArray[np.int32]:
        return np.array([window.stop - window.start for window in self.windows], dtype=np.int32)

    def gather(self, values: Sequence[NDArray[Any]], padding: int = 0) -> NDArray[Any]:
        """The windows of arrays, one for each entry of ``numbers``, as one array padded to the longest."""
        out = np.full((len(values), int(self.lengths.max())), padding, dtype=values[0].dtype)
        for row, (value, window) in enumerate(zip(values, self.windows, strict=True)):
            out[row, : window.stop - window.start] = value[window.start : window.stop]
        return out

    def put_back(self, result: NDArray[Any], out: list[NDArray[Any]]) -> None:
        """Copies the middles of the windows to where they belong."""
        for row, (number, window) in enumerate(zip(self.numbers, self.windows, strict=True)):
            middle = result[row, window.keep_start - window.start : window.keep_stop - window.start]
            out[number][window.keep_start : window.keep_stop] = middle


def cut_into_batches(lengths: Sequence[int], *, window: int, context: int, rows: int) -> Iterator[WindowBatch]:
    """Batches of at most ``rows`` windows, shortest first, so that little is padded."""
    places = [(number, one) for number, length in enumerate(lengths) for one in windows(length, window, context)]
    places.sort(key=lambda place: place[1].stop - place[1].start)
    for start in range(0, len(places), rows):
        part = places[start : start + rows]
        yield WindowBatch(numbers=[number for number, _ in part], windows=[one for _, one in part])
