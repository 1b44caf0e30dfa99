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


def fit_joint(model: FastModel, given: Sequence[GivenSequence], true: Sequence[Bits]) -> JointWeights:
    """The weights with the least loss on these sequences."""
    logits = model.network_logits(given)
    print(f"without the language model: loss {mean_loss(logits, true):.5f}", flush=True)
    tried = {}
    for letters, others in product(LETTERS, OTHERS):
        model.joint = replace(model.joint, letters=letters, others=others)
        tried[model.joint] = mean_loss(model.hear_language_model(given, logits), true)
    best = min(tried, key=lambda weights: tried[weights])
    print(f"{best}: loss {tried[best]:.5f}", flush=True)
    return best
