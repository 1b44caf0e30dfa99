"""Penalties for FAST, fitted by grid search on sequence accuracy.

A sequence is right for a rectangle of penalties: the insertion penalty must be below the logits of all missing spaces
and not below those of all other free gaps, and likewise for deletions. So the whole grid is one sum of rectangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits

GRID = np.round(np.arange(0, 20.05, 0.1), 1)


@dataclass(frozen=True, kw_only=True)
class Penalties:
    insertion: float
    deletion: float


def accuracy_grid(
    logits: Sequence[NDArray[np.float32]], given: Sequence[Bits], true: Sequence[Bits]
) -> NDArray[np.float64]:
    """Sequence accuracy for every pair of `GRID` penalties, ``[insertion, deletion]``."""
    corners = np.zeros((len(GRID) + 1, len(GRID) + 1))
    for values, before, wanted in zip(logits, given, true, strict=True):
        inner = np.ones(len(values), dtype=bool)
        inner[:1] = False
        # Inserted if logit > penalty; deleted if -logit > penalty.
        insertion = _allowed(values[inner & ~before & wanted], values[inner & ~before & ~wanted])
        deletion = _allowed(-values[inner & before & ~wanted], -values[inner & before & wanted])
        if insertion[0] < insertion[1] and deletion[0] < deletion[1]:
            corners[insertion[0], deletion[0]] += 1
            corners[insertion[1], deletion[0]] -= 1
            corners[insertion[0], deletion[1]] -= 1
            corners[insertion[1], deletion[1]] += 1
    return corners.cumsum(0).cumsum(1)[:-1, :-1] / max(1, len(logits))


def harm_grid(logits: Sequence[NDArray[np.float32]], correct: Sequence[Bits]) -> NDArray[np.float64]:
    """False edits per 10,000 characters of correct text for every pair of `GRID` penalties."""
    values = np.concatenate([one[1:] for one in logits])
    spaces = np.concatenate([one[1:] for one in correct])
    insertions, deletions = (
        len(against) - np.searchsorted(np.sort(against), GRID, side="right")
        for against in (values[~spaces], -values[spaces])
    )
    characters = sum(len(one) for one in correct)
    return 10_000 * (insertions[:, None] + deletions[None, :]) / max(1, characters)


def best(grid: NDArray[np.float64]) -> Penalties:
    """The best pair; among equals the most cautious one."""
    flat = np.flatnonzero(grid >= grid.max() - 1e-12)
    at = max(flat.tolist(), key=lambda one: sum(divmod(one, grid.shape[1])))
    insertion, deletion = divmod(at, grid.shape[1])
    return Penalties(insertion=float(GRID[insertion]), deletion=float(GRID[deletion]))


def least_of_best(grid: NDArray[np.float64], tolerance: float = 0.001) -> Penalties:
    """The smallest pair that is as good as the best one but for the tolerance.

    Where hardly anything is to be inserted, accuracy does not fall any more however large the penalty is; a pair from
    the end of that plain would say nothing, and spoil the mean over several benchmarks.
    """
    flat = np.flatnonzero(grid >= grid.max() - tolerance)
    at = min(flat.tolist(), key=lambda one: sum(divmod(one, grid.shape[1])))
    insertion, deletion = divmod(at, grid.shape[1])
    return Penalties(insertion=float(GRID[insertion]), deletion=float(GRID[deletion]))


def _allowed(must_exceed: NDArray[np.float32], must_not_exceed: NDArray[np.float32]) -> tuple[int, int]:
    """Indices ``start:stop`` of the grid where all of the first and none of the second exceed the penalty."""
    stop = len(GRID) if not len(must_exceed) else int(np.searchsorted(GRID, must_exceed.min(), side="left"))
    start = 0 if not len(must_not_exceed) else int(np.searchsorted(GRID, must_not_exceed.max(), side="left"))
    return start, stop
