"""FAST's network: one pass, one logit per gap, with the given spaces as input.

Hashed n-grams, straddles and words (`models.fast.features`) index one large table; cheap to look up, they hold what a
larger network would have to compute. Their rows are projected together with character and bit embeddings and other
evidence (`models.fast.inputs`), and pass through dilated residual convolutions to one logit per gap. After the first
few layers there is an exit with logits of its own: where they are certain, the other layers change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from models.fast.shape import CHARACTER_ROWS, FREQUENT_CODES, FastConfig

# Lengths are rounded up to this, which the dilations must divide.
LENGTH_STEP = 32


@dataclass(frozen=True)
class Arithmetic:
    """How the network is computed: the numbers of its convolutions, and what is done with the code between them."""

    convolutions: tf.DType
    fuse: Callable[[Callable[..., Any]], Callable[..., Any]]


PLAIN = Arithmetic(tf.float32, lambda function: function)
# Only convolutions outside XLA use bfloat16; all that lies between them is fused by XLA.
MIXED = Arithmetic(tf.bfloat16, partial(tf.function, jit_compile=True))


def logits(
    config: FastConfig,
    weights: Mapping[str, tf.Tensor],
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    arithmetic: Arithmetic = PLAIN,
) -> list[tf.Tensor]:
    """One logit per gap: those of the exit, if there is one, and those of the last layer.

    Args:
        config: the shape of the network.
        weights: the dense weights.
        rows: looked-up table rows, ``[batch, length, columns, row_width]``.
        characters: code points ``[batch, length]``, 0 where there is none; the length is a multiple of `LENGTH_STEP`.
        bits: given gap bits, 0.0 or 1.0.
        evidence: ``[batch, length, evidence_kinds]``.
        arithmetic: how it is computed.
    """
    kind, fuse = arithmetic.convolutions, arithmetic.fuse

    def convolve(x: tf.Tensor, kernel: str, padding: str = "SAME") -> tf.Tensor:
        return tf.nn.conv1d(x, tf.cast(weights[kernel], kind), 1, padding)

    mask = tf.cast(characters > 0, tf.float32)[..., None]
    near, around_gap, *ngrams = fuse(partial(_front_inputs, config, kind))(
        rows, characters, bits, evidence, mask, weights["characters"]
    )
    parts = [convolve(near, "near/kernel"), tf.matmul(around_gap, tf.cast(weights["gap/kernel"], kind))]
    for (n, _), padded in zip(config.features.ngrams, ngrams, strict=True):
        parts.append(convolve(padded, f"ngram{n}/kernel", "VALID"))
    x = fuse(_front)(parts, weights["front/bias"], mask)
    found = []
    for layer, dilation in enumerate(config.dilations):
        if layer == config.exit_after > 0:
            found.append(_head(config, weights, "exit", x, arithmetic))
        norm = _norm_of(config, weights, f"layer{layer}")
        y = fuse(partial(_before_convolution, dilation, kind))(x, mask, *norm)
        # Right behind the convolution, where TensorFlow makes one operation of the three.
        bias = tf.cast(weights[f"layer{layer}/bias"], kind)
        y = tf.nn.relu(tf.nn.bias_add(convolve(y, f"layer{layer}/kernel"), bias))
        x = fuse(partial(_after_convolution, dilation))(x, y)
    return [*found, _head(config, weights, "out", x, arithmetic)]


def _norm_of(config: FastConfig, weights: Mapping[str, tf.Tensor], part: str) -> list[tf.Tensor]:
    return [weights[f"{part}/scale"], weights[f"{part}/offset"]] if config.normalised else []


def _head(
    config: FastConfig, weights: Mapping[str, tf.Tensor], head: str, x: tf.Tensor, arithmetic: Arithmetic
) -> tf.Tensor:
    kind = arithmetic.convolutions
    y = arithmetic.fuse(_normalise)(x, *_norm_of(config, weights, head))
    y = tf.matmul(tf.cast(y, kind), tf.cast(weights[f"{head}/dense"], kind))
    y = tf.nn.relu(tf.cast(y, tf.float32) + weights[f"{head}/dense_bias"])
    return tf.squeeze(tf.matmul(y, weights[f"{head}/kernel"]) + weights[f"{head}/bias"], -1)


def _front_inputs(
    config: FastConfig,
    kind: tf.DType,
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    mask: tf.Tensor,
    embeddings: tf.Tensor,
) -> list[tf.Tensor]:
    """What is near, what is around the gap, and the n-grams of each length."""
    frequent = tf.where(
        characters < FREQUENT_CODES, characters, FREQUENT_CODES + characters % (CHARACTER_ROWS - FREQUENT_CODES)
    )
    near = tf.concat([tf.gather(embeddings, frequent), bits[..., None], evidence], -1) * mask
    shape, count = tf.shape(characters), len(config.features.ngrams)
    around_gap = tf.reshape(rows[:, :, count:], [shape[0], shape[1], (rows.shape[2] - count) * config.row_width])
    # Position g of a convolution reads the n-grams that start at g - n, …, g: those that touch the gap before g.
    ngrams = [
        tf.pad(rows[:, :, column] * mask, [[0, 0], [n, 0], [0, 0]])
        for column, (n, _) in enumerate(config.features.ngrams)
    ]
    return [tf.cast(one, kind) for one in (near, around_gap, *ngrams)]


def _front(parts: Sequence[tf.Tensor], bias: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return (tf.add_n([tf.cast(part, tf.float32) for part in parts]) + bias) * mask


def _before_convolution(dilation: int, kind: tf.DType, x: tf.Tensor, mask: tf.Tensor, *norm: tf.Tensor) -> tf.Tensor:
    """Normalised, with the dilation folded into the batch: faster, and the CPU has no gradient for dilated ones."""
    y = tf.cast(_normalise(x, *norm) * mask, kind)
    if dilation == 1:
        return y
    shape, width = tf.shape(x), x.shape[-1]
    y = tf.transpose(tf.reshape(y, [shape[0], shape[1] // dilation, dilation, width]), [0, 2, 1, 3])
    return tf.reshape(y, [shape[0] * dilation, shape[1] // dilation, width])


def _after_convolution(dilation: int, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Unfolds the dilation and adds the result to the layer's input."""
    if dilation > 1:
        shape, width = tf.shape(x), x.shape[-1]
        y = tf.transpose(tf.reshape(y, [shape[0], dilation, shape[1] // dilation, width]), [0, 2, 1, 3])
        y = tf.reshape(y, shape)
    return x + tf.cast(y, tf.float32)


def _normalise(x: tf.Tensor, scale: tf.Tensor | None = None, offset: tf.Tensor | None = None) -> tf.Tensor:
    if scale is None:
        return x
    mean = tf.reduce_mean(x, -1, keepdims=True)
    centred = x - mean
    variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
    return centred * tf.math.rsqrt(variance + 1e-5) * scale + offset
