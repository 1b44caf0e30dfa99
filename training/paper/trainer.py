"""UNI and BID's bidirectional network in training: losses, Adam, checkpoints, and how good they are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.files import ModelFiles, Weights
from models.paper import lstm
from models.paper.bid import bid_shapes, gap_logits
from models.paper.lstm import NetworkSize, Tensors
from models.paper.uni import sequence_logits, uni_shapes
from models.paper.vocabulary import Vocabulary
from models.tensorflow import has_bfloat16, has_matrix_units
from respace.storage.publish import publish
from training.adam import Adam
from training.data.text_stream import Piece, TextBatch, pad

Kind = Literal["uni", "bid"]
# Within a loop, `models.products` cannot be used.
_PRODUCTS = tf.bfloat16 if has_bfloat16() and not has_matrix_units() else tf.float32


def uni_loss(
    weights: Tensors, vocabulary: Vocabulary, ids: tf.Tensor, lengths: tf.Tensor, products: tf.DType = tf.float32
) -> tuple[tf.Tensor, Any]:
    """Summed cross-entropy of every character given those before it, and the logits."""
    starts = tf.fill([tf.shape(ids)[0], 1], vocabulary.start)
    logits = sequence_logits(weights, tf.concat([starts, ids[:, :-1]], 1), products)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=ids, logits=logits)
    return tf.reduce_sum(losses * tf.sequence_mask(lengths, tf.shape(ids)[1], tf.float32)), logits


def bid_loss(
    weights: Tensors,
    vocabulary: Vocabulary,
    ids: tf.Tensor,
    bits: tf.Tensor,
    lengths: tf.Tensor,
    products: tf.DType = tf.float32,
) -> tuple[tf.Tensor, Any]:
    """Summed cross-entropy of the gaps, and their logits."""
    logits = gap_logits(weights, vocabulary.start, vocabulary.end, ids, lengths, products)
    losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(bits, tf.float32), logits=logits)
    return tf.reduce_sum(losses * tf.sequence_mask(lengths, tf.shape(ids)[1], tf.float32)), logits


class PaperTrainer:
    """A network, its Adam, and its place in the stream of batches."""

    def __init__(
        self,
        kind: Kind,
        vocabulary: Vocabulary,
        size: NetworkSize,
        learning_rate: float = 0.001,
        clip_norm: float = 5.0,
        seed: int = 1,
    ):
        self.kind, self.vocabulary, self.size = kind, vocabulary, size
        self.learning_rate, self.adam = learning_rate, Adam(clip_norm=clip_norm)
        self.shapes = (uni_shapes if kind == "uni" else bid_shapes)(len(vocabulary), size)
        start = lstm.initial_weights(self.shapes, seed)
        self.variables = {name: tf.Variable(start[name]) for name in self.shapes}
        self.first = {name: tf.Variable(tf.zeros(shape)) for name, shape in self.shapes.items()}
        self.second = {name: tf.Variable(tf.zeros(shape)) for name, shape in self.shapes.items()}
        self.step, self.block, self.characters, self.seconds = 0, 0, 0, 0.0
        table = lambda kind: tf.TensorSpec([None, None], kind)  # noqa: E731
        signature = [table(tf.int32), table(tf.bool), tf.TensorSpec([None], tf.int32)]
        number = tf.TensorSpec([], tf.float32)
        self._train = tf.function(self._train_step, input_signature=[*signature, number, number])
        self._measure = tf.function(self._measure_batch, input_signature=signature)

    def train(self, batch: TextBatch, rate: float = 1.0) -> tf.Tensor:
        """One step; ``rate`` scales the learning rate. Returns the mean loss per character or gap."""
        self.step += 1
        self.characters += int(batch.lengths.sum())
        if batch.last_of_block:
            self.block = batch.block + 1
        return self._train(
            batch.ids, batch.bits, batch.lengths, np.float32(self.step), np.float32(rate * self.learning_rate)
        )

    def _loss(
        self, weights: Tensors, ids: tf.Tensor, bits: tf.Tensor, lengths: tf.Tensor, products: tf.DType = tf.float32
    ) -> tuple[tf.Tensor, Any]:
        if self.kind == "uni":
            return uni_loss(weights, self.vocabulary, ids, lengths, products)
        return bid_loss(weights, self.vocabulary, ids, bits, lengths, products)

    def _train_step(self, ids, bits, lengths, step, rate):  # type: ignore[no-untyped-def]
        names = list(self.variables)
        with tf.GradientTape() as tape:
            total, _ = self._loss(self.variables, ids, bits, lengths, _PRODUCTS)
            loss = total / tf.cast(tf.reduce_sum(lengths), tf.float32)
        gradients = tape.gradient(loss, [self.variables[name] for name in names])
        by_name = dict(zip(names, gradients, strict=True))
        self.adam.step(self.variables, self.first, self.second, by_name, step, rate)
        return loss

    def measure(self, pieces: Sequence[Piece], batch: int = 64) -> dict[str, float]:
        """Cross-entropy (nats) and accuracy per character (UNI, also among the best 5) or per gap (BID)."""
        ordered = sorted(pieces, key=lambda piece: len(piece[0]))
        sums = np.zeros(4)
        for start in range(0, len(ordered), batch):
            padded = pad(list(ordered[start : start + batch]), 0, False)
            sums += [float(value) for value in self._measure(padded.ids, padded.bits, padded.lengths)]
        count = max(1.0, sums[3])
        found = {"cross_entropy": sums[0] / count, "accuracy": sums[1] / count}
        return found | ({"top_5_accuracy": sums[2] / count} if self.kind == "uni" else {})

    def _measure_batch(self, ids, bits, lengths):  # type: ignore[no-untyped-def]
        total, logits = self._loss(self.variables, ids, bits, lengths)
        counts = tf.sequence_mask(lengths, tf.shape(ids)[1], tf.float32)
        if self.kind == "uni":
            right = tf.equal(tf.argmax(logits, -1, tf.int32), ids)
            flat = tf.reshape(logits, [-1, len(self.vocabulary)])
            near = tf.reshape(tf.math.in_top_k(tf.reshape(ids, [-1]), flat, 5), tf.shape(ids))
        else:
            right = near = tf.equal(logits > 0, bits)
        hits = (tf.reduce_sum(tf.cast(one, tf.float32) * counts) for one in (right, near))
        return (total, *hits, tf.reduce_sum(counts))

    def weights(self, kind: type = np.float16) -> Weights:
        """The weights as they are written. Half precision: the scores do not change, the file is half as large."""
        return {name: variable.numpy().astype(kind) for name, variable in self.variables.items()}

    def save(self, path: Path) -> None:
        arrays = {
            f"{kind}:{name}": variable.numpy()
            for kind in ("variables", "first", "second")
            for name, variable in getattr(self, kind).items()
        }
        state = np.array([self.step, self.block, self.characters, self.seconds])
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, state=state, **arrays)

    def start_from(self, files: ModelFiles) -> None:
        """Goes on from a finished model, with an Adam that begins anew.

        Raises:
            ValueError: it is of a network of another size or kind.
        """
        self._check(files.weights, f"the model {files.name}", "another --start_from")
        for name, variable in self.variables.items():
            variable.assign(files.weights[name].astype(np.float32))
        training = files.config.get("training", {})
        self.characters, self.seconds = int(training.get("characters", 0)), 3600 * float(training.get("hours", 0))

    def _check(self, weights: Mapping[str, NDArray[Any]], whose: str, otherwise: str) -> None:
        for name, shape in self.shapes.items():
            found = list(weights[name].shape) if name in weights else "nothing"
            if found != list(shape):
                raise ValueError(
                    f"{whose} holds {found} for {name!r}, the configuration expects {list(shape)}: "
                    f"give the configuration it was made with, or {otherwise}"
                )

    def restore(self, path: Path) -> None:
        """Takes up a checkpoint.

        Raises:
            ValueError: it is of a network of another size or kind.
        """
        with np.load(path) as saved:
            variables = {name: saved[key] for name in self.shapes if (key := f"variables:{name}") in saved}
            self._check(variables, f"{path}", "another --run_dir")
            for kind in ("variables", "first", "second"):
                for name, variable in getattr(self, kind).items():
                    variable.assign(saved[f"{kind}:{name}"])
            step, block, characters, self.seconds = saved["state"].tolist()
            self.step, self.block, self.characters = int(step), int(block), int(characters)
