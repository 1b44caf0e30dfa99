"""The contract between texts and models: what a method is given, what it decides, and what penalties mean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits, Codes

# A longer sequence of a benchmark that has no space lost them; a shorter one may be a heading of one word.
LONGEST_WORD = 20
# And one without a space, but with one that was evidently lost, is taken for a line that lost all of them up to here.
LONGEST_LOST = 64


@dataclass(frozen=True, slots=True)
class GivenSequence:
    """What a method repairs.

    Attributes:
        characters: code points.
        bits: the given gap bits.
        lost: gaps of lines that lost all their spaces: nothing speaks for their bits, so no penalties there.
        caution: evidence, in logits, that an edit of each gap needs beyond the penalties; infinite where it must stay.
        line_starts: which characters begin a line, if it has several.
    """

    characters: Codes
    bits: Bits
    lost: Bits | None = None
    caution: NDArray[np.float32] | None = None
    line_starts: Bits | None = None

    @property
    def lost_all_spaces(self) -> bool:
        """For methods that know one pair of penalties: whether most of the sequence lost its spaces."""
        return self.lost is not None and 2 * int(np.count_nonzero(self.lost)) > len(self.bits)


@dataclass(frozen=True, slots=True)
class Decision:
    """What a method decides: the gap bits, and for each gap the probability that its bit is right."""

    bits: Bits
    confidence: NDArray[np.float32]


class Method(Protocol):
    """A way to repair spaces: FAST, the paper's searches, the baselines. All of them are called this way."""

    @property
    def identity(self) -> str:
        """Name, settings and, for models, sha256: two methods with the same identity decide alike."""

    @property
    def context(self) -> int:
        """How many characters on either side of a gap can matter for it."""

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]: ...


def decided_bits(
    sequence: GivenSequence, logits: NDArray[np.float32], insertion_penalty: float, deletion_penalty: float
) -> Bits:
    """Which bit a logit means: the one rule for inference, for scores and for fitting penalties.

    A space is inserted if the logit is above the insertion penalty, a given one deleted if it is below minus the
    deletion penalty. Where a line lost all its spaces no penalty is charged: where that was said before, and in short
    lines without a space in which one is inserted.

    >>> given = GivenSequence(np.zeros(4, np.uint32), np.array([False, True, True, False]))
    >>> decided_bits(given, np.array([0, -3, -1, 3], np.float32), 2.0, 2.0).tolist()
    [False, False, True, True]
    """
    bits = charged_bits(sequence.bits, sequence.lost, logits, insertion_penalty, deletion_penalty)
    return with_lost_spaces(sequence, bits, logits)


def charged_bits(
    given: Bits, lost: Bits | None, logits: NDArray[np.float32], insertion_penalty: float, deletion_penalty: float
) -> Bits:
    """Which bit a logit means, gap by gap: of one sequence, or of many that are laid one after the other."""
    charged = 1.0 if lost is None else (~lost).astype(np.float32)
    return np.where(given, logits >= -deletion_penalty * charged, logits > insertion_penalty * charged)


def with_lost_spaces(sequence: GivenSequence, bits: Bits, logits: NDArray[np.float32]) -> Bits:
    """The bits, without a penalty in short lines that have no space and in which one is inserted."""
    lost = _lost_some(sequence, bits)
    return bits if lost is None else bits | (lost & (logits > 0))


def _lost_some(sequence: GivenSequence, bits: Bits) -> Bits | None:
    """Gaps of short lines that have no space, of which at least one was evidently lost; None if there are none.

    A line judged with caution is no prose: there an edit proves nothing.
    """
    inside = np.append(False, np.ones(len(bits) - 1, dtype=bool)) if len(bits) else bits
    if sequence.line_starts is not None:
        inside &= ~sequence.line_starts
    inserted = bits & ~sequence.bits & inside
    if not inserted.any():
        return None
    line = np.cumsum(~inside)
    chosen = (np.bincount(line, sequence.bits & inside) == 0) & (np.bincount(line, inserted) > 0)
    chosen &= np.bincount(line) <= LONGEST_LOST
    if sequence.caution is not None:
        chosen &= np.bincount(line, (sequence.caution > 0) & np.isfinite(sequence.caution)) == 0
    return chosen[line] & inside if chosen.any() else None


def check_penalties(insertion_penalty: float | None, deletion_penalty: float | None) -> None:
    """Raises ValueError unless both are numbers of at least 0, or left to the model."""
    for option, penalty in (("insertion_penalty", insertion_penalty), ("deletion_penalty", deletion_penalty)):
        if penalty is not None and not penalty >= 0:
            raise ValueError(f"{option} {penalty:g}: expected a number of at least 0")


def without_spaces(bits: Bits) -> Bits:
    """Gaps without penalties, as the paper has it: all of a sequence that has no space and is longer than a word."""
    lost = not np.any(bits) and len(bits) > LONGEST_WORD
    return np.full(len(bits), lost, dtype=bool)
