"""Text with one document a line. What repair adds goes to a sidecar, one row a line."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats.contract import Document, FormatOptions, Outcome
from transforms.formats.lines import Opened, content_of, decoded, like_line, verify_characters, without_mark
from transforms.formats.provenance import EDITS, KeptEdit, fitting_edits
from transforms.formats.records import LineRecords
from transforms.formats.sidecar import added_to, read_sidecar, reverted_bytes


@dataclass(frozen=True)
class TextLines:
    options: FormatOptions

    can_be_cut = True

    @property
    def has_sidecar(self) -> bool:
        return bool(self.options.added)

    def opened(self, url: str, stream: io.BufferedReader, at_start: bool) -> Opened:
        return Opened(without_mark(stream) if at_start else b"", LineRecords(stream), self)

    def check(self, url: str, first_line: bytes) -> None:
        """Every line is a text."""

    def document(self, row: int, line: bytes) -> Document:
        return decoded(row, content_of(line))

    def repaired(self, line: bytes, outcome: Outcome, model: str) -> bytes:
        return like_line(outcome.text, line) if outcome.edits and outcome.text is not None else line

    def verify(self, before: bytes, after: bytes) -> None:
        verify_characters(before, after)

    def without_added(self, line: bytes) -> bytes:
        return line

    def reverter(self, file: InputFile) -> _Reverter:
        return _Reverter(file.url, read_sidecar(file))


@dataclass(frozen=True)
class _Reverter:
    url: str
    added: list[dict[str, Any]]

    def line(self, row: int, line: bytes) -> bytes:
        content = content_of(line)
        added = added_to(self.added, row, self.url, "lines")
        return reverted_bytes(content, added, f"{self.url}: line {row + 1}") + line[len(content) :]

    def edits(self, document: Document, line: bytes) -> Sequence[KeptEdit]:
        added = added_to(self.added, document.row, self.url, "lines")
        return fitting_edits(document.text, added[EDITS], f"{self.url}: line {document.row + 1}")

    def finish(self, rows: int) -> None:
        if rows != len(self.added):
            raise BadFile(
                f"{self.url}: {rows} lines, but its provenance has {len(self.added)}. Is --text_unit the same as then?"
            )
