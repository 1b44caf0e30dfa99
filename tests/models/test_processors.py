"""Threads and products."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from threadpoolctl import threadpool_info

from models.processors import one_thread_per_product, threads_to_use


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
