"""Products of matrices in TensorFlow, in 32 bits or in bfloat16."""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf


def product(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """``x @ kernel`` for flat ``x``; within a `tf.function`, if it is in bfloat16."""
    return _in_bfloat16(x, kernel) if x.dtype == tf.bfloat16 else tf.matmul(x, kernel)


@tf.custom_gradient
def _in_bfloat16(
    x: tf.Tensor, kernel: tf.Tensor
) -> tuple[tf.Tensor, Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]]]:
    """Always with a bias, of nothing, backwards too.

    TensorFlow 2.21 computes a product that is followed by a bias in other code than one that is not. On processors with
    matrix units (AMX) the latter ends in an illegal instruction, and the former is several times as fast as in 32 bits.
    What is transposed is hidden from the optimiser, which would fold it into the product and part that from its bias.
    """

    def gradients(of: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        return _with_bias(of, _turned(kernel)), _with_bias(_turned(x), of)

    return _with_bias(x, kernel), gradients


def _with_bias(x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    return tf.nn.bias_add(tf.matmul(x, kernel), _nothing(kernel.shape[-1]))


def _turned(x: tf.Tensor) -> tf.Tensor:
    turned = tf.transpose(x[None], [0, 2, 1])
    return tf.reshape(turned, [x.shape[1], x.shape[0] if x.shape[0] is not None else tf.shape(x)[0]])


def _nothing(width: int) -> tf.Tensor:
    """Zeros that the optimiser does not know for what they are: it would take them away."""
    return tf.raw_ops.PlaceholderWithDefault(input=tf.zeros([width], tf.bfloat16), shape=[width])
