"""FAST's network in TensorFlow, all layers everywhere: on graphics cards, and to compare others with it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.inputs import Inputs
from models.fast.network import Arithmetic, logits
from models.fast.processor import LastLayer, ProcessorNetwork
from models.fast.shape import FastConfig, dense_shapes
from models.files import Weights
from respace.windows import Window, windows

# Long windows waste little on context.
WINDOW = 1024
# Lengths are rounded up to multiples of it.
LENGTH_STEP = 32
# Says how a graphics card computes, see `Batches.wanted`.
VARIABLE = "RESPACE_GPU"
PRECISIONS = ("float32", "bfloat16", "float16")


@dataclass(frozen=True, kw_only=True)
class Batches:
    """How batches are computed.

    Attributes:
        characters: of a batch, with those that fill up its rows. The default stays in a processor's cache.
        precision: of the products; all that lies between them is in 32 bits.
        xla: compile the whole network. XLA compiles every shape by itself, so batches come in few shapes then: lengths
            are powers of two, and all batches of one length have as many rows.
    """

    characters: int = 4096
    precision: str = "float32"
    xla: bool = False

    def __post_init__(self) -> None:
        if self.characters < WINDOW:
            raise ValueError(f"batches of {self.characters} characters: expected at least {WINDOW}")
        if self.precision not in PRECISIONS:
            raise ValueError(f"precision {self.precision!r}: expected one of {', '.join(PRECISIONS)}")

    @classmethod
    def wanted(cls, told: str | None = None) -> Batches:
        """For a graphics card: thousands of rows at once, or what `VARIABLE` says.

        >>> Batches.wanted("characters=65536 precision=float16 xla=1")
        Batches(characters=65536, precision='float16', xla=True)

        Raises:
            ValueError: it says something else.
        """
        said = dict(part.partition("=")[::2] for part in (told or os.environ.get(VARIABLE, "")).split())
        unknown = said.keys() - {one.name for one in fields(cls)}
        if unknown:
            raise ValueError(f"{VARIABLE} has {min(unknown)!r}: expected characters=, precision= or xla=")
        return cls(
            characters=int(said.get("characters", 1 << 18)),
            precision=said.get("precision", "float32"),
            xla=said.get("xla", "0") == "1",
        )

    def shape(self, rows: int, longest: int) -> tuple[int, int]:
        """Rows and length of a batch of so many windows, the longest of which has so many characters."""
        if not self.xla:
            return rows, -(-longest // LENGTH_STEP) * LENGTH_STEP
        length = max(LENGTH_STEP, 1 << (longest - 1).bit_length())
        return self.characters // length, length


class TensorFlowNetwork:
    """The network with its weights."""

    # One place between two texts is enough: each is computed by itself.
    apart = 1
    aligned = 1

    def __init__(self, config: FastConfig, weights: Weights, batches: Batches | None = None, head: int = -1):
        """
        Args:
            config: the shape of the network.
            weights: of the network.
            batches: how batches are computed.
            head: whose logits: those of an exit, by its number, or of the last layer.
        """
        self.config, self.batches, self._head = config, batches or Batches(), head
        self._weights = weights
        self._arithmetic = Arithmetic(tf.as_dtype(self.batches.precision), lambda function: function)
        features = config.features
        self._table = tf.constant(weights["table"])
        # The word's part of the table is read three times: before the gap, behind it, and both.
        last = len(features.ngrams) + len(features.straddles)
        self._scales = tf.constant(weights["table_scales"][[*range(last), last, last, last]])
        self._dense = {name: tf.constant(weights[name].astype(np.float32)) for name in dense_shapes(config)}
        self._compiled = tf.function(
            self._forward,
            input_signature=[
                tf.TensorSpec([None, None, features.columns], tf.int32),
                tf.TensorSpec([None, None], tf.int32),
                tf.TensorSpec([None, None], tf.float32),
                tf.TensorSpec([None, None, config.evidence_kinds], tf.float32),
            ],
            jit_compile=self.batches.xla,
        )

    @property
    def at_once(self) -> int:
        """So many characters fill several batches: those of about the same length go together."""
        return 4 * self.batches.characters

    def _forward(self, rows: tf.Tensor, characters: tf.Tensor, bits: tf.Tensor, evidence: tf.Tensor) -> tf.Tensor:
        looked_up = tf.cast(tf.gather(self._table, rows), tf.float32) * self._scales
        return logits(self.config, self._dense, looked_up, characters, bits, evidence, self._arithmetic)[self._head]

    def __call__(self, inputs: Inputs) -> NDArray[np.float32]:
        """One logit for each place of texts with nothing between them: cut into windows, sorted by length, put back."""
        out = np.zeros(len(inputs.characters), dtype=np.float32)
        filled = np.concatenate([[False], inputs.characters > 0, [False]])
        edges = np.flatnonzero(filled[1:] != filled[:-1]).tolist()
        places = [
            (start, window)
            for start, stop in zip(edges[::2], edges[1::2], strict=True)
            for window in windows(stop - start, WINDOW, self.config.context)
        ]
        places.sort(key=lambda place: place[1].stop - place[1].start)
        for batch in self._batches_of(places):
            result = self._run(inputs, batch)
            for row, (start, window) in enumerate(batch):
                middle = result[row, window.keep_start - window.start : window.keep_stop - window.start]
                out[start + window.keep_start : start + window.keep_stop] = middle
        return out

    def with_last_layer(self, inputs: Inputs) -> tuple[NDArray[np.float32], LastLayer]:
        """As when called; and what gives the last layer at some places. That is computed on CPUs: they are few."""
        return self(inputs), lambda places: self._on_cpu.last_layer(inputs, places)

    @cached_property
    def _on_cpu(self) -> ProcessorNetwork:
        return ProcessorNetwork(self.config, self._weights)

    def _run(self, inputs: Inputs, batch: list[tuple[int, Window]]) -> NDArray[np.float32]:
        """Logits of a padded batch of windows."""
        shape = self.batches.shape(len(batch), max(window.stop - window.start for _, window in batch))
        characters = np.zeros(shape, dtype=np.int32)
        bits = np.zeros(shape, dtype=np.float32)
        rows = np.zeros((*shape, self.config.features.columns), dtype=np.int32)
        evidence = np.zeros((*shape, self.config.evidence_kinds), dtype=np.float32)
        for row, (start, window) in enumerate(batch):
            read, here = slice(start + window.start, start + window.stop), slice(0, window.stop - window.start)
            characters[row, here] = inputs.characters[read]
            bits[row, here] = inputs.bits[read]
            rows[row, here] = inputs.rows[read]
            evidence[row, here] = inputs.evidence[read]
        found: NDArray[np.float32] = self._compiled(rows, characters, bits, evidence).numpy()
        return found

    def _batches_of(self, places: list[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
        """Batches of places that are sorted by length."""
        batch: list[tuple[int, Window]] = []
        for place in places:
            _, length = self.batches.shape(1, place[1].stop - place[1].start)
            if batch and (len(batch) + 1) * length > self.batches.characters:
                yield batch
                batch = []
            batch.append(place)
        if batch:
            yield batch
