from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from models.products import product


@pytest.mark.parametrize(("rows", "inputs", "outputs"), [(1, 8, 8), (96, 33, 7), (512, 384, 128)])
def test_bfloat16_is_32_bits_but_for_rounding(rows: int, inputs: int, outputs: int) -> None:
    """The product and both gradients; on processors with matrix units, the plain product would end the process."""
    random = np.random.default_rng(1)
    arrays = [random.normal(size=size).astype(np.float32) for size in ((rows, inputs), (inputs, outputs))]
    weights = tf.constant(random.normal(size=(rows, outputs)).astype(np.float32))

    @tf.function
    def everything(x: tf.Tensor, kernel: tf.Tensor) -> list[tf.Tensor]:
        with tf.GradientTape() as tape:
            tape.watch([x, kernel])
            found = product(x, kernel)
            total = tf.reduce_sum(tf.cast(found, tf.float32) * weights)
        return [found, *tape.gradient(total, [x, kernel])]

    for kind in (tf.float32, tf.bfloat16):
        found = everything(*(tf.cast(one, kind) for one in arrays))
        x, kernel = arrays
        wanted = [x @ kernel, weights.numpy() @ kernel.T, x.T @ weights.numpy()]
        for one, other in zip(found, wanted, strict=True):
            error = np.abs(tf.cast(one, tf.float32).numpy() - other)
            assert error.max() <= (0.02 if kind == tf.bfloat16 else 1e-4) * np.abs(other).max()
