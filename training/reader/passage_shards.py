"""Passages around uncertain gaps as shards: what FAST and the n-gram language model say of them, and the truth.

Finding them costs as much as training on them, so they are written once and read several times. A passage looks as it
will in use: FAST's inputs are those of text that was not counted (`Dictionary.evidence` leaves the text at hand out).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from models.fast.inputs import inputs_of, quotes_told_apart
from models.fast.joint import far_from_spaces, joint_logits
from models.fast.model import FastModel, Layout
from models.fast.processor import ProcessorNetwork
from models.processors import one_thread_per_product
from models.reader.doubt import passages_around
from models.reader.passages import Passages
from respace.gaps import Bits
from respace.method import GivenSequence
from respace.noise import Corrupted
from respace.storage.publish import publish

# Gaps with smaller logits are decided, and trained on.
UNCERTAIN = 4.0
# How far passages reach is drawn between these, so that the reader knows passages of all lengths.
CONTEXTS = 32, 112
LENGTHS = 128, 288


@dataclass(frozen=True, kw_only=True)
class PassageShard:
    """Passages, and the true bits of the gaps to decide."""

    passages: Passages
    true: Bits

    def save(self, path: Path) -> None:
        arrays = {one.name: getattr(self.passages, one.name) for one in fields(Passages)}
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, true=self.true, **arrays)

    @classmethod
    def load(cls, path: Path) -> PassageShard:
        with np.load(path) as saved:
            return cls(passages=Passages(**{one.name: saved[one.name] for one in fields(Passages)}), true=saved["true"])

    @classmethod
    def concat(cls, parts: Sequence[PassageShard]) -> PassageShard:
        sizes = np.concatenate([np.diff(part.passages.offsets) for part in parts])
        ends = np.cumsum([0, *(len(part.passages.characters) for part in parts)])
        others = [one.name for one in fields(Passages) if one.name not in ("offsets", "gaps")]
        return cls(
            passages=Passages(
                offsets=np.concatenate([[0], np.cumsum(sizes)]),
                gaps=np.concatenate([part.passages.gaps + end for part, end in zip(parts, ends, strict=False)]),
                **{name: np.concatenate([getattr(part.passages, name) for part in parts]) for name in others},
            ),
            true=np.concatenate([part.true for part in parts]),
        )

    def select(self, chosen: NDArray[np.intp]) -> PassageShard:
        """Some of the passages."""
        passages = self.passages
        sizes = np.diff(passages.offsets)[chosen]
        places = _ranges(passages.offsets[chosen], sizes)
        bounds = np.searchsorted(passages.gaps, passages.offsets)
        counts = np.diff(bounds)[chosen]
        gaps = _ranges(bounds[chosen], counts)
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        shifts = np.repeat(offsets[:-1] - passages.offsets[chosen], counts)
        return PassageShard(
            passages=Passages(
                offsets=offsets,
                characters=passages.characters[places],
                given=passages.given[places],
                logits=passages.logits[places],
                gaps=passages.gaps[gaps] + shifts,
                layer=passages.layer[gaps],
                evidence=passages.evidence[gaps],
                network_logits=passages.network_logits[gaps],
            ),
            true=self.true[gaps],
        )


def _ranges(starts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """``starts[i]`` and what follows it, so many each, one after the other."""
    ends = np.cumsum(sizes)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - (ends - sizes), sizes)


def find_passages(model: FastModel, noisy: Corrupted, salt: int | None, random: np.random.Generator) -> PassageShard:
    """Passages around the uncertain gaps of rows.

    Args:
        model: FAST with its language model, on CPUs.
        noisy: rows with noise.
        salt: of the words that the dictionary is made to forget; None for text that was not counted.
        random: draws how far the passages reach.
    """
    network = model.network
    if model.language_model is None or not isinstance(network, ProcessorNetwork):
        raise ValueError("passages are found by a model with a language model, on CPUs")
    bounds = list(pairwise(noisy.offsets.tolist()))
    rows = [GivenSequence(noisy.characters[a:b], _without_first(noisy.given_bits[a:b])) for a, b in bounds]
    layout = Layout(rows, network.apart, network.aligned)
    characters = layout.laid([one.characters for one in rows], np.int32)
    true = layout.laid([_without_first(noisy.true_bits[a:b]) for a, b in bounds], np.bool_)
    given = layout.laid([one.bits for one in rows], np.bool_)
    forgotten = None if salt is None else true
    features = model.config.features
    inputs = inputs_of(features, model.dictionary, characters, given, true_bits=forgotten, salt=salt or 0)
    with one_thread_per_product():
        network_logits, last_layer = network.with_last_layer(inputs)
        logits = joint_logits(
            model.language_model,
            model.joint,
            quotes_told_apart(characters, np.zeros(len(characters), dtype=bool)),
            network_logits,
            layout.laid([far_from_spaces(one.bits) for one in rows], np.bool_),
        )
        uncertain = (np.abs(logits) < UNCERTAIN) & (characters > 0)
        uncertain[layout.starts] = False
        texts = layout.stretches
        parts = []
        # Texts of a few go together, each group with a reach of its own.
        for at in range(0, len(texts), 16):
            context = int(random.integers(*CONTEXTS))
            longest = max(2 * context, int(random.integers(*LENGTHS)))
            parts.append(
                passages_around(inputs, network_logits, logits, texts[at : at + 16], uncertain, context, longest)
            )
    return PassageShard.concat(
        [
            PassageShard(
                passages=dataclasses.replace(
                    passages,
                    logits=passages.logits.astype(np.float16),
                    layer=last_layer(gaps).astype(np.float16),
                    evidence=passages.evidence.astype(np.float16),
                    network_logits=passages.network_logits.astype(np.float16),
                ),
                true=true[gaps],
            )
            for passages, gaps in parts
        ]
    )


def _without_first(bits: Bits) -> Bits:
    out = bits.copy()
    out[:1] = False
    return out


def shard_files(directories: Sequence[Path]) -> list[Path]:
    found = sorted(path for one in directories for path in one.glob("passages-*.npz"))
    if not found:
        raise FileNotFoundError(f"no passages-*.npz in {', '.join(map(str, directories))}: make them first")
    return found


def shuffled_shards(files: Sequence[Path], seed: int, first: int = 0) -> Iterator[tuple[int, PassageShard]]:
    """Shards over and over, each time in another order, with their running number."""
    number = first
    while True:
        epoch, at = divmod(number, len(files))
        order = np.random.default_rng([seed, epoch]).permutation(len(files))
        yield number, PassageShard.load(files[order[at]])
        number += 1
