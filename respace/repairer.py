"""The public API: text in, the same text with repaired spaces out.

>>> from respace import Repairer
>>> repairer = Repairer.load()                                                            # doctest: +SKIP
>>> repairer.repair("Thealgo rithm isfast, and it re pairs whole documents.")             # doctest: +SKIP
'The algorithm is fast, and it repairs whole documents.'
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, NamedTuple, Self, SupportsIndex, overload

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.batching import by_size
from respace.gaps import Bits, Codes, Edit
from respace.judgement import Judgement, LeftAlone, LineJudge
from respace.laid_texts import LaidTexts
from respace.method import Decision, GivenSequence, Method
from respace.windows import Window

# Longer texts are repaired piece by piece, so that memory does not grow with the document.
PIECE_CHARACTERS = 1 << 18
# So many characters are planned and decided at once.
_AT_ONCE = 4 * PIECE_CHARACTERS
_HYPHENS = np.array([ord("-"), 0x00AD, 0x2010], dtype=np.uint32)


@dataclass(frozen=True, slots=True)
class Repair:
    """A repaired text, what was changed in it, and what was left alone for which reason."""

    text: str
    edits: list[Edit]
    left_alone: list[LeftAlone] = field(default_factory=list)


class CharactersChanged(Exception):
    """A repair that changed more than spaces. It is never returned; the text must be kept as it was."""


class _Origin(NamedTuple):
    """What a method was loaded by, and its identity."""

    model: str
    insertion_penalty: float | None
    deletion_penalty: float | None
    identity: str


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
        self._loaded: tuple[_Origin, Method, LineJudge | None] | None = None

    @classmethod
    def load(
        cls,
        model: str = "default",
        insertion_penalty: float | None = None,
        deletion_penalty: float | None = None,
        join_hyphenated: bool = False,
        all_text: bool = False,
    ) -> Self:
        """Loads a model that ships with Respace by its name, or any model directory, local or remote.

        What is loaded is pickled by its name, sha256 and penalties: processes load the model themselves, once each.

        Args:
            model: a shipped name (see `models.files.shipped_models`) or the path or URL of a model directory.
            insertion_penalty: evidence needed to insert a space, in logits; default: the model's own.
            deletion_penalty: evidence needed to delete one.
            join_hyphenated: see the constructor.
            all_text: see the constructor.
        """
        from models.methods import known_everywhere, load_method  # TensorFlow is imported only when a model needs it

        method = load_method(model, insertion_penalty, deletion_penalty)
        origin = _Origin(known_everywhere(model), insertion_penalty, deletion_penalty, method.identity)
        return cls._of_loaded(origin, method, join_hyphenated, all_text)

    @classmethod
    def _of_loaded(cls, origin: _Origin, method: Method, join_hyphenated: bool = False, all_text: bool = False) -> Self:
        from models.lines import load_line_judge

        repairer = cls(method, join_hyphenated, all_text, load_line_judge())
        repairer._loaded = origin, method, repairer.judge
        return repairer

    def _origin(self) -> _Origin | None:
        """What loads the same method and judge again; None if they were not loaded, or were changed since."""
        if self._loaded is None:
            return None
        origin, method, judge = self._loaded
        same = self.method is method and self.judge is judge and method.identity == origin.identity
        return origin if same else None

    def __reduce_ex__(self, protocol: SupportsIndex) -> str | tuple[Any, ...]:
        origin = self._origin()
        if origin is None:
            return super().__reduce_ex__(protocol)
        others = {name: value for name, value in vars(self).items() if name not in ("method", "judge", "_loaded")}
        return _loaded_again, (type(self), origin), others

    def __copy__(self) -> Self:
        copied = object.__new__(type(self))
        vars(copied).update(vars(self))
        return copied

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        """What was loaded is not copied but shared."""
        if self._origin() is not None:
            memo |= {id(part): part for part in (self.method, self.judge)}
        copied = memo[id(self)] = copy.copy(self)
        vars(copied).update(copy.deepcopy(vars(self), memo))
        return copied

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
        # What is held at once is bounded, as long as no text is longer.
        return [one for group in by_size(texts, len, _AT_ONCE) for one in self._repair_together(group)]

    def _repair_together(self, texts: Sequence[str]) -> list[Repair]:
        plan = _Plan(LaidTexts.of(texts), self)
        for batch in by_size(plan.pieces(), lambda one: one.stop - one.start, _AT_ONCE):
            for piece, decision in zip(batch, self.method.decide([plan.given(one) for one in batch]), strict=True):
                plan.accept(piece, decision)
        return plan.finish()


def _loaded_again(repairer_class: type[Repairer], origin: _Origin) -> Repairer:
    """What a pickled Repairer becomes, before it gets its other settings."""
    from models.methods import load_method_once

    return repairer_class._of_loaded(origin, load_method_once(*origin))


class _Plan:
    """Texts on their way through a method, laid one after the other."""

    def __init__(self, laid: LaidTexts, repairer: Repairer):
        self.laid, self.context = laid, repairer.method.context
        self.given_bits = laid.bits
        if repairer.join_hyphenated:
            after_hyphen = np.zeros_like(laid.bits)
            after_hyphen[1:] = np.isin(laid.characters[:-1], _HYPHENS)
            self.given_bits = laid.bits & ~(laid.line_breaks & after_hyphen)
        self.judgement = Judgement.of(laid, repairer.judge, repairer.all_text)
        self.decided = laid.bits.copy()
        self.confidence = np.zeros(len(laid.bits), dtype=np.float32)

    def pieces(self) -> Iterator[Window]:
        """What a method reads at once: a text, or a part of a long one."""
        for start, stop in pairwise(self.laid.starts.tolist()):
            if stop - start < 2:
                continue
            for keep_start in range(start, stop, PIECE_CHARACTERS):
                keep_stop = min(stop, keep_start + PIECE_CHARACTERS)
                yield Window(
                    max(start, keep_start - self.context), min(stop, keep_stop + self.context), keep_start, keep_stop
                )

    def given(self, piece: Window) -> GivenSequence:
        read = slice(piece.start, piece.stop)
        return GivenSequence(
            self.laid.characters[read],
            self.given_bits[read],
            self.judgement.lost[read],
            self.judgement.caution[read],
            self.laid.line_breaks[read],
        )

    def accept(self, piece: Window, decision: Decision) -> None:
        inside = slice(piece.keep_start - piece.start, piece.keep_stop - piece.start)
        self.decided[piece.keep_start : piece.keep_stop] = decision.bits[inside]
        self.confidence[piece.keep_start : piece.keep_stop] = decision.confidence[inside]

    def finish(self) -> list[Repair]:
        laid = self.laid
        stays = laid.line_breaks | ~is_evident(self.confidence, self.judgement.caution)
        stays[laid.not_empty[:-1]] = True
        after = np.where(stays, laid.bits, self.decided)
        changed = np.flatnonzero(after != laid.bits)
        left_alone = self.judgement.left_alone(laid, changed)
        return [
            self._finish(number, changed[own], after, left_alone[number])
            for number, own in enumerate(laid.by_text(changed))
        ]

    def _finish(self, number: int, changed: NDArray[np.intp], after: Bits, left_alone: list[LeftAlone]) -> Repair:
        text, (first, last) = self.laid.texts[number], self.laid.starts[number : number + 2].tolist()
        if not len(changed):
            return Repair(text, [], left_alone)
        edits = [
            Edit(gap - first, "insertion" if after[gap] else "deletion", float(self.confidence[gap]), doubt)
            for gap, doubt in zip(changed.tolist(), self.judgement.doubts(changed), strict=True)
        ]
        repaired = gaps.apply(text, after[first:last])
        check_characters(self.laid.characters[first:last], after[first:last], repaired)
        return Repair(repaired, edits, left_alone)


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
