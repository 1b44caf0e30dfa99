"""The reader's network in TensorFlow, to train it and for graphics cards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf

from models.products import product
from models.reader.config import EPSILON, GELU_REACH, GELU_SQUARE, ReaderConfig
from models.reader.tokens import ASKS

_MINUS_INFINITY = -1e9
Tensors = Mapping[str, tf.Tensor]


@dataclass(frozen=True, kw_only=True)
class TokenBatch:
    """Tokens of passages, padded to one number; groups are -1 where there is none.

    ``asks`` has the passage and the token of each gap, ``gap_numbers`` and ``gap_codes`` what is known of it.
    """

    pieces: tf.Tensor
    kinds: tf.Tensor
    groups: tf.Tensor
    positions: tf.Tensor
    features: tf.Tensor
    asks: tf.Tensor
    gap_numbers: tf.Tensor
    gap_codes: tf.Tensor


def corrections(config: ReaderConfig, weights: Tensors, batch: TokenBatch, dtype: tf.DType = tf.float32) -> tf.Tensor:
    """What is added to the logit of each gap.

    Args:
        config: of the network.
        weights: all of them.
        batch: what is read.
        dtype: of the products.
    """
    characters = tf.gather(weights["characters"], batch.gap_codes)
    characters *= tf.cast(batch.gap_codes > 0, tf.float32)[..., None]
    characters = tf.reshape(characters, [-1, batch.gap_codes.shape[1] * config.character_width])
    gaps = tf.concat([batch.gap_numbers, characters], -1)
    x = tf.gather(weights["pieces"], batch.pieces) + tf.gather(weights["positions"], batch.positions)
    x += tf.gather(weights["kinds"], batch.kinds)
    x += tf.tensordot(batch.features, weights["token_features"], 1)
    x = tf.tensor_scatter_nd_add(x, batch.asks, tf.matmul(gaps, weights["gap/kernel"]) + weights["gap/bias"])
    x = _normalise(x, weights, "embedded")
    mask = tf.where(visible(batch.groups, batch.kinds), 0.0, _MINUS_INFINITY)[:, None]
    for layer in range(config.layers):
        x = _normalise(x + _attend(config, weights, f"layer{layer}", x, mask, dtype), weights, f"layer{layer}/attended")
        x = _normalise(x + _feed_forward(weights, f"layer{layer}", x, dtype), weights, f"layer{layer}/feed")
    read = tf.concat([tf.gather_nd(x, batch.asks), gaps], -1)
    hidden = gelu(tf.matmul(read, weights["output/dense"]) + weights["output/dense_bias"])
    return tf.squeeze(tf.matmul(hidden, weights["output/kernel"]), -1) + weights["output/bias"]


def visible(groups: tf.Tensor, kinds: tf.Tensor) -> tf.Tensor:
    """Which tokens a token attends to: those of the text, of its own gap, and if it belongs to a gap, all that ask."""
    seen, seeing = groups[:, None, :], groups[:, :, None]
    asking = (kinds == ASKS) & (groups > 0)
    return (seen == 0) | ((seen > 0) & (seen == seeing)) | (asking[:, None, :] & (seeing > 0))


def gelu(x: tf.Tensor) -> tf.Tensor:
    """
    >>> [round(float(one), 3) for one in gelu(tf.constant([-3.0, -1.0, 0.0, 1.0, 3.0]))]
    [-0.0, -0.163, 0.0, 0.837, 3.0]
    """
    inner = tf.minimum(tf.abs(x) * 0.7071067811865476, -GELU_REACH) + GELU_REACH
    return x * 0.5 * (1 + tf.sign(x) * (GELU_SQUARE * inner * inner + 1))


def _normalise(x: tf.Tensor, weights: Tensors, name: str) -> tf.Tensor:
    mean, variance = tf.nn.moments(x, [-1], keepdims=True)
    return (x - mean) * tf.math.rsqrt(variance + EPSILON) * weights[f"{name}_scale"] + weights[f"{name}_shift"]


def _product(x: tf.Tensor, kernel: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    """``x @ kernel`` for ``[passages, tokens, width]``."""
    shape = tf.shape(x)
    flat = tf.reshape(x, [-1, x.shape[-1]])
    out = tf.cast(product(tf.cast(flat, dtype), tf.cast(kernel, dtype)), tf.float32)
    return tf.reshape(out, [shape[0], shape[1], kernel.shape[-1]])


def _attend(
    config: ReaderConfig, weights: Tensors, layer: str, x: tf.Tensor, mask: tf.Tensor, dtype: tf.DType
) -> tf.Tensor:
    shape = tf.shape(x)
    each = config.width // config.heads
    mixed = _product(x, weights[f"{layer}/qkv"], dtype) + weights[f"{layer}/qkv_bias"]
    mixed = tf.transpose(tf.reshape(mixed, [shape[0], shape[1], 3, config.heads, each]), [2, 0, 3, 1, 4])
    scores = tf.matmul(mixed[0], mixed[1], transpose_b=True) * each**-0.5 + mask
    attended = tf.matmul(tf.nn.softmax(scores), mixed[2])
    attended = tf.reshape(tf.transpose(attended, [0, 2, 1, 3]), [shape[0], shape[1], config.width])
    return _product(attended, weights[f"{layer}/attended"], dtype) + weights[f"{layer}/attended_bias"]


def _feed_forward(weights: Tensors, layer: str, x: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    hidden = gelu(_product(x, weights[f"{layer}/feed_in"], dtype) + weights[f"{layer}/feed_in_bias"])
    return _product(hidden, weights[f"{layer}/feed_out"], dtype) + weights[f"{layer}/feed_out_bias"]
