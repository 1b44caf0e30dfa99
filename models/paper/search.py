"""UNI, BID and FAST+search as ways to repair spaces: a language model, perhaps labels, penalties, and the beam search.

A model directory holds one of

- ``uni``: the language model;
- ``bid``: the language model and the bidirectional network that labels gaps;
- ``combination``: names of two other models, a language model (``uni``) and FAST, whose logits are the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.batches import cut_into_batches
from models.files import ModelError, ModelFiles, combined_sha256, load_referred
from models.identity import model_identity, penalties_in_force
from models.paper.beam_search import BeamSearch
from models.paper.bid import CONTEXT, WINDOW, BidModel
from models.paper.lstm import NetworkSize
from models.paper.pruning import DEFAULT_BEAMS, FULL_SEARCH, Pruning, search_settings
from models.paper.uni import UniModel
from models.paper.vocabulary import Vocabulary
from respace.method import Decision, GivenSequence, check_penalties

BATCH_SEQUENCES = 64


class Labeller(Protocol):
    """What labels gaps on its own: BID's network, or FAST."""

    def sequence_logits(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]: ...


class SearchMethod:
    """The beam search with its two penalties, as a way to repair spaces."""

    def __init__(
        self,
        model: UniModel,
        labeller: Labeller | None = None,
        *,
        name: str,
        sha256: str,
        insertion_penalty: float,
        deletion_penalty: float,
        beams: int = DEFAULT_BEAMS,
        pruning: Pruning = FULL_SEARCH,
        language_weight: float = 1.0,
    ):
        check_penalties(insertion_penalty, deletion_penalty)
        self.name, self.sha256 = name, sha256
        self.insertion_penalty, self.deletion_penalty = insertion_penalty, deletion_penalty
        self.labeller = labeller
        self.search = BeamSearch(model, beams, pruning, language_weight)

    @classmethod
    def from_files(
        cls,
        files: ModelFiles,
        insertion_penalty: float | None = None,
        deletion_penalty: float | None = None,
        beams: int = DEFAULT_BEAMS,
        pruning: Pruning | None = None,
    ) -> SearchMethod:
        """Loads a model directory; what is not given is the model's own."""
        model, labeller, sha256 = load_networks(files)
        insertion_penalty, deletion_penalty = penalties_in_force(files.config, insertion_penalty, deletion_penalty)
        return cls(
            model,
            labeller,
            name=files.name,
            sha256=sha256,
            insertion_penalty=insertion_penalty,
            deletion_penalty=deletion_penalty,
            beams=beams,
            pruning=Pruning() if pruning is None else pruning,
            language_weight=files.config.get("language_weight", 1.0),
        )

    @property
    def identity(self) -> str:
        search = self.search
        settings = search_settings(search.language_weight, search.beams, search.pruning)
        return model_identity(self.name, self.sha256, self.insertion_penalty, self.deletion_penalty, **settings)

    @property
    def context(self) -> int:
        return CONTEXT

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        labels = self.labeller.sequence_logits(sequences) if self.labeller else None
        bits = [np.zeros(len(one.bits), dtype=bool) for one in sequences]
        advantages = [np.zeros(len(one.bits), dtype=np.float32) for one in sequences]
        lengths = [len(one.bits) for one in sequences]
        encode = self.search.model.vocabulary.encode
        # Sequences up to a window's length are searched whole; only longer ones are cut.
        for batch in cut_into_batches(lengths, window=WINDOW, context=CONTEXT, rows=BATCH_SEQUENCES):
            here = [sequences[number] for number in batch.numbers]
            charged = np.array([not one.lost_all_spaces for one in here], dtype=np.float64)
            found = self.search(
                batch.gather([encode(one.characters) for one in here]),
                batch.lengths,
                batch.gather([one.bits for one in here]),
                None if labels is None else batch.gather([labels[number] for number in batch.numbers]),
                self.insertion_penalty * charged,
                self.deletion_penalty * charged,
            )
            batch.put_back(found.bits, bits)
            batch.put_back(found.advantage, advantages)
        # What was decided against the odds of its moment (later characters spoke for it) is less than half certain.
        return [
            Decision(one, (1 / (1 + np.exp(-np.clip(advantage, -80, 80)))).astype(np.float32))
            for one, advantage in zip(bits, advantages, strict=True)
        ]


def load_networks(files: ModelFiles) -> tuple[UniModel, Labeller | None, str]:
    """The language model, the labels if there are any, and one sha256 for all of them."""
    if files.config.get("kind") == "combination":
        return _load_combination(files)
    if "uni" not in files.config:
        kind = files.config.get("kind")
        raise ModelError(f"{files.name}: a model of kind {kind!r} cannot be searched with: it has no language model")
    vocabulary = Vocabulary(files.config["vocabulary"])
    model = UniModel(vocabulary, NetworkSize(**files.config["uni"]), files.weights)
    if "bid" not in files.config:
        return model, None, files.sha256
    return model, BidModel(vocabulary, NetworkSize(**files.config["bid"]), files.weights), files.sha256


def _load_combination(files: ModelFiles) -> tuple[UniModel, Labeller | None, str]:
    from models.fast.model import FastModel

    language, labels = (load_referred(files, key) for key in ("language_model", "labels"))
    model, _, _ = load_networks(language)
    if labels.config.get("kind") != "fast":
        raise ModelError(
            f"{files.name}: labels come from {labels.name}, a {labels.config.get('kind')!r}: expected FAST"
        )
    fast = FastModel.from_files(labels)
    return model, fast, combined_sha256(files.sha256, language.sha256, labels.sha256)


def network_config(model: UniModel, labels: BidModel | None = None) -> dict[str, Any]:
    """What a model directory must say about its networks."""
    sizes = {"uni": model.size} | ({"bid": labels.size} if labels else {})
    return {
        "kind": "bid" if labels else "uni",
        "vocabulary": model.vocabulary.characters,
        **{name: {"units": size.units, "dense": size.dense} for name, size in sizes.items()},
    }
