"""Penalties of the search by simulation."""

from __future__ import annotations

import time

import numpy as np
import pytest

from respace.benchmarks import Benchmark
from respace.method import GivenSequence
from training.fit_search import Measured, fit
from training.penalties import Penalties


def measured(sequences: int, length: int, with_labels: bool, seed: int = 1) -> Measured:
    """Random differences that mostly speak for the truth."""
    random = np.random.default_rng(seed)
    true = [random.random(length) < 0.2 for _ in range(sequences)]
    given = [bits ^ (random.random(length) < 0.05) for bits in true]
    for bits in (*true, *given):
        bits[0] = False
    language = [(np.where(bits, 4, -4) + random.normal(0, 2.5, length)).astype(np.float32) for bits in true]
    labels = [(np.where(bits, 3, -3) + random.normal(0, 3, length)).astype(np.float32) for bits in true]
    benchmark = Benchmark(
        name="made up",
        given=[GivenSequence(np.zeros(length, dtype=np.uint32), bits) for bits in given],
        true=true,
    )
    return Measured(benchmark=benchmark, language=language, labels=labels if with_labels else None)


def simulated(one: Measured, weight: float, penalties: Penalties) -> float:
    """Sequence accuracy of one pair, gap by gap."""
    right = 0
    for number, (given, true) in enumerate(zip(one.benchmark.given, one.benchmark.true, strict=True)):
        wrong = False
        for gap in range(1, len(true)):
            difference = weight * one.language[number][gap]
            difference += one.labels[number][gap] if one.labels is not None else 0
            space = -difference <= penalties.deletion if given.bits[gap] else difference > penalties.insertion
            wrong |= space != true[gap]
        right += not wrong
    return right / len(one.benchmark.true)


@pytest.mark.parametrize(("weight", "with_labels"), [(1.0, False), (1.0, True), (0.3, True)])
def test_best_of_the_grid(weight: float, with_labels: bool) -> None:
    one = measured(40, 8, with_labels)
    found = fit([one], weight)
    best = found.fitted["made up"]
    assert found.accuracies["made up"] == pytest.approx(simulated(one, weight, best))
    for insertion in np.arange(0, 20.05, 1.3):
        for deletion in np.arange(0, 20.05, 1.3):
            pair = Penalties(insertion=round(float(insertion), 1), deletion=round(float(deletion), 1))
            assert simulated(one, weight, pair) <= found.accuracies["made up"] + 1e-12
    assert found.the_one == Penalties(insertion=round(best.insertion, 2), deletion=round(best.deletion, 2))


def test_the_whole_grid_is_quick() -> None:
    one = measured(10_000, 100, with_labels=True)
    began = time.process_time()
    fit([one])
    assert time.process_time() - began < 10  # about one second on a core that has nothing else to do


def test_nothing_to_fit_on() -> None:
    assert fit([]).the_one == Penalties(insertion=0, deletion=0)
