"""Which windows are worth a step: most of them the network knows already, and going back through it costs the most.

A quarter of the windows has nine tenths of the loss. So the network looks at several times as many as it trains on, as
far as its exit, and takes each with a probability that grows with its loss. What is taken counts by the inverse of
that: the expected gradient is the same as that of all.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Of the mean loss, added to each: a window that looks easy at the exit may be hard behind it.
_EVERYONE = 0.1


def probabilities(losses: NDArray[np.floating], wanted: int) -> NDArray[np.float64]:
    """How probably each is taken: in proportion to its loss, but never above 1; they add up to ``wanted``.

    >>> probabilities(np.array([8.0, 1.0, 1.0, 0.0]), 2).round(2).tolist()
    [1.0, 0.45, 0.45, 0.09]
    """
    worth = losses.astype(np.float64) + _EVERYONE * losses.mean() + 1e-9
    taken = np.zeros(len(worth), dtype=bool)  # those that are taken for certain
    while True:
        found = worth * (wanted - taken.sum()) / worth[~taken].sum()
        found[taken] = 1.0
        if found.max() <= 1.0:
            return found
        taken |= found >= 1.0


def choose(
    losses: NDArray[np.floating], wanted: int, random: np.random.Generator
) -> tuple[NDArray[np.intp], NDArray[np.float32]]:
    """Which are taken, and how much each of them counts: 1 on average."""
    found = probabilities(losses, wanted)
    order = random.permutation(len(found))
    # Equally spaced marks on the line of all probabilities hit each as often as it should be, and ``wanted`` in all.
    ends = np.cumsum(found[order])
    marks = random.uniform() + np.arange(wanted)
    chosen = order[np.minimum(np.searchsorted(ends, marks, side="right"), len(order) - 1)]
    return chosen, (wanted / len(found) / found[chosen]).astype(np.float32)
