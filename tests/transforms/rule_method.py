"""A small deterministic method for tests: joins single letters, splits 'ofthe', and can be made to fail."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from respace import gaps
from respace.method import Decision, GivenSequence

SPLIT_AFTER = "of"
SPLIT = "ofthe"


class Rules:
    """Deletes the space before a lone ``x``, inserts one inside ``ofthe``, and fails on any text with ``‽``."""

    context = 8

    def __init__(self, insertion_penalty: float | None = None, deletion_penalty: float | None = None):
        self._penalties = (insertion_penalty, deletion_penalty)

    @property
    def identity(self) -> str:
        return f"rules {self._penalties}"

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        return [self._decide(sequence) for sequence in sequences]

    def _decide(self, sequence: GivenSequence) -> Decision:
        characters = gaps.from_code_points(sequence.characters)
        if "‽" in characters:
            raise RuntimeError("this method cannot read an interrobang")
        bits = sequence.bits.copy()
        place = characters.find(SPLIT)
        while place >= 0:
            bits[place + len(SPLIT_AFTER)] = True
            place = characters.find(SPLIT, place + 1)
        bits[1:] &= sequence.characters[1:] != ord("x")
        return Decision(bits, np.full(len(bits), 0.75, dtype=np.float32))
