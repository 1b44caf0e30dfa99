"""The public API: text in, the same text with repaired spaces out.

>>> from respace import Repairer
>>> repairer = Repairer.load()                                                            # doctest: +SKIP
>>> repairer.repair("Thealgo rithm isfast, and it re pairs whole documents.")             # doctest: +SKIP
'The algorithm is fast, and it repairs whole documents.'
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import overload

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.batching import by_size
from respace.gaps import Bits, Codes, Edit
from respace.judgement import Judgement, LeftAlone, LineJudge
from respace.method import Decision, GivenSequence, Method
from respace.windows import Window

# Longer texts are repaired piece by piece, so that memory does not grow with the document.
PIECE_CHARACTERS = 1 << 18
_HYPHENS = np.array([ord("-"), 0x00AD, 0x2010], dtype=np.uint32)


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

    def __repr__(self) -> str:
        """What decides (name, settings and sha256 of the model, penalties), and what was asked for beside it."""
        asked = [name for name in ("join_hyphenated", "all_text") if getattr(self, name)]
        return f"<{', '.join([f'Repairer {self.method.identity}', *asked])}>"

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
        for batch in by_size(pieces, lambda one: one[1].stop - one[1].start, 4 * PIECE_CHARACTERS):
            decisions = self.method.decide([plan.given(piece) for plan, piece in batch])
            for (plan, piece), decision in zip(batch, decisions, strict=True):
                plan.accept(piece, decision)
        return [plan.finish() for plan in plans]


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

    def pieces(self, context: int) -> Iterator[Window]:
        length = len(self.characters)
        if length < 2:
            return
        for keep_start in range(0, length, PIECE_CHARACTERS):
            keep_stop = min(length, keep_start + PIECE_CHARACTERS)
            yield Window(max(0, keep_start - context), min(length, keep_stop + context), keep_start, keep_stop)

    def given(self, piece: Window) -> GivenSequence:
        read = slice(piece.start, piece.stop)
        lost, caution = self.judgement.lost[read], self.judgement.caution[read]
        return GivenSequence(self.characters[read], self.given_bits[read], lost, caution, self.protected[read])

    def accept(self, piece: Window, decision: Decision) -> None:
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
            Edit(
                int(gap),
                "insertion" if self.after[gap] else "deletion",
                float(confidence),
                self.judgement.doubt(int(gap)),
            )
            for changed, confidences in self.confidence
            for gap, confidence in zip(changed, confidences, strict=True)
        ]
        repaired = gaps.apply(self.text, self.after)
        check_characters(self.characters, self.after, repaired)
        return Repair(repaired, edits, self.judgement.left_alone([edit.gap for edit in edits]))


def is_evident(confidence: NDArray[np.float32], caution: NDArray[np.float32]) -> Bits:
    """Whether a method is sure enough of its bits where more evidence is asked for; whatever the method.

    Methods that read `GivenSequence.caution` have asked for as much and more already.
    """
    asked = caution > 0
    if not asked.any():
        return ~asked
    sure = np.clip(confidence.astype(np.float64), 1e-12, 1 - 1e-12)
    return ~asked | (np.log(sure) - np.log1p(-sure) >= caution)


def check_characters(characters: Codes, bits: Bits, repaired: str) -> None:
    """The invariant, checked on every document: repair changes gap bits and nothing else."""
    codes = gaps.code_points(repaired)
    positions = np.flatnonzero(~gaps.is_space(codes))
    if not np.array_equal(codes[positions], characters) or not np.array_equal(gaps.gap_bits(positions), bits):
        raise CharactersChanged("the repaired text differs from the original in more than the decided spaces")
