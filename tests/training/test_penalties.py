from __future__ import annotations

import numpy as np

from respace.benchmarks import Benchmark
from respace.method import GivenSequence
from training.penalties import GRID, Penalties, accuracy_grid, best, harm_grid, least_of_best
from training.score import score_logits


def test_the_grid_equals_trying_every_pair() -> None:
    random = np.random.default_rng(5)
    logits = [random.normal(0, 4, 6).astype(np.float32) for _ in range(60)]
    true = [values > random.normal(0, 3, 6) for values in logits]
    given = [bits ^ (random.random(6) < 0.3) for bits in true]
    for bits in (*true, *given):
        bits[0] = False
    grid = accuracy_grid(logits, given, true)
    benchmark = Benchmark(
        name="random", given=[GivenSequence(np.arange(6, dtype=np.uint32), bits) for bits in given], true=true
    )
    for insertion in (0, 3, 17, 60, 200):
        for deletion in (0, 5, 40, 200):
            pair = Penalties(insertion=float(GRID[insertion]), deletion=float(GRID[deletion]))
            assert grid[insertion, deletion] == score_logits(benchmark, logits, pair).sequence_accuracy
    assert grid[round(best(grid).insertion * 10), round(best(grid).deletion * 10)] == grid.max()


def test_harm_is_that_of_every_pair() -> None:
    random = np.random.default_rng(6)
    logits = [random.normal(0, 4, 9).astype(np.float32) for _ in range(40)]
    correct = [values > random.normal(0, 3, 9) for values in logits]
    for bits in correct:
        bits[0] = False
    grid = harm_grid(logits, correct)
    given = [GivenSequence(np.arange(9, dtype=np.uint32), bits) for bits in correct]
    benchmark = Benchmark(name="right as it is", given=given, true=correct)
    for insertion in (0, 3, 17, 60, 200):
        for deletion in (0, 5, 40, 200):
            pair = Penalties(insertion=float(GRID[insertion]), deletion=float(GRID[deletion]))
            wanted = score_logits(benchmark, logits, pair).false_edits_per_10000_characters
            assert np.isclose(grid[insertion, deletion], wanted)


def test_the_least_of_the_best_is_not_at_the_end_of_a_plain() -> None:
    grid = np.full((len(GRID), len(GRID)), 0.9)
    grid[:30] = 0.5
    grid[200, 200] = 0.9005
    assert least_of_best(grid) == Penalties(insertion=3.0, deletion=0.0)
    assert best(grid) == Penalties(insertion=20.0, deletion=20.0)


def test_the_grid_is_the_papers() -> None:
    assert (GRID[0], GRID[1], GRID[-1], len(GRID)) == (0, 0.1, 20, 201)
