"""What UNI and BID are made of: an LSTM over characters, a dense layer, an output layer.

The input is one-hot, so that its product with the input weights is a row of them: looked up, not multiplied.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import tensorflow as tf

from models.files import ModelError, Weights

Tensors = Mapping[str, tf.Tensor]
Shapes = dict[str, tuple[int, ...]]


@dataclass(frozen=True, kw_only=True)
class NetworkSize:
    """Units of the LSTM (of each direction) and of the dense layer."""

    units: int
    dense: int

    def __post_init__(self) -> None:
        for name, value in asdict(self).items():
            if not (isinstance(value, int) and value >= 1):
                raise ValueError(f"{name} {value!r}: expected a whole number of at least 1")

    @classmethod
    def named(cls, size: str | Mapping[str, int]) -> NetworkSize:
        """A size by its name, or with its own numbers."""
        if not isinstance(size, str):
            return cls(**size)
        if size not in SIZES:
            raise ValueError(f"unknown size {size!r}: expected one of {', '.join(SIZES)}, or units and dense")
        return SIZES[size]


SIZES = {"paper": NetworkSize(units=1024, dense=1024), "small": NetworkSize(units=384, dense=384)}


def lstm_shapes(name: str, inputs: int, units: int) -> Shapes:
    return {
        f"{name}/kernel": (inputs, 4 * units),
        f"{name}/recurrent": (units, 4 * units),
        f"{name}/bias": (4 * units,),
    }


def dense_shapes(name: str, inputs: int, outputs: int) -> Shapes:
    return {f"{name}/kernel": (inputs, outputs), f"{name}/bias": (outputs,)}


def parameters(shapes: Shapes) -> int:
    return sum(int(np.prod(shape)) for shape in shapes.values())


def cell(weights: Tensors, name: str, ids: tf.Tensor, h: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """One step of many LSTMs: reads ``ids`` ``[rows]`` in the states ``h``, ``c`` ``[rows, units]``."""
    return _gates(_projected(weights, name, ids) + h @ weights[f"{name}/recurrent"], c)


def scan(weights: Tensors, name: str, ids: tf.Tensor, products: tf.DType = tf.float32) -> tuple[tf.Tensor, tf.Tensor]:
    """Reads ``ids`` ``[batch, length]``; gives the states ``h`` and ``c`` after each, ``[batch, length, units]``.

    The recurrent products are computed with numbers of the kind ``products``: bfloat16 makes training faster.
    """
    units = weights[f"{name}/recurrent"].shape[0]
    recurrent = tf.cast(weights[f"{name}/recurrent"], products)
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    inputs = tf.TensorArray(tf.float32, length).unstack(_projected(weights, name, tf.transpose(ids)))
    states = tuple(tf.TensorArray(tf.float32, length) for _ in range(2))

    def step(time: tf.Tensor, h: tf.Tensor, c: tf.Tensor, hs: Any, cs: Any) -> tuple[Any, ...]:
        h, c = _gates(inputs.read(time) + tf.cast(tf.cast(h, products) @ recurrent, tf.float32), c)
        return time + 1, h, c, hs.write(time, h), cs.write(time, c)

    zeros = tf.zeros([batch, units])
    *_, hs, cs = tf.while_loop(
        lambda time, *_: time < length, step, (0, zeros, zeros, *states), maximum_iterations=length
    )
    return tuple(tf.ensure_shape(tf.transpose(all_.stack(), [1, 0, 2]), [None, None, units]) for all_ in (hs, cs))


def dense(weights: Tensors, name: str, x: tf.Tensor) -> tf.Tensor:
    return tf.tensordot(x, weights[f"{name}/kernel"], 1) + weights[f"{name}/bias"]


def initial_weights(shapes: Shapes, seed: int) -> Weights:
    """Glorot's uniform start; biases 0, but 1 for forget gates, so that an untrained LSTM remembers."""
    random = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes.items():
        if name.endswith("/bias"):
            value = np.zeros(shape)
            if f"{name.removesuffix('/bias')}/recurrent" in shapes:
                value[shape[0] // 4 : shape[0] // 2] = 1
        else:
            # The four gates of an LSTM are four matrices side by side.
            columns = shape[1] // 4 if f"{name.rpartition('/')[0]}/recurrent" in shapes else shape[1]
            limit = np.sqrt(6 / (shape[0] + columns))
            value = random.uniform(-limit, limit, shape)
        out[name] = value.astype(np.float32)
    return out


def check_weights(weights: Weights, shapes: Shapes) -> dict[str, tf.Tensor]:
    """The weights as tensors.

    Raises:
        ModelError: one of them is missing or has another shape than the configuration says.
    """
    for name, shape in shapes.items():
        found = list(weights[name].shape) if name in weights else "nothing"
        if found != list(shape):
            what = " (the first number is the size of the vocabulary)" if name.endswith("lstm/kernel") else ""
            raise ModelError(f"weights hold {found} for {name!r}, the configuration expects {list(shape)}{what}")
    return {name: tf.constant(weights[name].astype(np.float32)) for name in shapes}


def _projected(weights: Tensors, name: str, ids: tf.Tensor) -> tf.Tensor:
    return tf.gather(weights[f"{name}/kernel"], ids) + weights[f"{name}/bias"]


def _gates(z: tf.Tensor, c: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    write, keep, new, show = tf.split(z, 4, -1)
    c = tf.sigmoid(keep) * c + tf.sigmoid(write) * tf.tanh(new)
    return tf.sigmoid(show) * tf.tanh(c), c
