"""What lies beside a file of an output: what repair adds to texts, which have no columns, and the dead letters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.errors import BadFile
from respace.storage.files import InputFile, file_size, filesystem, join_url
from transforms.formats.contract import Document, FormatOptions, Outcome
from transforms.formats.parquet_tables import TableWriter, chunks, parquet_errors, replaced_rows
from transforms.formats.provenance import (
    EDITS,
    added_fields,
    edits_from_python,
    provenance_arrays,
    revert_text,
    with_whitespace,
)
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters

PROVENANCE = "_provenance"


def sidecar_url(root: str, name: str) -> str:
    return join_url(root, PROVENANCE, f"{name}.parquet")


class SidecarWriter:
    """What is added to the documents of a text file, as a Parquet file with one row per document."""

    def __init__(self, path: str, options: FormatOptions, model: str):
        self._writer = TableWriter(path, sidecar_schema(options))
        self._options, self._model = options, model

    def __enter__(self) -> SidecarWriter:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        self._writer.__exit__(kind, error, trace)

    def write(self, documents: Sequence[Document], outcomes: Sequence[Outcome]) -> None:
        self._writer.write(sidecar_table(documents, outcomes, self._options, self._model), ends_row_group=False)


def sidecar_table(
    documents: Sequence[Document], outcomes: Sequence[Outcome], options: FormatOptions, model: str
) -> pa.Table:
    edits = [
        with_whitespace(document.text, outcome.edits) if document.text is not None else []
        for document, outcome in zip(documents, outcomes, strict=True)
    ]
    originals = [document.text if document.text is not None else document.original for document in documents]
    return pa.table(provenance_arrays(edits, originals, model, options.added))


def sidecar_schema(options: FormatOptions) -> pa.Schema:
    return pa.schema(added_fields(options.added))


def assemble_sidecars(options: FormatOptions, parts: Sequence[str], path: str) -> None:
    with TableWriter(path, sidecar_schema(options)) as writer:
        for part in parts:
            source = pq.ParquetFile(part)
            for chunk in chunks(source, 0, source.metadata.num_rows):
                writer.write(chunk.table, ends_row_group=False)


def patch_sidecar(previous: str, path: str, rows: Sequence[int], new: pa.Table) -> None:
    """Writes a sidecar (a local path) again with other values in some rows."""
    old = pq.read_table(previous)
    with TableWriter(path, old.schema) as writer:
        writer.write(replaced_rows(old, rows, new), ends_row_group=True)


def read_sidecar(file: InputFile) -> list[dict[str, Any]]:
    """What was added to each document of a file of an output.

    Raises:
        BadFile: nothing that says how to change it back.
    """
    url = sidecar_url(_root_of(file), file.name)
    store, path = filesystem(url)
    if not store.exists(path):
        raise BadFile(f"{file.url}: {url} is missing: it was not written with --provenance, so its edits are not known")
    with store.open(path, "rb") as stream, parquet_errors(url):
        table = pq.read_table(stream)
    if EDITS not in table.column_names:
        raise BadFile(f"{file.url}: {url} has no column {EDITS!r}: it was not written with --provenance")
    return table.select([EDITS]).to_pylist()


def added_to(added: Sequence[dict[str, Any]], row: int, url: str, kind: str) -> dict[str, Any]:
    """What was added to one document, of which there are many in a file: its lines, or its records."""
    if row >= len(added):
        raise BadFile(f"{url}: more {kind} than its provenance has. Was it changed since?")
    return added[row]


def dead_rows(file: InputFile) -> frozenset[int]:
    """Rows of a file of an output that were left as they were."""
    url = dead_letters_url(_root_of(file), file.name)
    return frozenset(read_dead_letters(url)["row"].to_pylist()) if file_size(url) else frozenset()


def reverted_bytes(content: bytes, added: dict[str, Any], where: str) -> bytes:
    """A text as it was before the edits that were added to it."""
    if not added[EDITS]:
        return content
    return reverted_text(content.decode("utf-8"), added[EDITS], where).encode("utf-8")


def reverted_text(text: str, edits: Any, where: str) -> str:
    try:
        return revert_text(text, edits_from_python(edits))
    except ValueError as error:
        raise BadFile(f"{where}: {error}") from error


def _root_of(file: InputFile) -> str:
    """The output directory that a file was found in: `_provenance` and `_dead_letters` lie in it too."""
    return file.url[: -len(file.name)].rstrip("/")
