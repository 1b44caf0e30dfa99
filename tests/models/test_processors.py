"""Threads and products."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from models.processors import one_thread_per_product, rounding_of_rows, threads_to_use


def threads_of_products() -> set[int]:
    return {one["num_threads"] for one in threadpool_info() if one["user_api"] == "blas"}


def test_products_use_one_thread_and_then_as_many_as_before() -> None:
    before = threads_of_products()
    with one_thread_per_product():
        assert threads_of_products() == {1}
        with one_thread_per_product():
            pass
        assert threads_of_products() == {1}
    assert threads_of_products() == before


def test_threads_started_inside_are_limited_too() -> None:
    with one_thread_per_product(), ThreadPoolExecutor(3) as executor:
        assert list(executor.map(lambda _: threads_of_products(), range(6))) == [{1}] * 6


@pytest.mark.parametrize("told", ["", "nonsense", "0"])
def test_as_many_threads_as_cores(monkeypatch: pytest.MonkeyPatch, told: str) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", told)
    assert threads_to_use() >= 1


def test_workers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OMP_NUM_THREADS", "3")
    assert threads_to_use() == 3


def test_the_last_of_several_threads_ends_it() -> None:
    before, inside, ended = threads_of_products(), threading.Event(), threading.Event()

    def first() -> None:
        with one_thread_per_product():
            inside.set()
            ended.wait(10)

    with ThreadPoolExecutor(1) as executor:
        running = executor.submit(first)
        inside.wait(10)
        with one_thread_per_product():
            ended.set()
            running.result()
            assert threads_of_products() == {1}
    assert threads_of_products() == before


def test_rows_are_rounded_alike_a_period_apart() -> None:
    period = len(rounding_of_rows())
    random = np.random.default_rng(3)
    left, right = random.normal(size=(40 * period, 200)), random.normal(size=(200, 64))
    left, right = left.astype(np.float32), right.astype(np.float32)
    with one_thread_per_product():
        product = left @ right
        assert np.array_equal(left[3 * period :] @ right, product[3 * period :])
        for kind in range(int(rounding_of_rows().max()) + 1):
            here = np.flatnonzero(rounding_of_rows() == kind)
            moved = left.copy()
            moved[here] = left[here[::-1]]
            assert np.array_equal((moved @ right)[here], product[here[::-1]])
