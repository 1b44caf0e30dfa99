"""A stretch of a text with its edits marked, for people."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from respace import gaps
from respace.gaps import Edit

_CONTEXT = 90
_PASSAGE = 320


Passage = list[tuple[str, str]]  # what, and the text: ``same``, ``inserted`` or ``deleted``


def passage_around(before: str, edits: Sequence[Edit], chosen: int) -> tuple[Passage, int]:
    """A passage around one of the edits, with all edits in it, and where that edit is in the passage.

    >>> passage_around("ab c", [Edit(1, "insertion"), Edit(2, "deletion")], 1)
    ([('same', 'a'), ('inserted', ' '), ('same', 'b'), ('deleted', ' '), ('same', 'c')], 3)
    """
    positions = np.flatnonzero(~gaps.is_space(gaps.code_points(before)))
    here = int(positions[edits[chosen].gap])
    start = max(0, here - _CONTEXT)
    if start:
        start = max(start, before.rfind(" ", start, here - _CONTEXT // 2) + 1)
    stop = min(len(before), here + _PASSAGE)
    passage: Passage = []
    place, where = start, 0
    for number, edit in enumerate(edits):
        left, right = int(positions[edit.gap - 1]) + 1, int(positions[edit.gap])
        if left < start:
            continue
        if right >= stop:
            break
        passage.append(("same", before[place:left]))
        where = len(passage) if number == chosen else where
        passage.append(("inserted", " ") if edit.kind == "insertion" else ("deleted", before[left:right]))
        place = right
    passage.append(("same", before[place:stop]))
    return passage, where
