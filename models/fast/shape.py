"""The shape of FAST's network: what it reads, how wide and how deep it is, and which weights that makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from models.fast.dictionary import KINDS
from models.fast.features import Features
from models.fast.inputs import SURROUNDINGS

# Rarer characters share rows of the embedding.
FREQUENT_CODES = 1536
CHARACTER_ROWS = 2048
# More than any network has: what lies between texts, and around a window, grows with the dilations.
_LARGEST = 4096
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
        exits: so many layers lie before each exit; the first product lies before all of them.
        exit_dense: width of the layer before the logit of an exit.
    """

    features: Features = field(default_factory=Features)
    row_width: int = 16
    character_width: int = 24
    hidden: int = 128
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 2, 1, 2, 1)
    dense: int = 128
    evidence_kinds: int = KINDS + SURROUNDINGS
    exits: tuple[int, ...] = (0, 1, 3)
    exit_dense: int = 32

    def __post_init__(self) -> None:
        sizes = ("row_width", "character_width", "hidden", "dense", "exit_dense")
        for name, value in [
            *((name, getattr(self, name)) for name in sizes),
            *(("dilation", d) for d in self.dilations),
        ]:
            if type(value) is not int or not 1 <= value <= _LARGEST:
                raise ValueError(f"{name} {value!r}: expected a whole number from 1 to {_LARGEST}")
        if self.evidence_kinds != KINDS + SURROUNDINGS:
            raise ValueError(f"evidence_kinds {self.evidence_kinds!r}: expected {KINDS + SURROUNDINGS}")
        if sorted(set(self.exits)) != list(self.exits) or not all(0 <= one < len(self.dilations) for one in self.exits):
            raise ValueError(f"exits {self.exits}: expected rising numbers below {len(self.dilations)}, the layers")

    @property
    def context(self) -> int:
        """How far the network looks to either side."""
        return self.features.reach + sum(self.dilations)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FastConfig:
        known = {one.name for one in fields(cls)}
        if values.keys() != known:
            different = ", ".join(sorted(values.keys() ^ known))
            raise ValueError(
                f"the network's shape differs in {different}: it was written by another version of Respace. "
                "Use that version, or train it anew (docs/fast.md)"
            )
        pairs = {key: tuple(map(tuple, values["features"][key])) for key in ("ngrams", "straddles")}
        features = Features(**pairs, word_rows=values["features"]["word_rows"])
        lists = {key: tuple(values[key]) for key in ("dilations", "exits")}
        return cls(**dict(values) | lists | {"features": features})


def front_parts(config: FastConfig) -> list[tuple[str, int]]:
    """What the first product reads of each place, in this order: from which table, or near, and how many numbers.

    N-grams of each length at every offset at which they touch the gap; what is around the gap; characters, bits and
    evidence near it.
    """
    width = config.row_width
    parts = [(f"ngram{n}", width) for n, _ in config.features.ngrams for _ in range(n + 1)]
    parts += [(f"straddle{n}", width) for n, _ in config.features.straddles]
    parts += [("word", width)] * 3  # before the gap, behind it, and both
    near = config.character_width + 1 + config.evidence_kinds
    return parts + [("near", near)] * (2 * NEAR + 1)


def dense_shapes(config: FastConfig) -> dict[str, tuple[int, ...]]:
    """All weights but the table, by name."""
    hidden = config.hidden
    inputs = sum(width for _, width in front_parts(config))
    shapes: dict[str, tuple[int, ...]] = {
        "characters": (CHARACTER_ROWS, config.character_width),
        "front/kernel": (inputs, hidden),
        "front/bias": (hidden,),
    }
    for layer in range(len(config.dilations)):
        shapes[f"layer{layer}/bias"] = (hidden,)
        shapes[f"layer{layer}/kernel"] = (3, hidden, hidden)
    heads = {f"exit{layer}": config.exit_dense for layer in config.exits} | {"out": config.dense}
    for head, dense in heads.items():
        shapes |= {
            f"{head}/dense": (hidden, dense),
            f"{head}/dense_bias": (dense,),
            f"{head}/kernel": (dense, 1),
            f"{head}/bias": (1,),
        }
    return shapes
