"""A small deterministic method for tests: joins single letters, splits 'ofthe', and can be made to fail."""

from __future__ import annotations

import os
import re
import signal
import sys
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


class Hostile(Rules):
    """Never comes back from a text with an hourglass, and ends its process at one with a bomb."""

    def _decide(self, sequence: GivenSequence) -> Decision:
        characters = gaps.from_code_points(sequence.characters)
        if "⌛" in characters:
            re.fullmatch("(a|a)*b", "a" * 60)  # holds the interpreter, as a hostile text can
        if "💣" in characters:
            os.kill(os.getpid(), signal.SIGKILL)
        return super()._decide(sequence)


class NotForModels(Rules):
    """Can be described, and not be loaded where it is used."""

    def __init__(self, insertion_penalty: float | None = None, deletion_penalty: float | None = None):
        super().__init__(insertion_penalty, deletion_penalty)
        if sys.argv[0] == "-c":  # the process of the model
            self._fail()

    def _fail(self) -> None:
        raise ValueError("repairs nothing by itself")


class DiesWhileLoading(NotForModels):
    def _fail(self) -> None:
        os._exit(1)
