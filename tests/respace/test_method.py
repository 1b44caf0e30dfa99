"""The decision rule: which bit a logit means, at the edges of the penalties and on both sides of them."""

from __future__ import annotations

import numpy as np
import pytest

from respace.method import LONGEST_WORD, GivenSequence, check_penalties, decided_bits, without_spaces


def decide(logit: float, bit: bool, lost: bool | None = None) -> bool:
    """The bit for one gap, with penalties 2 (insertion) and 5 (deletion)."""
    given = GivenSequence(
        np.zeros(1, np.uint32), np.array([bit]), lost=None if lost is None else np.array([lost], dtype=bool)
    )
    return bool(decided_bits(given, np.array([logit], np.float32), 2.0, 5.0)[0])


@pytest.mark.parametrize("lost", [None, False])
@pytest.mark.parametrize(
    ("logit", "bit", "wanted"),
    [
        (1.5, False, False),
        (2.0, False, False),  # as much evidence as asked for is not enough to insert
        (2.5, False, True),
        (-4.5, True, True),
        (-5.0, True, True),  # nor to delete
        (-5.5, True, False),
        (-2.5, True, True),  # the penalties are not each other's
        (4.0, False, True),
        (-9.0, False, False),
        (9.0, True, True),
    ],
)
def test_penalties(logit: float, bit: bool, wanted: bool, lost: bool | None) -> None:
    assert decide(logit, bit, lost) is wanted


@pytest.mark.parametrize(
    ("logit", "bit", "wanted"),
    [(0.0, False, False), (0.1, False, True), (0.0, True, True), (-0.1, True, False)],
)
def test_no_penalty_where_all_spaces_were_lost(logit: float, bit: bool, wanted: bool) -> None:
    assert decide(logit, bit, lost=True) is wanted


@pytest.mark.parametrize(("lost", "most"), [([1, 1, 0], True), ([1, 0], False), ([1, 0, 0], False), ([], False)])
def test_most_of_a_sequence(lost: list[int], most: bool) -> None:
    bits = np.zeros(len(lost), dtype=bool)
    characters = np.zeros(len(lost), np.uint32)
    assert GivenSequence(characters, bits, lost=np.array(lost, dtype=bool)).lost_all_spaces is most
    assert GivenSequence(characters, bits).lost_all_spaces is False


def test_sequences_without_spaces() -> None:
    none = np.zeros(LONGEST_WORD, dtype=bool)
    assert LONGEST_WORD == 20
    assert without_spaces(none).tolist() == [False] * LONGEST_WORD  # it may be a word
    assert without_spaces(np.zeros(LONGEST_WORD + 1, dtype=bool)).tolist() == [True] * (LONGEST_WORD + 1)
    assert not without_spaces(np.zeros(3, dtype=bool)).any()
    one = np.zeros(LONGEST_WORD + 1, dtype=bool)
    one[5] = True
    assert not without_spaces(one).any()


@pytest.mark.parametrize("penalties", [(0.0, 0.0), (None, None), (1e9, 0.5), (0.5, None)])
def test_penalties_that_can_be(penalties: tuple[float | None, float | None]) -> None:
    check_penalties(*penalties)


@pytest.mark.parametrize(
    ("penalties", "named"),
    [((-1.0, 0.0), "insertion_penalty -1"), ((0.0, -0.5), "deletion_penalty -0.5"), ((float("nan"), None), "nan")],
)
def test_penalties_that_cannot_be(penalties: tuple[float | None, float | None], named: str) -> None:
    with pytest.raises(ValueError, match=f"{named}: expected a number of at least 0"):
        check_penalties(*penalties)
