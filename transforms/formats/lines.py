"""Line-based files: stretches of bytes, compressed or not, every line a document. What a line is, a `LineKind` says."""

from __future__ import annotations

import io
import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import BinaryIO, Protocol, cast

from respace.repairer import CharactersChanged
from respace.storage.compression import Limits, compression_of, open_compressed, open_decompressed
from respace.storage.files import InputFile, open_input
from transforms.formats.contract import (
    WHOLE,
    Document,
    DocumentTooLarge,
    FormatOptions,
    Outcome,
    Range,
    RepairDocuments,
    Retried,
    Slice,
)
from transforms.formats.sidecar import SidecarWriter

CHUNK_LINES = 16384
# How many bytes of text a compressed byte usually is; only the estimate of the time left depends on it.
USUAL_RATIO = 3
# A first line that is longer is not looked at before its turn.
_FIRST_LINE = 1 << 24


class LineReverter(Protocol):
    """Turns the lines of one output back."""

    def line(self, row: int, line: bytes) -> bytes: ...

    def finish(self, rows: int) -> None:
        """Raises BadFile if that was not the number of lines to expect."""


class LineKind(Protocol):
    """What a line is. Lines come with their line breaks, but for the last one of a file."""

    @property
    def has_sidecar(self) -> bool: ...

    def check(self, url: str, first_line: bytes) -> None:
        """Raises BadFile if no line of the file can be read."""

    def document(self, row: int, line: bytes) -> Document: ...

    def repaired(self, line: bytes, outcome: Outcome, model: str) -> bytes: ...

    def verify(self, before: bytes, after: bytes) -> None:
        """Raises CharactersChanged if the lines differ in more than spaces of the text and what was added."""

    def without_added(self, line: bytes) -> bytes:
        """A line of an output without what was added to it."""

    def reverter(self, file: InputFile) -> LineReverter: ...


@dataclass(frozen=True, slots=True)
class LineChunk:
    """Some lines of a file, each with its line break.

    Args:
        rows: which lines these are, counted from 0.
        places: the bytes at which they begin.
        lines: the lines.
        rest: the remainder of the only line here, if it is too long to be held.
    """

    rows: Sequence[int]
    places: Sequence[int]
    lines: Sequence[bytes]
    rest: Iterator[bytes] | None = None


@dataclass(frozen=True)
class LineFormat:
    options: FormatOptions
    kind: LineKind

    rows_are_absolute = False

    @property
    def has_sidecar(self) -> bool:
        return self.kind.has_sidecar

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        self._check_first_line(file)
        if compression_of(file.url):
            return [Slice(WHOLE, file.size * USUAL_RATIO)]
        number = max(1, -(-file.size // max(1, target_bytes)))
        edges = [file.size * place // number for place in range(number + 1)]
        return [Slice((start, stop), stop - start) for start, stop in itertools.pairwise(edges)]

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        with open_lines(file, span[0]) as stream:
            for chunk in self._chunks(stream, span):
                yield chunk.places, self._documents(chunk)
                _drain(chunk.rest)

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        rows = 0
        with ExitStack() as stack:
            stream = stack.enter_context(open_lines(file, span[0]))
            out = stack.enter_context(open_compressed(path, file.name))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            for chunk in self._chunks(stream, span):
                documents = self._documents(chunk)
                outcomes = repair(documents)
                for line, outcome in zip(chunk.lines, outcomes, strict=True):
                    out.write(self.kind.repaired(line, outcome, model))
                out.writelines(chunk.rest or ())
                if side is not None:
                    side.write(documents, outcomes)
                rows += len(documents)
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        rows = 0
        with ExitStack() as stack:
            stream = stack.enter_context(open_lines(file, span[0]))
            raw = stack.enter_context(open(path, "rb"))
            written = stack.enter_context(open_decompressed(raw, file.name))
            inside = False  # a line that is too long to be held comes in pieces, and must be the same
            limit = self.options.max_document_bytes
            for before in _pieces(stream, _stop_of(span), limit):
                rows += not inside
                oversized = inside or (len(before) > limit and not before.endswith(b"\n"))
                if oversized:
                    verify_same_bytes([before], written)
                else:
                    self.kind.verify(before, written.readline())
                inside = oversized and not before.endswith(b"\n")
            if written.read(1):
                raise CharactersChanged("more was written than was read")
        return rows

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with open_compressed(path, file.name) as out:
            for part in parts:
                with open(part, "rb") as stream:
                    shutil.copyfileobj(stream, out, 1 << 20)

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        with open_lines(previous) as stream, open_compressed(path, previous.name) as out:
            for chunk in self._chunks(stream, WHOLE):
                new = list(chunk.lines)
                chosen = retried.chosen(chunk.rows)
                if chosen:
                    bare = [self.kind.without_added(chunk.lines[place]) for place in chosen]
                    rows, places = ([whole[place] for place in chosen] for whole in (chunk.rows, chunk.places))
                    outcomes = retried(self._documents(LineChunk(rows, places, bare, chunk.rest)))
                    for place, line, outcome in zip(chosen, bare, outcomes, strict=True):
                        new[place] = self.kind.repaired(line, outcome, retried.model)
                out.writelines(new)
                out.writelines(chunk.rest or ())

    def revert(self, file: InputFile, path: str) -> int:
        rows = 0
        reverter = self.kind.reverter(file)
        with open_lines(file) as stream, open_compressed(path, file.name) as out:
            for chunk in self._chunks(stream, WHOLE):
                for row, line in zip(chunk.rows, chunk.lines, strict=True):
                    out.write(reverter.line(row, line))
                out.writelines(chunk.rest or ())
                rows += len(chunk.lines)
        reverter.finish(rows)
        return rows

    def _documents(self, chunk: LineChunk) -> list[Document]:
        if chunk.rest is not None:
            problem = DocumentTooLarge(len(chunk.lines[0]), self.options.max_document_bytes)
            return [Document(chunk.rows[0], None, None, problem, b"")]
        return [self.kind.document(row, line) for row, line in zip(chunk.rows, chunk.lines, strict=True)]

    def _chunks(self, stream: BinaryIO, span: Range) -> Iterator[LineChunk]:
        return chunks(stream, _stop_of(span), self.options.chunk_bytes, self.options.max_document_bytes)

    def _check_first_line(self, file: InputFile) -> None:
        with open_lines(file) as stream:
            line = stream.readline(_FIRST_LINE)
        if len(line) < _FIRST_LINE:
            self.kind.check(file.url, line)


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


def chunks(stream: BinaryIO, stop: int | None, chunk_bytes: int, max_line_bytes: int) -> Iterator[LineChunk]:
    """The lines that begin before byte ``stop`` (None: all), a bounded number of bytes at a time."""
    lines: list[bytes] = []
    places: list[int] = []
    size = row = 0
    place = stream.tell() if stop is not None else 0
    source = _pieces(stream, stop, max_line_bytes)
    for line in source:
        oversized = len(line) > max_line_bytes and not line.endswith(b"\n")
        if lines and (oversized or size + len(line) > chunk_bytes or len(lines) == CHUNK_LINES):
            yield LineChunk(range(row, row + len(lines)), places, lines)
            row += len(lines)
            lines, places, size = [], [], 0
        if oversized:
            rest = _RestOfLine(source)
            yield LineChunk([row], [place], [line], iter(rest))
            row += 1
            place += rest.size
        else:
            lines.append(line)
            places.append(place)
            size += len(line)
        place += len(line)
    if lines:
        yield LineChunk(range(row, row + len(lines)), places, lines)


def content_of(line: bytes) -> bytes:
    """A line without its line break."""
    return line[:-1] if line.endswith(b"\n") else line


def like_line(text: str, line: bytes) -> bytes:
    """A text as a line, with a line break if that line has one."""
    return text.encode("utf-8") + (b"\n" if line.endswith(b"\n") else b"")


def decoded(row: int, content: bytes) -> Document:
    try:
        return Document(row, content.decode("utf-8"))
    except UnicodeDecodeError as error:
        return Document(row, None, None, error, content)


def verify_characters(before: bytes, after: bytes) -> None:
    """
    Raises:
        CharactersChanged: the texts differ in more than spaces.
    """
    if before != after and _characters(before) != _characters(after):
        raise CharactersChanged("a line that was read back differs from the input in more than its spaces")


def verify_same_bytes(pieces: Iterable[bytes], written: BinaryIO) -> None:
    for piece in pieces:
        if written.read(len(piece)) != piece:
            raise CharactersChanged("a document that should be unchanged was read back different")


class _RestOfLine:
    """The pieces of a line up to its end, and how many bytes that were."""

    def __init__(self, source: Iterator[bytes]):
        self._source = source
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._source:
            self.size += len(piece)
            yield piece
            if piece.endswith(b"\n"):
                return


def _pieces(stream: BinaryIO, stop: int | None, max_line_bytes: int) -> Iterator[bytes]:
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


def _drain(rest: Iterator[bytes] | None) -> None:
    for _ in rest or ():
        pass


def _characters(line: bytes) -> str:
    return "".join(line.decode("utf-8", "surrogateescape").split())


def _stop_of(span: Range) -> int | None:
    return None if span[1] < 0 else span[1]
