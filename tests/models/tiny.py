"""A FAST network small enough for tests, with random weights."""

from __future__ import annotations

import numpy as np

from models.fast.dictionary import CONTEXT_SYMBOLS, COST_STEP, SYMBOLS, Dictionary
from models.fast.features import Features
from models.fast.model import FastModel, quantise_table
from models.fast.shape import FastConfig, dense_shapes
from models.files import Weights

TINY_FEATURES = Features(ngrams=((3, 256), (4, 512)), straddles=((2, 256),), word_rows=512)
TINY = FastConfig(
    features=TINY_FEATURES,
    row_width=8,
    character_width=4,
    hidden=8,
    dilations=(1, 2, 4),
    dense=8,
    exits=(0, 2),
    exit_dense=4,
)
TINY_DICTIONARY = Dictionary.of(
    {"the": 60, "quick": 5, "brown": 7, "fox": 4, "a": 50, "lazy": 3, "dog": 9, "do": 20, "go": 12},
    1000.0,
    np.full(SYMBOLS ** (CONTEXT_SYMBOLS + 1), 3 * COST_STEP, dtype=np.uint8),
)


def tiny_weights(seed: int = 1) -> Weights:
    random = np.random.default_rng(seed)
    weights = {name: random.normal(0, 0.3, shape).astype(np.float32) for name, shape in dense_shapes(TINY).items()}
    table = random.normal(0, 1, (TINY_FEATURES.rows, TINY.row_width)).astype(np.float32)
    return weights | quantise_table(TINY, table) | TINY_DICTIONARY.to_weights()


def tiny_model(seed: int = 1) -> FastModel:
    return FastModel(TINY, tiny_weights(seed))
