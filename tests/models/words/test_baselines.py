"""Baselines by name, and the mapping of wordsegment's words onto the original characters."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from models.files import ModelError
from models.methods import BASELINES, load_method, method_identity, method_names
from models.words.baselines import DoNothing, WordSegment, space_between
from respace import gaps
from respace.method import GivenSequence
from respace.repairer import Repairer


def given(text: str) -> GivenSequence:
    characters, bits = gaps.split(text)
    return GivenSequence(gaps.code_points(characters), bits)


@pytest.fixture(scope="module")
def wordsegment() -> WordSegment:
    pytest.importorskip("wordsegment", reason="the package wordsegment is not installed")
    return WordSegment()


def test_do_nothing_is_certain_of_nothing_to_do() -> None:
    decision = DoNothing().decide([given("a bc")])[0]
    assert decision.bits.tolist() == [False, True, False]
    assert decision.confidence.tolist() == [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("thisisatest", "this is a test"),
        ("Thisis(a)Test,too.", "This is (a) Test, too."),
        ("th is is  a test", "this is a test"),
        ("", ""),
        ("…", "…"),
    ],
)
def test_wordsegment_keeps_the_characters(wordsegment: WordSegment, text: str, expected: str) -> None:
    repaired = Repairer(wordsegment).repair(text)
    assert repaired.split() == expected.split()


def test_wordsegment_has_room_for_words_of_one_letter(wordsegment: WordSegment) -> None:
    """Formulas and tables, called from as far down as a worker calls."""
    limit = sys.getrecursionlimit()

    def from_below(levels: int) -> int:
        if levels:
            return from_below(levels - 1)
        return len(wordsegment.decide([given("x1y2z3q4w5v6" * 40)])[0].bits)

    assert from_below(500) == 480
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(from_below, [500] * 8)) == [480] * 8
    assert sys.getrecursionlimit() == limit


def test_spaces_go_before_opening_signs() -> None:
    assert space_between('he said,"(so', 6, 10) == 9
    assert space_between("end.“The", 2, 5) == 4


def test_every_baseline_has_a_name() -> None:
    assert list(BASELINES) == ["do_nothing", "greedy", "dynamic_programming", "wordsegment"]
    assert set(BASELINES) <= set(method_names())


def test_unknown_method() -> None:
    with pytest.raises(ModelError, match=r"unknown method 'magic': expected one of do_nothing, greedy.*directory"):
        load_method("magic")
    with pytest.raises(ModelError, match="unknown method 'magic'"):
        method_identity("magic")


def test_baselines_have_no_penalties() -> None:
    with pytest.raises(ValueError, match="insertion_penalty 2: do_nothing has no penalties"):
        load_method("do_nothing", insertion_penalty=2.0)


@pytest.mark.parametrize("name", ["greedy", "dynamic_programming"])
def test_shipped_counts_repair(name: str) -> None:
    method = load_method(name)
    assert method.identity == method_identity(name)
    text = "The cat sat on the table and looked at the old man."
    decision = method.decide([given(text.replace(" ", ""))])[0]
    if name == "dynamic_programming":
        assert decision.bits.tolist() == given(text).bits.tolist()
    assert decision.bits.any()
    assert np.all(decision.confidence == 0.5)
