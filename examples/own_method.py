"""A method of one's own: a space after a comma between two letters. Try it without touching the project:

python -m pipelines.repair_corpus --model examples.own_method:SpaceAfterComma \\
    --input examples/corpus --output output/own_method
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from respace.gaps import from_code_points
from respace.method import Decision, GivenSequence


class SpaceAfterComma:
    """What `respace.method.Method` asks for: an identity, a context, and decisions."""

    # Manifests have it: with another identity, documents are repaired again.
    identity = "space_after_comma 1"
    # How many characters on either side of a gap can matter for it.
    context = 2

    def __init__(self, insertion_penalty: float | None = None, deletion_penalty: float | None = None):
        """Both penalties are None unless the user gives them. A method that knows none may take no arguments."""

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        return [self._decide(sequence) for sequence in sequences]

    def _decide(self, sequence: GivenSequence) -> Decision:
        """Gap i is the one before character i; its bit says whether there is a space."""
        characters = from_code_points(sequence.characters)
        bits = sequence.bits.copy()
        for gap in range(2, len(characters)):
            if characters[gap - 1] == "," and characters[gap - 2].isalpha() and characters[gap].isalpha():
                bits[gap] = True
        return Decision(bits, confidence=np.full(len(bits), 0.9, dtype=np.float32))
