"""The public API: text in, the same text with repaired spaces out.

>>> from respace import Repairer
>>> repairer = Repairer.load()                                                            # doctest: +SKIP
>>> repairer.repair("Thealgo rithm isfast, and it re pairs whole documents.")             # doctest: +SKIP
'The algorithm is fast, and it repairs whole documents.'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Protocol, overload

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits, Codes, Edit
from respace.judgement import Judgement, LeftAlone, LineJudge

# A longer sequence of a benchmark that has no space lost them; a shorter one may be a heading of one word.
LONGEST_WORD = 20
# Longer texts are repaired piece by piece, so that memory does not grow with the document.
PIECE_CHARACTERS = 1 << 18
_HYPHENS = np.array([ord("-"), 0x00AD, 0x2010], dtype=np.uint32)


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


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired text, what was changed in it, and what was left alone for which reason."""

    text: str
    edits: list[Edit]
    left_alone: list[LeftAlone] = field(default_factory=list)


class CharactersChanged(Exception):
    """A repair that changed more than spaces. It is never returned; the text must be kept as it was."""


class Repairer:
    """Repairs texts with one method. Line breaks stay where they are, and so does what `respace.guards` guards."""

    def __init__(
        self,
        method: Method,
        join_hyphenated: bool = False,
        all_text: bool = False,
        judge: LineJudge | None = None,
    ):
        """
        Args:
            method: how gaps are decided.
            join_hyphenated: read a line that ends in a hyphen together with the next one, so that a word cut by the
                line break is seen whole. The hyphen and the break stay.
            all_text: repair every line like English prose, whatever the judge says of it.
            judge: who says which lines are no English prose and which lost their spaces; without one, none.
        """
        self.method = method
        self.join_hyphenated = join_hyphenated
        self.all_text = all_text
        self.judge = judge

    @classmethod
    def load(
        cls,
        model: str = "default",
        insertion_penalty: float | None = None,
        deletion_penalty: float | None = None,
        join_hyphenated: bool = False,
        all_text: bool = False,
    ) -> Repairer:
        """Loads a model that ships with Respace by its name, or any model directory, local or remote.

        Args:
            model: a shipped name (see `models.files.shipped_models`) or the path or URL of a model directory.
            insertion_penalty: evidence needed to insert a space, in logits; default: the model's own.
            deletion_penalty: evidence needed to delete one.
            join_hyphenated: see the constructor.
            all_text: see the constructor.
        """
        from models.lines import load_line_judge
        from models.methods import load_method  # TensorFlow is imported only when a model is really wanted

        method = load_method(model, insertion_penalty, deletion_penalty)
        return cls(method, join_hyphenated, all_text, load_line_judge())

    @overload
    def repair(self, text: str) -> str: ...
    @overload
    def repair(self, text: list[str] | tuple[str, ...]) -> list[str]: ...
    def repair(self, text: str | list[str] | tuple[str, ...]) -> str | list[str]:
        """The text, or the texts, with repaired spaces."""
        repaired = self.repair_with_edits(text)
        return [one.text for one in repaired] if isinstance(repaired, list) else repaired.text

    @overload
    def repair_with_edits(self, text: str) -> Repair: ...
    @overload
    def repair_with_edits(self, text: list[str] | tuple[str, ...]) -> list[Repair]: ...
    def repair_with_edits(self, text: str | list[str] | tuple[str, ...]) -> Repair | list[Repair]:
        """As `repair`, with the edits and the confidence of each, and with what was left alone."""
        if isinstance(text, str):
            return self._repair_all([text])[0]
        if not isinstance(text, (list, tuple)):
            raise TypeError(f"cannot repair {type(text).__name__}: expected str, or a list or tuple of str")
        for position, one in enumerate(text):
            if not isinstance(one, str):
                raise TypeError(f"cannot repair {type(one).__name__} at position {position}: expected str")
        return self._repair_all(text)

    def _repair_all(self, texts: Sequence[str]) -> list[Repair]:
        plans = [_Plan(text, self) for text in texts]
        pieces = [(plan, piece) for plan in plans for piece in plan.pieces(self.method.context)]
        # Long texts are decided a few pieces at a time: what is held at once is bounded, not the text.
        for batch in _batches(pieces, 4 * PIECE_CHARACTERS):
            decisions = self.method.decide([plan.given(piece) for plan, piece in batch])
            for (plan, piece), decision in zip(batch, decisions, strict=True):
                plan.accept(piece, decision)
        return [plan.finish() for plan in plans]


@dataclass(frozen=True, slots=True)
class _Piece:
    start: int
    stop: int
    keep_start: int
    keep_stop: int


class _Plan:
    """One text on its way through a method."""

    def __init__(self, text: str, repairer: Repairer):
        self.text = text
        codes = gaps.code_points(text)
        positions = np.flatnonzero(~gaps.is_space(codes))
        self.characters = codes[positions]
        self.before = gaps.gap_bits(positions)
        self.protected = gaps.line_break_gaps(text)
        self.given_bits = self.before
        if repairer.join_hyphenated:
            after_hyphen = np.zeros_like(self.before)
            after_hyphen[1:] = np.isin(self.characters[:-1], _HYPHENS)
            self.given_bits = self.before & ~(self.protected & after_hyphen)
        self.judgement = Judgement.of(
            text, self.characters, self.before, self.protected, repairer.judge, repairer.all_text
        )
        self.after = self.before.copy()
        self.confidence: list[tuple[NDArray[np.intp], NDArray[np.float32]]] = []

    def pieces(self, context: int) -> Iterator[_Piece]:
        length = len(self.characters)
        if length < 2:
            return
        for keep_start in range(0, length, PIECE_CHARACTERS):
            keep_stop = min(length, keep_start + PIECE_CHARACTERS)
            yield _Piece(max(0, keep_start - context), min(length, keep_stop + context), keep_start, keep_stop)

    def given(self, piece: _Piece) -> GivenSequence:
        read = slice(piece.start, piece.stop)
        lost, caution = self.judgement.lost[read], self.judgement.caution[read]
        return GivenSequence(self.characters[read], self.given_bits[read], lost, caution, self.protected[read])

    def accept(self, piece: _Piece, decision: Decision) -> None:
        inside = slice(piece.keep_start - piece.start, piece.keep_stop - piece.start)
        keep = slice(piece.keep_start, piece.keep_stop)
        stays = self.protected[keep] | ~is_evident(decision.confidence[inside], self.judgement.caution[keep])
        bits = np.where(stays, self.before[keep], decision.bits[inside])
        if piece.keep_start == 0:
            bits[0] = False
        self.after[keep] = bits
        changed = np.flatnonzero(bits != self.before[keep])
        self.confidence.append((changed + piece.keep_start, decision.confidence[inside][changed]))

    def finish(self) -> Repair:
        edits = [
            Edit(int(gap), "insertion" if self.after[gap] else "deletion", float(confidence))
            for changed, confidences in self.confidence
            for gap, confidence in zip(changed, confidences, strict=True)
        ]
        repaired = gaps.apply(self.text, self.after)
        check_characters(self.characters, self.after, repaired)
        return Repair(repaired, edits, self.judgement.left_alone())


def is_evident(confidence: NDArray[np.float32], caution: NDArray[np.float32]) -> Bits:
    """Whether a method is sure enough of its bits where more evidence is asked for; whatever the method.

    Methods that read `GivenSequence.caution` have asked for as much and more already.
    """
    asked = caution > 0
    if not asked.any():
        return ~asked
    sure = np.clip(confidence.astype(np.float64), 1e-12, 1 - 1e-12)
    return ~asked | (np.log(sure) - np.log1p(-sure) >= caution)


def check_penalties(insertion_penalty: float | None, deletion_penalty: float | None) -> None:
    """Raises ValueError unless both are numbers of at least 0, or left to the model."""
    for option, penalty in (("insertion_penalty", insertion_penalty), ("deletion_penalty", deletion_penalty)):
        if penalty is not None and not penalty >= 0:
            raise ValueError(f"{option} {penalty:g}: expected a number of at least 0")


def check_characters(characters: Codes, bits: Bits, repaired: str) -> None:
    """The invariant, checked on every document: repair changes gap bits and nothing else."""
    codes = gaps.code_points(repaired)
    positions = np.flatnonzero(~gaps.is_space(codes))
    if not np.array_equal(codes[positions], characters) or not np.array_equal(gaps.gap_bits(positions), bits):
        raise CharactersChanged("the repaired text differs from the original in more than the decided spaces")


def without_spaces(bits: Bits) -> Bits:
    """Gaps without penalties, as the paper has it: all of a sequence that has no space and is longer than a word."""
    lost = not np.any(bits) and len(bits) > LONGEST_WORD
    return np.full(len(bits), lost, dtype=bool)


def _batches(pieces: list[tuple[_Plan, _Piece]], characters: int) -> Iterator[list[tuple[_Plan, _Piece]]]:
    batch: list[tuple[_Plan, _Piece]] = []
    size = 0
    for plan, piece in pieces:
        if batch and size + piece.stop - piece.start > characters:
            yield batch
            batch, size = [], 0
        batch.append((plan, piece))
        size += piece.stop - piece.start
    if batch:
        yield batch
