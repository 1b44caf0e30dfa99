"""How much the language model counts beside the network, fitted on text that neither has seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from models.fast.joint import JointWeights
from models.fast.model import FastModel
from respace.gaps import Bits
from respace.method import GivenSequence
from respace.noise import Corrupted, Recipe, corrupt
from training.data.corpora import Corpus, Source

LETTERS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.4)
OTHERS = (0.0, 0.05, 0.1, 0.2)
_LARGEST = 15.0


def unseen_rows(sources: Sequence[Source], rows: int, recipe: Recipe, seed: int) -> Corrupted:
    """Rows that were kept for fitting, with noise; of every source as many as its share says."""
    texts: list[str] = []
    total = sum(source.weight for source in sources if not source.right_as_it_is)
    for source in sources:
        if source.right_as_it_is:
            continue
        kept = Corpus(source, kept_for_fitting=True).texts
        count = min(len(kept), round(rows * source.weight / total))
        chosen = np.sort(np.random.default_rng(seed).choice(len(kept), count, replace=False))
        texts += kept.take(chosen).to_pylist()
    return corrupt(texts, [f"fitting/{number}" for number in range(len(texts))], recipe, seed)


def sequences_of(noisy: Corrupted) -> tuple[list[GivenSequence], list[Bits]]:
    given, true = [], []
    for start, stop in pairwise(noisy.offsets.tolist()):
        given.append(GivenSequence(noisy.characters[start:stop], noisy.given_bits[start:stop]))
        true.append(noisy.true_bits[start:stop])
    return given, true


def mean_loss(logits: Sequence[NDArray[np.float32]], true: Sequence[Bits]) -> float:
    """Mean log loss per gap; confident mistakes count so much and no more."""
    flat = np.concatenate([one[1:] for one in logits])
    wanted = np.concatenate([one[1:] for one in true])
    against = np.clip(np.where(wanted, -flat, flat), -_LARGEST, _LARGEST)
    return float(np.log1p(np.exp(against)).mean())


def wrong_sequences(logits: Sequence[NDArray[np.float32]], true: Sequence[Bits]) -> int:
    """Sequences with a wrong gap, where no penalty is charged."""
    return sum(not np.array_equal(values[1:] > 0, wanted[1:]) for values, wanted in zip(logits, true, strict=True))


def fit_joint(model: FastModel, given: Sequence[GivenSequence], true: Sequence[Bits]) -> JointWeights:
    """The weights with the least loss on these sequences; where no space is near, with the fewest wrong sequences.

    Penalties need logits that say how certain they are, and so the least loss. Where all spaces are lost no penalty is
    charged, and only the decision matters.
    """
    logits = model.network_logits(given)
    print(f"without the language model: loss {mean_loss(logits, true):.5f}", flush=True)

    def loss(weights: JointWeights) -> float:
        model.joint = weights
        return mean_loss(model.hear_language_model(given, logits), true)

    pairs = product(LETTERS, OTHERS)
    best = min((replace(model.joint, letters=letters, others=others) for letters, others in pairs), key=loss)
    print(f"{best}: loss {loss(best):.5f}", flush=True)
    lost = [at for at, one in enumerate(given) if not one.bits.any()]
    if not lost:
        return best
    its_given, its_logits, its_true = [given[at] for at in lost], [logits[at] for at in lost], [true[at] for at in lost]

    def wrong(weights: JointWeights) -> int:
        model.joint = weights
        return wrong_sequences(model.hear_language_model(its_given, its_logits), its_true)

    best = min((replace(best, unspaced=unspaced) for unspaced in LETTERS), key=wrong)
    print(f"{best}: {wrong(best)} of {len(lost)} sequences without spaces are wrong", flush=True)
    return best
