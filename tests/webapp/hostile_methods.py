"""Methods that misbehave on words of their own. Processes import them by name, as they import models."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence

from models.words.baselines import DoNothing
from respace.method import Decision, GivenSequence

HOSTILE = "tests.webapp.hostile_methods:Hostile"
BROKEN = "tests.webapp.hostile_methods:Broken"


class Hostile(DoNothing):
    """Holds the interpreter for hours ("hang"), ends its process ("die"), or raises ("fail")."""

    def __init__(self, insertion_penalty: float | None, deletion_penalty: float | None):
        pass

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        for sequence in sequences:
            match "".join(map(chr, sequence.characters)):
                case "hang":
                    re.match(r"(a+)+$", "a" * 64 + "b")
                case "die":
                    os._exit(1)
                case "fail":
                    raise KeyError("a fault of the program")
        return super().decide(sequences)


class Broken(Hostile):
    """A model that cannot be loaded."""

    def __init__(self, insertion_penalty: float | None, deletion_penalty: float | None):
        raise ValueError("its weights are gone")
