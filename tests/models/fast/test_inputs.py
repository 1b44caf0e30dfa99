from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.fast.inputs import FAR, NEAR, quotes_told_apart, surroundings
from respace import gaps


def codes(text: str) -> np.ndarray:
    return gaps.code_points(text).astype(np.int32)


def text_of(characters: np.ndarray) -> str:
    return gaps.from_code_points(characters.astype(np.uint32))


def test_each_line_begins_with_an_opening_quote_and_ends_with_a_closing_one() -> None:
    text = 'a"b"c"d"e'
    line_starts = np.zeros(len(text), dtype=bool)
    line_starts[text.index("d")] = True
    assert text_of(quotes_told_apart(codes(text), line_starts)) == "a“b”c”d“e"
    two = np.concatenate([codes('x"'), [0], codes('y"z"')]).astype(np.int32)
    assert text_of(quotes_told_apart(two, np.zeros(len(two), dtype=bool))) == "x”\x00y“z”"


@given(st.text(alphabet='ab"“ ', max_size=30))
def test_nothing_but_straight_quotes_is_changed(text: str) -> None:
    characters = codes(text)
    told = quotes_told_apart(characters, np.zeros(len(characters), dtype=bool))
    assert np.array_equal(told[characters != ord('"')], characters[characters != ord('"')])
    assert ord('"') not in told


def by_hand(characters: np.ndarray, bits: np.ndarray, odds: np.ndarray) -> np.ndarray:
    """Gap by gap, with slices instead of running sums."""
    out = np.zeros((len(characters), 5))
    edges = [-1, *np.flatnonzero(characters == 0).tolist(), len(characters)]
    for before, stop in pairwise(edges):
        start = before + 1
        for at in range(start, stop):
            left = next((at - place for place in range(at - 1, start, -1) if bits[place]), at - start)
            right = next((place - at for place in range(at + 1, stop) if bits[place]), stop - at)
            out[at, :2] = np.log1p([min(left, 40), min(right, 40)]) / np.log1p(40)
            near = slice(max(start, at - NEAR), min(stop, at + NEAR + 1))
            far = slice(max(start, at - FAR), min(stop, at + FAR + 1))
            out[at, 2] = 4 * bits[near].mean()
            out[at, 3] = min(2, 20 * np.where(bits[far], 0, np.maximum(odds[far], 0)).mean())
            out[at, 4] = min(2, 20 * np.where(bits[far], np.maximum(-odds[far], 0), 0).mean())
    return out


def test_surroundings_are_those_counted_by_hand() -> None:
    random = np.random.default_rng(1)
    characters = random.integers(97, 123, 700).astype(np.int32)
    characters[[50, 51, 300]] = 0
    bits = (random.random(700) < 0.1) & (characters > 0)
    bits[[0, 52, 301]] = False
    odds = random.normal(0, 0.1, 700).astype(np.float32)
    np.testing.assert_allclose(surroundings(characters, bits, odds), by_hand(characters, bits, odds), atol=1e-5)
