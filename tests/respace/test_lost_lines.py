"""Short lines without a space: one that was evidently lost proves the others."""

from __future__ import annotations

import numpy as np
import pytest

from respace import gaps
from respace.method import LONGEST_LOST, GivenSequence, decided_bits


def decide(text: str, logits: dict[int, float], caution: float = 0.0) -> str:
    """The text with what is decided by these logits, with penalties of 2; -9 where none is given."""
    characters, bits = gaps.split(text)
    starts = gaps.line_break_gaps(text)
    values = np.where(bits, 9.0, -9.0).astype(np.float32)
    for gap, value in logits.items():
        values[gap] = value
    given = GivenSequence(
        gaps.code_points(characters), bits, None, np.full(len(bits), caution, dtype=np.float32), starts
    )
    decided = decided_bits(given, values, 2.0, 2.0)
    return "".join(" " * bool(bit) + character for character, bit in zip(characters, decided, strict=True)).strip()


@pytest.mark.parametrize(
    ("text", "logits", "wanted"),
    [
        ("AdamSmall(writer)", {4: 0.8, 9: 4.1}, "Adam Small (writer)"),
        ("AdamSmall(writer)", {4: 0.8, 9: 1.9}, "AdamSmall(writer)"),  # nothing is evident
        ("AdamSmall(writer) here", {4: 0.8, 9: 4.1}, "AdamSmall (writer) here"),  # it has a space
    ],
)
def test_one_lost_space_proves_others(text: str, logits: dict[int, float], wanted: str) -> None:
    assert decide(text, logits) == wanted


def test_lines_prove_nothing_of_each_other() -> None:
    assert decide("AdamSmall(writer)\nJohnSmith", {4: 0.8, 9: 4.1, 21: 0.8}) == "Adam Small (writer) JohnSmith"


def test_where_caution_is_asked_for_nothing_is_proved() -> None:
    assert decide("getState(writer)", {3: 0.8, 8: 4.1}, caution=1.0) == "getState (writer)"


def test_long_lines_are_judged_before() -> None:
    text = "AdamSmall(writer)" + "x" * LONGEST_LOST
    assert decide(text, {4: 0.8, 9: 4.1}) == "AdamSmall (writer)" + "x" * LONGEST_LOST


def test_nothing() -> None:
    assert (
        decided_bits(GivenSequence(np.zeros(0, np.uint32), np.zeros(0, bool)), np.zeros(0, np.float32), 1, 1).size == 0
    )
