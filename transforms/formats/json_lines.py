"""JSON lines: every line is an object with a text member, of which only the spaces change."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

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
from transforms.formats.lines import content_of, decoded, like_line
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL, KeptEdit, with_whitespace
from transforms.formats.sidecar import dead_rows


class BrokenLine(ValueError):
    """A line that is not what a line of its file should be."""


@dataclass(frozen=True)
class JsonLines:
    options: FormatOptions

    has_sidecar = False

    def check(self, url: str, first_line: bytes) -> None:
        """A misspelled --text_column should fail once, not in every line."""
        try:
            text = first_line.decode("utf-8").strip()
            if text:
                parse_line(text, self.options.text_column)
        except NoSuchMember as error:
            raise BadFile(f"{url}: first line: {error}; choose with --text_column") from error
        except ValueError:
            return  # other lines may be good; this one will be a dead letter

    def document(self, row: int, line: bytes) -> Document:
        document = decoded(row, content_of(line))
        if document.text is None or not document.text.strip():
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
        if not (outcome.edits or added) or unreadable or not content_of(line).strip():
            return line
        parsed = parse_line(content_of(line).decode("utf-8"), self.options.text_column)
        edits: Sequence[KeptEdit] = with_whitespace(parsed.text, outcome.edits) if parsed.text is not None else []
        repaired = with_repaired_text(parsed, edits)
        if added:
            members = members_of(parsed, edits, model) if EDITS in added else {}
            if ORIGINAL in added:
                members[ORIGINAL] = parsed.text
            end = parsed.ends[-1] + len(repaired) - len(parsed.line)
            repaired = with_members(repaired, end, members)
        return like_line(repaired, line)

    def verify(self, before: bytes, after: bytes) -> None:
        if before == after:
            return
        old = parse_line(content_of(before).decode("utf-8"), self.options.text_column)
        new = parse_line(content_of(after).decode("utf-8"), self.options.text_column)
        new = parse_line(without_members(new), self.options.text_column)
        if _around(old) != _around(new) or "".join((old.text or "").split()) != "".join((new.text or "").split()):
            raise CharactersChanged("a line that was read back differs from the input in more than its spaces")

    def without_added(self, line: bytes) -> bytes:
        try:
            parsed = parse_line(content_of(line).decode("utf-8"), self.options.text_column)
        except ValueError:
            return line
        return like_line(without_members(parsed), line)

    def reverter(self, file: InputFile) -> _Reverter:
        return _Reverter(file.url, self.options.text_column, dead_rows(file))


@dataclass(frozen=True)
class _Reverter:
    url: str
    text_column: str
    unchanged: frozenset[int]  # rows that were left as they were, and got no provenance

    def line(self, row: int, line: bytes) -> bytes:
        if not line.strip():
            return line
        try:
            return like_line(revert_line(content_of(line).decode("utf-8"), self.text_column), line)
        except ValueError as error:
            if row in self.unchanged:
                return line
            raise BadFile(f"{self.url}: line {row + 1}: {error}") from error

    def finish(self, rows: int) -> None:
        """Lines carry their own provenance: any number of them is right."""


def _around(line: JsonLine) -> tuple[str, str, bool]:
    return line.line[: line.text_start], line.line[line.text_stop :], line.text is None
