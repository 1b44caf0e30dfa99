"""``.arrow`` files, as `datasets.save_to_disk` writes them: record batches one after the other.

A saved dataset also says in JSON what its columns are and which files it has; those go along as they are. What repair
adds goes to a sidecar, because a column more would contradict them.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input
from transforms.formats import parquet_tables as tables
from transforms.formats.contract import (
    WHOLE,
    Document,
    EditedDocument,
    FormatOptions,
    Range,
    RepairDocuments,
    Retried,
    Slice,
)
from transforms.formats.parquet_tables import TableChunk, reverted_row
from transforms.formats.provenance import EDITS, fitting_edits
from transforms.formats.sidecar import SidecarWriter, added_to, read_sidecar
from transforms.formats.text_columns import TextColumn

_FILE_MAGIC = b"ARROW1"
# What a saved dataset has beside its tables: in each folder with tables, and above the folders of its splits.
_ABOUT_TABLES = ("dataset_info.json", "state.json")
_ABOUT_SPLITS = "dataset_dict.json"


@dataclass(frozen=True)
class ArrowFile:
    options: FormatOptions

    title = "Arrow"
    rows_are_absolute = True

    @property
    def has_sidecar(self) -> bool:
        return bool(self.options.added)

    def cut(self, file: InputFile, target_bytes: int) -> list[Slice]:
        with self._open(file):
            return [Slice(WHOLE, file.size)]

    def read(self, file: InputFile, span: Range) -> Iterator[tuple[Sequence[int], Sequence[Document]]]:
        with self._open(file) as (opened, text):
            for chunk in opened.chunks():
                documents = tables.documents(chunk, text, self.options.id_column)
                yield [document.row for document in documents], documents

    def repair(
        self, file: InputFile, span: Range, path: str, sidecar: str | None, repair: RepairDocuments, model: str
    ) -> int:
        rows = 0
        with ExitStack() as stack:
            opened, text = stack.enter_context(self._open(file))
            writer = stack.enter_context(opened.writer(path))
            side = stack.enter_context(SidecarWriter(sidecar, self.options, model)) if sidecar else None
            for chunk in opened.chunks():
                documents = tables.documents(chunk, text, self.options.id_column)
                outcomes = repair(documents)
                writer.write_table(tables.repaired_table(chunk, text, outcomes, model, ()))
                if side is not None:
                    side.write(documents, outcomes)
                rows += len(documents)
        return rows

    def verify(self, file: InputFile, span: Range, path: str) -> int:
        with self._open(file) as (before, text), open(path, "rb") as stream:
            after = _Opened(path, stream)
            if not after.schema.equals(before.schema, check_metadata=True):
                raise BadFile(f"{file.url}: its schema does not survive being written")
            return tables.verify_rows(before.chunks(), after.chunks(), text, before.schema, before.schema)

    def assemble(self, file: InputFile, parts: Sequence[str], path: str) -> None:
        raise AssertionError("an Arrow file is never cut")

    def patch(self, previous: InputFile, path: str, retried: Retried) -> None:
        with self._open(previous) as (opened, text), opened.writer(path) as writer:
            for chunk in opened.chunks():
                rows = range(chunk.first_row, chunk.first_row + chunk.table.num_rows)
                chosen = retried.chosen(rows)
                table = chunk.table
                if chosen:
                    tried = TableChunk(chunk.first_row, table.take(chosen), ends_row_group=False)
                    documents = tables.documents(tried, text, self.options.id_column)
                    pairs = zip(documents, chosen, strict=True)
                    outcomes = retried([replace(one, row=rows[place]) for one, place in pairs])
                    new = tables.repaired_table(tried, text, outcomes, retried.model, ())
                    table = tables.replaced_rows(table, chosen, new)
                writer.write_table(table)

    def edits(self, file: InputFile) -> Iterator[EditedDocument]:
        added = read_sidecar(file)
        for _, documents in self.read(file, WHOLE):
            for document in documents:
                kept = added_to(added, document.row, file.url, "rows")[EDITS]
                yield EditedDocument(document, fitting_edits(document.text, kept, f"{file.url}: row {document.row}"))

    def revert(self, file: InputFile, path: str) -> int:
        added = read_sidecar(file)
        rows = 0
        with self._open(file) as (opened, text), opened.writer(path) as writer:
            for chunk in opened.chunks():
                back = [
                    reverted_row(texts, added_to(added, row, file.url, "rows")[EDITS], f"{file.url}: row {row}")
                    for row, texts in enumerate(text.texts(chunk.table), start=chunk.first_row)
                ]
                writer.write_table(text.replaced(chunk.table, back))
                rows += len(back)
        if rows != len(added):
            raise BadFile(f"{file.url}: {rows} rows, but its provenance has {len(added)}. Was it changed since?")
        return rows

    @contextmanager
    def _open(self, file: InputFile) -> Iterator[tuple[_Opened, TextColumn]]:
        with open_input(file) as stream, _arrow_errors(file.url):
            opened = _Opened(file.url, stream)
            yield opened, tables.check_schema(file.url, opened.schema, self.options.text_column, self.options.id_column)


class _Opened:
    """An open file, of one of Arrow's two forms: a stream of batches, or batches that a footer lists."""

    def __init__(self, url: str, stream: Any):
        self._url = url
        self._is_stream = stream.read(len(_FILE_MAGIC)) != _FILE_MAGIC
        stream.seek(0)
        self._reader = pa.ipc.open_stream(stream) if self._is_stream else pa.ipc.open_file(stream)
        self.schema: pa.Schema = self._reader.schema

    def chunks(self) -> Iterator[TableChunk]:
        """The rows, batch by batch, each of them checked: offsets that lie would be read like any others."""
        row = 0
        numbers = range(getattr(self._reader, "num_record_batches", 0))
        for batch in self._reader if self._is_stream else map(self._reader.get_batch, numbers):
            batch.validate(full=True)
            yield TableChunk(row, pa.Table.from_batches([batch], self.schema), ends_row_group=True)
            row += batch.num_rows

    def writer(self, path: str) -> Any:
        return pa.ipc.new_stream(path, self.schema) if self._is_stream else pa.ipc.new_file(path, self.schema)


@contextmanager
def _arrow_errors(url: str) -> Iterator[None]:
    try:
        yield
    except pa.ArrowException as error:
        raise BadFile(f"{url}: cannot be read as Arrow ({error}). Is it truncated? Fetch or write it again") from error
    except OSError as error:
        if error.errno is not None or type(error) is not OSError:
            raise
        raise BadFile(f"{url}: cannot be read as Arrow ({error}). Is it truncated? Fetch or write it again") from error


def files_about_tables(names: Collection[str]) -> frozenset[str]:
    """The JSON files among some that say what saved datasets are.

    >>> sorted(files_about_tables(["a/data.arrow", "a/state.json", "b/state.json", "a/more.json", "dataset_dict.json"]))
    ['a/state.json', 'dataset_dict.json']
    """
    folders = {os.path.dirname(name) for name in names if name.lower().endswith(".arrow")}
    about = {os.path.join(folder, name) for folder in folders for name in _ABOUT_TABLES}
    about |= {os.path.join(os.path.dirname(folder), _ABOUT_SPLITS) for folder in folders if folder}
    return frozenset(about.intersection(names))
