"""Which inputs of the first product matter least: it is the only product that is computed at every place.

How much the loss of each gap would change without an input is about what it holds times the gradient behind it. The
sum of squares of that, over many gaps, says which inputs hardly matter. Their weights become 0 and stay so
(`training.fast.trainer.read_inputs`), and what computes the network leaves them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.network import PLAIN, behind_front, front, front_inputs, mask_of
from training.data.stream import Batch
from training.fast.trainer import FastTrainer, read_inputs

# What it is found on: batches, of which so many windows are computed together.
_BATCHES = 24
_WINDOWS = 12


def prune_front(trainer: FastTrainer, batches: Iterator[Batch], kept: int) -> None:
    """Leaves the most important inputs, so many, and takes away the others."""
    importance = np.sum([_importance(trainer, batch) for batch in islice(batches, _BATCHES)], axis=0)
    left_out = np.argsort(importance, kind="stable")[:-kept]
    for weights in (trainer.dense, trainer.averaged, trainer.first, trainer.second):  # momentum would bring them back
        kernel = weights["front/kernel"].numpy()
        kernel[left_out] = 0.0
        weights["front/kernel"].assign(kernel)
    trainer.read.assign(read_inputs(trainer.dense["front/kernel"].numpy()))
    share = importance[left_out].sum() / importance.sum()
    print(f"{len(left_out)} of {len(importance)} inputs left out, {100 * share:.2f} % of all importance", flush=True)


def _importance(trainer: FastTrainer, batch: Batch) -> NDArray[np.float64]:
    arrays = (batch.rows, batch.characters, batch.given, batch.evidence, batch.true, batch.counts)
    parts = [
        _importance_in(trainer, *(tf.constant(array[first : first + _WINDOWS]) for array in arrays)).numpy()
        for first in range(0, len(batch.given), _WINDOWS)
    ]
    found: NDArray[np.float64] = np.sum(parts, axis=0, dtype=np.float64)
    return found


@tf.function(jit_compile=True)
def _importance_in(trainer, rows, characters, given, evidence, true, counts):  # type: ignore[no-untyped-def]
    """Of each input, over some windows."""
    config, weights, mask = trainer.config.network, trainer.dense, mask_of(characters)
    looked_up, bits = tf.gather(trainer.table, rows), tf.cast(given, tf.float32)
    inputs = front_inputs(config, weights["characters"], looked_up, characters, bits, evidence)
    with tf.GradientTape() as tape:
        x = front(weights, inputs, mask, PLAIN)
        tape.watch(x)
        last = behind_front(config, weights, x, mask)[-1]
        losses = tf.nn.sigmoid_cross_entropy_with_logits(labels=tf.cast(true, tf.float32), logits=last)
        loss = tf.reduce_sum(losses * tf.cast(counts, tf.float32))
    gradient = tape.gradient(loss, x)
    behind = tf.matmul(gradient, weights["front/kernel"], transpose_b=True)
    return tf.reduce_sum(tf.square(inputs * behind), [0, 1])
