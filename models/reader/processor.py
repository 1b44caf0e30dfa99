"""The reader's network on CPUs: NumPy's matrix products, without TensorFlow.

The same numbers as `models.reader.network`, up to rounding. Passages lie one after the other without padding, except
that each begins where a product's rows round alike, so a passage is read alike to the last bit in any batch. In the
last layer only the tokens that ask are computed.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from models.files import Weights
from models.processors import rounding_of_rows
from models.reader.config import EPSILON, GELU_REACH, GELU_SQUARE, ReaderConfig
from models.reader.passages import Passages
from models.reader.pieces import PieceTable
from models.reader.tokens import ASKS, Tokens, tokens_of

Floats = NDArray[np.float32]
Places = NDArray[np.int64]

# Tokens that are computed at once, about: products are fast, and what lies between them stays in the cache.
AT_ONCE = 768
LEAST_ROWS = 8
# Rows of the widest layer that an element-wise function takes at once.
_ROWS = 32


class ReaderOnCpu:
    """The network with its weights."""

    def __init__(self, config: ReaderConfig, weights: Weights, table: PieceTable):
        self.config, self.table = config, table
        self._pieces = weights["pieces"]
        self._piece_scales = weights["piece_scales"].astype(np.float32) if "piece_scales" in weights else None
        self._weights = {
            name: np.ascontiguousarray(array.astype(np.float32))
            for name, array in weights.items()
            if not name.startswith("piece")
        }

    def corrections(self, passages: Passages) -> Floats:
        """What is added to the logits of the gaps of passages."""
        tokens = tokens_of(passages, self.table, self.config.positions)
        out = np.empty(len(passages.gaps), dtype=np.float32)
        bounds = np.searchsorted(passages.gaps, passages.offsets)
        for first, stop in _groups(tokens.offsets):
            out[bounds[first] : bounds[stop]] = self._group(tokens, bounds, first, stop)
        return out

    def _group(self, tokens: Tokens, bounds: Places, first: int, stop: int) -> Floats:
        """Of the gaps of passages ``first:stop``."""
        # Products of very few rows are rounded otherwise, too.
        aligned = -(-LEAST_ROWS // len(rounding_of_rows())) * len(rounding_of_rows())
        sizes = np.diff(tokens.offsets[first : stop + 1])
        rooms = -(-sizes // aligned) * aligned
        starts = np.concatenate([[0], np.cumsum(rooms)])
        chosen = np.arange(tokens.offsets[first], tokens.offsets[stop])
        rows = chosen - np.repeat(tokens.offsets[first:stop] - starts[:-1], sizes)
        gaps = np.arange(bounds[first], bounds[stop])
        counts = np.diff(bounds[first : stop + 1])
        asks = tokens.asks[gaps] - np.repeat(tokens.offsets[first:stop] - starts[:-1], counts)
        gap_starts = np.concatenate([[0], np.cumsum(-(-counts // aligned) * aligned)])
        gap_rows = np.arange(len(gaps)) - np.repeat(bounds[first:stop] - bounds[first] - gap_starts[:-1], counts)

        gap_inputs = np.zeros((gap_starts[-1], self.config.gap_inputs), dtype=np.float32)
        gap_inputs[gap_rows] = self._gap_inputs(tokens, gaps)
        x = np.zeros((starts[-1], self.config.width), dtype=np.float32)
        x[rows] = self._embedded(tokens, chosen)
        x[asks] += self._dense(gap_inputs, "gap", "kernel", "bias")[gap_rows]
        self._normalise(x, "embedded")
        layers = self.config.layers
        for layer in range(layers - 1):
            name = f"layer{layer}"
            mixed = self._dense(x, name, "qkv", "qkv_bias")
            attended = np.zeros_like(x)
            for number in range(stop - first):
                here = slice(starts[number], starts[number] + sizes[number])
                attended[here] = self._attend(mixed[here], mixed[here], self._visible(tokens, first + number))
            x += self._dense(attended, name, "attended", "attended_bias")
            self._normalise(x, f"{name}/attended")
            self._feed_forward(x, name)
        name, width = f"layer{layers - 1}", self.config.width
        mixed = self._dense(x, name, "qkv", "qkv_bias")
        asking = np.zeros((gap_starts[-1], width), dtype=np.float32)
        asking[gap_rows] = x[asks]
        attended = np.zeros_like(asking)
        for number in range(stop - first):
            here = slice(starts[number], starts[number] + sizes[number])
            there = slice(gap_starts[number], gap_starts[number] + counts[number])
            asked = tokens.asks[bounds[first + number] : bounds[first + number + 1]] - tokens.offsets[first + number]
            visible = self._visible(tokens, first + number)[asked]
            attended[there] = self._attend(mixed[here][asked], mixed[here], visible)
        asking += self._dense(attended, name, "attended", "attended_bias")
        self._normalise(asking, f"{name}/attended")
        self._feed_forward(asking, name)
        hidden = self._dense(np.concatenate([asking, gap_inputs], axis=1), "output", "dense", "dense_bias")
        _gelu(hidden)
        # A product with one column would round otherwise in other company.
        hidden *= self._weights["output/kernel"][:, 0]
        out: Floats = hidden[gap_rows].sum(axis=1) + self._weights["output/bias"]
        return out

    def _embedded(self, tokens: Tokens, chosen: Places) -> Floats:
        pieces = self._pieces[tokens.pieces[chosen]].astype(np.float32)
        if self._piece_scales is not None:
            pieces *= self._piece_scales
        pieces += self._weights["positions"][tokens.positions[chosen]]
        pieces += self._weights["kinds"][tokens.kinds[chosen]]
        # A sum of few terms, in one order wherever a token stands.
        for column, weights in enumerate(self._weights["token_features"]):
            pieces += tokens.features[chosen, column, None] * weights
        return pieces

    def _gap_inputs(self, tokens: Tokens, gaps: Places) -> Floats:
        codes = tokens.gap_codes[gaps]
        characters = self._weights["characters"][codes] * (codes > 0)[..., None]
        return np.concatenate([tokens.gap_numbers[gaps], characters.reshape(len(gaps), -1)], axis=1)

    def _dense(self, x: Floats, name: str, kernel: str, bias: str) -> Floats:
        out: Floats = x @ self._weights[f"{name}/{kernel}"]
        out += self._weights[f"{name}/{bias}"]
        return out

    def _feed_forward(self, x: Floats, name: str) -> None:
        hidden = self._dense(x, name, "feed_in", "feed_in_bias")
        _gelu(hidden)
        x += self._dense(hidden, name, "feed_out", "feed_out_bias")
        self._normalise(x, f"{name}/feed")

    def _normalise(self, x: Floats, name: str) -> None:
        scale, shift = self._weights[f"{name}_scale"], self._weights[f"{name}_shift"]
        for at in range(0, len(x), _ROWS):
            rows = x[at : at + _ROWS]
            rows -= rows.mean(axis=1, keepdims=True)
            rows *= 1 / np.sqrt(np.square(rows).mean(axis=1, keepdims=True) + np.float32(EPSILON))
            rows *= scale
            rows += shift

    def _attend(self, asking: Floats, mixed: Floats, visible: NDArray[np.bool_]) -> Floats:
        heads, width = self.config.heads, self.config.width
        each = width // heads

        def of_heads(rows: Floats, part: int) -> Floats:
            return rows[:, part * width : (part + 1) * width].reshape(len(rows), heads, each).transpose(1, 0, 2)

        scores = np.matmul(of_heads(asking, 0), of_heads(mixed, 1).transpose(0, 2, 1))
        scores *= np.float32(each**-0.5)
        scores[:, ~visible] = -np.inf
        scores -= scores.max(axis=2, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(axis=2, keepdims=True)
        out: Floats = np.matmul(scores, of_heads(mixed, 2)).transpose(1, 0, 2).reshape(len(asking), width)
        return out

    def _visible(self, tokens: Tokens, passage: int) -> NDArray[np.bool_]:
        """As `models.reader.network.visible`."""
        here = slice(tokens.offsets[passage], tokens.offsets[passage + 1])
        groups, asking = tokens.groups[here], tokens.kinds[here] == ASKS
        seeing = groups[:, None]
        seen: NDArray[np.bool_] = (groups == 0) | (groups == seeing) & (groups > 0) | asking & (seeing > 0)
        return seen


def _groups(offsets: Places) -> Iterator[tuple[int, int]]:
    """Passages with about `AT_ONCE` tokens, by their numbers."""
    first = 0
    while first < len(offsets) - 1:
        stop = first + 1
        while stop < len(offsets) - 1 and offsets[stop + 1] - offsets[first] <= AT_ONCE:
            stop += 1
        yield first, stop
        first = stop


def _gelu(x: Floats) -> None:
    """As `models.reader.network.gelu`, in place, few rows at a time: they stay in the cache."""
    for at in range(0, len(x), _ROWS):
        rows = x[at : at + _ROWS]
        inner = np.abs(rows)
        inner *= np.float32(0.7071067811865476)
        np.minimum(inner, np.float32(-GELU_REACH), out=inner)
        inner += np.float32(GELU_REACH)
        np.square(inner, out=inner)
        inner *= np.float32(GELU_SQUARE)
        inner += np.float32(1)
        np.copysign(inner, rows, out=inner)
        inner += np.float32(1)
        inner *= np.float32(0.5)
        rows *= inner
