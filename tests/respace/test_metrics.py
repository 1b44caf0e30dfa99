from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.metrics import Counts, score_texts


def test_by_hand() -> None:
    score = score_texts(["th e catsat"], ["the cat sat"], ["the ca tsat"])
    assert score.deletions == Counts(1, 0, 0)
    assert score.insertions == Counts(0, 1, 1)
    assert score.f_score == pytest.approx(2 * 1 / (2 * 1 + 1 + 1))
    assert score.sequence_accuracy == 0
    assert score.edits.precision == 0.5
    assert score.edits.recall == 0.5


def test_the_micro_average_adds_edits_not_scores() -> None:
    score = score_texts(["a b c d", "ef"], ["abcd", "e f"], ["abcd", "ef"])
    assert score.edits == Counts(3, 0, 1)
    assert score.f_score == pytest.approx(6 / 7)
    assert score.sequence_accuracy == 0.5


def test_harm_on_correct_text() -> None:
    correct = ["abcde fghij"] * 100
    score = score_texts(correct, correct, [*correct[:99], "abcdefghij"])
    assert score.false_edits_per_10000_characters == 10


def test_nothing_to_do_and_nothing_done_is_perfect() -> None:
    assert score_texts(["a b"], ["a b"], ["a b"]).f_score == 1


@given(st.lists(st.text(alphabet="ab ", max_size=12), max_size=5))
def test_the_truth_scores_one(texts: list[str]) -> None:
    joined = ["".join(text.split()) for text in texts]
    score = score_texts(joined, texts, texts)
    assert score.f_score == 1
    assert score.sequence_accuracy == 1


def test_changed_characters_are_an_error() -> None:
    with pytest.raises(ValueError, match="sequence 2: corrupt, correct and predicted text differ"):
        score_texts(["a", "b"], ["a", "b"], ["a", "c"])
