from __future__ import annotations

import time

import pytest

from respace.latex.quality import reason_against


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("We take F(R, T) and n + 1, as in [3].", None),
        ("where", None),
        ("Let X1, ..., Xn be i.i.d. (see below), |T | <1.", None),
        ("1 + 1 = 2", "no letters"),
        ("The \ue00f is odd.", "unknown command"),
        ("By Lemma thm:main:1 it holds.", "left-over markup"),
        (r"A \foo left", "left-over markup"),
        ("Harald CramÃ©r", "wrong encoding"),
        ("the family , has", "odd spacing"),
        ("ends here.Then", "odd spacing"),
        ("dataset () has", "odd spacing"),
    ],
)
def test_reason_against(text: str, reason: str | None) -> None:
    assert reason_against(text) == reason


def test_a_paragraph_of_millions_of_characters() -> None:
    started = time.process_time()
    for character in "a,.:@[(x ":
        reason_against("x" + character * 100_000)
    assert time.process_time() - started < 3
