"""From which logits on the exits of FAST's network are certain, fitted on text that it has not seen."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from models.fast.model import FastModel
from models.fast.on_tensorflow import TensorFlowNetwork
from models.fast.shape import FastConfig
from models.files import Weights
from respace.gaps import Bits
from respace.method import GivenSequence

# Of all decisions, so many may change at each exit, for the given bits and against them.
MOST_CHANGED = 1e-6
# So large must the last layer's logit be on the side that the exit is certain of: a given bit is kept anyway unless it
# is well on the other side, an edit must overcome a penalty.
SAFE_TO_KEEP, SAFE_TO_EDIT = 0.0, 4.0
GRID = np.arange(3.0, 14.0, 0.25)


def fit_exits(config: FastConfig, weights: Weights, given: Sequence[GivenSequence]) -> list[tuple[float, float]]:
    """The least logits that are certain at each exit: for the given bits, and against them."""
    bits = np.concatenate([one.bits[1:] for one in given])

    def logits_of(head: int) -> NDArray[np.float32]:
        model = FastModel(config, weights, network=TensorFlowNetwork(config, weights, head=head))
        return np.concatenate([one[1:] for one in model.network_logits(given)])

    last = logits_of(-1)
    found = [least_certain(bits, logits_of(head), last) for head in range(len(config.exits))]
    print(f"exits are certain from {found} on", flush=True)
    return found


def least_certain(bits: Bits, found: NDArray[np.float32], last: NDArray[np.float32]) -> tuple[float, float]:
    """The least logits from which on hardly any decision changes.

    >>> bits, found = np.array([True, True, False, False]), np.array([5.0, 9.0, -6.0, 7.0])
    >>> least_certain(bits, found, np.array([-0.5, 9.0, -1.5, 3.0]))
    (5.25, 7.25)
    """
    keeps = (found > 0) == bits
    on_its_side = last * np.sign(found)
    pairs = ((keeps, SAFE_TO_KEEP), (~keeps, SAFE_TO_EDIT))
    keep, edit = (_least(np.abs(found[here]), on_its_side[here] < safe, len(found)) for here, safe in pairs)
    return keep, edit


def _least(sizes: NDArray[np.float32], unsafe: Bits, decisions: int) -> float:
    wrong = np.sort(sizes[unsafe])
    at_least = len(wrong) - np.searchsorted(wrong, GRID)
    certain = GRID[at_least <= MOST_CHANGED * decisions]
    return float(certain[0]) if len(certain) else float(GRID[-1])
