"""FAST's network: one pass, one logit per gap, with the given spaces as input.

Hashed n-grams, straddles and words (`models.fast.features`) index one large table; cheap to look up, they hold what a
larger network would have to compute. Their rows are projected together with character and bit embeddings and other
evidence (`models.fast.inputs`), and pass through dilated residual convolutions to one logit per gap. Before some of the
layers there are exits with logits of their own: where they are certain, the layers behind them change nothing.

A convolution is written as one product of matrices, of what each place and its neighbours hold side by side: that is
what processors compute fastest, forwards and backwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import tensorflow as tf

from models.fast.shape import CHARACTER_ROWS, FREQUENT_CODES, NEAR, FastConfig
from models.products import product


@dataclass(frozen=True)
class Arithmetic:
    """How the network is computed: the numbers of its products, and what is done with the code between them."""

    products: tf.DType
    fuse: Callable[[Callable[..., Any]], Callable[..., Any]]


PLAIN = Arithmetic(tf.float32, lambda function: function)
# For training: products outside of XLA, which are faster there and can use bfloat16; XLA fuses what lies between them.
IN_32_BITS, IN_BFLOAT16 = (
    Arithmetic(kind, partial(tf.function, jit_compile=True)) for kind in (tf.float32, tf.bfloat16)
)


def logits(
    config: FastConfig,
    weights: Mapping[str, tf.Tensor],
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    arithmetic: Arithmetic = PLAIN,
) -> list[tf.Tensor]:
    """One logit per gap: those of the exits, and those of the last layer.

    What exits learn does not reach the layers before them: they only find out what those know already.

    Args:
        config: the shape of the network.
        weights: the dense weights.
        rows: looked-up table rows, ``[batch, length, columns, row_width]``.
        characters: code points ``[batch, length]``, 0 where there is none.
        bits: given gap bits, 0.0 or 1.0.
        evidence: ``[batch, length, evidence_kinds]``.
        arithmetic: how it is computed.
    """
    mask = mask_of(characters)
    inputs = front_inputs(config, weights["characters"], rows, characters, bits, evidence, arithmetic)
    x = front(weights, inputs, mask, arithmetic)
    return behind_front(config, weights, x, mask, arithmetic)


def front_inputs(
    config: FastConfig,
    embeddings: tf.Tensor,
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    arithmetic: Arithmetic = PLAIN,
) -> tf.Tensor:
    """All that the first product reads of each place, in the order of `models.fast.shape.front_parts`."""
    reads = arithmetic.fuse(partial(_front_inputs, config, arithmetic.products))
    return reads(rows, characters, bits, evidence, mask_of(characters), embeddings)


def front(weights: Mapping[str, tf.Tensor], inputs: tf.Tensor, mask: tf.Tensor, arithmetic: Arithmetic) -> tf.Tensor:
    """The first product."""
    product = _product(inputs, weights["front/kernel"], arithmetic.products)
    return arithmetic.fuse(_after_front)(product, weights["front/bias"], mask)


def behind_front(
    config: FastConfig, weights: Mapping[str, tf.Tensor], x: tf.Tensor, mask: tf.Tensor, arithmetic: Arithmetic = PLAIN
) -> list[tf.Tensor]:
    """Logits of exits and last layer from what the first product gives."""
    kind, fuse = arithmetic.products, arithmetic.fuse
    found = []
    for layer, dilation in enumerate(config.dilations):
        if layer in config.exits:
            found.append(_head(weights, f"exit{layer}", tf.stop_gradient(x), arithmetic))
        around = fuse(partial(_side_by_side, dilation, kind))(x)
        kernel = tf.reshape(weights[f"layer{layer}/kernel"], [-1, config.hidden])
        x = fuse(_after_layer)(x, _product(around, kernel, kind), weights[f"layer{layer}/bias"], mask)
    return [*found, _head(weights, "out", x, arithmetic)]


def mask_of(characters: tf.Tensor) -> tf.Tensor:
    """1 where there is a character."""
    return tf.cast(characters > 0, tf.float32)[..., None]


def _product(x: tf.Tensor, kernel: tf.Tensor, kind: tf.DType) -> tf.Tensor:
    """Of all places with a kernel; flat, which is faster."""
    shape = tf.shape(x)
    flat = product(tf.reshape(x, [-1, x.shape[-1]]), tf.cast(kernel, kind))
    return tf.reshape(flat, [shape[0], shape[1], kernel.shape[-1]])


def _head(weights: Mapping[str, tf.Tensor], head: str, x: tf.Tensor, arithmetic: Arithmetic) -> tf.Tensor:
    kind = arithmetic.products
    y = tf.cast(_product(tf.cast(x, kind), weights[f"{head}/dense"], kind), tf.float32)
    y = tf.nn.relu(y + weights[f"{head}/dense_bias"])
    return tf.squeeze(_product(y, weights[f"{head}/kernel"], tf.float32) + weights[f"{head}/bias"], -1)


def _front_inputs(
    config: FastConfig,
    kind: tf.DType,
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    mask: tf.Tensor,
    embeddings: tf.Tensor,
) -> tf.Tensor:
    shape, count = tf.shape(characters), len(config.features.ngrams)
    parts = []
    for column, (n, _) in enumerate(config.features.ngrams):
        # The gap before g reads the n-grams that start at g - n, …, g: those that touch it.
        padded = tf.pad(rows[:, :, column] * mask, [[0, 0], [n, 0], [0, 0]])
        parts += [padded[:, offset : offset + shape[1]] for offset in range(n + 1)]
    parts.append(tf.reshape(rows[:, :, count:], [shape[0], shape[1], (rows.shape[2] - count) * config.row_width]))
    frequent = tf.where(
        characters < FREQUENT_CODES, characters, FREQUENT_CODES + characters % (CHARACTER_ROWS - FREQUENT_CODES)
    )
    near = tf.concat([tf.gather(embeddings, frequent), bits[..., None], evidence], -1) * mask
    padded = tf.pad(near, [[0, 0], [NEAR, NEAR], [0, 0]])
    parts += [padded[:, offset : offset + shape[1]] for offset in range(2 * NEAR + 1)]
    return tf.cast(tf.concat(parts, -1), kind)


def _after_front(product: tf.Tensor, bias: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return (tf.cast(product, tf.float32) + bias) * mask


def _side_by_side(dilation: int, kind: tf.DType, x: tf.Tensor) -> tf.Tensor:
    """What a convolution over three places reads."""
    length = tf.shape(x)[1]
    padded = tf.pad(tf.cast(x, kind), [[0, 0], [dilation, dilation], [0, 0]])
    return tf.concat([padded[:, part * dilation : part * dilation + length] for part in range(3)], -1)


def _after_layer(x: tf.Tensor, product: tf.Tensor, bias: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return x + tf.nn.relu(tf.cast(product, tf.float32) + bias) * mask
