"""FAST's network in TensorFlow: on graphics cards, and for shapes that `models.fast.processor` does not compute."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.inputs import Inputs
from models.fast.network import LENGTH_STEP, logits
from models.fast.shape import FastConfig, dense_shapes
from models.files import Weights
from respace.windows import Window, windows

# Long windows waste little on context; batches of this size stay in a processor's cache.
WINDOW = 1024
BATCH_CHARACTERS = 4096


class TensorFlowNetwork:
    """The network with its weights."""

    # One place between two texts is enough: each is computed by itself.
    apart = 1

    def __init__(self, config: FastConfig, weights: Weights):
        self.config = config
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
        )

    def _forward(self, rows: tf.Tensor, characters: tf.Tensor, bits: tf.Tensor, evidence: tf.Tensor) -> tf.Tensor:
        looked_up = tf.cast(tf.gather(self._table, rows), tf.float32) * self._scales
        return logits(self.config, self._dense, looked_up, characters, bits, evidence)[-1]

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
        for batch in _batches(places):
            result = self._run(inputs, batch)
            for row, (start, window) in enumerate(batch):
                middle = result[row, window.keep_start - window.start : window.keep_stop - window.start]
                out[start + window.keep_start : start + window.keep_stop] = middle
        return out

    def _run(self, inputs: Inputs, batch: list[tuple[int, Window]]) -> NDArray[np.float32]:
        """Logits of a padded batch of windows."""
        length = -(-max(window.stop - window.start for _, window in batch) // LENGTH_STEP) * LENGTH_STEP
        characters = np.zeros((len(batch), length), dtype=np.int32)
        bits = np.zeros((len(batch), length), dtype=np.float32)
        rows = np.zeros((len(batch), length, self.config.features.columns), dtype=np.int32)
        evidence = np.zeros((len(batch), length, self.config.evidence_kinds), dtype=np.float32)
        for row, (start, window) in enumerate(batch):
            read, here = slice(start + window.start, start + window.stop), slice(0, window.stop - window.start)
            characters[row, here] = inputs.characters[read]
            bits[row, here] = inputs.bits[read]
            rows[row, here] = inputs.rows[read]
            evidence[row, here] = inputs.evidence[read]
        found: NDArray[np.float32] = self._compiled(rows, characters, bits, evidence).numpy()
        return found


def _batches(places: list[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
    """Batches of places sorted by length, each of about `BATCH_CHARACTERS` padded characters."""
    batch: list[tuple[int, Window]] = []
    for place in places:
        if batch and (len(batch) + 1) * (place[1].stop - place[1].start) > BATCH_CHARACTERS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
