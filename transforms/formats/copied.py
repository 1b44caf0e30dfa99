"""Files without documents, which go along as they are, so that an output is a whole corpus (``--copy_others``)."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from respace.storage.files import InputFile, open_input
from transforms.formats.contract import WHOLE, Document, EditedDocument, Range, RepairDocuments, Retried, Slice
from transforms.formats.lines import verify_end, verify_same_bytes


@dataclass(frozen=True)
class Copied:
    title = "copied"
    has_sidecar = False
    rows_are_absolute = True

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        with open_input(file):  # one that may not be read is found before any work
            return [Slice(WHOLE, 0)]

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        return iter(())

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        self._copy(file, path)
        return 0

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        with open_input(file) as before, open(path, "rb") as after:
            verify_same_bytes(iter(lambda: before.read(1 << 20), b""), after)
            verify_end(after)
        return 0

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        raise AssertionError("a file without documents is never cut")

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        self._copy(previous, path)

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        return iter(())

    def revert(self, file: InputFile, path: str) -> int:
        self._copy(file, path)
        return 0

    def _copy(self, file: InputFile, path: str) -> None:
        with open_input(file) as stream, open(path, "wb") as out:
            shutil.copyfileobj(stream, out, 1 << 20)
