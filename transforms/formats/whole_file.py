"""Text files that are one document each."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any, BinaryIO

from respace.storage.compression import compression_of, open_compressed, open_decompressed
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats.contract import (
    WHOLE,
    Document,
    DocumentTooLarge,
    EditedDocument,
    FormatOptions,
    Range,
    RepairDocuments,
    Retried,
    Slice,
)
from transforms.formats.lines import (
    USUAL_RATIO,
    decoded,
    open_lines,
    verify_characters,
    verify_end,
    verify_same_bytes,
    without_mark,
)
from transforms.formats.provenance import EDITS, fitting_edits
from transforms.formats.sidecar import SidecarWriter, added_to, read_sidecar, reverted_bytes


@dataclass(frozen=True)
class WholeFile:
    options: FormatOptions

    title = "text"
    rows_are_absolute = True

    @property
    def has_sidecar(self) -> bool:
        return bool(self.options.added)

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        return [Slice(WHOLE, file.size * (USUAL_RATIO if compression_of(file.url) else 1))]

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        with open_lines(file) as stream:
            without_mark(stream)
            document, _ = self._document(file, stream)
        if document is not None:
            yield [0], [document]

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        with ExitStack() as stack:
            stream = stack.enter_context(open_lines(file))
            out = stack.enter_context(open_compressed(path, file.name))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            out.write(without_mark(stream))
            document, content = self._document(file, stream)
            if document is None:
                return 0
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
            stream = stack.enter_context(open_lines(file))
            raw = stack.enter_context(open(path, "rb"))
            written = stack.enter_context(open_decompressed(raw, file.name))
            verify_same_bytes([without_mark(stream)], written)
            before = stream.read(limit + 1)
            if len(before) > limit:
                verify_same_bytes(itertools.chain([before], iter(lambda: stream.read(1 << 20), b"")), written)
                verify_end(written)
            else:
                verify_characters(before, written.read())
        return 1 if before else 0

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        raise AssertionError("a file that is one document is never cut")

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        self.repair(previous, WHOLE, path, None, retried, retried.model)

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        added = _added(file)
        for _, documents in self.read(file, WHOLE):
            for document in documents:
                kept = added_to(added, document.row, file.url, "documents")[EDITS]
                yield EditedDocument(document, fitting_edits(document.text, kept, file.url))

    def revert(self, file: InputFile, path: str) -> int:
        added = _added(file)
        with open_lines(file) as stream, open_compressed(path, file.name) as out:
            out.write(without_mark(stream))
            content = stream.read()
            out.write(reverted_bytes(content, added[0], file.url) if added else content)
        return len(added)

    def _document(self, file: InputFile, stream: BinaryIO) -> tuple[Document | None, bytes]:
        """The document, none if the file is empty, and its bytes as far as they were read."""
        limit = self.options.max_document_bytes
        content = stream.read(limit + 1)
        if len(content) > limit:
            return Document(0, None, None, DocumentTooLarge(max(file.size, len(content)), limit), b""), content
        return (decoded(0, content) if content else None), content


def _added(file: InputFile) -> list[dict[str, Any]]:
    """What was added to the only document of a file; nothing if the file is empty."""
    added = read_sidecar(file)
    if len(added) > 1:
        raise BadFile(f"{file.url}: its provenance has {len(added)} rows: it was repaired with --text_unit line")
    return added
