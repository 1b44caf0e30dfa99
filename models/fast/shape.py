"""The shape of FAST's network: what it reads, how wide and how deep it is, and which weights that makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from models.fast.dictionary import KINDS
from models.fast.features import Features
from models.fast.inputs import SURROUNDINGS

# Rarer characters share rows of the embedding.
FREQUENT_CODES = 1536
CHARACTER_ROWS = 2048
NEAR = 2  # characters, bits and evidence are read directly up to this distance


@dataclass(frozen=True, kw_only=True)
class FastConfig:
    """The shape of the network.

    Attributes:
        features: which rows of the table are read.
        row_width: of the table.
        character_width: of the embedding of characters.
        hidden: channels of the convolutions.
        dilations: of the convolutions, one layer each.
        dense: width of the layer before the logit.
        evidence_kinds: columns of evidence, see `models.fast.inputs`.
        normalised: are the inputs of each layer normalised? That costs as much as the convolutions.
        exit_after: so many layers lie before the exit; 0 if there is none.
    """

    features: Features = field(default_factory=Features)
    row_width: int = 16
    character_width: int = 24
    hidden: int = 128
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 2, 1)
    dense: int = 128
    evidence_kinds: int = KINDS + SURROUNDINGS
    normalised: bool = False
    exit_after: int = 3

    @property
    def context(self) -> int:
        """How far the network looks to either side."""
        return self.features.reach + sum(self.dilations)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FastConfig:
        pairs = {key: tuple(map(tuple, values["features"][key])) for key in ("ngrams", "straddles")}
        features = Features(**pairs, word_rows=values["features"]["word_rows"])
        # Older models do not mention what they do not have.
        older = {"evidence_kinds": KINDS, "normalised": True, "exit_after": 0}
        return cls(**older | dict(values) | {"features": features, "dilations": tuple(values["dilations"])})


def dense_shapes(config: FastConfig) -> dict[str, tuple[int, ...]]:
    """All weights but the table, by name."""
    width, hidden = config.row_width, config.hidden
    gap_features = (len(config.features.straddles) + 3) * width
    shapes: dict[str, tuple[int, ...]] = {
        "characters": (CHARACTER_ROWS, config.character_width),
        "near/kernel": (2 * NEAR + 1, config.character_width + 1 + config.evidence_kinds, hidden),
        "gap/kernel": (gap_features, hidden),
        "front/bias": (hidden,),
    }
    for n, _ in config.features.ngrams:
        shapes[f"ngram{n}/kernel"] = (n + 1, width, hidden)
    for layer in range(len(config.dilations)):
        if config.normalised:
            shapes[f"layer{layer}/scale"] = shapes[f"layer{layer}/offset"] = (hidden,)
        shapes[f"layer{layer}/bias"] = (hidden,)
        shapes[f"layer{layer}/kernel"] = (3, hidden, hidden)
    for head in ("exit", "out") if config.exit_after else ("out",):
        if config.normalised:
            shapes[f"{head}/scale"] = shapes[f"{head}/offset"] = (hidden,)
        shapes |= {
            f"{head}/dense": (hidden, config.dense),
            f"{head}/dense_bias": (config.dense,),
            f"{head}/kernel": (config.dense, 1),
            f"{head}/bias": (1,),
        }
    return shapes
