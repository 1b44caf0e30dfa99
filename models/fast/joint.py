"""The joint decision: the network's logits and the counted language model, over neighbouring gaps together.

The network judges each gap by itself. Where it is not certain, the language model reads both ways of writing, over the
symbols that follow, and neighbouring uncertain gaps are read in all their combinations. A way of writing scores the
logits of its spaces and, weighted, its log probability. The new logit of a gap is the score of the best way that has a
space there less the score of the best way that has none: so penalties judge it as they judged the old one.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.language_model import (
    LONGEST_CONTEXT,
    SPACE,
    LanguageModel,
    hash_suffixes,
    next_cost,
)
from models.files import ModelError, is_number
from models.words.counts import between_letters
from respace.gaps import Bits, count_near
from respace.loops import compiled

# Ways of writing that are followed at once.
BEAM = 8
# Characters without a given space to either side of a gap that is far from spaces: more than a word has.
UNSPACED = 24
# Longer stretches of uncertain gaps are decided in parts.
LONGEST_STRETCH = 512
_LARGEST = 1e6


@dataclass(frozen=True, kw_only=True)
class JointWeights:
    """How much the language model counts.

    Attributes:
        letters: between two letters.
        others: beside a digit or a sign.
        unspaced: between two letters, where no space is given near them; as much as elsewhere if None.
        certain: logits as large as this are not doubted.
    """

    letters: float = 0.2
    others: float = 0.1
    unspaced: float | None = None
    certain: float = 8.0

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (name == "unspaced" and value is None) and not (is_number(value) and abs(value) <= _LARGEST):
                raise ModelError(f"joint: {name!r} is {value!r}, expected a number")


def far_from_spaces(bits: Bits) -> Bits:
    """Gaps of one text that have no given space near them: the text may have lost its spaces there.

    >>> far_from_spaces(np.isin(np.arange(70), [30])).nonzero()[0].tolist()[:8]
    [0, 1, 2, 3, 4, 5, 55, 56]
    """
    far: Bits = count_near(bits, UNSPACED) == 0
    return far


def joint_logits(
    model: LanguageModel,
    weights: JointWeights,
    characters: NDArray[np.int32],
    logits: NDArray[np.float32],
    unspaced: Bits | None = None,
) -> NDArray[np.float32]:
    """Logits of texts laid one after the other, with 0 between them, after the language model was heard."""
    of_letters: float | NDArray[np.float64] = weights.letters
    if unspaced is not None and weights.unspaced is not None:
        of_letters = np.where(unspaced, weights.unspaced, weights.letters)
    share = np.where(between_letters(characters.astype(np.uint32)), of_letters, weights.others).astype(np.float32)
    out = logits.astype(np.float32).copy()
    _decide(model.symbols(characters), share, logits, weights.certain, *model.tables, out)
    return out


@compiled
def _decide(
    symbols: Any,
    share: Any,
    logits: Any,
    certain: float,
    fingerprints: Any,
    costs: Any,
    context_fingerprints: Any,
    context_costs: Any,
    out: Any,
) -> None:
    # States: a score, and the last symbols with spaces, of which so many are known.
    scores, new_scores = np.zeros(BEAM), np.zeros(2 * BEAM)
    histories = np.zeros((BEAM, LONGEST_CONTEXT), dtype=np.uint8)
    new_histories = np.zeros((2 * BEAM, LONGEST_CONTEXT), dtype=np.uint8)
    known, new_known = np.zeros(BEAM, dtype=np.int64), np.zeros(2 * BEAM, dtype=np.int64)
    hashes = np.zeros(LONGEST_CONTEXT + 1, dtype=np.uint64)
    # Steps of the stretch at hand, from state to state, with the bit that was chosen.
    arc_from = np.zeros((LONGEST_STRETCH, 2 * BEAM), dtype=np.int64)
    arc_to = np.zeros((LONGEST_STRETCH, 2 * BEAM), dtype=np.int64)
    arc_bit = np.zeros((LONGEST_STRETCH, 2 * BEAM), dtype=np.int64)
    arc_score = np.zeros((LONGEST_STRETCH, 2 * BEAM))
    arc_count = np.zeros(LONGEST_STRETCH, dtype=np.int64)
    reached = np.zeros((LONGEST_STRETCH + 1, BEAM))
    target = np.zeros(2 * BEAM, dtype=np.int64)
    order = np.zeros(2 * BEAM, dtype=np.int64)

    # Of 64 bits, so that what is called with these is compiled for one type only.
    space: Any = np.int64(SPACE)
    nothing: Any = np.int64(0)
    states = 1
    stretch = nothing  # steps since there was one state only
    for at in range(len(symbols)):
        symbol: Any = np.int64(symbols[at])
        if symbol == 0:
            if stretch:
                _finish(at, stretch, arc_from, arc_to, arc_bit, arc_score, arc_count, reached, out)
            states, stretch = 1, nothing
            continue
        if at == 0 or symbols[at - 1] == 0:
            states, stretch = 1, nothing
            scores[0] = 0.0
            known[0] = 2
            histories[0, LONGEST_CONTEXT - 2] = SPACE
            histories[0, LONGEST_CONTEXT - 1] = symbol
            continue
        open_gap = abs(logits[at]) < certain
        if states == 1 and not open_gap:
            if stretch:
                _finish(at, stretch, arc_from, arc_to, arc_bit, arc_score, arc_count, reached, out)
                stretch = nothing
            if logits[at] > 0:
                _append(histories[0], space)
            _append(histories[0], symbol)
            known[0] = min(LONGEST_CONTEXT, known[0] + (2 if logits[at] > 0 else 1))
            scores[0] = 0.0
            continue
        if stretch == 0:
            scores[0] = 0.0
            reached[0, 0] = 0.0
        arcs = 0
        count = 0
        for state in range(states):
            for bit in range(2):
                if not open_gap and bit != (logits[at] > 0):
                    continue
                hash_suffixes(histories[state], known[state], hashes)
                step = 0.0
                _copy(histories[state], new_histories[arcs])
                its_known = known[state]
                if bit:
                    cost = next_cost(hashes, its_known, space, fingerprints, costs, context_fingerprints, context_costs)
                    step += logits[at] - share[at] * cost
                    _append(new_histories[arcs], space)
                    its_known = min(LONGEST_CONTEXT, its_known + 1)
                    hash_suffixes(new_histories[arcs], its_known, hashes)
                cost = next_cost(hashes, its_known, symbol, fingerprints, costs, context_fingerprints, context_costs)
                step -= share[at] * cost
                _append(new_histories[arcs], symbol)
                new_known[arcs] = min(LONGEST_CONTEXT, its_known + 1)
                new_scores[arcs] = scores[state] + step
                arc_from[stretch, arcs], arc_bit[stretch, arcs], arc_score[stretch, arcs] = state, bit, step
                arcs += 1
        # The best ways first; those that end alike are one state from here on.
        for arc in range(arcs):
            place = arc
            while place > 0 and new_scores[order[place - 1]] < new_scores[arc]:
                order[place] = order[place - 1]
                place -= 1
            order[place] = arc
        for rank in range(arcs):
            arc = order[rank]
            target[arc] = -1
            for state in range(count):
                if known[state] == new_known[arc] and _alike(histories[state], new_histories[arc]):
                    target[arc] = state
                    break
            if target[arc] < 0 and count < BEAM:
                _copy(new_histories[arc], histories[count])
                known[count] = new_known[arc]
                scores[count] = new_scores[arc]
                target[arc] = count
                count += 1
        kept = 0
        for arc in range(arcs):
            if target[arc] >= 0:
                arc_from[stretch, kept], arc_to[stretch, kept] = arc_from[stretch, arc], target[arc]
                arc_bit[stretch, kept], arc_score[stretch, kept] = arc_bit[stretch, arc], arc_score[stretch, arc]
                kept += 1
        arc_count[stretch] = kept
        stretch += 1
        states = count
        for state in range(count):
            reached[stretch, state] = scores[state]
        if stretch == LONGEST_STRETCH:
            _finish(at + 1, stretch, arc_from, arc_to, arc_bit, arc_score, arc_count, reached, out)
            states, stretch = 1, nothing
            scores[0] = 0.0
    if stretch:
        _finish(len(symbols), stretch, arc_from, arc_to, arc_bit, arc_score, arc_count, reached, out)


@compiled
def _copy(source: Any, target: Any) -> None:
    """By a loop: for an assignment of slices, numba compiles messages about their shapes, which takes seconds."""
    for place in range(len(source)):
        target[place] = source[place]


@compiled
def _append(history: Any, symbol: int) -> None:
    for place in range(LONGEST_CONTEXT - 1):
        history[place] = history[place + 1]
    history[LONGEST_CONTEXT - 1] = symbol


@compiled
def _alike(first: Any, second: Any) -> bool:
    for place in range(LONGEST_CONTEXT - 1, -1, -1):  # noqa: SIM110 - compiled
        if first[place] != second[place]:
            return False
    return True


@compiled
def _finish(
    end: int,
    stretch: int,
    arc_from: Any,
    arc_to: Any,
    arc_bit: Any,
    arc_score: Any,
    arc_count: Any,
    reached: Any,
    out: Any,
) -> None:
    """New logits for the gaps of a stretch that ends before ``end``: the best way through each step with each bit."""
    ahead, behind = np.zeros(BEAM), np.zeros(BEAM)
    for step in range(stretch - 1, -1, -1):
        for state in range(BEAM):
            behind[state] = -np.inf
        best_0, best_1 = -np.inf, -np.inf
        for arc in range(arc_count[step]):
            after = arc_score[step, arc] + ahead[arc_to[step, arc]]
            behind[arc_from[step, arc]] = max(behind[arc_from[step, arc]], after)
            through = reached[step, arc_from[step, arc]] + after
            if arc_bit[step, arc]:
                best_1 = max(best_1, through)
            else:
                best_0 = max(best_0, through)
        gap = end - stretch + step
        if best_0 > -np.inf and best_1 > -np.inf:
            out[gap] = best_1 - best_0
        _copy(behind, ahead)
