from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace import gaps
from respace.noise.rows import Replacements, Rows, merge, splice


def rows_of(*texts: str) -> Rows:
    return Rows.of(texts, [str(number) for number in range(len(texts))], seed=0)


def texts_of(rows: Rows) -> list[str]:
    bounds = rows.offsets.tolist()
    return [
        gaps.join(gaps.from_code_points(rows.characters[start:end]), rows.bits[start:end])
        for start, end in pairwise(bounds)
    ]


def spliced(rows: Rows, *changes: tuple[int, int, str]) -> list[str]:
    return texts_of(splice(rows, merge([Replacements.from_strings(changes)]))[0])


def test_rows_hold_texts_without_regard_to_the_kind_of_whitespace() -> None:
    rows = rows_of(" ab\t\u00a0c ", "", "  ", "d")
    assert rows.offsets.tolist() == [0, 3, 3, 3, 4]
    assert rows.bits.tolist() == [False, False, True, False]
    assert rows.row.tolist() == [0, 0, 0, 3]
    assert rows.position.tolist() == [0, 1, 2, 0]
    assert rows.token_start.tolist() == [0, 2, 3]
    assert rows.token_end.tolist() == [2, 3, 4]
    assert rows.tokens_per_row.tolist() == [2, 0, 0, 1]
    assert rows.token_number.tolist() == [0, 1, 0]


def test_a_key_is_needed_for_every_text() -> None:
    with pytest.raises(ValueError, match="2 texts with 1 keys"):
        Rows.of(["a", "b"], ["1"], seed=0)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ([(3, 1, "o")], ["the oat", "sat"]),
        ([(3, 1, "cl")], ["the clat", "sat"]),
        ([(0, 3, "a")], ["a cat", "sat"]),
        ([(3, 3, "")], ["the", "sat"]),
        ([(0, 3, "")], ["cat", "sat"]),
        ([(5, 1, ""), (6, 1, "")], ["the ca", "at"]),
        ([(4, 0, "-")], ["the c-at", "sat"]),
        ([(6, 0, ".")], ["the cat", ".sat"]),
        # A space at an odd place: the insertion belongs to the word after it.
        ([(3, 0, "x")], ["the xcat", "sat"]),
        ([(6, 3, "")], ["the cat", ""]),
    ],
)
def test_splice(changes: list[tuple[int, int, str]], expected: list[str]) -> None:
    assert spliced(rows_of("the cat", "sat"), *changes) == expected


def test_an_insertion_at_a_space_at_an_even_place_belongs_to_the_word_before_it() -> None:
    assert spliced(rows_of("on it"), (2, 0, ",")) == ["on, it"]


def test_of_two_overlapping_replacements_the_later_one_is_dropped() -> None:
    assert spliced(rows_of("abcdef"), (1, 3, "X"), (3, 1, "Y"), (4, 1, "Z")) == ["aXZf"]


def test_splice_says_where_every_character_came_from() -> None:
    _, source, place = splice(rows_of("abcd"), Replacements.from_strings([(1, 2, "xyz"), (3, 0, "-")]))
    assert source.tolist() == [0, 1, 1, 1, 3, 3]
    assert place.tolist() == [1, 4]


words = st.text(alphabet="abcdé𝒜", min_size=1, max_size=5)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(st.lists(words, max_size=4), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 3), st.text(alphabet="XYZ", max_size=3)), max_size=8),
)
def test_splice_is_like_replacing_in_a_string(lines: list[list[str]], wanted: list[tuple[int, int, str]]) -> None:
    rows = rows_of(*(" ".join(line) for line in lines))
    count = len(rows.characters)
    ends_of_words = rows.token_end[np.cumsum(rows.starts_token) - 1] if count else []
    changes = [
        (start, removed, added)
        for start, removed, added in wanted
        if start < count and start + removed <= ends_of_words[start]
    ]
    merged = merge([Replacements.from_strings(changes)])
    after, source, _ = splice(rows, merged)

    characters = gaps.from_code_points(rows.characters)
    first = np.cumsum(merged.length) - merged.length
    for number in reversed(range(len(merged.start))):
        start, end = int(merged.start[number]), int(merged.start[number] + merged.removed[number])
        added = gaps.from_code_points(merged.added[first[number] : first[number] + merged.length[number]])
        characters = characters[:start] + added + characters[end:]
    assert gaps.from_code_points(after.characters) == characters
    assert len(after) == len(lines)
    assert after.offsets[-1] == len(source) == len(after.characters) == len(after.bits)
    assert (np.diff(after.offsets) >= 0).all()
    assert (rows.row[source] == after.row).all()
    # A word can vanish, none can come into being.
    assert (after.tokens_per_row <= rows.tokens_per_row).all()
    if not len(merged.start) or (merged.removed <= merged.length).all():
        assert after.tokens_per_row.tolist() == rows.tokens_per_row.tolist()
