"""FAST as a way to repair spaces: logits, and penalties that decide.

A given space is deleted below ``-deletion_penalty``, a space is inserted above ``insertion_penalty``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.model import FastModel, Layout
from models.files import ModelFiles, load_model
from models.identity import model_identity, penalties_in_force
from models.words.counts import between_letters
from respace.gaps import Bits, count_near
from respace.method import Decision, GivenSequence, charged_bits, check_penalties, with_lost_spaces

# Errors come in company: where another is evident, in logits and within so many characters, it takes the place of so
# much evidence.
EVIDENT, COMPANY_REACH, COMPANY_EVIDENCE = 6.0, 256, 2.0
# Writers and printers differ about spaces beside signs and digits ("J. R.", "J.R."): that one was lost there needs so
# much more evidence than between two letters.
SIGNS_EVIDENCE = 1.0


def boost_near_errors(bits: Bits, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits as penalties are to judge them: near evident errors, less evidence is needed for another one.

    What already speaks for the given bit still does; so clean text, where no error is evident, is left alone as before.
    """
    for_edit = np.where(bits, -values, values)
    evident = for_edit > EVIDENT
    evident[:1] = False
    if not evident.any():
        return values
    more = COMPANY_EVIDENCE * ((count_near(evident, COMPANY_REACH) > evident) & (for_edit > 0))
    return (values + np.where(bits, -more, more)).astype(np.float32)


def doubt_beside_signs(sequence: GivenSequence, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits with less evidence for lost spaces that do not stand between two letters; lines that lost all their spaces
    are judged by the logits alone."""
    doubted = ~sequence.bits & (values > 0) & (sequence.lost is None or ~sequence.lost)
    doubted &= ~between_letters(sequence.characters)
    doubted[:1] = False
    return (values - SIGNS_EVIDENCE * doubted).astype(np.float32)


def judged_logits(sequence: GivenSequence, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits as penalties are to judge them: in company, beside signs, and with the caution that was asked for taken
    off."""
    return _without_caution(sequence, doubt_beside_signs(sequence, boost_near_errors(sequence.bits, values)))


def _without_caution(sequence: GivenSequence, judged: NDArray[np.float32]) -> NDArray[np.float32]:
    if sequence.caution is None:
        return judged
    return (judged + np.where(sequence.bits, sequence.caution, -sequence.caution)).astype(np.float32)


class _Laid:
    """Sequences laid one after the other with a place between them, so that most of them are judged in one go.

    What depends on more than a gap and its neighbours is rare: it is done sequence by sequence.
    """

    def __init__(self, sequences: Sequence[GivenSequence]):
        self.sequences, self.layout = sequences, Layout(sequences, apart=1)
        self.stretches = self.layout.stretches
        self.starts = np.array([stretch.start for stretch in self.stretches])
        self.given = GivenSequence(
            self._laid([one.characters for one in sequences], np.uint32),
            self._laid([one.bits for one in sequences], np.bool_),
            self._laid([one.lost for one in sequences], np.bool_),
            self._laid([one.caution for one in sequences], np.float32),
        )

    def _laid(self, arrays: Sequence[NDArray[Any] | None], kind: type[Any]) -> NDArray[Any]:
        return self.layout.laid([np.zeros(0, kind) if one is None else one for one in arrays], kind)

    def judged(self, values: NDArray[np.float32]) -> NDArray[np.float32]:
        """As `judged_logits` of each sequence."""
        near, bits = values.copy(), self.given.bits
        evident = np.where(bits, -values, values) > EVIDENT
        for number in self._with_any(evident):
            stretch = self.stretches[number]
            near[stretch] = boost_near_errors(bits[stretch], values[stretch])
        doubted = doubt_beside_signs(self.given, near)
        doubted[self.starts] = near[self.starts]
        return _without_caution(self.given, doubted)

    def decided(self, judged: NDArray[np.float32], insertion_penalty: float, deletion_penalty: float) -> Bits:
        """As `decided_bits` of each sequence."""
        bits = charged_bits(self.given.bits, self.given.lost, judged, insertion_penalty, deletion_penalty)
        for number in self._with_any(bits & ~self.given.bits):
            stretch = self.stretches[number]
            bits[stretch] = with_lost_spaces(self.sequences[number], bits[stretch], judged[stretch])
        return bits

    def _with_any(self, chosen: Bits) -> list[int]:
        """Which sequences have one of these gaps."""
        found: list[int] = np.unique(self.starts.searchsorted(np.flatnonzero(chosen), "right") - 1).tolist()
        return found


class FastMethod:
    """FAST with its two penalties, as a way to repair spaces."""

    def __init__(self, model: FastModel, name: str, sha256: str, insertion_penalty: float, deletion_penalty: float):
        check_penalties(insertion_penalty, deletion_penalty)
        self.model = model
        self.name, self.sha256 = name, sha256
        self.insertion_penalty, self.deletion_penalty = insertion_penalty, deletion_penalty

    @classmethod
    def load(
        cls,
        model: str = "default",
        insertion_penalty: float | None = None,
        deletion_penalty: float | None = None,
        effort: str = "default",
    ) -> FastMethod:
        return cls.from_files(load_model(model), insertion_penalty, deletion_penalty, effort)

    @classmethod
    def from_files(
        cls,
        files: ModelFiles,
        insertion_penalty: float | None = None,
        deletion_penalty: float | None = None,
        effort: str = "default",
    ) -> FastMethod:
        return cls(
            FastModel.from_files(files, effort=effort),
            files.name,
            files.sha256,
            *penalties_in_force(files.config, insertion_penalty, deletion_penalty),
        )

    @property
    def identity(self) -> str:
        return model_identity(self.name, self.sha256, self.insertion_penalty, self.deletion_penalty)

    @property
    def context(self) -> int:
        return self.model.context + COMPANY_REACH

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        if not sequences:
            return []
        laid = _Laid(sequences)
        values = laid.layout.laid(self.model.sequence_logits(sequences), np.float32)
        bits = laid.decided(laid.judged(values), self.insertion_penalty, self.deletion_penalty)
        confidence = (1 / (1 + np.exp(np.where(bits, -values, values)))).astype(np.float32)
        return [Decision(bits[stretch], confidence[stretch]) for stretch in laid.stretches]
