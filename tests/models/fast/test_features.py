from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from models.fast.features import WORD_REACH, Features
from respace import gaps

FEATURES = Features()


def rows_of(text: str) -> np.ndarray:
    characters, bits = gaps.split(text)
    return FEATURES(gaps.code_points(characters).astype(np.int32), bits)


def test_every_table_has_its_own_rows() -> None:
    rows = rows_of("The quick brown fox jumps over 12 lazy dogs, again and again.")
    starts = [*FEATURES.table_starts().values(), FEATURES.rows]
    tables = [*range(len(starts) - 1), len(starts) - 2, len(starts) - 2]
    assert rows.shape[1] == FEATURES.columns == len(tables)
    for column, table in enumerate(tables):
        assert rows[:, column].min() >= starts[table]
        assert rows[:, column].max() < starts[table + 1]


def test_words_are_what_stands_between_given_spaces() -> None:
    rows = rows_of("a cat sat")
    left, right, both = rows[4, -3:]  # the gap before "sat"
    assert left == FEATURES.word_row(gaps.code_points("cat"))
    assert right == FEATURES.word_row(gaps.code_points("sat"))
    # Merged, "catsat" is looked up like any word, but for the space that is given there.
    assert rows_of("a catsat")[4, -1] == FEATURES.word_row(gaps.code_points("catsat")) != both


def test_digits_are_alike_and_case_matters_in_short_ngrams_only() -> None:
    assert np.array_equal(rows_of("in 1984 or"), rows_of("in 2071 or"))
    lower, upper = rows_of("thefox"), rows_of("Thefox")
    short = [n <= 4 for n, _ in FEATURES.ngrams]
    assert [a == b for a, b in zip(lower[0, : len(short)], upper[0, : len(short)], strict=True)] == [
        not s for s in short
    ]


@given(st.text(alphabet="abcdefg 1é😀", max_size=40), st.text(alphabet="abc ", max_size=40))
def test_a_sequence_looks_the_same_wherever_it_stands(text: str, other: str) -> None:
    characters, bits = gaps.split(text)
    codes = gaps.code_points(characters).astype(np.int32)
    neighbour = gaps.code_points("".join(other.split())).astype(np.int32)
    nothing = np.zeros(1, dtype=np.int32)
    packed = np.concatenate([neighbour, nothing, codes, nothing, neighbour])
    packed_bits = np.zeros(len(packed), dtype=bool)
    start = len(neighbour) + len(nothing)
    packed_bits[start : start + len(bits)] = bits
    inside = FEATURES(packed, packed_bits)[start : start + len(bits)]
    assert np.array_equal(inside, rows_of(text))


def test_features_look_no_further_than_they_say() -> None:
    random = np.random.default_rng(3)
    codes = random.integers(97, 123, 120).astype(np.int32)
    bits = random.random(120) < 0.1
    changed, changed_bits = codes.copy(), bits.copy()
    middle = slice(60 - FEATURES.reach, 60 + FEATURES.reach)
    changed[: middle.start - 1], changed[middle.stop :] = 65, 66
    changed_bits[: middle.start - 1] = True
    before, after = (FEATURES(a, b)[60] for a, b in ((codes, bits), (changed, changed_bits)))
    assert np.array_equal(before, after)
    assert FEATURES.reach == WORD_REACH
