"""JSON: every line, or every element of one array, is an object with a text member, of which only the spaces change."""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats.contract import Document, FormatOptions, Outcome
from transforms.formats.json_line import (
    JsonLine,
    NoSuchMember,
    members_of,
    parse_line,
    revert_line,
    with_members,
    with_repaired_text,
    without_members,
)
from transforms.formats.lines import Opened, decoded, is_blank, without_mark
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL, KeptEdit, fitting_edits, with_whitespace
from transforms.formats.records import LineRecords
from transforms.formats.sidecar import dead_rows


class BrokenLine(ValueError):
    """A line that is not what a line of its file should be."""


@dataclass(frozen=True)
class JsonLines:
    """
    Args:
        options: how documents lie in the file.
        between: what may follow an object: the end of its line, or what is between elements and after the last one.
    """

    options: FormatOptions
    between: bytes = b"\n"

    has_sidecar = False
    can_be_cut = True

    def opened(self, url: str, stream: io.BufferedReader, at_start: bool) -> Opened:
        return Opened(without_mark(stream) if at_start else b"", LineRecords(stream), self)

    def check(self, url: str, first_line: bytes) -> None:
        """A misspelled --text_column should fail once, not in every line."""
        try:
            if not self.is_blank(first_line):
                self._parse(first_line)
        except NoSuchMember as error:
            raise BadFile(f"{url}: first document: {error}; {error.advice}") from error
        except ValueError:
            return  # other lines may be good; this one will be a dead letter

    def document(self, row: int, line: bytes) -> Document:
        document = decoded(row, self._content(line))
        if document.text is None or self.is_blank(line):
            return Document(row, None, None, document.problem, document.original)
        try:
            parsed = parse_line(document.text, self.options.text_column)
            ours = [name for name in ADDED_COLUMNS if name in parsed.values]
            if ours and self.options.refuse_repaired:
                raise ValueError(f"it has a member {ours[0]!r} already: it is an output of this job")
        except ValueError as error:
            return Document(row, None, None, BrokenLine(str(error)), line)
        id_column = self.options.id_column
        identifier = None if id_column is None else parsed.values.get(id_column)
        return Document(row, parsed.text, None if identifier is None else str(identifier))

    def repaired(self, line: bytes, outcome: Outcome, model: str) -> bytes:
        added = self.options.added
        unreadable = outcome.text is None and outcome.dead_letter is not None
        if not (outcome.edits or added) or unreadable or self.is_blank(line):
            return line
        parsed = self._parse(line)
        edits: Sequence[KeptEdit] = with_whitespace(parsed.text, outcome.edits) if parsed.text is not None else []
        repaired = with_repaired_text(parsed, edits)
        if added:
            members = members_of(parsed, edits, model) if EDITS in added else {}
            if ORIGINAL in added:
                members[ORIGINAL] = parsed.original
            end = parsed.ends[-1] + len(repaired) - len(parsed.line)
            repaired = with_members(repaired, end, members)
        return repaired.encode("utf-8") + self._end(line)

    def verify(self, before: bytes, after: bytes) -> None:
        if before == after:
            return
        old = self._parse(before)
        new = parse_line(without_members(self._parse(after)), self.options.text_column)
        same_end = self._end(before) == self._end(after)
        if not same_end or old.around != new.around or _characters(old) != _characters(new):
            raise CharactersChanged("a line that was read back differs from the input in more than its spaces")

    def without_added(self, line: bytes) -> bytes:
        try:
            parsed = self._parse(line)
        except ValueError:
            return line
        return without_members(parsed).encode("utf-8") + self._end(line)

    def reverter(self, file: InputFile) -> _Reverter:
        return _Reverter(file.url, self, dead_rows(file))

    def reverted(self, line: bytes) -> bytes:
        """Raises ValueError if it has no provenance, or one that does not fit."""
        bare = revert_line(self._content(line).decode("utf-8"), self.options.text_column)
        return bare.encode("utf-8") + self._end(line)

    def members(self, line: bytes) -> Mapping[str, Any]:
        """The members of a line that has a text. Numbers are as they are written."""
        return self._parse(line).values

    def is_blank(self, line: bytes) -> bool:
        """Whether there is no object in it, in one way wherever that is asked."""
        return is_blank(self._content(line))

    def _parse(self, line: bytes) -> JsonLine:
        return parse_line(self._content(line).decode("utf-8"), self.options.text_column)

    def _content(self, line: bytes) -> bytes:
        return line.rstrip(self.between)

    def _end(self, line: bytes) -> bytes:
        return line[len(self._content(line)) :]


@dataclass(frozen=True)
class _Reverter:
    url: str
    kind: JsonLines
    unchanged: frozenset[int]  # rows that were left as they were, and got no provenance

    def line(self, row: int, line: bytes) -> bytes:
        if self.kind.is_blank(line):
            return line
        try:
            return self.kind.reverted(line)
        except ValueError as error:
            if row in self.unchanged:
                return line
            raise BadFile(f"{self.url}: line {row + 1}: {error}") from error

    def edits(self, document: Document, line: bytes) -> Sequence[KeptEdit]:
        if document.text is None:
            return []
        where, members = f"{self.url}: line {document.row + 1}", self.kind.members(line)
        if EDITS not in members and document.row not in self.unchanged:
            raise BadFile(f"{where}: no member {EDITS!r}: it was not written with --provenance")
        return fitting_edits(document.text, members.get(EDITS), where)

    def finish(self, rows: int) -> None:
        """Lines carry their own provenance: any number of them is right."""


def _characters(line: JsonLine) -> list[str]:
    return ["".join(text.split()) for text in line.texts]
