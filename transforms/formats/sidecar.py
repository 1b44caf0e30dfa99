"""Text files have no columns: what repair adds to them goes to a Parquet file of its own, one row per document."""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.formats import parquet_tables as parquet_shards
from transforms.formats.contract import FormatOptions
from transforms.formats.parquet_tables import TableWriter
from transforms.formats.provenance import added_fields, provenance_arrays, with_whitespace
from transforms.repair.documents import Document, Outcome


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
            for chunk in parquet_shards.chunks(source, 0, source.metadata.num_rows):
                writer.write(chunk.table, ends_row_group=False)
