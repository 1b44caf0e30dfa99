"""What every kind of shard can do, and how documents lie in shards."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from respace.storage.compression import COMPRESSION_SUFFIXES
from respace.storage.files import InputFile
from transforms.formats.provenance import ORIGINAL, PROVENANCE_COLUMNS
from transforms.repair.documents import Document, Outcome

JSONL_SUFFIXES = (".jsonl", ".ndjson")
TEXT_SUFFIXES = (".txt", ".text")
SUFFIXES = (
    ".parquet",
    *(plain + packed for plain in JSONL_SUFFIXES + TEXT_SUFFIXES for packed in ("", *COMPRESSION_SUFFIXES)),
)

Range = tuple[int, int]
RepairDocuments = Callable[[Sequence[Document]], list[Outcome]]


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatOptions:
    """How documents lie in shards.

    Args:
        text_column: column or member that holds the text.
        id_column: column or member that holds an identifier.
        text_unit: whether a text file is one ``document``, or every ``line`` is.
        keep_original: add the text as it was.
        provenance: add what was changed.
        max_document_bytes: a longer document is left alone.
        chunk_bytes: how much of a line-based file to hold at once.
    """

    text_column: str = "text"
    id_column: str | None = None
    text_unit: str = "document"
    keep_original: bool = False
    provenance: bool = False
    max_document_bytes: int = 256 << 20
    chunk_bytes: int = 1 << 20

    @property
    def added(self) -> tuple[str, ...]:
        return (PROVENANCE_COLUMNS if self.provenance else ()) + ((ORIGINAL,) if self.keep_original else ())


class ShardFormat(Protocol):
    """What every kind of shard can do. Ranges are rows of Parquet files and bytes of line-based ones."""

    def text_bytes(self, file: InputFile) -> int:
        """About how much text is in it. Raises BadFile if it is not what it should be."""

    def ranges(self, file: InputFile, target_bytes: int) -> list[Range]:
        """Cuts it into ranges of about so much text; one range if it is small or cannot be cut."""

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        """Writes the repaired range to a local path, and returns how many rows that were."""

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        """Re-reads what was written and compares it with the input; returns how many rows there are."""

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        """Puts repaired ranges (local paths) together."""
