from __future__ import annotations

from dataclasses import replace
from unittest.mock import patch

import numpy as np
import pytest

from models.fast import on_tensorflow, processor
from models.fast.method import FastMethod, boost_near_errors, doubt_beside_signs, judged_logits
from models.fast.model import FastModel, quantise_table
from models.fast.on_tensorflow import TensorFlowNetwork
from models.fast.processor import ProcessorNetwork
from models.files import ModelError
from respace import Repairer, gaps
from respace.method import GivenSequence, decided_bits
from tests.models.tiny import TINY, tiny_model, tiny_weights

TEXT = "Characters move, spaces do not: 12 of 35 lines were cut anew. " * 40


def sequence(text: str) -> GivenSequence:
    characters, bits = gaps.split(text)
    return GivenSequence(gaps.code_points(characters), bits)


@pytest.fixture(params=[ProcessorNetwork, TensorFlowNetwork])
def model(request: pytest.FixtureRequest) -> FastModel:
    return FastModel(TINY, tiny_weights(), network=request.param(TINY, tiny_weights()))


def test_a_cut_changes_nothing(model: FastModel, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = sequence(TEXT)
    for size in (on_tensorflow, "WINDOW"), (processor, "CHUNK"):
        monkeypatch.setattr(*size, len(whole.bits))
    at_once = model.sequence_logits([whole])[0]
    for size in (on_tensorflow, "WINDOW"), (processor, "CHUNK"):
        monkeypatch.setattr(*size, 2 * TINY.context + 16)
    np.testing.assert_allclose(model.sequence_logits([whole])[0], at_once, atol=1e-4)


def test_neighbours_in_a_batch_change_nothing(model: FastModel) -> None:
    texts = ["a b", "one, two", TEXT[:100], "x", TEXT[:300]]
    together = model.sequence_logits([sequence(text) for text in texts])
    for text, logits in zip(texts, together, strict=True):
        np.testing.assert_allclose(logits, model.sequence_logits([sequence(text)])[0], atol=1e-4)


def test_penalties_decide() -> None:
    model = tiny_model()
    given = sequence(TEXT[:200])
    logits = model.sequence_logits([given])[0]
    decided = FastMethod(model, "tiny", "0" * 64, 0.5, 0.25).decide([given])[0]
    judged = judged_logits(given, logits)
    assert np.array_equal(decided.bits, np.where(given.bits, judged >= -0.25, judged > 0.5))
    probability = 1 / (1 + np.exp(-logits))
    np.testing.assert_allclose(decided.confidence, np.where(decided.bits, probability, 1 - probability), atol=1e-6)
    free = FastMethod(model, "tiny", "0" * 64, 20, 20)
    lost = GivenSequence(given.characters, given.bits, lost=np.ones_like(given.bits))
    assert np.array_equal(free.decide([lost])[0].bits, np.where(given.bits, logits >= 0, logits > 0))
    assert np.array_equal(free.decide([given])[0].bits, given.bits)


def test_many_sequences_are_decided_as_if_alone() -> None:
    model, random = tiny_model(), np.random.default_rng(0)
    method = FastMethod(model, "tiny", "0" * 64, 0.5, 0.25)
    given = [sequence(text) for text in ("a b", "", "J.R.isat it", "isn't", "'", "x", TEXT[:100], TEXT[:300])]
    given += [replace(one, caution=np.ones(len(one.bits), np.float32), lost=~one.bits) for one in given]
    logits = [(8 * random.normal(size=len(one.bits))).astype(np.float32) for one in given]
    with patch.object(model, "sequence_logits", lambda sequences: logits):
        decisions = method.decide(given)
    for one, values, decision in zip(given, logits, decisions, strict=True):
        assert np.array_equal(decision.bits, decided_bits(one, judged_logits(one, values), 0.5, 0.25))
    assert method.decide([]) == []


def test_errors_come_in_company() -> None:
    bits = np.zeros(1000, dtype=bool)
    bits[[20, 30]] = True
    logits = np.full(1000, -3.0, dtype=np.float32)
    logits[[20, 30, 10, 40, 50, 600]] = [-6.5, 3.0, 0.5, 6.5, 7.0, 0.5]
    judged = boost_near_errors(bits, logits)
    # Evident are the deletion at 20 and the insertions at 40 and 50; each has others near.
    assert judged[[20, 40, 50]].tolist() == [-8.5, 8.5, 9.0]
    # They count for an insertion near them, not for one far away, and not against a given bit.
    assert judged[[10, 600, 30, 11]].tolist() == [2.5, 0.5, 3.0, -3.0]
    alone = np.full(1000, -3.0, dtype=np.float32)
    alone[500] = 9.0
    assert np.array_equal(boost_near_errors(np.zeros(1000, dtype=bool), alone), alone)


def test_lost_spaces_beside_signs_need_more_evidence() -> None:
    given = sequence("J.R.isat it")
    logits = np.full(len(given.bits), 3.0, dtype=np.float32)
    # Between letters and for given spaces, evidence counts as it is; without any spaces, everywhere.
    assert doubt_beside_signs(given, logits).tolist() == [3, 2, 2, 2, 2, 3, 3, 3, 3, 3]
    assert doubt_beside_signs(given, -logits).tolist() == (-logits).tolist()
    lost = GivenSequence(given.characters, given.bits, lost=np.ones_like(given.bits))
    assert np.array_equal(doubt_beside_signs(lost, logits), logits)


@pytest.mark.parametrize("penalty", [-1.0, float("nan")])
def test_a_penalty_is_not_negative(penalty: float) -> None:
    with pytest.raises(ValueError, match=f"deletion_penalty {penalty:g}: expected a number of at least 0"):
        FastMethod(tiny_model(), "tiny", "0" * 64, 0, penalty)


def test_weights_that_do_not_fit_are_named() -> None:
    weights = tiny_weights()
    weights["out/kernel"] = weights["out/kernel"][:-1]
    with pytest.raises(ModelError, match=r"weights hold \[7, 1\] for 'out/kernel', the configuration expects \[8, 1\]"):
        FastModel(TINY, weights)
    del weights["front/kernel"]
    with pytest.raises(ModelError, match="weights hold nothing for 'front/kernel'"):
        FastModel(TINY, weights)


def test_eight_bits_are_close() -> None:
    table = np.random.default_rng(1).normal(0, 1, (TINY.features.rows, TINY.row_width)).astype(np.float32)
    quantised = quantise_table(TINY, table)
    scales = np.repeat(quantised["table_scales"], np.diff([*TINY.features.table_starts().values(), len(table)]), axis=0)
    assert quantised["table"].dtype == np.int8
    np.testing.assert_allclose(quantised["table"] * scales, table, atol=float(scales.max()) / 2 + 1e-6)


def test_ten_megabytes_in_one_line_come_back(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respace.repairer.PIECE_CHARACTERS", 1 << 16)
    method = FastMethod(tiny_model(), "tiny", "0" * 64, 0, 0)
    text = ("lineoftext " * 1000)[:10000] * 20
    assert "".join(Repairer(method).repair(text).split()) == "".join(text.split())
