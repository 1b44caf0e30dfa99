"""Files of records: stretches of bytes, compressed or not, every record a document. What a record is,
most often a line, a `LineKind` says."""

from __future__ import annotations

import io
import itertools
import shutil
import sys
from codecs import BOM_UTF8
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
    EditedDocument,
    FormatOptions,
    Outcome,
    Range,
    RepairDocuments,
    Retried,
    Slice,
)
from transforms.formats.provenance import KeptEdit
from transforms.formats.records import Records
from transforms.formats.sidecar import SidecarWriter
from transforms.shards import progress

CHUNK_LINES = 16384
# How many bytes of text a compressed byte usually is; only the estimate of the time left depends on it.
USUAL_RATIO = 3
# A first line that is longer is not looked at before its turn.
_FIRST_LINE = 1 << 24
_MORE_WRITTEN = "more was written than was read"


class LineReverter(Protocol):
    """Turns the lines of one output back. All of it raises BadFile if its provenance is not that of the lines."""

    def line(self, row: int, line: bytes) -> bytes: ...

    def edits(self, document: Document, line: bytes) -> Sequence[KeptEdit]:
        """What was changed in a line."""

    def finish(self, rows: int) -> None:
        """Checks that this was the number of lines to expect."""


class LineFile(Protocol):
    """What lines a kind of file has."""

    @property
    def has_sidecar(self) -> bool: ...

    @property
    def can_be_cut(self) -> bool:
        """Whether the next line can be found wherever one begins to read."""

    def opened(self, url: str, stream: io.BufferedReader, at_start: bool) -> Opened:
        """What comes before the lines (only the start of a file has that), how they are read, and what they are.

        Raises:
            BadFile: no line of the file could be read.
        """


class LineKind(Protocol):
    """What a line is. Lines come with their line breaks, but for the last one of a file."""

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
class Opened:
    """A file of lines.

    Args:
        head: what comes before the first line: a byte order mark, a header. It stays as it is.
        records: the lines.
        kind: what they are, now that the head is known.
    """

    head: bytes
    records: Records
    kind: LineKind


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
    files: LineFile

    title = "lines"
    rows_are_absolute = False

    @property
    def has_sidecar(self) -> bool:
        return self.files.has_sidecar

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        self._check_first_line(file)
        if compression_of(file.url):
            return [Slice(WHOLE, file.size * USUAL_RATIO)]
        if not self.files.can_be_cut:
            return [Slice(WHOLE, file.size)]
        number = max(1, -(-file.size // max(1, target_bytes)))
        edges = [file.size * place // number for place in range(number + 1)]
        return [Slice((start, stop), stop - start) for start, stop in itertools.pairwise(edges)]

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        with open_lines(file, span[0]) as stream:
            opened, chunks = self._opened(file, span, stream)
            for chunk in chunks:
                yield chunk.places, self._documents(opened.kind, chunk)
                _drain(chunk.rest)

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        rows = 0
        with ExitStack() as stack:
            stream = stack.enter_context(open_lines(file, span[0]))
            out = stack.enter_context(open_compressed(path, file.name))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            opened, chunks = self._opened(file, span, stream)
            out.write(opened.head)
            for chunk in chunks:
                documents = self._documents(opened.kind, chunk)
                outcomes = repair(documents)
                _report_around(chunk, documents)
                for line, outcome in zip(chunk.lines, outcomes, strict=True):
                    out.write(opened.kind.repaired(line, outcome, model))
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
            was, now = (self._open(file, span, one) for one in (stream, buffered(written)))
            if was.head != now.head:
                raise CharactersChanged("what comes before the first line was read back different")
            limit, inside = self.options.max_document_bytes, False
            for before, whole in _pieces(was.records, span, _place(stream, span, was.head), limit):
                rows += not inside
                if inside or not whole:  # a line that is too long to be held must be the same, piece by piece
                    _verify_same(before, now.records.read(limit)[0])
                else:
                    was.kind.verify(before, now.records.read(sys.maxsize - 1)[0])
                inside = not whole
            if now.records.read(1)[0]:
                raise CharactersChanged(_MORE_WRITTEN)
        return rows

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with open_compressed(path, file.name) as out:
            for part in parts:
                with open(part, "rb") as stream:
                    shutil.copyfileobj(stream, out, 1 << 20)

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        with open_lines(previous) as stream, open_compressed(path, previous.name) as out:
            opened, chunks = self._opened(previous, WHOLE, stream)
            kind = opened.kind
            out.write(opened.head)
            for chunk in chunks:
                new = list(chunk.lines)
                chosen = retried.chosen(chunk.rows)
                if chosen:
                    bare = [kind.without_added(chunk.lines[place]) for place in chosen]
                    rows, places = ([whole[place] for place in chosen] for whole in (chunk.rows, chunk.places))
                    outcomes = retried(self._documents(kind, LineChunk(rows, places, bare, chunk.rest)))
                    for place, line, outcome in zip(chosen, bare, outcomes, strict=True):
                        new[place] = kind.repaired(line, outcome, retried.model)
                out.writelines(new)
                out.writelines(chunk.rest or ())

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        rows = 0
        with open_lines(file) as stream:
            opened, chunks = self._opened(file, WHOLE, stream)
            reverter = opened.kind.reverter(file)
            for chunk in chunks:
                for document, line in zip(self._documents(opened.kind, chunk), chunk.lines, strict=True):
                    yield EditedDocument(document, reverter.edits(document, line))
                _drain(chunk.rest)
                rows += len(chunk.lines)
        reverter.finish(rows)

    def revert(self, file: InputFile, path: str) -> int:
        rows = 0
        with open_lines(file) as stream, open_compressed(path, file.name) as out:
            opened, chunks = self._opened(file, WHOLE, stream)
            reverter = opened.kind.reverter(file)
            out.write(opened.head)
            for chunk in chunks:
                for row, line in zip(chunk.rows, chunk.lines, strict=True):
                    out.write(reverter.line(row, line))
                out.writelines(chunk.rest or ())
                rows += len(chunk.lines)
        reverter.finish(rows)
        return rows

    def _documents(self, kind: LineKind, chunk: LineChunk) -> list[Document]:
        if chunk.rest is not None:
            problem = DocumentTooLarge(len(chunk.lines[0]), self.options.max_document_bytes)
            return [Document(chunk.rows[0], None, None, problem, b"")]
        return [kind.document(row, line) for row, line in zip(chunk.rows, chunk.lines, strict=True)]

    def _open(self, file: InputFile, span: Range, stream: io.BufferedReader) -> Opened:
        return self.files.opened(file.url, stream, at_start=span[0] == 0)

    def _opened(self, file: InputFile, span: Range, stream: io.BufferedReader) -> tuple[Opened, Iterator[LineChunk]]:
        opened = self._open(file, span, stream)
        place = _place(stream, span, opened.head)
        limit = self.options.max_document_bytes
        return opened, chunks(opened.records, span, place, self.options.chunk_bytes, limit)

    def _check_first_line(self, file: InputFile) -> None:
        with open_lines(file) as stream:
            opened = self.files.opened(file.url, stream, at_start=True)
            line, whole = opened.records.read(_FIRST_LINE)
        if whole:
            opened.kind.check(file.url, line)


@contextmanager
def open_lines(file: InputFile, start: int = 0) -> Iterator[io.BufferedReader]:
    """The content of a file, from the first line that begins at or after byte ``start``."""
    if start and compression_of(file.url):
        raise ValueError(f"{file.url}: a compressed file has no byte ranges")
    with open_input(file) as raw, open_decompressed(raw, file.url, Limits()) as plain:
        stream = buffered(plain)
        if start:
            stream.seek(start - 1)
            while not (line := stream.readline(1 << 20)).endswith(b"\n") and line:
                pass
        yield stream
        stream.detach()


def without_mark(stream: io.BufferedReader) -> bytes:
    """Reads over the byte order mark, if a stream begins with one: it is no character of the first text."""
    return stream.read(len(BOM_UTF8)) if stream.peek(len(BOM_UTF8)).startswith(BOM_UTF8) else b""


def chunks(records: Records, span: Range, place: int, chunk_bytes: int, max_line_bytes: int) -> Iterator[LineChunk]:
    """The lines that begin before the end of a span, a bounded number of bytes at a time.

    Args:
        records: the lines.
        span: of the file.
        place: where the first line begins.
        chunk_bytes: how much to hold at once.
        max_line_bytes: a longer line is not held.
    """
    lines: list[bytes] = []
    places: list[int] = []
    size = row = 0
    source = _pieces(records, span, place, max_line_bytes)
    for line, whole in source:
        if lines and (not whole or size + len(line) > chunk_bytes or len(lines) == CHUNK_LINES):
            yield LineChunk(range(row, row + len(lines)), places, lines)
            row += len(lines)
            lines, places, size = [], [], 0
        if not whole:
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


def is_blank(line: bytes) -> bool:
    """Whether a line has nothing but whitespace, Unicode's included; there is no document in it.

    >>> is_blank(b" \\n"), is_blank("\\u00a0\\u2003\\x1e".encode()), is_blank(b"\\xff"), is_blank(b"{}")
    (True, True, False, False)
    """
    try:
        return line[:1] != b"{" and not line.decode("utf-8").strip()
    except UnicodeDecodeError:
        return False


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
        _verify_same(piece, written.read(len(piece)))


def verify_end(written: BinaryIO) -> None:
    if written.read(1):
        raise CharactersChanged(_MORE_WRITTEN)


def _verify_same(before: bytes, after: bytes) -> None:
    if before != after:
        raise CharactersChanged("a document that should be unchanged was read back different")


def _report_around(chunk: LineChunk, documents: Sequence[Document]) -> None:
    """Tells of what is around the texts of some lines, which may be most of them."""
    texts = sum(len((one.text or "").encode("utf-8", "surrogatepass")) for one in documents)
    progress.report(around=max(0, sum(map(len, chunk.lines)) - texts))


class _RestOfLine:
    """The pieces of a line up to its end, and how many bytes that were."""

    def __init__(self, source: Iterator[tuple[bytes, bool]]):
        self._source = source
        self.size = 0

    def __iter__(self) -> Iterator[bytes]:
        for piece, whole in self._source:
            self.size += len(piece)
            yield piece
            if whole:
                return


def _pieces(records: Records, span: Range, place: int, max_line_bytes: int) -> Iterator[tuple[bytes, bool]]:
    """The lines that begin before the end of a span, one by one, a huge one in several pieces; and what ends a line."""
    whole = True
    while span[1] < 0 or place < span[1] or not whole:
        piece, whole = records.read(max_line_bytes)
        if not piece:
            return
        place += len(piece)
        yield piece, whole


def _place(stream: io.BufferedReader, span: Range, head: bytes) -> int:
    """Where the first line of a span begins; a compressed file has no places but those of its content."""
    return stream.tell() if span[0] else len(head)


def buffered(stream: BinaryIO) -> io.BufferedReader:
    """A stream that can be read line by line, whatever it is."""
    # Files of remote stores cannot bound the length of a line that they read.
    return io.BufferedReader(cast(io.RawIOBase, stream), 1 << 20)


def _drain(rest: Iterator[bytes] | None) -> None:
    for _ in rest or ():
        pass


def _characters(line: bytes) -> str:
    return "".join(line.decode("utf-8", "surrogateescape").split())
