"""Corrections and classes of errors: by hand, and against a slow longest common subsequence."""

from __future__ import annotations

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.correctors import correct_text, load_corrector, without_inner_punctuation
from respace.metrics import Counts
from respace.spelling import ErrorClass, common_tokens, count_corrections, score_spelling, true_token_classes
from respace.storage.errors import BadOption


def slow_length(one: tuple[str, ...], other: tuple[str, ...]) -> int:
    @cache
    def longest(i: int, j: int) -> int:
        if i == len(one) or j == len(other):
            return 0
        if one[i] == other[j]:
            return 1 + longest(i + 1, j + 1)
        return max(longest(i + 1, j), longest(i, j + 1))

    return longest(0, 0)


@given(st.lists(st.sampled_from("abc"), max_size=9), st.lists(st.sampled_from("abc"), max_size=9))
def test_a_longest_common_subsequence(one: list[str], other: list[str]) -> None:
    first, second = common_tokens(one, other)
    common = [token for token, there in zip(one, first, strict=True) if there]
    assert common == [token for token, there in zip(other, second, strict=True) if there]
    assert len(common) == slow_length(tuple(one), tuple(other))


@pytest.mark.parametrize(
    ("corrupt", "correct", "spelled", "classes"),
    [
        ("the algo rithm", "the algorithm", "the algorithm", [None, "tokenization"]),
        ("the algorihm", "the algorihm", "the algorithm", [None, "spelling"]),
        ("the algo rihm", "the algorihm", "the algorithm", [None, "mixed"]),
        ("thealgorihm", "the algorihm", "the algorithm", ["tokenization", "mixed"]),
        ("a b", "a b", "a b", [None, None]),
        ("al ot ofit", "alot of it", "a lot of it", ["mixed", "mixed", "tokenization", "tokenization"]),
    ],
)
def test_classes_of_the_paper(corrupt: str, correct: str, spelled: str, classes: list[str | None]) -> None:
    assert true_token_classes(corrupt, correct, spelled) == classes


def test_corrections_by_hand() -> None:
    assert count_corrections("teh cat", "the cat", "the cat") == Counts(1, 0, 0)
    assert count_corrections("teh cat", "the cat", "ten cat") == Counts(0, 1, 1)
    assert count_corrections("the cat", "the cat", "the cut") == Counts(0, 1, 0)
    assert count_corrections("teh cat", "the cat", "teh cat") == Counts(0, 0, 1)


def test_scores_by_class() -> None:
    score = score_spelling(["thealgorihm teh"], ["the algorihm teh"], ["the algorithm the"], ["the algorihm the"])
    assert score.wrong == {ErrorClass.TOKENIZATION: 1, ErrorClass.SPELLING: 1, ErrorClass.MIXED: 1}
    assert score.corrected == {ErrorClass.TOKENIZATION: 1, ErrorClass.SPELLING: 1, ErrorClass.MIXED: 0}
    assert score.misspelled_corrected == 0.5
    assert score.counts == Counts(2, 1, 1)


@pytest.mark.parametrize("name", ["hunspell", "symspell"])
def test_real_correctors(name: str) -> None:
    pytest.importorskip({"hunspell": "spylls", "symspell": "symspellpy"}[name])
    corrector = load_corrector(name)
    assert correct_text("(Teh) algoritm, F1 x_2 recieve.", corrector).split()[1:] == [
        "algorithm,",
        "F1",
        "x_2",
        "receive.",
    ]


def test_only_merged_tokens_lose_their_punctuation() -> None:
    assert without_inner_punctuation("(pre- dic tion). A-b", "(pre-diction). A-b") == "(prediction). A-b"
    assert without_inner_punctuation("", "") == ""


def test_unknown_corrector() -> None:
    with pytest.raises(BadOption, match="--correctors google: expected one of hunspell, symspell"):
        load_corrector("google")
