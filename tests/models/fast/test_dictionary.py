from __future__ import annotations

import math
from itertools import pairwise, product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.fast.dictionary import CONTEXT_SYMBOLS, COST_STEP, GIVEN_EVIDENCE, LONGEST_RUN, SYMBOLS, Dictionary
from models.files import ModelError
from models.words.counts import pack
from respace import gaps

COUNTS = {"a": 50, "do": 20, "dog": 9, "go": 12, "goat": 4, "oat": 6, "at": 30, "tea": 8, "team": 7}
COSTS = np.full(SYMBOLS ** (CONTEXT_SYMBOLS + 1), 3 * COST_STEP, dtype=np.uint8)
DICTIONARY = Dictionary.of(COUNTS, 1000.0, COSTS)
SCALE = 0.25


def evidence(text: str, true: str | None = None) -> np.ndarray:
    characters, bits = gaps.split(text)
    true_bits = None if true is None else gaps.split(true)[1]
    return DICTIONARY.evidence(gaps.code_points(characters).astype(np.int32), bits, true_bits)


def by_hand(letters: str, bits: np.ndarray, counts: dict[str, int], given_weight: float) -> list[float]:
    """All ways to cut the letters, one after the other."""
    with_cut, total = np.zeros(len(letters)), 0.0
    for cuts in product([False, True], repeat=len(letters) - 1):
        at = [0, *(place for place, cut in enumerate(cuts, start=1) if cut), len(letters)]
        weight = 1.0
        for start, stop in pairwise(at):
            word = letters[start:stop]
            unknown = 0.3 * math.exp(-0.95 * 3.0 * (len(word) + 1))
            weight *= counts.get(word, 0) / 1000 + unknown
        for place in at[1:-1]:
            weight *= math.exp(given_weight if bits[place] else -given_weight) if given_weight else 1.0
        total += weight
        with_cut[at[1:-1]] += weight
    share = with_cut[1:] / total
    return [0.0, *(SCALE * np.clip(np.log(share / (1 - share)), -12, 12))]


@pytest.mark.parametrize("text", ["dogoat", "do goat", "ateam", "xdogq", "goatea team", "DoGo"])
def test_the_sum_over_all_ways_to_cut(text: str) -> None:
    characters, bits = gaps.split(text)
    found = evidence(text)
    for kind, weight in enumerate((0.0, GIVEN_EVIDENCE)):
        wanted = by_hand(characters.lower(), bits, COUNTS, weight)
        # Counts are kept to 3 %.
        np.testing.assert_allclose(found[:, kind], wanted, atol=0.03)


def test_a_word_of_the_text_itself_is_counted_once_less() -> None:
    text = "goat"
    wanted = by_hand(text, np.zeros(4, dtype=bool), {"at": 30, "a": 50, "go": 12, "oat": 6, "do": 20}, 0.0)
    once = Dictionary.of(COUNTS | {"goat": 4, "rare": 4}, 1000.0, COSTS)
    codes = gaps.code_points(text).astype(np.int32)
    held_out = once.evidence(codes, np.zeros(4, dtype=bool), np.zeros(4, dtype=bool))
    np.testing.assert_allclose(held_out[:, 0], wanted, atol=0.03)
    assert evidence("goat")[2, 0] < held_out[2, 0]
    # The same letters with other words in them do not hide the dictionary's word.
    assert evidence("goat", true="go at")[2, 0] == pytest.approx(evidence("goat")[2, 0], abs=0.05)


@given(st.text(alphabet="dogtae1. É", max_size=60), st.text(alphabet="dog. ", max_size=30))
def test_texts_laid_one_after_the_other_do_not_touch(text: str, other: str) -> None:
    characters, bits = gaps.split(text)
    codes = gaps.code_points(characters).astype(np.int32)
    more = gaps.code_points("".join(other.split())).astype(np.int32)
    together = np.concatenate([more, [0], codes, [0], more])
    all_bits = np.zeros(len(together), dtype=bool)
    all_bits[len(more) + 1 : len(more) + 1 + len(bits)] = bits
    inside = DICTIONARY.evidence(together, all_bits)[len(more) + 1 : len(more) + 1 + len(bits)]
    np.testing.assert_allclose(inside, evidence(text), atol=1e-5)


def test_signs_and_digits_say_nothing() -> None:
    assert not evidence("12, 3.4 (x) - 7")[:, :].any()
    assert evidence("").shape == (0, 2)


def test_text_without_end_stays_within_numbers() -> None:
    for letter in ("a", "q", "ß", "中"):
        found = evidence(letter * (5 * LONGEST_RUN + 3))
        assert np.isfinite(found).all()


def test_letters_that_are_too_improbable_for_a_number() -> None:
    """Of a run of which every letter costs as much as there is, no way to cut it has a probability above 0."""
    costs = np.full(SYMBOLS ** (CONTEXT_SYMBOLS + 1), 255, dtype=np.uint8)
    dictionary = Dictionary.of({"the": 60}, 1000.0, costs)
    codes = np.array([ord("q")] * LONGEST_RUN, dtype=np.int32)
    assert not dictionary.evidence(codes, np.zeros(len(codes), dtype=bool)).any()


def test_half_a_dictionary_is_refused() -> None:
    weights = DICTIONARY.to_weights()
    assert np.array_equal(Dictionary.from_weights(weights).keys, DICTIONARY.keys)
    with pytest.raises(ModelError, match="9 words and 8 counts"):
        Dictionary.from_weights(weights | {"dictionary/counts": pack(DICTIONARY.counts[:-1])})
    with pytest.raises(ModelError, match="packed weights are damaged"):
        Dictionary.from_weights(weights | {"dictionary/counts": weights["dictionary/counts"][:-1]})
    for name in weights:
        others = {other: array for other, array in weights.items() if other != name}
        with pytest.raises(ModelError, match=f"nothing for '{name}'"):
            Dictionary.from_weights(others)
