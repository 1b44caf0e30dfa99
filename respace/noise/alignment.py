"""Aligns wrong characters with correct ones: which stretch was read as which."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Codes


class Difference(NamedTuple):
    """``wrong[wrong_start:wrong_end]`` stands where ``correct[correct_start:correct_end]`` should."""

    correct_start: int
    correct_end: int
    wrong_start: int
    wrong_end: int


def differences(correct: Codes, wrong: Codes) -> list[Difference]:
    """The stretches in which two strings of characters differ, by an alignment with the fewest single edits.

    >>> from respace.gaps import code_points
    >>> differences(code_points("them"), code_points("tilern"))
    [Difference(correct_start=1, correct_end=2, wrong_start=1, wrong_end=3), \
Difference(correct_start=3, correct_end=4, wrong_start=4, wrong_end=6)]
    """
    start = _common_prefix(correct, wrong)
    end = _common_prefix(correct[start:][::-1], wrong[start:][::-1])
    inner_correct, inner_wrong = correct[start : len(correct) - end], wrong[start : len(wrong) - end]
    if not len(inner_correct) and not len(inner_wrong):
        return []
    steps = _backtrace(_distances(inner_correct, inner_wrong), inner_correct, inner_wrong)
    found: list[Difference] = []
    at_correct, at_wrong, open_correct, open_wrong = start, start, start, start
    for in_correct, in_wrong, equal in [*steps, (0, 0, True)]:
        if equal:
            if (at_correct, at_wrong) != (open_correct, open_wrong):
                found.append(Difference(open_correct, at_correct, open_wrong, at_wrong))
            open_correct, open_wrong = at_correct + in_correct, at_wrong + in_wrong
        at_correct, at_wrong = at_correct + in_correct, at_wrong + in_wrong
    return found


def _common_prefix(left: Codes, right: Codes) -> int:
    shorter = min(len(left), len(right))
    unequal = np.flatnonzero(left[:shorter] != right[:shorter])
    return int(unequal[0]) if len(unequal) else shorter


def _distances(correct: Codes, wrong: Codes) -> NDArray[np.int32]:
    """The edit distance of every prefix of the one to every prefix of the other."""
    table = np.empty((len(correct) + 1, len(wrong) + 1), dtype=np.int32)
    columns = np.arange(len(wrong) + 1, dtype=np.int32)
    table[0] = columns
    for number, character in enumerate(correct, start=1):
        above = table[number - 1]
        row = above + 1
        row[1:] = np.minimum(row[1:], above[:-1] + (wrong != character))
        # Insertions run along the row: a running minimum of (cost minus column) is all of them at once.
        table[number] = np.minimum.accumulate(row - columns) + columns
    return table


def _backtrace(table: NDArray[np.int32], correct: Codes, wrong: Codes) -> list[tuple[int, int, bool]]:
    """The steps of a best alignment from the beginning: (characters of correct, of wrong, are they equal)."""
    steps = []
    i, j = len(correct), len(wrong)
    while i or j:
        here = table[i, j]
        if i and j and correct[i - 1] == wrong[j - 1] and table[i - 1, j - 1] == here:
            steps.append((1, 1, True))
            i, j = i - 1, j - 1
        elif i and j and table[i - 1, j - 1] + 1 == here:
            steps.append((1, 1, False))
            i, j = i - 1, j - 1
        elif j and table[i, j - 1] + 1 == here:
            steps.append((0, 1, False))
            j -= 1
        else:
            steps.append((1, 0, False))
            i -= 1
    return steps[::-1]
