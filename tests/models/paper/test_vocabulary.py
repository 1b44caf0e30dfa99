"""Characters and their numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.files import ModelError
from models.paper.vocabulary import Vocabulary
from respace.gaps import code_points


def test_most_frequent_first_and_ties_by_code_point() -> None:
    vocabulary = Vocabulary.from_counts({"b": 3, "a": 3, " ": 10, "z": 1, "é": 2}, size=4)
    assert vocabulary.characters == " abé"
    assert (vocabulary.unknown, vocabulary.start, vocabulary.end, len(vocabulary)) == (4, 5, 6, 7)


def test_paper_size() -> None:
    counts = {chr(0x4E00 + number): 1000 - number for number in range(300)} | {" ": 5000}
    vocabulary = Vocabulary.from_counts(counts)
    assert len(vocabulary) == 203
    assert vocabulary.space == 0


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=40))
def test_encode_is_index_or_unknown(text: str) -> None:
    vocabulary = Vocabulary(" thequickbrownfxjmpsvlazydgé\U0001f600")
    expected = [
        vocabulary.characters.index(one) if one in vocabulary.characters else vocabulary.unknown for one in text
    ]
    assert vocabulary.encode(code_points(text)).tolist() == expected


def test_encode_gives_what_the_graph_takes() -> None:
    encoded = Vocabulary(" a").encode(code_points("aba"))
    assert encoded.dtype == np.int32
    assert encoded.tolist() == [1, 2, 1]


def test_bad_vocabularies() -> None:
    with pytest.raises(ModelError, match="'a' more than once"):
        Vocabulary(" aa")
    with pytest.raises(ModelError, match="no blank"):
        Vocabulary("ab")
    with pytest.raises(ValueError, match="0 characters: expected at least 1"):
        Vocabulary.from_counts({" ": 1}, size=0)
