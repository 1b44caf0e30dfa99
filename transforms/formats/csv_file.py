"""CSV and TSV: records with a header, of which only the spaces of one field change.

Nothing is parsed and written again: the dialect stays because every byte but those spaces does. What repair adds goes
to a sidecar, one row a record.
"""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats.contract import Document, FormatOptions, Outcome
from transforms.formats.lines import Opened, decoded, without_mark
from transforms.formats.provenance import (
    EDITS,
    KeptEdit,
    character_positions,
    fitting_edits,
    replace_gaps,
    with_whitespace,
)
from transforms.formats.records import CsvRecords
from transforms.formats.sidecar import added_to, read_sidecar

DELIMITERS = (",", ";", "\t", "|")
_MOST_HEADER = 1 << 20
_UNITS = re.compile(r'""|[^"]')


class BrokenRecord(ValueError):
    """A record that is not what a record of its file should be."""


@dataclass(frozen=True)
class CsvFile:
    """
    Args:
        options: how documents lie in the file.
        delimiters: those it may have; it has the first one with which its header names the text column.
    """

    options: FormatOptions
    delimiters: Sequence[str] = DELIMITERS

    can_be_cut = False  # whether a line break is in quotation marks is not known in the middle of a file

    @property
    def has_sidecar(self) -> bool:
        return bool(self.options.added)

    def opened(self, url: str, stream: io.BufferedReader, at_start: bool) -> Opened:
        mark = without_mark(stream)
        if not stream.peek(1):
            return Opened(mark, CsvRecords(stream, b","), CsvRecord(self.options, ",", 1, 0, None))
        kind, header = self._kind(url, stream)
        return Opened(mark + header, CsvRecords(stream, kind.delimiter.encode()), kind)

    def _kind(self, url: str, stream: io.BufferedReader) -> tuple[CsvRecord, bytes]:
        # Only quotation marks tell where the header ends; any delimiter will do to find out.
        header, whole = CsvRecords(stream, self.delimiters[0].encode()).read(_MOST_HEADER)
        try:
            line = header.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise BadFile(f"{url}: its header is not valid UTF-8 ({error}). Convert the file to UTF-8") from error
        if not whole:
            raise BadFile(f"{url}: its header has more than {_MOST_HEADER} bytes. Is it CSV?")
        text, identifier = self.options.text_column, self.options.id_column
        rows = {delimiter: [_name(raw) for raw in split_record(line, delimiter)] for delimiter in self.delimiters}
        found = next((one for one in self.delimiters if text in rows[one]), max(rows, key=lambda one: len(rows[one])))
        names = rows[found]
        for option, name in (("--text_column", text), ("--id_column", identifier)):
            if name is not None and names.count(name) != 1:
                number = "no" if name not in names else "more than one"
                raise BadFile(
                    f"{url}: {number} column {name!r}. The columns are {', '.join(names)}; choose with {option}"
                )
        place = None if identifier is None else names.index(identifier)
        return CsvRecord(self.options, found, len(names), names.index(text), place), header


@dataclass(frozen=True)
class CsvRecord:
    """A record of a file whose header is known.

    Args:
        options: how documents lie in the file.
        delimiter: between fields.
        fields: how many there are.
        text: which of them is the text.
        identifier: which of them names the record.
    """

    options: FormatOptions
    delimiter: str
    fields: int
    text: int
    identifier: int | None

    def check(self, url: str, first_line: bytes) -> None:
        """The header has been checked already."""

    def document(self, row: int, line: bytes) -> Document:
        document = decoded(row, line)
        if document.text is None or not document.text.strip():
            return Document(row, None, None, document.problem, document.original)
        try:
            raw, _ = self._split(document.text)
            name = None if self.identifier is None else _text(raw[self.identifier])
            return Document(row, _text(raw[self.text]), name)
        except ValueError as error:
            return Document(row, None, None, error, line)

    def repaired(self, line: bytes, outcome: Outcome, model: str) -> bytes:
        if not outcome.edits:
            return line
        text = _text(self._split(line.decode("utf-8"))[0][self.text])
        edits = with_whitespace(text, outcome.edits)
        return self._with_gaps(line, [(edit.gap, " " if edit.kind == "insertion" else "") for edit in edits])

    def verify(self, before: bytes, after: bytes) -> None:
        if before == after:
            return
        (old, text), (new, changed) = (self._apart(line.decode("utf-8")) for line in (before, after))
        if old != new or "".join(text.split()) != "".join(changed.split()):
            raise CharactersChanged("a record that was read back differs from the input in more than its spaces")

    def without_added(self, line: bytes) -> bytes:
        return line

    def reverter(self, file: InputFile) -> _Reverter:
        return _Reverter(file.url, self, read_sidecar(file))

    def reverted(self, line: bytes, edits: Sequence[KeptEdit]) -> bytes:
        """The record before its edits, which fit."""
        return self._with_gaps(
            line, [(edit.gap, "" if edit.kind == "insertion" else edit.whitespace) for edit in edits]
        )

    def _with_gaps(self, line: bytes, replacements: Sequence[tuple[int, str]]) -> bytes:
        raw, end = self._split(line.decode("utf-8"))
        written = raw[self.text]
        quote = '"' if written.startswith('"') else ""
        inside = written[1:-1] if quote else written
        units: Sequence[str] = _UNITS.findall(inside) if '"' in inside and quote else inside
        changed = replace_gaps(units, character_positions(_text(written)), replacements)
        raw[self.text] = f"{quote}{changed}{quote}"
        return (self.delimiter.join(raw) + end).encode("utf-8")

    def _apart(self, line: str) -> tuple[list[str], str]:
        """Everything but the text, and the text as it is written."""
        raw, end = self._split(line)
        return [*raw[: self.text], *raw[self.text + 1 :], end], raw[self.text]

    def _split(self, line: str) -> tuple[list[str], str]:
        """The fields as they are written, and the end of the line."""
        content = line.rstrip("\r\n")
        raw = split_record(content, self.delimiter)
        if len(raw) != self.fields:
            raise BrokenRecord(f"{len(raw)} fields, expected {self.fields} as in the header")
        return raw, line[len(content) :]


@dataclass(frozen=True)
class _Reverter:
    url: str
    kind: CsvRecord
    added: list[dict[str, Any]]

    def line(self, row: int, line: bytes) -> bytes:
        edits = self.edits(self.kind.document(row, line), line)
        return self.kind.reverted(line, edits) if edits else line

    def edits(self, document: Document, line: bytes) -> Sequence[KeptEdit]:
        added = added_to(self.added, document.row, self.url, "records")
        return fitting_edits(document.text, added[EDITS], f"{self.url}: record {document.row + 1}")

    def finish(self, rows: int) -> None:
        if rows != len(self.added):
            raise BadFile(
                f"{self.url}: {rows} records, but its provenance has {len(self.added)}. Was it changed since?"
            )


def split_record(line: str, delimiter: str) -> list[str]:
    """The fields of a record as they are written, quotation marks and all.

    >>> split_record('1,"a ""b"", c",d', ",")
    ['1', '"a ""b"", c"', 'd']
    """
    if '"' not in line:
        return line.split(delimiter)
    return re.findall(rf'(?:^|{re.escape(delimiter)})((?:"(?:[^"]++|"")*+"?)?[^{re.escape(delimiter)}]*+)', line)


def _text(raw: str) -> str:
    """What a field says.

    >>> _text('"a ""b"" c"'), _text('5" pipe')
    ('a "b" c', '5" pipe')
    """
    if not raw.startswith('"'):
        return raw
    inside = raw[1:-1]
    if len(raw) < 2 or not raw.endswith('"') or '"' in inside.replace('""', ""):
        raise BrokenRecord(f"{raw[:20]!r}: expected a closing quotation mark, and nothing after it in the field")
    return inside.replace('""', '"')


def _name(raw: str) -> str:
    """The name of a column; one that is badly quoted is what is written there."""
    try:
        return _text(raw)
    except BrokenRecord:
        return raw
