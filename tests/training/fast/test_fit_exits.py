"""From which logits on an exit is certain."""

from __future__ import annotations

import numpy as np
import pytest

from models.fast.method import FastMethod
from models.fast.model import FastModel
from models.fast.processor import ProcessorNetwork
from respace import gaps
from respace.method import GivenSequence
from tests.models.tiny import TINY, tiny_weights
from training.fast import fit_exits as fitting
from training.fast.fit_exits import fit_exits, least_certain


def test_hardly_any_decision_may_change(monkeypatch: pytest.MonkeyPatch) -> None:
    random = np.random.default_rng(1)
    bits, found = random.random(100_000) < 0.2, random.normal(0, 6, 100_000).astype(np.float32)
    last = (found + random.normal(0, 3, 100_000)).astype(np.float32)
    monkeypatch.setattr(fitting, "MOST_CHANGED", 1e-3)
    keep, edit = least_certain(bits, found, last)
    keeps = (found > 0) == bits
    for here, least, safe in ((keeps, keep, fitting.SAFE_TO_KEEP), (~keeps, edit, fitting.SAFE_TO_EDIT)):
        unsafe = here & (last * np.sign(found) < safe)
        assert np.count_nonzero(unsafe & (np.abs(found) >= least)) <= 100
        assert np.count_nonzero(unsafe & (np.abs(found) >= least - 0.25)) > 100
    assert keep < edit


def test_decisions_stay_what_they_are() -> None:
    text = "the quick brown fox, a lazy dog; the quick do go " * 20
    characters, bits = gaps.split(text)
    given = [GivenSequence(gaps.code_points(characters), bits)]
    certain = fit_exits(TINY, tiny_weights(), given)
    assert len(certain) == len(TINY.exits)
    everywhere = [(float("inf"), float("inf"))] * len(certain)
    quick, thorough = (
        FastMethod(
            FastModel(TINY, tiny_weights(), network=ProcessorNetwork(TINY, tiny_weights(), one)), "", "0" * 64, 1, 1
        ).decide(given)[0]
        for one in (certain, everywhere)
    )
    assert np.array_equal(quick.bits, thorough.bits)
