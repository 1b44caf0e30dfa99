"""The output of a repair job, opened for review: its report, its least certain edits, what a person says of them."""

from __future__ import annotations

import heapq
import json
import threading
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import pyarrow.parquet as pq

from respace.storage.compression import compression_of
from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, filesystem, join_url, open_input, read_bytes
from respace.storage.inputs import list_inputs
from transforms.formats.lines import open_lines
from transforms.formats.provenance import EDITS, KeptEdit, character_positions, edits_from_python
from transforms.formats.registry import SUFFIXES
from transforms.formats.sidecar import read_sidecar
from transforms.repair.report import REPORT
from transforms.repair.review import check_entry, format_entry, read_review

_SHOWN_EDITS = 500
_CONTEXT = 60
_ROWS_AT_ONCE = 256
_MOST_ROWS = 200_000  # of a larger corpus the first rows are looked through


class Corpus:
    """One output directory and its review file."""

    def __init__(self, root: str, review: str | None = None):
        """
        Raises:
            UserError: it is not the output of a repair job, or the review file cannot be understood.
        """
        store, path = filesystem(root)
        if not store.isdir(path):
            raise UserError(f"--corpus {root}: not found. Expected the output directory of pipelines.repair_corpus")
        if not store.exists(f"{path}/{REPORT}/summary.json"):
            raise UserError(f"--corpus {root}: no {REPORT}/summary.json there. Expected an output of repair_corpus")
        self.root = path
        self.review_path = filesystem(review)[1] if review else f"{path}/_review.jsonl"
        self._writing = threading.Lock()
        self.review()

    def summary(self) -> dict[str, Any]:
        content: dict[str, Any] = json.loads(read_bytes(join_url(self.root, REPORT, "summary.json")))
        return content

    def page(self) -> bytes:
        return read_bytes(join_url(self.root, REPORT, "index.html"))

    @cached_property
    def least_certain(self) -> list[dict[str, Any]]:
        """The edits that the model was least sure of, with what stands around them."""
        return heapq.nsmallest(_SHOWN_EDITS, self._all_edits(), key=lambda one: (one["confidence"], one["shard"]))

    def edits(self) -> list[dict[str, Any]]:
        """The same with what was said of each so far."""
        review = self.review()
        return [
            {**one, "decision": review.get((one["shard"], one["row"]), {}).get((one["gap"], one["kind"]))}
            for one in self.least_certain
        ]

    def review(self) -> dict[tuple[str, int], dict[tuple[int, str], str]]:
        store, path = filesystem(self.review_path)
        return read_review(self.review_path) if store.exists(path) else {}

    def decide(self, entry: object) -> None:
        """Adds a line to the review file. Raises ValueError for what is not about an edit that is shown."""
        checked = check_entry(entry)
        keys = {(one["shard"], one["row"], one["gap"], one["kind"]) for one in self.least_certain}
        if tuple(checked[name] for name in ("shard", "row", "gap", "kind")) not in keys:
            raise ValueError("there is no such edit in this corpus. Reload the page and try again")
        with self._writing, open(self.review_path, "a", encoding="utf-8") as stream:
            stream.write(format_entry(checked))

    def _all_edits(self) -> Iterator[dict[str, Any]]:
        settings, rows = self.summary()["settings"], 0
        column, unit = settings.get("text column", "text"), settings.get("text unit", "document")
        for file in list_inputs([self.root], SUFFIXES, "--corpus"):
            for row, (text, edits) in enumerate(_rows(file, column, unit)):
                rows += 1
                if rows > _MOST_ROWS:
                    return
                yield from (_shown(file.name, row, text, edit) for edit in edits)


def _rows(file: InputFile, column: str, unit: str) -> Iterator[tuple[str, list[KeptEdit]]]:
    """Every document of an output, in order, and what was changed in it."""
    plain = file.name.lower().removesuffix(compression_of(file.name))
    if plain.endswith(".parquet"):
        return _parquet_rows(file, column)
    if plain.endswith((".txt", ".text")):
        return _text_rows(file, unit)
    return _json_rows(file, column)


def _parquet_rows(file: InputFile, column: str) -> Iterator[tuple[str, list[KeptEdit]]]:
    with open_input(file) as stream:
        found = pq.ParquetFile(stream)
        if EDITS not in found.schema_arrow.names or column not in found.schema_arrow.names:
            return
        for batch in found.iter_batches(_ROWS_AT_ONCE, columns=[column, EDITS]):
            for row in batch.to_pylist():
                yield str(row[column] or ""), edits_from_python(row[EDITS])


def _json_rows(file: InputFile, column: str) -> Iterator[tuple[str, list[KeptEdit]]]:
    with open_lines(file) as stream:
        for line in stream:
            try:
                row = json.loads(line)
                yield str(row[column]), edits_from_python(row.get(EDITS))
            except (ValueError, KeyError, TypeError, AttributeError):
                yield "", []  # a dead letter: kept as it was, whatever it is


def _text_rows(file: InputFile, unit: str) -> Iterator[tuple[str, list[KeptEdit]]]:
    """Texts whose edits lie beside them: a file is one of them, or every line is."""
    try:
        added = read_sidecar(file)
    except BadFile:
        return  # written without --provenance: nothing is known of single edits
    with open_lines(file) as stream:
        texts = stream if unit == "line" else iter([stream.read()])
        for text, row in zip(texts, added, strict=False):
            yield text.decode("utf-8", "replace"), edits_from_python(row[EDITS])


def _shown(shard: str, row: int, text: str, edit: KeptEdit) -> dict[str, Any]:
    positions = character_positions(text)
    before, after = int(positions[edit.gap - 1]) + 1, int(positions[edit.gap])
    return {
        "shard": shard,
        "row": row,
        "gap": edit.gap,
        "kind": edit.kind,
        "confidence": round(edit.confidence, 4),
        "before": text[max(0, before - _CONTEXT) : before],
        "after": text[after : after + _CONTEXT],
    }
