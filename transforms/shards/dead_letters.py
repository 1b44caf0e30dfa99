"""Dead letters: documents that could not be processed, each with the reason. Nothing is dropped without a trace."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.files import filesystem, join_url
from respace.storage.publish import publish

DEAD_LETTERS = "_dead_letters"
_FLUSH_BYTES = 16 << 20
SCHEMA = pa.schema(
    [
        ("shard", pa.string()),
        ("row", pa.int64()),
        ("id", pa.string()),
        ("stage", pa.string()),
        ("error", pa.string()),
        ("message", pa.string()),
        ("text", pa.large_string()),
        ("raw_bytes", pa.large_binary()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeadLetter:
    """One document that failed.

    Args:
        shard: name of the input file.
        row: its row, or its line for line-based files, counted from 0.
        stage: what was being done: ``read``, ``repair``, …
        error: class of the error.
        message: what the error says.
        original: the document as it was; bytes where it is not valid text.
        id: its identifier, if the input has any.
    """

    shard: str
    row: int
    stage: str
    error: str
    message: str
    original: str | bytes | None
    id: str | None = None

    @classmethod
    def from_error(
        cls, error: Exception, *, shard: str, row: int, stage: str, original: str | bytes | None, id: str | None = None
    ) -> DeadLetter:
        # Model errors can be pages long; the first lines say what happened.
        message = str(error)[:2000]
        return cls(
            shard=shard, row=row, stage=stage, error=type(error).__name__, message=message, original=original, id=id
        )


def dead_letters_url(output: str, name: str) -> str:
    """Where the dead letters of a shard are."""
    return join_url(output, DEAD_LETTERS, f"{name}.parquet")


class DeadLetterWriter:
    """Publishes the dead letters of one shard as they come; without any, there is no file.

    >>> import tempfile
    >>> url = dead_letters_url(tempfile.mkdtemp(), "a.jsonl")
    >>> with DeadLetterWriter(url) as writer:
    ...     writer.write([DeadLetter(shard="a.jsonl", row=7, stage="read", error="E", message="m", original="x")])
    >>> read_dead_letters(url)["row"].to_pylist()
    [7]
    """

    def __init__(self, url: str):
        self._url = url
        self._open = ExitStack()
        self._writer: pq.ParquetWriter | None = None
        self._waiting: list[DeadLetter] = []
        self._waiting_size = 0
        self.count = 0

    def __enter__(self) -> DeadLetterWriter:
        return self

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if kind is None:
            self._flush()
        self._open.__exit__(kind, error, trace)

    def write(self, letters: Iterable[DeadLetter]) -> None:
        for letter in letters:
            self._waiting.append(letter)
            self._waiting_size += len(letter.original or "") + 200
            self.count += 1
            if self._waiting_size > _FLUSH_BYTES:
                self._flush()

    def _flush(self) -> None:
        if self._waiting:
            if self._writer is None:
                path = self._open.enter_context(publish(self._url, verify=lambda path: _check_rows(path, self.count)))
                self._writer = self._open.enter_context(pq.ParquetWriter(path, SCHEMA, compression="zstd"))
            self._writer.write_table(to_table(self._waiting))
        self._waiting, self._waiting_size = [], 0


def publish_dead_letters(output: str, name: str, letters: Sequence[DeadLetter]) -> list[str]:
    """Publishes the dead letters of a shard, if there are any, and gives the URL of their file, if there is one."""
    url = dead_letters_url(output, name)
    with DeadLetterWriter(url) as writer:
        writer.write(letters)
    return [url] if letters else []


def to_table(letters: Sequence[DeadLetter]) -> pa.Table:
    rows = []
    for letter in letters:
        row = {name: _encodable(getattr(letter, name)) for name in SCHEMA.names[:6]}
        row["text"], row["raw_bytes"] = _text_or_bytes(letter.original)
        rows.append(row)
    return pa.Table.from_pylist(rows, schema=SCHEMA)


def read_dead_letters(url: str) -> pa.Table:
    store, path = filesystem(url)
    with store.open(path, "rb") as stream:
        return pq.read_table(stream)


def copy_dead_letters(url: str, writer: DeadLetterWriter, first_row: int) -> None:
    """Writes the dead letters of a part of a file, whose rows are counted from ``first_row``, again."""
    for row in read_dead_letters(url).to_pylist():
        raw, text = row.pop("raw_bytes"), row.pop("text")
        row["row"] += first_row
        writer.write([DeadLetter(**row, original=text if raw is None else raw)])


def _encodable(value: Any) -> Any:
    """Identifiers of JSON may hold lone surrogates, too."""
    return value.encode("utf-8", "backslashreplace").decode("utf-8") if isinstance(value, str) else value


def _text_or_bytes(original: str | bytes | None) -> tuple[str | None, bytes | None]:
    if isinstance(original, bytes):
        try:
            return original.decode("utf-8"), None
        except UnicodeDecodeError:
            return None, original
    if original is None:
        return None, None
    try:
        original.encode("utf-8")
    except UnicodeEncodeError:  # lone surrogates: valid in JSON, not in UTF-8
        return None, original.encode("utf-8", "surrogatepass")
    return original, None


def _check_rows(path: str, expected: int) -> None:
    rows = pq.ParquetFile(path).metadata.num_rows
    if rows != expected:
        raise OSError(f"{path}: {rows} dead letters written, {expected} expected")
