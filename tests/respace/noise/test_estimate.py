from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.gaps import code_points
from respace.noise.alignment import Difference, differences
from respace.noise.confusions import Confusion
from respace.noise.errors import Span, count_errors
from respace.noise.estimate import estimate_ocr, insertion_factors, occurrences
from respace.noise.parameters import OcrParameters


@pytest.mark.parametrize(
    ("correct", "wrong", "expected"),
    [
        ("same", "same", []),
        ("", "", []),
        ("cat", "oat", [Difference(0, 1, 0, 1)]),
        ("cat", "ca", [Difference(2, 3, 2, 2)]),
        ("cat", "c-at", [Difference(1, 1, 1, 2)]),
        ("the man", "tlle rnan", [Difference(1, 2, 1, 3), Difference(4, 5, 5, 7)]),
    ],
)
def test_differences(correct: str, wrong: str, expected: list[Difference]) -> None:
    assert differences(code_points(correct), code_points(wrong)) == expected


@given(st.text(alphabet="abc", max_size=12), st.text(alphabet="abc", max_size=12))
def test_differences_turn_the_one_into_the_other(correct: str, wrong: str) -> None:
    rebuilt, at = "", 0
    for d in differences(code_points(correct), code_points(wrong)):
        rebuilt += correct[at : d.correct_start] + wrong[d.wrong_start : d.wrong_end]
        assert len(rebuilt) == d.wrong_end
        at = d.correct_end
    assert rebuilt + correct[at:] == wrong


@pytest.mark.parametrize(
    ("corrupt", "correct", "spans"),
    [
        ("all is well", "all is well", []),
        ("al l is well", "all is well", [Span(tokens=1, characters=3, insertions=1)]),
        ("allis well", "all is well", [Span(tokens=2, characters=5, deletions=1)]),
        ("oll is well", "all is well", [Span(tokens=1, characters=3, replacements=1)]),
        ("a l l is wcll", "all is well", [Span(1, 3, 2, 0, 0), Span(1, 4, 0, 0, 1)]),
        ("a l l ts well", "all is well", [Span(tokens=2, characters=5, insertions=2, replacements=1)]),
        ("all ~ is well", "all is well", []),
        ("all is welcomed", "all is well", [Span(tokens=1, characters=4, replacements=2)]),
        ("", "", []),
    ],
)
def test_spans(corrupt: str, correct: str, spans: list[Span]) -> None:
    assert count_errors([(corrupt, correct)]).spans == spans


def test_hyphens_are_counted_by_form_and_are_no_replacement() -> None:
    counts = count_errors(
        [("a com-puter", "a computer"), ("a com- puter", "a computer"), ("a com - puter", "a computer")]
    )
    assert counts.hyphens == Counter({"-": 1, "- ": 1, " - ": 1})
    assert counts.hyphenable_tokens == 3
    assert counts.hyphenation_rate == 1.0
    assert counts.spans == [Span(tokens=1, characters=8, insertions=1), Span(tokens=1, characters=8, insertions=2)]
    assert counts.confusions == Counter()


def test_rates() -> None:
    span = Span(tokens=2, characters=10, insertions=4, deletions=1, replacements=5)
    assert (span.insertion_rate, span.deletion_rate, span.replacement_rate) == (0.5, 1.0, 0.5)
    assert count_errors([("oll is well", "all is well")]).span_start_rate == pytest.approx(1 / 3)


def test_confusions_are_counted() -> None:
    counts = count_errors([("tlle rnan", "the man"), ("tlle maan", "the man")])
    assert counts.confusions == Counter({("h", "ll"): 2, ("m", "rn"): 1, ("", "a"): 1})


def test_insertion_factors_tell_narrow_letters_from_wide_ones() -> None:
    counts = count_errors([("m im im oat", "mimim oat")] * 30 + [("mimim oat", "mimim oat")] * 30)
    after, before = insertion_factors(counts)
    assert before["i"] > 1.5
    assert before["a"] < 0.5
    assert before["m"] < 0.5
    assert set(after) == {"m", "i", "o", "a"}


def test_words_that_are_spaced_out_altogether_say_nothing_about_letters() -> None:
    counts = count_errors([("m i m i m", "mimim")])
    assert counts.gaps_inside_words.total() == 0
    assert counts.spans == [Span(tokens=1, characters=5, insertions=4)]


def test_occurrences_do_not_cross_spaces() -> None:
    assert occurrences(["ab ab", "ba"], ["a", "ab", "bb", "", "ba"]) == {"a": 0.5, "ab": 2 / 6, "ba": 1 / 6}


def test_parameters_survive_their_file_and_join_confusions() -> None:
    counts = count_errors([("tlle m an", "the man"), ("com-puter", "computer")])
    made = estimate_ocr(counts, [Confusion("h", "ll", 4), Confusion("e", "c", 2)], ["the man"], most_frequent=1)
    assert made.confusions == (Confusion("h", "ll", 5),)
    assert made.hyphen_forms == (1, 0, 0)
    again = OcrParameters.from_json(made.to_json())
    assert again.confusions == made.confusions
    assert np.array_equal(again.span_lengths, [2])
    assert again.span_insertion_rates == pytest.approx(made.span_insertion_rates)
