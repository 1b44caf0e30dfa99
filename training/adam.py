"""Adam, as every network here is trained with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import tensorflow as tf

Variables = Mapping[str, tf.Variable]


@dataclass(frozen=True, kw_only=True)
class Adam:
    """Its settings; gradients are clipped by their norm over all weights."""

    clip_norm: float
    beta_1: float = 0.9
    beta_2: float = 0.999
    epsilon: float = 1e-7

    def step(
        self,
        weights: Variables,
        first: Variables,
        second: Variables,
        gradients: Mapping[str, tf.Tensor],
        number: tf.Tensor,
        rate: tf.Tensor,
    ) -> None:
        """Changes the weights and their moments; the first step has number 1."""
        clipped, _ = tf.clip_by_global_norm([tf.convert_to_tensor(one) for one in gradients.values()], self.clip_norm)
        scale = rate * tf.sqrt(1 - tf.pow(self.beta_2, number)) / (1 - tf.pow(self.beta_1, number))
        for name, gradient in zip(gradients, clipped, strict=True):
            one = first[name].assign(self.beta_1 * first[name] + (1 - self.beta_1) * gradient)
            two = second[name].assign(self.beta_2 * second[name] + (1 - self.beta_2) * tf.square(gradient))
            weights[name].assign_sub(scale * one / (tf.sqrt(two) + self.epsilon))
