"""The paper's beam search in plain Python and NumPy, one state and one character at a time, from the equations."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from models.files import Weights

Vector = NDArray[np.float64]


def sigmoid(x: Vector) -> Vector:
    return 1 / (1 + np.exp(-x))


def log_sigmoid(x: float) -> float:
    return -math.log1p(math.exp(-x)) if x > 0 else x - math.log1p(math.exp(x))


class LanguageModel:
    """UNI, with a one-hot vector for every character."""

    def __init__(self, weights: Weights):
        self.weights = {name: value.astype(np.float64) for name, value in weights.items()}

    def start(self) -> tuple[Vector, Vector]:
        units = self.weights["uni/lstm/recurrent"].shape[0]
        return np.zeros(units), np.zeros(units)

    def read(self, state: tuple[Vector, Vector], number: int) -> tuple[Vector, Vector]:
        h, c = state
        one_hot = np.zeros(self.weights["uni/lstm/kernel"].shape[0])
        one_hot[number] = 1
        z = one_hot @ self.weights["uni/lstm/kernel"] + h @ self.weights["uni/lstm/recurrent"]
        write, keep, new, show = np.split(z + self.weights["uni/lstm/bias"], 4)
        c = sigmoid(keep) * c + sigmoid(write) * np.tanh(new)
        return sigmoid(show) * np.tanh(c), c

    def log_probabilities(self, state: tuple[Vector, Vector]) -> Vector:
        x = np.maximum(0, state[0] @ self.weights["uni/dense/kernel"] + self.weights["uni/dense/bias"])
        logits = x @ self.weights["uni/out/kernel"] + self.weights["uni/out/bias"]
        return logits - np.log(np.sum(np.exp(logits)))


@dataclass
class State:
    score: float
    memory: tuple[Vector, Vector]
    bits: list[bool]


def reference_search(
    model: LanguageModel,
    symbols: dict[str, int],
    ids: Sequence[int],
    given: Sequence[bool],
    labels: Sequence[float] | None,
    insertion_penalty: float,
    deletion_penalty: float,
    beams: int,
) -> State:
    """The best state. ``symbols`` has the numbers of ``start``, ``space`` and ``end``."""
    states = [State(0.0, model.read(model.start(), symbols["start"]), [])]
    for place, number in enumerate(ids):
        extended = []
        for state in states:
            score = state.score + model.log_probabilities(state.memory)[number]
            score += log_sigmoid(-labels[place]) if labels is not None else 0
            score -= deletion_penalty if given[place] else 0
            extended.append(State(score, model.read(state.memory, number), [*state.bits, False]))
        for state in states if place > 0 else []:
            after_space = model.read(state.memory, symbols["space"])
            score = state.score + model.log_probabilities(state.memory)[symbols["space"]]
            score += model.log_probabilities(after_space)[number]
            score += log_sigmoid(labels[place]) if labels is not None else 0
            score -= 0 if given[place] else insertion_penalty
            extended.append(State(score, model.read(after_space, number), [*state.bits, True]))
        states = sorted(extended, key=lambda one: -one.score)[:beams]
    for state in states:
        state.score += model.log_probabilities(state.memory)[symbols["end"]]
    return max(states, key=lambda one: one.score)
