"""The reader's configuration: how wide and deep its network is, what it reads, and which weights that makes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

# Rarer characters share rows of the embedding.
FREQUENT_CODES, CHARACTER_ROWS = 768, 1024
# Characters that are read to either side of a gap.
NEAR_CHARACTERS = 4
# Numbers that describe a token, see `models.reader.tokens`.
TOKEN_FEATURES = 6
# Numbers that describe a gap besides FAST's last layer and the evidence: given bit, the network's logit, and the
# rescored logit on two scales.
GAP_SCALARS = 4
# Of layer normalisation.
EPSILON = 1e-12
# The error function of GELU as a polynomial of second degree (I-BERT): cheap, and the same in TensorFlow and NumPy.
GELU_SQUARE, GELU_REACH = -0.2888, -1.769


@dataclass(frozen=True, kw_only=True)
class ReaderConfig:
    """Sizes of the reader.

    Attributes:
        layer_width: of FAST's last layer.
        evidence_kinds: columns of FAST's evidence.
        pieces: word pieces it knows.
        positions: tokens of the longest passage.
        width: of tokens.
        layers: of attention and feed-forward network.
        heads: of attention.
        feed_forward: inner width of the feed-forward networks.
        character_width: of the embedding of the characters next to a gap.
        output_width: of the layer before a gap's correction.
    """

    layer_width: int = 128
    evidence_kinds: int = 7
    pieces: int = 30522
    positions: int = 512
    width: int = 384
    layers: int = 6
    heads: int = 12
    feed_forward: int = 1536
    character_width: int = 16
    output_width: int = 256

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not isinstance(value, int) or isinstance(value, bool) or value < 1:
                raise ValueError(f"{name} of the reader is {value!r}: expected a whole number of at least 1")
        if self.width % self.heads:
            raise ValueError(f"width {self.width} of the reader: expected a multiple of its {self.heads} heads")

    @property
    def gap_inputs(self) -> int:
        """How many numbers describe a gap."""
        return self.layer_width + self.evidence_kinds + GAP_SCALARS + 2 * NEAR_CHARACTERS * self.character_width

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> ReaderConfig:
        known = {one.name for one in fields(cls)}
        if values.keys() != known:
            different = ", ".join(sorted(values.keys() ^ known))
            raise ValueError(f"the reader's configuration differs in {different}: another version of Respace wrote it")
        return cls(**values)


def frozen_shapes(config: ReaderConfig) -> dict[str, tuple[int, ...]]:
    """Weights that are not trained: the embedding of word pieces."""
    return {"pieces": (config.pieces, config.width)}


def trained_shapes(config: ReaderConfig) -> dict[str, tuple[int, ...]]:
    """Weights that are trained, by name."""
    width, inner = config.width, config.feed_forward
    shapes: dict[str, tuple[int, ...]] = {
        "positions": (config.positions, width),
        "kinds": (3, width),
        "token_features": (TOKEN_FEATURES, width),
        "embedded_scale": (width,),
        "embedded_shift": (width,),
        "characters": (CHARACTER_ROWS, config.character_width),
        "gap/kernel": (config.gap_inputs, width),
        "gap/bias": (width,),
    }
    for layer in range(config.layers):
        shapes |= {
            f"layer{layer}/qkv": (width, 3 * width),
            f"layer{layer}/qkv_bias": (3 * width,),
            f"layer{layer}/attended": (width, width),
            f"layer{layer}/attended_bias": (width,),
            f"layer{layer}/attended_scale": (width,),
            f"layer{layer}/attended_shift": (width,),
            f"layer{layer}/feed_in": (width, inner),
            f"layer{layer}/feed_in_bias": (inner,),
            f"layer{layer}/feed_out": (inner, width),
            f"layer{layer}/feed_out_bias": (width,),
            f"layer{layer}/feed_scale": (width,),
            f"layer{layer}/feed_shift": (width,),
        }
    return shapes | {
        "output/dense": (width + config.gap_inputs, config.output_width),
        "output/dense_bias": (config.output_width,),
        "output/kernel": (config.output_width, 1),
        "output/bias": (1,),
    }
