"""What is known of a text's gaps before any model is asked: which are guarded, which lines are no prose, which lost
all their spaces."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from respace import guards
from respace.gaps import Bits
from respace.laid_texts import LaidTexts

NOT_PROSE = "not English prose"
REASONS = (*guards.KINDS, NOT_PROSE)
_NOT_PROSE = len(REASONS) - 1


@dataclass(frozen=True, slots=True)
class LineVerdicts:
    """What a judge says of the lines of texts, for each gap.

    Attributes:
        caution: evidence, in logits, that an edit needs beyond the penalties.
        lost: whether the line lost all its spaces, so that nothing speaks for the given bits.
    """

    caution: NDArray[np.float32]
    lost: Bits


class LineJudge(Protocol):
    """Tells lines of English prose from others, of many texts at once; what it says of one depends on no other."""

    def __call__(self, laid: LaidTexts) -> LineVerdicts: ...


@dataclass(frozen=True, slots=True)
class LeftAlone:
    """A stretch of gaps, ``start`` to ``stop``, that stayed as they were, and why: edits lie between such stretches."""

    reason: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Judgement:
    """For each gap of texts how much more evidence an edit needs (infinite: never), and why.

    Attributes:
        caution: in logits, beyond the penalties.
        lost: gaps of lines that lost all their spaces: no penalties there.
        reasons: numbers in `REASONS`, 0 where nothing stands against an edit.
    """

    caution: NDArray[np.float32]
    lost: Bits
    reasons: NDArray[np.uint8]

    @classmethod
    def of(cls, laid: LaidTexts, judge: LineJudge | None = None, all_text: bool = False) -> Judgement:
        """Judges texts.

        Args:
            laid: the texts.
            judge: who judges lines; without one, no line lost its spaces and all are prose.
            all_text: take every line for prose.
        """
        caution = np.zeros(len(laid.bits), dtype=np.float32)
        lost = np.zeros(len(laid.bits), dtype=bool)
        if judge is not None and len(lost):
            verdicts = judge(laid)
            lost = verdicts.lost
            if not all_text:
                caution = np.where(lost, np.float32(0), verdicts.caution)
        kinds = guards.guarded_kinds(laid, lost)
        reasons = np.where(kinds > 0, kinds, np.where(caution > 0, np.uint8(_NOT_PROSE), np.uint8(0)))
        return cls(np.where(kinds > 0, np.float32(np.inf), caution), lost, reasons)

    def left_alone(self, laid: LaidTexts, edited: NDArray[np.intp] | None = None) -> list[list[LeftAlone]]:
        """The stretches of each text that were left alone, in order: none of the edited gaps is in one."""
        found: list[list[LeftAlone]] = [[] for _ in laid.texts]
        reasons = self.reasons
        if edited is not None and len(edited):
            reasons = reasons.copy()
            reasons[edited] = 0
        if not reasons.any():
            return found
        edges = np.union1d(laid.starts, np.flatnonzero(np.diff(reasons)) + 1)
        begins, stops, what = edges[:-1], edges[1:], reasons[edges[:-1]]
        texts = laid.starts.searchsorted(begins, "right") - 1
        for at in np.flatnonzero(what).tolist():
            first = int(laid.starts[texts[at]])
            found[texts[at]].append(LeftAlone(REASONS[what[at]], int(begins[at]) - first, int(stops[at]) - first))
        return found

    def doubts(self, edited: NDArray[np.intp]) -> list[str]:
        """What stood against edits that were made, or nothing."""
        return [REASONS[reason] for reason in self.reasons[edited].tolist()]


def within(stretches: Iterable[LeftAlone], first: int, last: int, offset: int) -> Iterator[LeftAlone]:
    """What of the stretches lies in gaps ``first:last``, counted as if the first of these were number ``offset``."""
    for one in stretches:
        start, stop = max(one.start, first), min(one.stop, last)
        if start < stop:
            yield LeftAlone(one.reason, start - first + offset, stop - first + offset)


def join_stretches(before: list[LeftAlone], after: Iterable[LeftAlone]) -> None:
    """Appends stretches to those before them; one that was cut is made whole again."""
    for one in after:
        if before and before[-1].stop == one.start and before[-1].reason == one.reason:
            one = LeftAlone(one.reason, before.pop().start, one.stop)
        before.append(one)
