"""Practice: gaps of which FAST is certain are asked as well, without its opinion.

Few gaps are uncertain, and FAST's logits say most of what is to be known of them, so the reader would learn little
else. So certain gaps of each passage are asked too, half of them with the wrong reading in the text, and nothing that
FAST says of them: the reader must find out from the words which reading is right. Gaps that nearly were uncertain are
asked more often.
"""

from __future__ import annotations

import dataclasses

import numpy as np
from numpy.typing import NDArray

from training.reader.passage_shards import PassageShard

# Gaps with larger logits are certain; they are taken as true.
CERTAIN = 7.0
# One in so many characters is asked.
EVERY = 24
# Gaps that are asked are at least so far apart: the text around each reads as it should.
APART = 4
# How much less often a gap is asked for each logit that it is more certain.
DECAY = 0.3
# And how much less often one without a space.
OTHERS = 2.5


def with_practice(shard: PassageShard, random: np.random.Generator) -> tuple[PassageShard, NDArray[np.bool_]]:
    """The shard with more gaps, and which of its gaps are practice."""
    passages = shard.passages
    logits = passages.logits.astype(np.float32)
    evidence = np.abs(logits)
    free = evidence >= CERTAIN
    free[passages.offsets[:-1]] = False
    for shift in range(-APART, APART + 1):
        near = np.clip(passages.gaps + shift, 0, len(free) - 1)
        free[near] = False
    # Exponential races: a gap that is less certain wins more often. There are several times as many gaps without a
    # space; about as many of both kinds are asked.
    wins = random.exponential(size=len(free)) * np.exp(DECAY * np.minimum(evidence, 20))
    wins[logits <= 0] *= OTHERS
    wins[~free] = np.inf
    count = min(int(np.count_nonzero(free)), len(free) // EVERY)
    chosen = np.sort(np.argpartition(wins, max(0, count - 1))[:count])
    chosen = chosen[np.append(True, np.diff(chosen) > APART)] if len(chosen) else chosen
    true = logits[chosen] > 0
    shown = true ^ (random.random(len(chosen)) < 0.5)
    logits[chosen] = np.where(shown, 0.01, -0.01)
    given = passages.given.copy()
    given[chosen] = shown
    gaps = np.concatenate([passages.gaps, chosen])
    order = np.argsort(gaps, kind="stable")

    def with_nothing(array: NDArray[np.float16]) -> NDArray[np.float16]:
        return np.concatenate([array, np.zeros((len(chosen), *array.shape[1:]), dtype=array.dtype)])[order]

    practised = dataclasses.replace(
        passages,
        logits=logits.astype(np.float16),
        given=given,
        gaps=gaps[order],
        layer=with_nothing(passages.layer),
        evidence=with_nothing(passages.evidence),
        network_logits=with_nothing(passages.network_logits),
    )
    is_practice = np.concatenate([np.zeros(len(passages.gaps), dtype=bool), np.ones(len(chosen), dtype=bool)])[order]
    return PassageShard(passages=practised, true=np.concatenate([shard.true, true])[order]), is_practice
