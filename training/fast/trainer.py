"""FAST in training: the network, its optimisers, checkpoints, and growing from a written model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.model import quantise_table
from models.fast.network import IN_32_BITS, IN_BFLOAT16, logits
from models.fast.shape import dense_shapes
from models.files import ModelFiles, Weights
from models.tensorflow import has_matrix_units
from respace.storage.publish import publish
from training.adam import Adam
from training.data.stream import Batch
from training.fast.choice import choose
from training.fast.config import TrainConfig

# Windows that are looked at together: what the first product reads of them stays in the cache.
_LOOK_WINDOWS = 12
_ADAM = Adam(clip_norm=0.5, beta_2=0.99, epsilon=1e-8)


class FastTrainer:
    """The network, its optimisers and its place in the stream of batches."""

    def __init__(
        self, config: TrainConfig, table: NDArray[np.float32], dictionary: Dictionary, dense: Weights | None = None
    ):
        self.config, self.dictionary = config, dictionary
        shapes = dense_shapes(config.network)
        random = np.random.default_rng(config.seed)
        start = dense or {name: _first_weight(name, shape, random) for name, shape in shapes.items()}
        self.table = tf.Variable(table, trainable=False)
        self.accumulator = tf.Variable(tf.fill(table.shape, np.float32(config.table_first_accumulator)))
        self.dense = {name: tf.Variable(start[name]) for name in shapes}
        self.averaged = {name: tf.Variable(start[name]) for name in shapes}
        self.first = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.second = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.read = tf.Variable(read_inputs(start["front/kernel"]), trainable=False)
        self.step, self.block, self.characters, self.seconds = 0, 0, 0, 0.0
        self.history: list[dict[str, Any]] = []
        # Processors that know bfloat16 but have no matrix units are faster in 32 bits.
        self._arithmetic = IN_BFLOAT16 if has_matrix_units() else IN_32_BITS
        self._dense_step = tf.function(self._step_dense_weights)

    def train(self, batch: Batch, rate: float) -> tf.Tensor:
        """One step; ``rate`` scales both learning rates. Returns the mean loss per gap."""
        self.step += 1
        self.characters += int(batch.counts.sum())
        if batch.last_of_block:
            self.block = batch.block + 1
        if self.step % 100 == 0:
            self.accumulator.assign(self.accumulator * self.config.table_forgetting)
        counts = batch.counts.astype(np.float32)
        if self.config.look_at > 1:
            batch, counts = self._chosen(batch, counts)
        rate *= self.planned_rate()
        warm = min(1.0, self.step / self.config.warmup_steps)
        return self._train(
            tf.constant(batch.rows),
            tf.constant(batch.characters),
            tf.constant(batch.given.astype(np.float32)),
            tf.constant(batch.evidence),
            tf.constant(batch.true.astype(np.float32)),
            tf.constant(counts),
            tf.constant(self.step, tf.float32),
            tf.constant(rate * warm * self.config.learning_rate, tf.float32),
            tf.constant(rate * self.config.table_learning_rate, tf.float32),
        )

    def _chosen(self, batch: Batch, counts: NDArray[np.float32]) -> tuple[Batch, NDArray[np.float32]]:
        """The windows that are worth a step, and how much their gaps count."""
        given, true = batch.given.astype(np.float32), batch.true.astype(np.float32)
        arrays = (batch.rows, batch.characters, given, batch.evidence, true, counts)
        looks = [
            self._look(*(array[first : first + _LOOK_WINDOWS] for array in arrays))
            for first in range(0, len(given), _LOOK_WINDOWS)
        ]
        losses = np.concatenate([one.numpy() for one in looks])
        random = np.random.default_rng([self.config.seed, self.step])
        chosen, weights = choose(losses, self.config.windows, random)
        names = ("characters", "given", "true", "counts", "rows", "evidence")
        return replace(batch, **{name: getattr(batch, name)[chosen] for name in names}), (
            counts[chosen] * weights[:, None]
        )

    @tf.function(jit_compile=True)
    def _look(self, rows, characters, given, evidence, true, counts):  # type: ignore[no-untyped-def]
        """The loss of each window at the first exit; the layers behind it are not computed."""
        looked_up = tf.gather(self.table, rows)
        first = logits(self.config.network, self.dense, looked_up, characters, given, evidence)[0]
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=true, logits=first)
        return tf.reduce_sum(losses * counts, -1)

    def planned_rate(self) -> float:
        """The share of the learning rate that the plan leaves at this point."""
        done = min(1.0, self.characters / self.config.planned_characters)
        return 1 - (1 - self.config.last_rate) * done

    @tf.function
    def _train(self, rows, characters, given, evidence, true, counts, step, rate, table_rate):  # type: ignore[no-untyped-def]
        looked_up = tf.gather(self.table, rows)
        loss, table_gradient = self._dense_step(looked_up, characters, given, evidence, true, counts, step, rate)
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=self.table.handle,
            accum=self.accumulator.handle,
            lr=table_rate,
            epsilon=1e-7,
            grad=tf.reshape(table_gradient, [-1, self.config.network.row_width]),
            indices=tf.reshape(rows, [-1]),
        )
        return loss

    def _step_dense_weights(self, looked_up, characters, given, evidence, true, counts, step, rate):  # type: ignore[no-untyped-def]
        names = list(self.dense)
        with tf.GradientTape() as tape:
            tape.watch(looked_up)
            values = logits(self.config.network, self.dense, looked_up, characters, given, evidence, self._arithmetic)
            weights = counts * (1 + (self.config.error_weight - 1) * tf.abs(given - true))

            def loss_of(wanted: tf.Tensor, found: tf.Tensor) -> tf.Tensor:
                losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=wanted, logits=found)
                return tf.reduce_sum(losses * weights)

            *exits, last = values
            loss = loss_of(true, last)
            # What an exit is to find out is not the truth, but what the last layer will say.
            foreseen = tf.stop_gradient(tf.sigmoid(last))
            total = tf.add_n([loss, *(self.config.exit_loss * loss_of(foreseen, one) for one in exits)])
        *gradients, table_gradient = tape.gradient(total, [*(self.dense[name] for name in names), looked_up])
        gaps = tf.reduce_sum(counts)
        found = dict(zip(names, gradients, strict=True))
        found["front/kernel"] *= self.read[:, None]
        self._update(found, gaps, step, rate)
        return loss / gaps, table_gradient

    @tf.function(jit_compile=True)
    def _update(self, gradients, gaps, step, rate):  # type: ignore[no-untyped-def]
        """A step of Adam, and the running average of the weights."""
        mean = {name: tf.convert_to_tensor(gradient) / gaps for name, gradient in gradients.items()}
        _ADAM.step(self.dense, self.first, self.second, mean, step, rate)
        average = tf.minimum(self.config.average, step / (step + 10))
        for name, weight in self.dense.items():
            self.averaged[name].assign(average * self.averaged[name] + (1 - average) * weight)

    def weights(self) -> Weights:
        """The model as it would be written: averaged dense weights, the table in 8 bits."""
        dense = {name: variable.numpy() for name, variable in self.averaged.items()}
        return dense | quantise_table(self.config.network, self.table.numpy()) | self.dictionary.to_weights()

    def save(self, path: Path) -> None:
        arrays = {"table": self.table.numpy(), "accumulator": self.accumulator.numpy()}
        for kind in ("dense", "averaged", "first", "second"):
            arrays |= {f"{kind}:{name}": variable.numpy() for name, variable in getattr(self, kind).items()}
        state = np.array([self.step, self.block, self.characters, self.seconds])
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, state=state, history=np.array(json.dumps(self.history)), **arrays)

    def restore(self, path: Path) -> None:
        """Takes up a checkpoint.

        Raises:
            ValueError: it is of a network of another shape.
        """
        with np.load(path) as saved:
            for name, variable in {"table": self.table, **{f"dense:{k}": v for k, v in self.dense.items()}}.items():
                found = list(saved[name].shape) if name in saved else "nothing"
                if found != list(variable.shape):
                    raise ValueError(
                        f"{path} holds {found} for {name!r}, the configuration expects {list(variable.shape)}: "
                        "give the configuration it was made with, or another --run_dir"
                    )
            self.table.assign(saved["table"])
            self.accumulator.assign(saved["accumulator"])
            for kind in ("dense", "averaged", "first", "second"):
                for name, variable in getattr(self, kind).items():
                    variable.assign(saved[f"{kind}:{name}"])
            self.read.assign(read_inputs(saved["dense:front/kernel"]))
            step, block, characters, self.seconds = saved["state"].tolist()
            self.step, self.block, self.characters = int(step), int(block), int(characters)
            self.history = json.loads(str(saved["history"]))


def read_inputs(front: NDArray[np.float32]) -> NDArray[np.float32]:
    """1 for inputs of the first product that are read; those whose weights are all 0 were left out, and stay so."""
    return np.any(front != 0, axis=1).astype(np.float32)


def _first_weight(name: str, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float32]:
    if name.endswith(("bias", "offset")):
        return np.zeros(shape, dtype=np.float32)
    if name.endswith("scale"):
        return np.ones(shape, dtype=np.float32)
    if name == "characters":
        return random.normal(0, 0.3, shape).astype(np.float32)
    return random.normal(0, np.sqrt(1.0 / np.prod(shape[:-1])), shape).astype(np.float32)


def grow_weights(shapes: Mapping[str, tuple[int, ...]], weights: Weights, seed: int) -> Weights:
    """Weights for a network that has more than the written one: what is new changes almost nothing at first.

    New layers start near nothing (not at nothing, where a rectifier learns nothing). What the first product reads
    cannot grow: an input whose weights are nothing is one that was left out.
    """
    random = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes.items():
        if name not in weights:
            faint = 0.1 if name.endswith("kernel") else 1.0
            out[name] = faint * _first_weight(name, shape, random)
            continue
        missing = [(0, wanted - found) for wanted, found in zip(shape, weights[name].shape, strict=True)]
        if min(more for _, more in missing) < 0 or (name == "front/kernel" and any(more for _, more in missing)):
            raise ValueError(f"{name!r} is {weights[name].shape} in the model to start from: expected {shape}")
        out[name] = np.pad(weights[name].astype(np.float32), missing)
    return out


def start_from(config: TrainConfig, files: ModelFiles, dictionary: Dictionary) -> FastTrainer:
    """A trainer that goes on from a written model."""
    starts = [*config.network.features.table_starts().values(), config.network.features.rows]
    table = files.weights["table"].astype(np.float32)
    for part, (start, stop) in enumerate(pairwise(starts)):
        table[start:stop] *= files.weights["table_scales"][part]
    trainer = FastTrainer(
        config, table, dictionary, grow_weights(dense_shapes(config.network), files.weights, config.seed)
    )
    before = files.config["training"]
    trainer.characters, trainer.seconds = before["characters"], 3600 * before["hours"]
    trainer.history = before.get("history", [])
    return trainer
