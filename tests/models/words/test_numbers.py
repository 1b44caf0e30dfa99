"""Numbers stay whole, and what only looks like a number does not."""

from __future__ import annotations

import numpy as np
import pytest

from models.words.numbers import join_numbers
from respace import gaps


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("of 1, 067 men", "of 1,067 men"),
        ("2007, 2008", "2007, 2008"),
        ("1, 234, 567.", "1,234,567."),
        ("the 46 th Union", "the 46th Union"),
        ("in 1987 that", "in 1987 that"),
        ("the 11 th, 21 st Day", "the 11th, 21st Day"),
        ("the 2 nd and 3 rd", "the 2nd and 3rd"),
        ("a 1 star hotel", "a 1 star hotel"),
        ("the 1950 s.", "the 1950s."),
        ("in 1950 she", "in 1950 she"),
    ],
)
def test_examples(text: str, expected: str) -> None:
    characters, bits = gaps.split(text)
    first = np.zeros(len(bits), dtype=bool)
    first[0] = True
    join_numbers(gaps.code_points(characters), first, bits)
    assert gaps.join(characters, bits) == expected


def test_texts_do_not_touch() -> None:
    characters, bits = gaps.split("in 4 6 th")
    first = np.array([True, False, False, True, False, False])
    join_numbers(gaps.code_points(characters), first, bits)
    assert bits.tolist() == [False, False, True, True, False, False]
    first = np.array([True, False, False, False, True, False])
    bits = gaps.split("in 4 6 th")[1]
    join_numbers(gaps.code_points(characters), first, bits)
    assert bits.tolist() == [False, False, True, True, True, False]
