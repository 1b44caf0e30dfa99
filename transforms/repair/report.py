"""What the repair job reports about itself: ``_report/summary.json``, and the page ``_report/index.html``.

Everything in it comes from the digest of all shards, which adds up and is small, however many there are. Of the words,
each page of a ledger keeps the most frequent only, so that counts of rare words are lower bounds.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa

from respace.storage.files import join_url, read_bytes
from respace.storage.publish import publish_bytes
from respace.version import VERSION
from transforms.repair.certainty import CONFIDENCE_EDGES
from transforms.repair.edit_statistics import COUNTS, HISTOGRAM_EDGES, WORD_KINDS, EditStatistics
from transforms.repair.report_page import render_page
from transforms.shards.contract import Fingerprint
from transforms.shards.dead_letters import DeadLetter, dead_letters_url, read_dead_letters, to_table
from transforms.shards.ledger import Digest
from transforms.shards.manifests import Manifest

REPORT = "_report"
_SHOWN_SAMPLES = 24
_SHOWN_LEAST = 24
_SHOWN_WORDS = 24
_KEPT_WORDS = 200
_KEPT_SHARDS = 256
_SHOWN_DEAD_LETTERS = 20
_DEAD_LETTER_TEXT = 200


def digest_of_shard(manifest: Manifest) -> dict[str, Any]:
    """What the report needs to know of one shard."""
    counts = Counter(manifest.counts)
    return {
        "files": 1,
        "counts": counts,
        "details": manifest.details,
        "shards": [_shard(manifest)],
        "dead_letters": [manifest.name] if counts["dead_letters"] else [],
        "runs": {manifest.run: {name: counts[name] for name in ("documents", "bytes")}},
    }


def merge_digests(digests: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """What the report needs to know of many shards: everything adds up, and lists are as long as it can show."""
    files = 0
    shards: list[Mapping[str, Any]] = []
    dead_letters: list[str] = []
    runs: dict[str, Counter[str]] = {}

    def parts() -> Iterator[tuple[Mapping[str, int], Mapping[str, Any]]]:
        nonlocal files, shards, dead_letters
        for one in digests:
            files += one["files"]
            shards = _slowest([*shards, *one["shards"]])
            dead_letters = sorted([*dead_letters, *one["dead_letters"]])[:_SHOWN_DEAD_LETTERS]
            for run, counts in one["runs"].items():
                runs.setdefault(run, Counter()).update(counts)
            yield one["counts"], one["details"]

    total = EditStatistics.merge(parts(), _SHOWN_SAMPLES, _SHOWN_LEAST)
    return {
        "files": files,
        "counts": total.counts,
        "details": total.to_json(_KEPT_WORDS),
        "shards": shards,
        "dead_letters": dead_letters,
        "runs": runs,
    }


CORPUS = Digest(of=digest_of_shard, merge=merge_digests)


def summarise(
    output: str,
    digest: Mapping[str, Any],
    failures: Mapping[str, str],
    settings: Fingerprint,
    run: str,
    seconds: float,
    sampled: Sequence[DeadLetter] | None = None,
) -> dict[str, Any]:
    """Everything the report shows, as JSON.

    Args:
        output: the output directory.
        digest: of all files that are done, see `CORPUS`.
        failures: files that could not be read, and why.
        settings: what the output depends on.
        run: identifies this run.
        seconds: how long it took.
        sampled: only a sample was repaired: no output to link to, and these are its dead letters.
    """
    counts, details = Counter(digest["counts"]), digest["details"]
    new = Counter(digest["runs"].get(run, {}))
    letters = _dead_letters(output, digest["dead_letters"]) if sampled is None else _shown_letters(to_table(sampled))
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": output,
        "settings": {"code": f"respace {VERSION}", **settings},
        "totals": {
            "files": digest["files"],
            "unreadable_files": len(failures),
            **{key: counts[key] for key in COUNTS},
            "edits_per_1000_bytes": round(1000 * _edits(counts) / max(1, counts["bytes"]), 3),
        },
        "this_run": {
            "seconds": round(seconds, 1),
            "documents": new["documents"],
            "bytes": new["bytes"],
            "kilobytes_per_second": round(new["bytes"] / 1000 / seconds, 1) if seconds else 0.0,
        },
        "histogram": [
            {"edits_per_1000_characters": label, "documents": number}
            for label, number in zip(_histogram_labels(), details["histogram"], strict=True)
        ],
        "words": {
            kind: sorted(details[kind].items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_WORDS]
            for kind in WORD_KINDS
        },
        "left_alone": list(details["left_alone"].items()),
        "confidence": [
            {"confidence": label, "edits": number}
            for label, number in zip(_confidence_labels(), details["confidence"], strict=True)
        ],
        "least_certain": details["least_certain"],
        "kinds": _kinds({(what, kind): number for what, kind, number in details["kinds"]}),
        "samples": details["samples"],
        "is_sample": sampled is not None,
        "dead_letters": letters,
        "unreadable": dict(failures),
        "shards": digest["shards"],
    }


def report_url(output: str, is_sample: bool = False) -> str:
    """The address of the page."""
    return join_url(output, REPORT, "sample.html" if is_sample else "index.html")


def unreadable_files(output: str) -> set[str]:
    """The files that could not be read according to the last report; none where there is no report."""
    try:
        summary = json.loads(read_bytes(join_url(output, REPORT, "summary.json")))
        return set(summary["unreadable"])
    except (FileNotFoundError, NotADirectoryError, ValueError, TypeError, KeyError):  # or one that is damaged
        return set()


def write_report(output: str, summary: Mapping[str, Any]) -> None:
    """Publishes both files. That of a sample lies beside the report of the corpus."""
    content, is_sample = json.dumps(summary, indent=1, ensure_ascii=False), summary["is_sample"]
    name = "sample.json" if is_sample else "summary.json"
    publish_bytes(join_url(output, REPORT, name), content.encode("utf-8", "replace"))
    publish_bytes(report_url(output, is_sample), render_page(summary).encode("utf-8", "replace"))


def _shard(manifest: Manifest) -> dict[str, Any]:
    counts = Counter(manifest.counts)
    seconds = manifest.details["seconds"]
    return {
        "name": manifest.name,
        "documents": counts["documents"],
        "bytes": counts["bytes"],
        "edits": _edits(counts),
        "dead_letters": counts["dead_letters"],
        "seconds": seconds,
        "kilobytes_per_second": round(counts["bytes"] / 1000 / seconds, 1) if seconds else 0.0,
    }


def _slowest(shards: list[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """All of them by name, or the slowest if they are too many."""
    if len(shards) > _KEPT_SHARDS:
        shards = sorted(shards, key=lambda one: (one["kilobytes_per_second"], one["name"]))[:_KEPT_SHARDS]
    return sorted(shards, key=lambda one: str(one["name"]))


def _dead_letters(output: str, names: Iterable[str]) -> list[dict[str, Any]]:
    """The first ones, with the beginning of their texts."""
    shown: list[dict[str, Any]] = []
    for name in names:
        if len(shown) < _SHOWN_DEAD_LETTERS:
            shown += _shown_letters(read_dead_letters(dead_letters_url(output, name)))
    return shown[:_SHOWN_DEAD_LETTERS]


def _shown_letters(table: pa.Table) -> list[dict[str, Any]]:
    shown = []
    for row in table.slice(0, _SHOWN_DEAD_LETTERS).to_pylist():
        raw = row.pop("raw_bytes")
        text = row["text"] if raw is None else raw[:_DEAD_LETTER_TEXT].decode("utf-8", "backslashreplace")
        shown.append({**row, "text": (text or "")[:_DEAD_LETTER_TEXT]})
    return shown


def _kinds(kinds: Mapping[tuple[str, str], int]) -> list[dict[str, Any]]:
    """Edits by kind of text, the most frequent first."""
    texts = {what for what, _ in kinds}
    rows = [
        {"text": what, "insertions": kinds.get((what, "insertion"), 0), "deletions": kinds.get((what, "deletion"), 0)}
        for what in texts
    ]
    return sorted(rows, key=lambda row: (-_edits(row), row["text"]))


def _edits(counts: Mapping[str, int]) -> int:
    return counts["insertions"] + counts["deletions"]


def _confidence_labels() -> Sequence[str]:
    """
    >>> list(_confidence_labels())[:2], list(_confidence_labels())[-1]
    (['up to 60 %', '60–70 %'], 'more than 99.9 %')
    """
    percent = [f"{100 * edge:g}" for edge in CONFIDENCE_EDGES]
    inner = [f"{low}–{high} %" for low, high in itertools.pairwise(percent)]
    return [f"up to {percent[0]} %", *inner, f"more than {percent[-1]} %"]


def _histogram_labels() -> Sequence[str]:
    """
    >>> list(_histogram_labels())[:3], list(_histogram_labels())[-1]
    (['none', 'up to 1', '1–2'], 'more than 100')
    """
    inner = [f"{low}–{high}" for low, high in itertools.pairwise(HISTOGRAM_EDGES)]
    return ["none", f"up to {HISTOGRAM_EDGES[0]}", *inner, f"more than {HISTOGRAM_EDGES[-1]}"]
