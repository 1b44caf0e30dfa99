"""The output of a repair job, opened for review: its report, its least certain edits, what a person says of them."""

from __future__ import annotations

import heapq
import json
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, filesystem, is_local, join_url, read_bytes
from transforms.formats.provenance import KeptEdit, character_positions
from transforms.repair.reopened import file_inside, finished_files, reopened
from transforms.repair.report import REPORT
from transforms.repair.report_page import linked_files
from transforms.repair.review import check_entry, format_entry, read_review

SUMMARY, PAGE = f"{REPORT}/summary.json", f"{REPORT}/index.html"
_SHOWN_EDITS = 500
_SHOWN_NOTES = 20
_CONTEXT = 60
_MOST_DOCUMENTS = 200_000  # of a larger corpus the first documents are looked through
_MEMBERS = {
    "made": str,
    "output": str,
    "totals": dict,
    "settings": dict,
    "least_certain": list,
    "samples": list,
    "dead_letters": list,
}


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
        if not store.exists(f"{path}/{SUMMARY}"):
            sample = store.exists(f"{path}/{REPORT}/sample.json")
            why = "only a sample was repaired" if sample else "Expected an output of repair_corpus"
            raise UserError(f"--corpus {root}: no {SUMMARY} there. {why}")
        if not is_local(root) and review is None:
            raise UserError(f"--corpus {root}: say with --review FILE where on this machine to keep the review")
        self.root = path if is_local(root) else root
        self.review_path = filesystem(review)[1] if review else f"{path}/_review.jsonl"
        self._writing = threading.Lock()
        self.summary()
        self.review()

    def summary(self) -> dict[str, Any]:
        """What the report says.

        Raises:
            FileNotFoundError: it is gone.
            UserError: it is damaged, or another job's.
        """
        url = join_url(self.root, SUMMARY)
        try:
            content: dict[str, Any] = json.loads(read_bytes(url))
            for name, kind in _MEMBERS.items():
                if not isinstance(content[name], kind):
                    raise ValueError(f"{name!r} is {type(content[name]).__name__}")
            linked_files(content)
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise UserError(
                f"{url}: expected the summary of a repair, found something else ({error}). "
                f"Remove {REPORT} and run the same repair_corpus again"
            ) from error
        return content

    def linked(self, name: str) -> InputFile | None:
        """The page of the report, or a file that it leads to; None for everything else.

        Raises:
            BadFile: it is gone, or leads out of the corpus.
        """
        return file_inside(self.root, name) if name == PAGE or name in linked_files(self.summary()) else None

    @cached_property
    def _looked_through(self) -> _LookedThrough:
        if self.summary()["settings"].get("provenance") is False:
            return _LookedThrough([], ["Single edits are not known: the corpus was repaired without --provenance."])
        return _look_through(self.root)

    def edits(self) -> list[dict[str, Any]]:
        """The edits that the model was least sure of, with what was said of each so far."""
        review = self.review()
        return [
            {**one, "decision": review.get((one["shard"], one["row"]), {}).get((one["gap"], one["kind"]))}
            for one in self._looked_through.least_certain
        ]

    def notes(self) -> list[str]:
        """What a reviewer should know of what is not shown."""
        return self._looked_through.notes

    def review(self) -> dict[tuple[str, int], dict[tuple[int, str], str]]:
        store, path = filesystem(self.review_path)
        return read_review(self.review_path) if store.exists(path) else {}

    def decide(self, entry: object) -> None:
        """Adds a line to the review file. Raises ValueError for what is not about an edit that is shown."""
        checked = check_entry(entry)
        shown = self._looked_through.least_certain
        keys = {(one["shard"], one["row"], one["gap"], one["kind"]) for one in shown}
        if tuple(checked[name] for name in ("shard", "row", "gap", "kind")) not in keys:
            raise ValueError("there is no such edit in this corpus. Reload the page and try again")
        try:
            with self._writing, open(self.review_path, "a", encoding="utf-8") as stream:
                stream.write(format_entry(checked))
        except OSError as error:
            raise UserError(
                f"{self.review_path}: cannot be written ({error.strerror}). Choose with --review"
            ) from error


@dataclass(frozen=True)
class _LookedThrough:
    """The least certain edits of a corpus, and what stood in the way of finding them."""

    least_certain: list[dict[str, Any]]
    notes: list[str]


def _look_through(root: str) -> _LookedThrough:
    notes: list[str] = []
    found = heapq.nsmallest(_SHOWN_EDITS, _all_edits(root, notes), key=lambda one: (one["confidence"], one["shard"]))
    if len(notes) > _SHOWN_NOTES:
        notes[_SHOWN_NOTES:] = [f"There are {len(notes) - _SHOWN_NOTES:,} more files with such problems."]
    return _LookedThrough(found, notes)


def _all_edits(root: str, notes: list[str]) -> Iterator[dict[str, Any]]:
    """Every edit, file by file; one that cannot be read is noted, and does not stand in the way of the others."""
    documents = 0
    for name in finished_files(root):
        try:
            for document, edits in reopened(root, name).edits():
                documents += 1
                if documents > _MOST_DOCUMENTS:
                    notes.insert(0, f"Only the first {_MOST_DOCUMENTS:,} documents were looked through.")
                    return
                yield from _shown(name, document.row, document.text or "", edits)
        except (BadFile, OSError) as error:
            notes.append(str(error))


def _shown(shard: str, row: int, text: str, edits: Sequence[KeptEdit]) -> Iterator[dict[str, Any]]:
    if not edits:
        return
    positions = character_positions(text)
    for edit in edits:
        before, after = int(positions[edit.gap - 1]) + 1, int(positions[edit.gap])
        yield {
            "shard": shard,
            "row": row,
            "gap": edit.gap,
            "kind": edit.kind,
            "confidence": round(edit.confidence, 4),
            "before": _end_of(text[max(0, before - 2 * _CONTEXT) : before]),
            "after": _beginning_of(text[after : after + 2 * _CONTEXT]),
        }


def _end_of(text: str) -> str:
    """The last words of a text."""
    return text if len(text) <= _CONTEXT else "…" + text[-_CONTEXT:].split(maxsplit=1)[-1]


def _beginning_of(text: str) -> str:
    """The first words of a text."""
    return text if len(text) <= _CONTEXT else text[:_CONTEXT].rsplit(maxsplit=1)[0] + "…"
