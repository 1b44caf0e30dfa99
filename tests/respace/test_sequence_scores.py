"""Scores of sequences, against an independent count of the positions of spaces."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.metrics import score_texts
from respace.sequence_scores import CharactersDiffer, score_sequences


def spaces(text: str) -> set[int]:
    """How many characters stand before each inner space."""
    words = text.split()
    return {sum(map(len, words[:number])) for number in range(1, len(words))}


def slow_count(corrupt: str, correct: str, predicted: str) -> tuple[list[int], list[int]]:
    given, true, done = spaces(corrupt), spaces(correct), spaces(predicted)
    insertions = [len((true & done) - given), len(done - true - given), len(true - done - given)]
    deletions = [len(given - true - done), len((given & true) - done), len((given & done) - true)]
    return insertions, deletions


@settings(max_examples=100)
@given(st.text("abc", max_size=20), st.integers(0, 2**32))
def test_an_independent_count_of_ten_thousand_random_pairs(characters: str, seed: int) -> None:
    source = random.Random(seed)

    def spaced() -> list[str]:
        return ["".join(" " * source.randint(0, 1) + one for one in characters) for _ in range(100)]

    texts = spaced(), spaced(), spaced()
    found = score_sequences(*texts)
    for number, (corrupt, correct, predicted) in enumerate(zip(*texts, strict=True)):
        insertions, deletions = slow_count(corrupt, correct, predicted)
        assert found.insertions[number].tolist() == insertions
        assert found.deletions[number].tolist() == deletions
        assert bool(found.correct[number]) == (correct.split() == predicted.split())
    assert found.total() == score_texts(*texts)


def test_averages_by_hand() -> None:
    found = score_sequences(["a b c d", "ef", "gh"], ["abcd", "e f", "gh"], ["abcd", "ef", "gh"])
    assert found.f_scores.tolist() == [1, 0, 1]
    assert found.mean_f_score == pytest.approx(2 / 3)
    assert found.total().f_score == pytest.approx(6 / 7)


def test_harm_is_what_is_done_to_text_that_was_right() -> None:
    found = score_sequences(["abcde fghij", "k l"], ["abcde fghij", "kl"], ["abcdefghij", "k l"])
    assert found.harm == 1000
    assert score_sequences(["ab"], ["a b"], ["ab"]).harm == 0


def test_changed_characters_are_named_line_by_line() -> None:
    with pytest.raises(CharactersDiffer, match=r"2 of 3 predictions .* line 2, 3\. Expected") as caught:
        score_sequences(["a", "b", "c"], ["a", "b", "c"], ["a", "x", "c d"])
    assert caught.value.lines == [2, 3]


def test_different_numbers_of_lines() -> None:
    with pytest.raises(ValueError, match="2 given sequences, 2 correct ones, 1 predictions: expected as many"):
        score_sequences(["a", "b"], ["a", "b"], ["a"])
