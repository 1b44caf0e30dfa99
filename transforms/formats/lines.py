"""JSONL and text files as shards: byte ranges of lines, or whole documents."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import BinaryIO

from respace.repairer import CharactersChanged
from respace.storage.compression import compression_of, open_compressed, open_decompressed
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats import line_chunks as line_shards
from transforms.formats.contract import FormatOptions, Range, RepairDocuments
from transforms.formats.json_line import parse_line
from transforms.formats.sidecar import SidecarWriter
from transforms.repair.documents import Document, too_large

# How many bytes of text a compressed byte usually is; only the estimate of the time left depends on it.
_USUAL_RATIO = 3
# A first line that is longer is not looked at before its turn.
_FIRST_LINE = 1 << 24


@dataclass(frozen=True)
class LineFormat:
    options: FormatOptions
    json: bool

    def text_bytes(self, file: InputFile) -> int:
        if self.json:
            self._check_first_line(file)
        return file.size * (_USUAL_RATIO if compression_of(file.url) else 1)

    def ranges(self, file: InputFile, target_bytes: int) -> list[Range]:
        if compression_of(file.url):
            return [(0, -1)]
        number = max(1, -(-file.size // max(1, target_bytes)))
        edges = [file.size * place // number for place in range(number + 1)]
        return list(itertools.pairwise(edges))

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        lines, rows = self.lines(model), 0
        with ExitStack() as stack:
            stream = stack.enter_context(line_shards.open_lines(file, span[0]))
            out = stack.enter_context(open_compressed(path, file.name))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            for chunk in self.chunks(stream, span):
                documents = lines.documents(chunk)
                outcomes = repair(documents)
                out.writelines(lines.repaired(chunk, outcomes))
                if side is not None:
                    side.write(documents, outcomes)
                rows += len(documents)
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        rows = 0
        with ExitStack() as stack:
            stream = stack.enter_context(line_shards.open_lines(file, span[0]))
            raw = stack.enter_context(open(path, "rb"))
            written = stack.enter_context(open_decompressed(raw, file.name))
            inside = False  # a line that is too long to be held comes in pieces, and must be the same
            limit = self.options.max_document_bytes
            for before in line_shards.pieces(stream, _stop_of(span), limit):
                rows += not inside
                oversized = inside or (len(before) > limit and not before.endswith(b"\n"))
                if oversized:
                    _verify_same_bytes([before], written)
                elif self.json:
                    line_shards.verify_json_line(before, written.readline(), self.options.text_column)
                else:
                    line_shards.verify_text_line(before, written.readline())
                inside = oversized and not before.endswith(b"\n")
            if written.read(1):
                raise CharactersChanged("more was written than was read")
        return rows

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        with open_compressed(path, file.name) as out:
            for part in parts:
                with open(part, "rb") as stream:
                    shutil.copyfileobj(stream, out, 1 << 20)

    def lines(self, model: str) -> line_shards.JsonLines | line_shards.TextLines:
        options = self.options
        if self.json:
            return line_shards.JsonLines(
                options.text_column, options.id_column, options.added, model, options.max_document_bytes
            )
        return line_shards.TextLines(options.max_document_bytes)

    def chunks(self, stream: BinaryIO, span: Range) -> Iterator[line_shards.LineChunk]:
        return line_shards.chunks(stream, _stop_of(span), self.options.chunk_bytes, self.options.max_document_bytes)

    def _check_first_line(self, file: InputFile) -> None:
        """A misspelled --text_column should fail once, not in every line."""
        with line_shards.open_lines(file) as stream:
            line = stream.readline(_FIRST_LINE)
        try:
            text = line.decode("utf-8").strip()
            if text and len(line) < _FIRST_LINE:
                parse_line(text, self.options.text_column)
        except ValueError as error:
            if "no member" in str(error):
                raise BadFile(f"{file.url}: first line: {error}; choose with --text_column") from error


@dataclass(frozen=True)
class DocumentFormat:
    """A text file that is one document."""

    options: FormatOptions

    def text_bytes(self, file: InputFile) -> int:
        return file.size * (_USUAL_RATIO if compression_of(file.url) else 1)

    def ranges(self, file: InputFile, target_bytes: int) -> list[Range]:
        return [(0, -1)]

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        limit = self.options.max_document_bytes
        with ExitStack() as stack:
            stream = stack.enter_context(line_shards.open_lines(file))
            out = stack.enter_context(open_compressed(path, file.name))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            content = stream.read(limit + 1)
            if len(content) > limit:
                document = Document(0, None, None, too_large(max(file.size, len(content)), limit), b"")
            elif not content:
                return 0
            else:
                document = line_shards.decoded(0, content)
            outcomes = repair([document])
            if outcomes[0].edits and outcomes[0].text is not None:
                out.write(outcomes[0].text.encode("utf-8"))
            else:
                out.write(content)
                shutil.copyfileobj(stream, out, 1 << 20)
            if side is not None:
                side.write([document], outcomes)
        return 1

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        limit = self.options.max_document_bytes
        with ExitStack() as stack:
            stream = stack.enter_context(line_shards.open_lines(file))
            raw = stack.enter_context(open(path, "rb"))
            written = stack.enter_context(open_decompressed(raw, file.name))
            before = stream.read(limit + 1)
            if len(before) > limit:
                _verify_same_bytes(itertools.chain([before], iter(lambda: stream.read(1 << 20), b"")), written)
            else:
                line_shards.verify_text_line(before, written.read())
        return 1 if before else 0

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        raise AssertionError("a file that is one document is never cut")


def _stop_of(span: Range) -> int | None:
    return None if span[1] < 0 else span[1]


def _verify_same_bytes(pieces: Iterable[bytes], written: BinaryIO) -> None:
    for piece in pieces:
        if written.read(len(piece)) != piece:
            raise CharactersChanged("a document that should be unchanged was read back different")
