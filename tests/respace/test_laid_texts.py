from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.lines import load_line_judge
from respace import Repairer
from respace.judgement import Judgement
from respace.laid_texts import LaidTexts

# What one of them has must change nothing in another one.
TEXTS = [
    "It was the first time that anybody had asked her what she thought of the whole affair.",
    "",
    "UUUUUUUUUUUUUUU",
    "AAAAAAAAAAAAAAA",
    ".SH NAME\n.Xx foo bar",
    ".Xx foo bar",
    "αβ",
    "γδ",
    "A B C D",
    "E F G H",
    " \n",
    "<a",
    "href=x>",
    "a\n  b",
    "a\tb\n  c",
    "setState(x) getState(y)",
    "inGermany",
    "Thelinelostallofitsspaces,andthatisashame.",
    "11%,,9%,14%,11%\n12%,,8%,1%,2%",
    "a\0b",
    "d\u0301",
    "\u200d",
    "😀",
    "😀",
    "x",
]


@pytest.fixture(scope="module")
def repairer() -> Repairer:
    return Repairer.load()


def judged_together(texts: list[str]) -> list[Any]:
    laid = LaidTexts.of(texts)
    verdict = Judgement.of(laid, load_line_judge())
    stretches = [slice(*laid.starts[number : number + 2]) for number in range(len(texts))]
    arrays = (laid.characters, laid.bits, laid.line_breaks, verdict.caution, verdict.lost, verdict.reasons)
    return [
        ([array[stretch].tolist() for array in arrays], alone)
        for stretch, alone in zip(stretches, verdict.left_alone(laid), strict=True)
    ]


def test_each_text_is_judged_as_if_alone() -> None:
    assert judged_together(TEXTS) == [judged_together([text])[0] for text in TEXTS]


@given(
    st.lists(
        st.text(st.sampled_from("aB1 \t\n.,;:/\\_@#&<>()-=`'\"é\u0301\u200dЖ中α😀AGCT\0"), max_size=30), min_size=1
    )
)
def test_any_text_is_judged_as_if_alone(texts: list[str]) -> None:
    assert judged_together(texts) == [judged_together([text])[0] for text in texts]


def test_each_text_is_repaired_as_if_alone(repairer: Repairer) -> None:
    texts = [
        *TEXTS,
        "Thealgo rithm isfast.",
        "ofthe re pairs",
        'He said:"Deep lear ning-based" in2019, Smithet al.',
    ] * 2
    together = repairer.repair_with_edits(texts)
    assert sum(len(one.edits) for one in together) > 10
    assert together == [repairer.repair_with_edits(text) for text in texts]


def test_a_short_text_in_a_list_costs_few_calls(repairer: Repairer) -> None:
    """Calls hold the interpreter: some two hundred for each text were more than what the model costs."""
    text = "It was the first time that she was asked."

    def calls(number: int) -> int:
        counted = 0

        def count(frame: object, event: str, argument: object) -> None:
            nonlocal counted
            counted += event in ("call", "c_call")

        texts = [f"{text[: 30 + place % 8]}" for place in range(number)]
        sys.setprofile(count)
        try:
            repairer.repair(texts)
        finally:
            sys.setprofile(None)
        return counted

    calls(100)
    assert calls(600) - calls(200) < 400 * 60


def test_where_texts_stand() -> None:
    laid = LaidTexts.of(["a b", "", "c\nd"])
    assert laid.starts.tolist() == [0, 2, 2, 4]
    assert laid.not_empty.tolist() == [0, 2, 4]
    assert laid.bits.tolist() == [False, True, False, True]
    assert laid.line_breaks.tolist() == [False, False, False, True]
    assert [laid.text_at(offset) for offset in (0, 2, 6, 9)] == [0, 0, 1, 2]
    assert laid.by_text(np.array([1, 3])) == [slice(0, 1), slice(1, 1), slice(1, 2)]
