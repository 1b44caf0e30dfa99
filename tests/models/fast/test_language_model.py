from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from models.fast.joint import JointWeights, _decide, joint_logits
from models.fast.language_model import ORDERS, SPACE, LanguageModel, spaced_symbols
from models.files import ModelError
from respace import gaps
from respace.noise.rows import Rows
from training.fast.ngrams import count_order, empty_model, estimate, find_alphabet, symbols_of

TEXTS = ["the cat sat on the mat", 'a dog and "a cat" ran', "on the 12 mats the 34 cats sat", "then a theme"] * 40


def model_of(texts: list[str], threshold: float = 0.5) -> LanguageModel:
    rows = Rows.of(texts, [""] * len(texts), 0)
    alphabet = find_alphabet([rows.characters])
    symbols = symbols_of(empty_model(alphabet), rows)
    counted = {order: count_order(symbols, order, 1, 1 << 16) for order in ORDERS}
    return estimate(symbols, alphabet, counted, threshold)


MODEL = model_of(TEXTS)


def slow_reference(
    model: LanguageModel,
    weights: Sequence[float],
    symbols: NDArray[np.uint8],
    logits: NDArray[np.float32],
    certain: float,
) -> NDArray[np.float64]:
    """What `_decide` finds, by trying all combinations: for short texts."""
    uncertain = [gap for gap in range(1, len(symbols)) if abs(logits[gap]) < certain]
    best = np.full((len(symbols), 2), -np.inf)
    for number in range(1 << len(uncertain)):
        bits = logits > 0
        bits[0] = False
        for place, gap in enumerate(uncertain):
            bits[gap] = number >> place & 1
        text, weight = [SPACE], [0.0]
        for gap, symbol in enumerate(symbols.tolist()):
            text += [SPACE, symbol] if bits[gap] else [symbol]
            weight += [weights[gap]] * (2 if bits[gap] else 1)
        costs = model.costs_in(np.array(text, dtype=np.uint8))
        score = float(np.sum(logits[bits])) - float(np.dot(weight, costs))
        for gap in uncertain:
            best[gap, int(bits[gap])] = max(best[gap, int(bits[gap])], score)
    out = logits.astype(np.float64)
    for gap in uncertain:
        out[gap] = best[gap, 1] - best[gap, 0]
    return out


def test_the_language_model_may_count_more_where_no_space_is_near() -> None:
    text = gaps.code_points("thecatsatonthemat").astype(np.int32)
    raw = np.full(len(text), 0.5, dtype=np.float32)
    more, less = JointWeights(letters=0.4), JointWeights(letters=0.1)
    both = JointWeights(letters=0.1, unspaced=0.4)
    everywhere, nowhere = np.ones(len(text), dtype=bool), np.zeros(len(text), dtype=bool)
    assert np.array_equal(joint_logits(MODEL, both, text, raw, everywhere), joint_logits(MODEL, more, text, raw))
    assert np.array_equal(joint_logits(MODEL, both, text, raw, nowhere), joint_logits(MODEL, less, text, raw))
    assert not np.array_equal(joint_logits(MODEL, more, text, raw), joint_logits(MODEL, less, text, raw))


def test_symbols_of_rows_are_those_of_each_text() -> None:
    rows = Rows.of(TEXTS[:4], [""] * 4, 0)
    flat = symbols_of(MODEL, rows)
    parts = np.split(flat, np.flatnonzero(flat == 0))[1:]
    for text, part in zip(TEXTS[:4], parts, strict=True):
        characters, bits = gaps.split(text.replace('"a cat"', "“a cat”"))
        codes = gaps.code_points(characters).astype(np.int32)
        assert part[1:].tolist() == spaced_symbols(MODEL.symbols(codes), bits).tolist()


def test_counts_are_those_of_a_slow_count() -> None:
    rows = Rows.of(TEXTS, [""] * len(TEXTS), 0)
    flat = symbols_of(MODEL, rows)
    for order in (1, 3, 8):
        slow: dict[bytes, int] = {}
        for text in np.split(flat, np.flatnonzero(flat == 0)):
            for start in range(1, len(text) - order + 1):
                gram = text[start : start + order].tobytes()
                slow[gram] = slow.get(gram, 0) + 1
        for memory in (1 << 20, 1 << 12):  # in one pass, and in several
            counted = count_order(flat, order, 2, memory)
            found = {
                flat[end - order + 1 : end + 1].tobytes(): int(count)
                for end, count in zip(counted.ends.tolist(), counted.counts.tolist(), strict=True)
            }
            assert found == {gram: count for gram, count in slow.items() if count >= 2}
            for end, total, types in zip(counted.ends, counted.totals, counted.types, strict=True):
                context = flat[end - order + 1 : end].tobytes()
                followers = [count for gram, count in slow.items() if gram[:-1] == context]
                assert (total, types) == (sum(followers), len(followers))


def test_probabilities_add_up_to_one() -> None:
    symbols = spaced_symbols(MODEL.symbols(gaps.code_points("thecatsatonthemat").astype(np.int32)), np.zeros(17, bool))
    for length in (1, 4, 9):
        history = symbols[:length]
        costs = [MODEL.costs_in(np.append(history, np.uint8(symbol)))[-1] for symbol in range(1, 256)]
        assert np.exp(-np.array(costs)).sum() == pytest.approx(1, abs=0.15)


def test_frequent_text_is_probable() -> None:
    def cost(text: str) -> float:
        characters, bits = gaps.split(text)
        return float(
            MODEL.costs_in(spaced_symbols(MODEL.symbols(gaps.code_points(characters).astype(np.int32)), bits)).sum()
        )

    assert cost("the cat sat") < cost("thec at sat") - 5
    assert cost("the cat sat") < cost("tac eht tas") - 10


@settings(max_examples=60, deadline=None)
@given(
    st.text(alphabet="thecasonmd", min_size=2, max_size=9),
    st.lists(st.floats(-6, 6), min_size=9, max_size=9),
    st.floats(0, 1),
)
def test_the_joint_decision_is_the_best_of_all_combinations(text: str, values: list[float], share: float) -> None:
    logits = np.array(values[: len(text)], dtype=np.float32)
    symbols = MODEL.symbols(gaps.code_points(text).astype(np.int32))
    weights = np.full(len(text), share, dtype=np.float32)
    # Three gaps are uncertain, so that the beam holds all combinations.
    certain = 6.5
    logits[4:] = np.where(logits[4:] > 0, 7, -7)
    out = logits.copy()
    _decide(symbols, weights, logits, certain, *MODEL.tables, out)
    wanted = slow_reference(MODEL, weights.tolist(), symbols, logits, certain)
    np.testing.assert_allclose(out[1:], wanted[1:], atol=1e-3)


def test_texts_laid_one_after_the_other_do_not_touch() -> None:
    random = np.random.default_rng(1)
    parts = [gaps.code_points(text.replace(" ", "")).astype(np.int32) for text in TEXTS[:4]]
    logits = [random.normal(0, 4, len(part)).astype(np.float32) for part in parts]
    together = joint_logits(
        MODEL,
        JointWeights(),
        np.concatenate([np.append(part, 0) for part in parts]).astype(np.int32),
        np.concatenate([np.append(one, 0) for one in logits]).astype(np.float32),
    )
    ends = np.cumsum([0, *(len(part) + 1 for part in parts)])
    for part, one, (start, stop) in zip(parts, logits, pairwise(ends), strict=True):
        alone = joint_logits(MODEL, JointWeights(), part, one)
        np.testing.assert_allclose(together[start : stop - 1][1:], alone[1:], atol=1e-5)


def test_long_uncertain_stretches_and_empty_texts() -> None:
    text = gaps.code_points("thecatsat" * 300).astype(np.int32)
    found = joint_logits(MODEL, JointWeights(), text, np.zeros(len(text), dtype=np.float32))
    assert np.isfinite(found).all()
    assert found[900 + 3] > found[900 + 4]
    assert joint_logits(MODEL, JointWeights(), text[:0], np.zeros(0, dtype=np.float32)).shape == (0,)


def test_weights_go_there_and_back() -> None:
    weights = MODEL.to_weights()
    again = LanguageModel.from_weights(weights)
    assert again is not None
    assert np.array_equal(again.fingerprints, MODEL.fingerprints)
    assert LanguageModel.from_weights({}) is None
    with pytest.raises(ModelError, match="expected as many"):
        LanguageModel.from_weights(weights | {"language_model/costs": MODEL.costs[:-1]})
    del weights["language_model/costs"]
    with pytest.raises(ModelError, match="of a language model: expected"):
        LanguageModel.from_weights(weights)
