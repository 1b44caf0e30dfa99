"""A reader small enough for tests, with random weights."""

from __future__ import annotations

import numpy as np

from models.files import Weights
from models.reader.config import ReaderConfig, frozen_shapes, trained_shapes
from models.reader.pieces import PieceTable

PIECES = [
    "[UNK]",
    "[CLS]",
    "[SEP]",
    "[MASK]",
    *"abcdefghijklmnopqrstuvwxyz.,",
    *(f"##{one}" for one in "abcdefgimnoprstu"),
]
PIECES += ["the", "quick", "brown", "fox", "##ox", "##ck", "lazy", "dog"]
TABLE = PieceTable.of(PIECES)


def tiny_reader(layer_width: int = 8) -> ReaderConfig:
    return ReaderConfig(
        layer_width=layer_width,
        pieces=len(PIECES),
        positions=128,
        width=32,
        layers=2,
        heads=4,
        feed_forward=48,
        character_width=4,
        output_width=16,
    )


def tiny_reader_weights(config: ReaderConfig, seed: int = 1) -> Weights:
    random = np.random.default_rng(seed)
    return {
        name: random.normal(1 if name.endswith("scale") else 0, 0.3, shape).astype(np.float32)
        for name, shape in (trained_shapes(config) | frozen_shapes(config)).items()
    }
