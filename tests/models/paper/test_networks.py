"""UNI and BID: sizes, what they can see, and that padding changes nothing."""

from __future__ import annotations

import numpy as np
import pytest

from models.files import ModelError
from models.paper import lstm, uni
from models.paper.bid import BidModel, bid_shapes
from models.paper.lstm import SIZES, NetworkSize, initial_weights, parameters
from models.paper.uni import UniModel, uni_shapes
from models.paper.vocabulary import Vocabulary
from respace.gaps import code_points
from respace.method import GivenSequence
from tests.models.paper.reference_search import LanguageModel

VOCABULARY = Vocabulary(" abcdefgh")
SIZE = NetworkSize(units=6, dense=5)


def test_parameters_of_the_paper() -> None:
    assert parameters(uni_shapes(203, SIZES["paper"])) == 6_287_563
    # The paper prints 12,158,980: three more than its layers have, see models/paper/bid.py.
    assert parameters(bid_shapes(203, SIZES["paper"])) == 12_158_977


def test_parameters_of_the_small_size() -> None:
    assert parameters(uni_shapes(203, SIZES["small"])) == 1_129_163
    assert parameters(bid_shapes(203, SIZES["small"])) == 2_102_017


def test_sizes_by_name() -> None:
    assert NetworkSize.named("paper") == NetworkSize(units=1024, dense=1024)
    assert NetworkSize.named({"units": 3, "dense": 4}) == NetworkSize(units=3, dense=4)
    with pytest.raises(ValueError, match="unknown size 'huge': expected one of paper, small"):
        NetworkSize.named("huge")
    with pytest.raises(ValueError, match="units 0"):
        NetworkSize(units=0, dense=1)


def test_language_model_equals_its_equations() -> None:
    weights = initial_weights(uni_shapes(len(VOCABULARY), SIZE), seed=4)
    ids = np.array([[VOCABULARY.start, 1, 2, 0, 3]], dtype=np.int32)
    logits = uni.sequence_logits(UniModel(VOCABULARY, SIZE, weights).weights, ids).numpy()[0]
    plain = LanguageModel(weights)
    state = plain.start()
    for place, number in enumerate(ids[0].tolist()):
        state = plain.read(state, number)
        expected = plain.log_probabilities(state)
        found = logits[place] - np.log(np.exp(logits[place]).sum())
        np.testing.assert_allclose(found, expected, atol=1e-5)


def test_forget_gates_start_open() -> None:
    bias = initial_weights(uni_shapes(len(VOCABULARY), SIZE), seed=1)["uni/lstm/bias"]
    assert bias.tolist() == [0.0] * 6 + [1.0] * 6 + [0.0] * 12


def sequence(text: str, bits: str) -> GivenSequence:
    return GivenSequence(code_points(text), np.array([bit == "1" for bit in bits]))


def bid_model(seed: int = 2) -> BidModel:
    return BidModel(VOCABULARY, SIZE, initial_weights(bid_shapes(len(VOCABULARY), SIZE), seed))


def test_bid_does_not_see_given_spaces() -> None:
    spaced, glued = bid_model().sequence_logits([sequence("abcde", "01010"), sequence("abcde", "00000")])
    np.testing.assert_allclose(spaced, glued, atol=1e-6)


def test_bid_sees_both_ends_and_padding_changes_nothing() -> None:
    model = bid_model()
    one, other_first, other_last, longer = (
        sequence("abcde", "00000"),
        sequence("hbcde", "00000"),
        sequence("abcdh", "00000"),
        sequence("abcdefghabcdefgh", "0" * 16),
    )
    alone = model.sequence_logits([one])[0]
    padded, *others = model.sequence_logits([one, other_first, other_last, longer])
    np.testing.assert_allclose(padded, alone, atol=1e-6)
    for other in others[:2]:
        assert (np.abs(other - alone) > 1e-7).all()  # every gap sees the first and the last character


def test_bid_of_nothing() -> None:
    found = bid_model().sequence_logits([sequence("", ""), sequence("a", "0")])
    assert [len(one) for one in found] == [0, 1]


def test_weights_of_another_vocabulary() -> None:
    weights = initial_weights(uni_shapes(len(VOCABULARY) + 1, SIZE), seed=1)
    with pytest.raises(ModelError, match=r"\[13, 24\] for 'uni/lstm/kernel'.*expects \[12, 24\].*vocabulary"):
        UniModel(VOCABULARY, SIZE, weights)
    with pytest.raises(ModelError, match="nothing for 'bid/forward_lstm/kernel'"):
        BidModel(VOCABULARY, SIZE, weights)


def test_scan_equals_steps() -> None:
    weights = UniModel(VOCABULARY, SIZE, initial_weights(uni_shapes(len(VOCABULARY), SIZE), seed=5)).weights
    ids = np.array([[1, 5, 2], [3, 3, 8]], dtype=np.int32)
    hs, cs = lstm.scan(weights, uni.LSTM, ids)
    h = c = np.zeros((2, 6), dtype=np.float32)
    for place in range(3):
        h, c = lstm.cell(weights, uni.LSTM, ids[:, place], h, c)
    np.testing.assert_allclose(hs[:, -1], h, atol=1e-6)
    np.testing.assert_allclose(cs[:, -1], c, atol=1e-6)
