"""Line-based shards: JSONL, and text with one document a line; whole or by byte ranges, compressed or not."""

from __future__ import annotations

import io
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, cast

from respace.repairer import CharactersChanged
from respace.storage.compression import Limits, compression_of, open_decompressed
from respace.storage.files import InputFile, open_input
from transforms.formats.json_line import (
    JsonLine,
    members_of,
    parse_line,
    revert_line,
    with_members,
    with_repaired_text,
    without_members,
)
from transforms.formats.provenance import ADDED_COLUMNS, EDITS, ORIGINAL, KeptEdit, with_whitespace
from transforms.repair.documents import Document, Outcome, too_large

CHUNK_LINES = 16384


@dataclass(frozen=True, slots=True)
class LineChunk:
    """Some lines of a file, each with its line break.

    Args:
        rows: which lines these are, counted from 0.
        lines: the lines.
        rest: the remainder of the only line here, if it is too long to be held.
    """

    rows: Sequence[int]
    lines: Sequence[bytes]
    rest: Iterator[bytes] | None = None


class BrokenLine(ValueError):
    """A line that is not what a line of its file should be."""


@contextmanager
def open_lines(file: InputFile, start: int = 0) -> Iterator[BinaryIO]:
    """The content of a file, from the first line that begins at or after byte ``start``."""
    if start and compression_of(file.url):
        raise ValueError(f"{file.url}: a compressed file has no byte ranges")
    with open_input(file) as raw, open_decompressed(raw, file.url, Limits()) as plain:
        # Files of remote stores cannot bound the length of a line that they read.
        stream = io.BufferedReader(cast(io.RawIOBase, plain), 1 << 20)
        if start:
            stream.seek(start - 1)
            while not (line := stream.readline(1 << 20)).endswith(b"\n") and line:
                pass
        yield stream
        stream.detach()


def pieces(stream: BinaryIO, stop: int | None, max_line_bytes: int) -> Iterator[bytes]:
    """The lines that begin before byte ``stop`` (None: all), one by one, a huge one in several pieces."""
    place = stream.tell() if stop is not None else 0
    inside = False
    while stop is None or place < stop or inside:
        piece = stream.readline(max_line_bytes + 1)
        if not piece:
            return
        place += len(piece)
        inside = len(piece) > max_line_bytes and not piece.endswith(b"\n")
        yield piece


def chunks(stream: BinaryIO, stop: int | None, chunk_bytes: int, max_line_bytes: int) -> Iterator[LineChunk]:
    """The lines that begin before byte ``stop`` (None: all), a bounded number of bytes at a time."""
    lines: list[bytes] = []
    size = row = 0
    source = pieces(stream, stop, max_line_bytes)
    for line in source:
        oversized = len(line) > max_line_bytes and not line.endswith(b"\n")
        if lines and (oversized or size + len(line) > chunk_bytes or len(lines) == CHUNK_LINES):
            yield LineChunk(range(row, row + len(lines)), lines)
            row += len(lines)
            lines, size = [], 0
        if oversized:
            yield LineChunk([row], [line], _rest_of_line(source))
            row += 1
        else:
            lines.append(line)
            size += len(line)
    if lines:
        yield LineChunk(range(row, row + len(lines)), lines)


def _rest_of_line(source: Iterator[bytes]) -> Iterator[bytes]:
    for piece in source:
        yield piece
        if piece.endswith(b"\n"):
            return


@dataclass(frozen=True)
class TextLines:
    """Lines that are documents."""

    max_document_bytes: int

    def documents(self, chunk: LineChunk) -> list[Document]:
        if chunk.rest is not None:
            return [_oversized(chunk, self.max_document_bytes)]
        return [decoded(row, _content(line)) for row, line in zip(chunk.rows, chunk.lines, strict=True)]

    def repaired(self, chunk: LineChunk, outcomes: Sequence[Outcome]) -> Iterator[bytes]:
        for line, outcome in zip(chunk.lines, outcomes, strict=True):
            yield _with_break(outcome.text, line) if outcome.edits and outcome.text is not None else line
        yield from chunk.rest or ()


@dataclass(frozen=True)
class JsonLines:
    """Lines that are JSON objects with a text member."""

    text_column: str
    id_column: str | None
    added: Sequence[str]
    model: str
    max_document_bytes: int

    def documents(self, chunk: LineChunk) -> list[Document]:
        if chunk.rest is not None:
            return [_oversized(chunk, self.max_document_bytes)]
        return [self._document(row, line) for row, line in zip(chunk.rows, chunk.lines, strict=True)]

    def repaired(self, chunk: LineChunk, outcomes: Sequence[Outcome]) -> Iterator[bytes]:
        for line, outcome in zip(chunk.lines, outcomes, strict=True):
            yield self._repaired(line, outcome) if outcome.edits or self.added else line
        yield from chunk.rest or ()

    def _document(self, row: int, line: bytes) -> Document:
        document = decoded(row, _content(line))
        if document.text is None or not document.text.strip():
            return Document(row, None, None, document.problem, document.original)
        try:
            parsed = parse_line(document.text, self.text_column)
            ours = [name for name in ADDED_COLUMNS if name in parsed.values]
            if ours:
                raise ValueError(f"it has a member {ours[0]!r} already: it is an output of this job")
        except ValueError as error:
            return Document(row, None, None, BrokenLine(f"line {row + 1}: {error}"), line)
        identifier = None if self.id_column is None else parsed.values.get(self.id_column)
        return Document(row, parsed.text, None if identifier is None else str(identifier))

    def _repaired(self, line: bytes, outcome: Outcome) -> bytes:
        content = _content(line)
        if (outcome.text is None and outcome.dead_letter is not None) or not content.strip():
            return line
        parsed = parse_line(content.decode("utf-8"), self.text_column)
        edits: Sequence[KeptEdit] = with_whitespace(parsed.text, outcome.edits) if parsed.text is not None else []
        repaired = with_repaired_text(parsed, edits)
        if self.added:
            members = members_of(parsed, edits, self.model) if EDITS in self.added else {}
            if ORIGINAL in self.added:
                members[ORIGINAL] = parsed.text
            end = parsed.ends[-1] + len(repaired) - len(parsed.line)
            repaired = with_members(repaired, end, members)
        return _with_break(repaired, line)


def decoded(row: int, content: bytes) -> Document:
    try:
        return Document(row, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Document(row, None, None, error, content)


def verify_text_line(before: bytes, after: bytes) -> None:
    """
    Raises:
        CharactersChanged: the lines differ in more than spaces.
    """
    if before != after and _characters(before) != _characters(after):
        raise CharactersChanged("a line that was read back differs from the input in more than its spaces")


def verify_json_line(before: bytes, after: bytes, text_column: str) -> None:
    """
    Raises:
        CharactersChanged: the lines differ in more than the spaces of the text and what was added.
    """
    if before == after:
        return
    old = parse_line(_content(before).decode("utf-8"), text_column)
    new = parse_line(_content(after).decode("utf-8"), text_column)
    new = parse_line(without_members(new), text_column)
    if _around(old) != _around(new) or "".join((old.text or "").split()) != "".join((new.text or "").split()):
        raise CharactersChanged("a line that was read back differs from the input in more than its spaces")


def revert_json_line(line: bytes, text_column: str) -> bytes:
    return _with_break(revert_line(_content(line).decode("utf-8"), text_column), line)


def _around(line: JsonLine) -> tuple[str, str, bool]:
    return line.line[: line.text_start], line.line[line.text_stop :], line.text is None


def _characters(line: bytes) -> str:
    return "".join(line.decode("utf-8", "surrogateescape").split())


def _content(line: bytes) -> bytes:
    return line[:-1] if line.endswith(b"\n") else line


def _with_break(text: str, line: bytes) -> bytes:
    return text.encode("utf-8") + (b"\n" if line.endswith(b"\n") else b"")


def _oversized(chunk: LineChunk, limit: int) -> Document:
    return Document(chunk.rows[0], None, None, too_large(len(chunk.lines[0]), limit), b"")
