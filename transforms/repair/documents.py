"""Documents and their repair: many at a time, one failing alone, a huge one in pieces."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from respace import gaps
from respace.batching import by_size
from respace.gaps import Edit
from respace.judgement import LeftAlone, join_stretches, within
from respace.repairer import Repair
from respace.storage.errors import UserError
from respace.windows import Window
from transforms.formats.contract import Document, DocumentTooLarge, Outcome
from transforms.formats.provenance import character_positions
from transforms.repair.model import TextRepairer
from transforms.shards.dead_letters import DeadLetter

_LOG = logging.getLogger(__name__)
Done = Callable[[str], None]
# A text longer than this is repaired in segments of this size: what is held beside the text itself stays small.
SEGMENT_LENGTH = 1 << 21


def _ignored(piece: str) -> None:
    """Nobody wants to know."""


@dataclass(frozen=True)
class DocumentRepair:
    """Repairs the documents of a shard.

    Args:
        repairer: how.
        shard: name of the shard, for dead letters.
        batch_characters: how much text to give to the model at once.
        max_document_bytes: a longer document is a dead letter.
    """

    repairer: TextRepairer
    shard: str
    batch_characters: int
    max_document_bytes: int

    def batches(self, documents: Sequence[Document]) -> Iterator[list[Document]]:
        """Documents in batches of about the wanted size, in order."""
        return by_size(documents, lambda document: len(document.text or ""), self.batch_characters)

    def repair(self, batch: Sequence[Document], done: Done = _ignored) -> list[Outcome]:
        """What becomes of each document of a batch. ``done`` is told what is finished of a huge one, piece by piece."""
        outcomes: list[Outcome | None] = [self._known_outcome(document) for document in batch]
        waiting = [place for place, outcome in enumerate(outcomes) if outcome is None]
        texts = [batch[place].text or "" for place in waiting]
        for place, repaired in zip(waiting, self._repair_texts(texts, done), strict=True):
            if isinstance(repaired, Repair):
                outcomes[place] = Outcome(repaired.text, repaired.edits, left_alone=repaired.left_alone)
            else:
                outcomes[place] = self._failed(batch[place], "repair", repaired)
        return [outcome for outcome in outcomes if outcome is not None]

    def _known_outcome(self, document: Document) -> Outcome | None:
        """The outcome where it needs no model."""
        if document.problem is not None:
            return self._failed(document, "read", document.problem)
        if not document.text:
            return Outcome(document.text)
        if len(document.text) > self.max_document_bytes // 4:
            size = len(document.text.encode("utf-8", "surrogatepass"))
            if size > self.max_document_bytes:
                return self._failed(document, "read", DocumentTooLarge(size, self.max_document_bytes))
        return None

    def _repair_texts(self, texts: list[str], done: Done) -> list[Repair | Exception]:
        if len(texts) > 1 and max(map(len, texts)) <= SEGMENT_LENGTH:
            try:
                return list(self.repairer.repair_with_edits(texts))
            except UserError:
                raise
            except Exception as error:  # whatever a model raises: one document must not condemn its batch
                _LOG.debug("%s: %s in a batch; its documents are tried one by one", self.shard, type(error).__name__)
        return [self._try_one(text, done) for text in texts]

    def _try_one(self, text: str, done: Done) -> Repair | Exception:
        try:
            return repair_in_segments(self.repairer, text, done=done)
        except UserError:  # the model cannot be loaded: no document is to blame
            raise
        except Exception as error:  # becomes a dead letter, with its class and message
            return error

    def _failed(self, document: Document, stage: str, error: Exception) -> Outcome:
        original = document.original if document.original is not None else document.text
        letter = DeadLetter.from_error(
            error, shard=self.shard, row=document.row, stage=stage, original=original, id=document.id
        )
        return Outcome(document.text, (), letter)


def repair_in_segments(
    repairer: TextRepairer, text: str, length: int = SEGMENT_LENGTH, done: Done = _ignored
) -> Repair:
    """As `Repairer.repair_with_edits`, holding the intermediate state of one segment at a time.

    Every segment is read with the method's context on both sides, so that the cut changes nothing; only the lines it
    cuts, and names that come again, are judged for each segment on its own.
    """
    if len(text) <= length:
        return repairer.repair_with_edits(text)
    pieces: list[str] = []
    edits: list[Edit] = []
    left_alone: list[LeftAlone] = []
    gap_offset = 0
    for window in text_windows(text, length, repairer.method.context):
        read = text[window.start : window.stop]
        keep_start, keep_stop = window.keep_start - window.start, window.keep_stop - window.start
        positions = character_positions(read)
        first, last = np.searchsorted(positions, [keep_start, keep_stop])
        repair = repairer.repair_with_edits(read)
        own = [edit for edit in repair.edits if first <= edit.gap < last]
        if own:
            bits = gaps.apply_edits(gaps.gap_bits(positions), own)
            repaired = gaps.apply(read, bits)
            pieces.append(repaired[keep_start : len(repaired) - (len(read) - keep_stop)])
        else:
            pieces.append(read[keep_start:keep_stop])
        edits.extend(replace(edit, gap=edit.gap - int(first) + gap_offset) for edit in own)
        join_stretches(left_alone, within(repair.left_alone, int(first), int(last), gap_offset))
        gap_offset += int(last - first)
        done(read[keep_start:keep_stop])
    return Repair("".join(pieces), edits, left_alone)


def text_windows(text: str, length: int, context: int) -> Iterator[Window]:
    """Windows of a text with its whitespace; ``context`` counts characters.

    Cuts are right after a character, so that the whitespace of a gap is never cut.
    """
    start = 0
    while start < len(text):
        stop = start + length
        while stop < len(text) and text[stop - 1].isspace():
            stop += 1
        stop = min(stop, len(text))
        yield Window(_characters_away(text, start, -context), _characters_away(text, stop, context), start, stop)
        start = stop


def _characters_away(text: str, place: int, characters: int) -> int:
    """The nearest place with so many characters (to the left if negative) between it and ``place``."""
    reach = 2 * abs(characters) + 16
    while True:
        low, high = (place - reach, place) if characters < 0 else (place, place + reach)
        low, high = max(0, low), min(len(text), high)
        between = high - low - sum(map(str.isspace, text[low:high]))
        if between >= abs(characters) or (low == 0 if characters < 0 else high == len(text)):
            return low if characters < 0 else high
        reach *= 2
