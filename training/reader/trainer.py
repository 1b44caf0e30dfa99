"""The reader in training: the network, its optimiser, checkpoints."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.files import Weights
from models.reader.config import frozen_shapes, trained_shapes
from models.reader.network import TokenBatch, corrections
from respace.storage.publish import publish
from training.adam import Adam
from training.reader.batches import ReaderBatch
from training.reader.config import ReaderTrainConfig

_ADAM = Adam(clip_norm=1.0, beta_2=0.98, epsilon=1e-8)
_KINDS = ("weights", "averaged", "first", "second")
# Weights that no pretrained encoder has.
_NEW = ("gap/", "output/", "token_features", "characters", "kinds")
_INPUTS = ("pieces", "kinds", "groups", "positions", "features", "asks", "gap_numbers", "gap_codes")
_SHAPES = {"asks": 2, "gap_numbers": 2, "gap_codes": 2}


class ReaderTrainer:
    """The network, its optimiser and its place in the stream of batches."""

    def __init__(self, config: ReaderTrainConfig, start: Weights | None = None):
        """
        Args:
            config: of the training.
            start: weights to begin with; those that are missing are drawn.
        """
        self.config = config
        start = start or {}
        shapes = trained_shapes(config.reader)
        random = np.random.default_rng(config.seed)
        begin = {
            name: start[name].astype(np.float32) if name in start else _first_weight(name, shape, random)
            for name, shape in (shapes | frozen_shapes(config.reader)).items()
        }
        self.frozen = {name: tf.constant(begin[name]) for name in frozen_shapes(config.reader)}
        self.weights = {name: tf.Variable(begin[name]) for name in shapes}
        self.averaged = {name: tf.Variable(begin[name]) for name in shapes}
        self.first = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.second = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.step, self.block, self.characters, self.seconds = 0, 0, 0, 0.0
        self.practice_loss = 0.7
        self.history: list[dict[str, Any]] = []

    def train(self, batch: ReaderBatch, rate: float) -> tf.Tensor:
        """One step; returns the mean loss of the gaps, less that of FAST alone."""
        self.step += 1
        self.characters += batch.characters
        if batch.last_of_block:
            self.block = batch.block + 1
        rate *= self.config.learning_rate * min(1.0, self.step / self.config.warmup_steps)
        gradients, gain, practice = self._gradients(tensors_of(batch), batch.logits, batch.true, batch.practice)
        self.practice_loss = 0.98 * self.practice_loss + 0.02 * float(practice)
        self._update(gradients, tf.constant(self.step, tf.float32), tf.constant(rate, tf.float32))
        return gain

    @tf.function(reduce_retracing=True)
    def _gradients(self, inputs, logits, true, practice):  # type: ignore[no-untyped-def]
        names = list(self.weights)
        practised = tf.cast(practice, tf.float32)
        asked = 1 - practised
        with tf.GradientTape() as tape:
            added = self._corrections(self.weights, inputs)
            losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=true, logits=logits + added)
            loss = tf.math.divide_no_nan(tf.reduce_sum(losses * asked), tf.reduce_sum(asked))
            of_practice = tf.math.divide_no_nan(tf.reduce_sum(losses * practised), tf.reduce_sum(practised))
            together = loss + self.config.practice_weight * of_practice
        gradients = tape.gradient(together, [self.weights[name] for name in names])
        losses_before = tf.nn.sigmoid_cross_entropy_with_logits(labels=true, logits=logits)
        before = tf.math.divide_no_nan(tf.reduce_sum(losses_before * asked), tf.reduce_sum(asked))
        return dict(zip(names, map(tf.convert_to_tensor, gradients), strict=True)), loss - before, of_practice

    @tf.function(jit_compile=True)
    def _update(self, gradients, step, rate):  # type: ignore[no-untyped-def]
        """A step of Adam with decoupled weight decay, and the running average of the weights."""
        for pretrained in (False, True):
            names = [name for name in self.weights if pretrained == (not name.startswith(_NEW))]
            here = rate * (self.config.pretrained_rate if pretrained else 1.0)
            chosen = {name: self.weights[name] for name in names}
            _ADAM.step(chosen, self.first, self.second, {name: gradients[name] for name in names}, step, here)
            for weight in chosen.values():
                if len(weight.shape) == 2:
                    weight.assign_sub(here * self.config.weight_decay * weight)
        average = tf.minimum(self.config.ema_decay, step / (step + 10))
        for name, weight in self.weights.items():
            self.averaged[name].assign(average * self.averaged[name] + (1 - average) * weight)

    def _corrections(self, weights, inputs):  # type: ignore[no-untyped-def]
        dtype = tf.bfloat16 if self.config.bfloat16 else tf.float32
        return corrections(self.config.reader, {**weights, **self.frozen}, TokenBatch(**inputs), dtype)

    @tf.function(reduce_retracing=True)
    def _averaged_corrections(self, inputs):  # type: ignore[no-untyped-def]
        return self._corrections(self.averaged, inputs)

    def corrections(self, batch: ReaderBatch) -> NDArray[np.float32]:
        """Of the averaged weights."""
        found: NDArray[np.float32] = self._averaged_corrections(tensors_of(batch)).numpy()
        return found

    def measure(self, batches: Iterable[ReaderBatch]) -> dict[str, float]:
        """Loss and errors on passages that were not trained on, against those without the reader."""
        logits, added, true = [], [], []
        for batch in batches:
            logits.append(batch.logits)
            true.append(batch.true)
            added.append(self.corrections(batch))
        before, wanted = np.concatenate(logits), np.concatenate(true) > 0
        after = before + np.concatenate(added)
        return {
            "loss": _loss(after, wanted) / _loss(before, wanted) - 1,
            "wrong": float(np.mean((after > 0) != wanted) / np.mean((before > 0) != wanted) - 1),
        }

    def arrays(self) -> Weights:
        """The model as it would be written: averaged weights."""
        return {name: variable.numpy() for name, variable in self.averaged.items()}

    def save(self, path: Path) -> None:
        arrays = {
            f"{kind}:{name}": variable.numpy() for kind in _KINDS for name, variable in getattr(self, kind).items()
        }
        state = np.array([self.step, self.block, self.characters, self.seconds])
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, state=state, history=np.array(json.dumps(self.history)), **arrays)

    def restore(self, path: Path) -> None:
        """Takes up a checkpoint.

        Raises:
            ValueError: it is of a network with another configuration.
        """
        with np.load(path) as saved:
            for name, variable in self.weights.items():
                found = list(saved[f"weights:{name}"].shape) if f"weights:{name}" in saved else "nothing"
                if found != list(variable.shape):
                    raise ValueError(
                        f"{path} holds {found} for {name!r}, the configuration expects {list(variable.shape)}: "
                        "give the configuration it was made with, or another --run_dir"
                    )
            for kind in _KINDS:
                for name, variable in getattr(self, kind).items():
                    variable.assign(saved[f"{kind}:{name}"])
            step, block, characters, self.seconds = saved["state"].tolist()
            self.step, self.block, self.characters = int(step), int(block), int(characters)
            self.history = json.loads(str(saved["history"]))


def tensors_of(batch: ReaderBatch) -> dict[str, Any]:
    return {name: tf.constant(getattr(batch, name)) for name in _INPUTS}


def _loss(logits: NDArray[np.float32], wanted: NDArray[np.bool_]) -> float:
    return float(np.logaddexp(0, np.where(wanted, -logits, logits)).mean())


def _first_weight(name: str, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float32]:
    if name in ("output/kernel", "token_features", "kinds") or name.endswith(("bias", "shift")):
        return np.zeros(shape, dtype=np.float32)
    if name.endswith("scale"):
        return np.ones(shape, dtype=np.float32)
    if name == "characters":
        return random.normal(0, 0.5, shape).astype(np.float32)
    if name in ("positions", "pieces"):
        return random.normal(0, 0.03, shape).astype(np.float32)
    if name == "gap/kernel":
        return random.normal(0, 0.03 * np.sqrt(1.0 / shape[0]), shape).astype(np.float32)
    return random.normal(0, 0.7 * np.sqrt(1.0 / shape[0]), shape).astype(np.float32)
