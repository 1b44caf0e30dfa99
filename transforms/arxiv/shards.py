"""Shards of LaTeX documents: some documents with their files, or some sources (repositories) of a Parquet file.

A Parquet file of sources has the columns ``doc_id``, ``path``, ``tex`` and, if documents share files, ``repo``. It is
cut by source, so that a document always finds the files it reads, and one file's work is many cores'.
"""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from respace.batching import by_size
from respace.latex.project import decode
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.arxiv.documents import LatexDocument, SourceDocument
from transforms.formats.parquet_tables import open_parquet
from transforms.formats.text_columns import text_values

_NEEDED_COLUMNS = ("doc_id", "path", "tex")


@dataclass(frozen=True, kw_only=True)
class DocumentShard:
    """Some documents, or some sources of a Parquet file."""

    name: str
    documents: tuple[SourceDocument, ...] = ()
    file: InputFile | None = None
    sources: tuple[str, ...] = ()
    size: int = 0

    @property
    def fingerprint(self) -> str:
        """What it is made of, as one word."""
        files = [file for document in self.documents for file in (*document.sources, document.pdf) if file]
        parts = [(file.name, file.size, file.version) for file in [*files, *([self.file] if self.file else [])]]
        return hashlib.sha256(repr((parts, self.sources)).encode()).hexdigest()[:16]


def plan_documents(documents: Sequence[SourceDocument], most: int, most_bytes: int) -> list[DocumentShard]:
    """Cuts documents, in the order of their names, into shards of so many documents and bytes."""
    groups = by_size(documents, lambda document: document.size, most_bytes, most)
    return [
        DocumentShard(
            name=f"documents-{number:05}", documents=tuple(group), size=sum(document.size for document in group)
        )
        for number, group in enumerate(groups)
    ]


def plan_parquet(file: InputFile, most_bytes: int) -> list[DocumentShard]:
    """Cuts a Parquet file of sources into shards of whole sources, the largest first, each to the emptiest shard.

    Raises:
        BadFile: it is not Parquet, or has other columns.
    """
    sizes = parquet_sizes(file)
    count = max(1, -(-sum(sizes.values()) // most_bytes))
    groups: list[list[str]] = [[] for _ in range(min(count, max(1, len(sizes))))]
    loads = [0] * len(groups)
    for source in sorted(sizes, key=lambda name: (-sizes[name], name)):
        emptiest = loads.index(min(loads))
        groups[emptiest].append(source)
        loads[emptiest] += sizes[source]
    stem = file.name.removesuffix(".parquet")
    return [
        DocumentShard(name=f"{stem}-{number:05}", file=file, sources=tuple(sorted(group)), size=load)
        for number, (group, load) in enumerate(zip(groups, loads, strict=True))
    ]


def parquet_sizes(file: InputFile) -> dict[str, int]:
    """The sources (repositories) of a Parquet file of LaTeX, and how much text each has.

    Raises:
        BadFile: it is not Parquet, or has other columns.
    """
    sizes: Counter[str] = Counter()
    with open_parquet(file) as parquet:
        names = parquet.schema_arrow.names
        missing = [name for name in _NEEDED_COLUMNS if name not in names]
        if missing:
            raise BadFile(
                f"{file.url}: no column {missing[0]}. Expected {', '.join(_NEEDED_COLUMNS)} and, if documents share "
                f"files, repo. Available columns: {', '.join(names)}"
            )
        key = "repo" if "repo" in names else "doc_id"
        for name in {key: None, **dict.fromkeys(_NEEDED_COLUMNS)}:
            kind = parquet.schema_arrow.field(name).type
            if not _holds_text(kind):
                raise BadFile(f"{file.url}: the column {name} is {kind}, expected a string")
        for group in range(parquet.num_row_groups):
            rows = parquet.metadata.row_group(group)
            share = rows.total_byte_size // max(1, rows.num_rows)
            for source in _texts(parquet.read_row_group(group, columns=[key])[key]):
                sizes[source] += share
    return dict(sizes)


def _holds_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    tests = (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    return pa.types.is_null(kind) or any(test(kind) for test in tests)


def _texts(column: pa.ChunkedArray) -> list[str]:
    return [decode(value) if isinstance(value, bytes) else value or "" for value in text_values(column)]


def read_parquet_documents(file: InputFile, sources: Sequence[str], counts: Counter[str]) -> Iterator[LatexDocument]:
    """The documents of these sources, each with its source's other files as a library.

    Rows without LaTeX are counted. Bytes that are not valid UTF-8 are read as in any other LaTeX file.
    """
    wanted = set(sources)
    documents: dict[tuple[str, str], LatexDocument] = {}
    libraries: dict[str, dict[str, str]] = defaultdict(dict)
    with open_parquet(file) as parquet:
        names = parquet.schema_arrow.names
        key = "repo" if "repo" in names else "doc_id"
        columns = list(dict.fromkeys([key, *_NEEDED_COLUMNS]))
        for group in range(parquet.num_row_groups):
            if wanted.isdisjoint(_texts(parquet.read_row_group(group, columns=[key])[key])):
                continue
            for batch in parquet.iter_batches(batch_size=256, row_groups=[group], columns=columns):
                table = pa.Table.from_batches([batch])
                rows = zip(*(_texts(table[name]) for name in (key, *_NEEDED_COLUMNS)), strict=True)
                for source, name, path, tex in rows:
                    if source not in wanted:
                        continue
                    if not tex:
                        counts["passed over: row without LaTeX"] += 1
                        continue
                    document = documents.setdefault((source, name), LatexDocument(id=name, source=source, files={}))
                    path = path or f"{len(document.files)}.tex"
                    document.files[path] = libraries[source][path] = tex
    for identity in sorted(documents):
        yield replace(documents[identity], library=libraries[identity[0]])
