"""The pruned search against the full one, with the models that ship, on the development benchmarks."""

from __future__ import annotations

import pytest

from models.files import load_model, shipped_models
from models.paper.pruning import FULL_SEARCH, Pruning
from models.paper.search import SearchMethod
from respace.benchmarks import read_benchmarks
from tests.shared_data import SHARED

BENCHMARKS = SHARED / "benchmarks" / "dev"
SEQUENCES = 40

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not BENCHMARKS.is_dir(), reason="$RESPACE_DATA/benchmarks/dev is not there"),
]


@pytest.mark.parametrize("name", ["uni_plus", "bid_plus"])
def test_the_same_answers(name: str) -> None:
    if name not in shipped_models():
        pytest.skip(f"no model {name} ships")
    files = load_model(name)
    full = SearchMethod.from_files(files, pruning=FULL_SEARCH)
    skipping = SearchMethod.from_files(files, pruning=Pruning(margin=None, same_bits=None))
    pruned = SearchMethod.from_files(files)
    for benchmark in read_benchmarks(BENCHMARKS, SEQUENCES):
        expected = [decision.bits.tolist() for decision in full.decide(benchmark.given)]
        assert [decision.bits.tolist() for decision in skipping.decide(benchmark.given)] == expected
        found = [decision.bits.tolist() for decision in pruned.decide(benchmark.given)]
        assert sum(one != other for one, other in zip(found, expected, strict=True)) <= 1
