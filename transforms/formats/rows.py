"""Clean text as rows, for training and benchmarks, read through the formats of documents.

A row's key is its file and its place in it (row of a Parquet file, byte of a line), or the value of an id column. It
does not depend on how the file was cut. Text files are read line by line.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from respace.storage.files import InputFile
from transforms.formats.contract import Document, FormatOptions, Range, ShardFormat, Slice
from transforms.formats.registry import format_of
from transforms.shards.dead_letters import DeadLetter


@dataclass(frozen=True, slots=True)
class Row:
    """One row; or, where it cannot be read, what stands there and why."""

    key: str
    text: str
    problem: str | None = None

    def dead_letter(self, shard: str, number: int) -> DeadLetter:
        """What becomes of a row that cannot be used."""
        return DeadLetter(
            shard=shard,
            row=number,
            stage="read",
            error="BadRow",
            message=self.problem or "",
            original=self.text,
            id=self.key,
        )


@dataclass(frozen=True, kw_only=True)
class TextSlice:
    """One stretch of one file of clean text, as a shard."""

    name: str
    file: InputFile
    span: Range
    size: int = 0


@dataclass(frozen=True, kw_only=True)
class CleanText:
    """How rows lie in files.

    Args:
        text_column: column or JSON member that holds the text.
        id_column: column or member that names the row.
    """

    text_column: str = "text"
    id_column: str | None = None

    def check(self, file: InputFile) -> None:
        """Fails early for a file that is not what its name says, or has other columns. Raises BadFile."""
        self.cut(file, 1 << 62)

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        """Stretches of about so many bytes of text."""
        return self._format(file).cut(file, target_bytes)

    def rows(self, file: InputFile, span: Range) -> Iterator[Row]:
        """The rows of a stretch. Raises BadFile."""
        found = self._format(file)
        separator, unit = (":", "row") if found.rows_are_absolute else ("@", "byte")
        for places, documents in found.read(file, span):
            for place, document in zip(places, documents, strict=True):
                key = f"{file.name}{separator}{place}"
                yield self._row(key if document.id is None else f"{file.name}:{document.id}", document, unit, place)

    def _format(self, file: InputFile) -> ShardFormat:
        options = FormatOptions(
            text_column=self.text_column, id_column=self.id_column, text_unit="line", refuse_repaired=False
        )
        return format_of(file.name, options)

    def _row(self, key: str, document: Document, unit: str, place: int) -> Row:
        text = (document.text or "").strip()
        if document.problem is not None:
            return Row(key, _readable(document.original), f"{unit} {place}: {_reason(document.problem)}")
        try:
            text.encode("utf-8")
        except UnicodeEncodeError as error:  # lone surrogates are valid in JSON, and nowhere else
            return Row(key, text.encode("utf-8", "replace").decode("utf-8"), f"{unit} {place}: {error}")
        if self.id_column is not None and document.id is None and document.text is not None:
            return Row(key, text, f"{unit} {place}: nothing in {self.id_column!r}, which should name the row")
        return Row(key, text)


def _reason(problem: Exception) -> str:
    return "not valid UTF-8" if isinstance(problem, UnicodeDecodeError) else str(problem)


def _readable(original: bytes | None) -> str:
    return (original or b"").decode("utf-8", "replace")
