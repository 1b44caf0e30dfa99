"""What the repair job reports about itself: ``_report/summary.json``, and the page ``_report/index.html``."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from respace.version import VERSION
from transforms.repair.edit_statistics import COUNTS, HISTOGRAM_EDGES, EditStatistics
from transforms.repair.report_page import render_page
from transforms.shards.contract import Fingerprint
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters
from transforms.shards.manifests import Manifest

REPORT = "_report"
_SHOWN_SAMPLES = 24
_SHOWN_WORDS = 24
_SHOWN_DEAD_LETTERS = 20
_DEAD_LETTER_TEXT = 200


def summarise(
    output: str,
    manifests: Mapping[str, Manifest],
    failures: Mapping[str, str],
    settings: Fingerprint,
    run: str,
    seconds: float,
) -> dict[str, Any]:
    """Everything the report shows, as JSON."""
    total = EditStatistics.merge(((one.counts, one.details) for one in manifests.values()), samples=_SHOWN_SAMPLES)
    counts = total.counts
    new = sum((Counter(one.counts) for one in manifests.values() if one.run == run), Counter[str]())
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": output,
        "settings": {"code": f"respace {VERSION}", **settings},
        "totals": {
            "files": len(manifests),
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
            for label, number in zip(_histogram_labels(), total.histogram, strict=True)
        ],
        "words": {
            kind: sorted(getattr(total, kind).items(), key=lambda item: (-item[1], item[0]))[:_SHOWN_WORDS]
            for kind in ("merged", "split", "moved")
        },
        "left_alone": total.left_alone.most_common(),
        "samples": total.samples,
        "dead_letters": _dead_letters(output, manifests),
        "unreadable": dict(failures),
        "shards": [_shard(manifest) for manifest in manifests.values()],
    }


def report_url(output: str) -> str:
    """The address of the page."""
    return join_url(output, REPORT, "index.html")


def write_report(output: str, summary: Mapping[str, Any]) -> None:
    """Publishes both files."""
    content = json.dumps(summary, indent=1, ensure_ascii=False)
    publish_bytes(join_url(output, REPORT, "summary.json"), content.encode("utf-8", "replace"))
    publish_bytes(report_url(output), render_page(summary).encode("utf-8", "replace"))


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


def _dead_letters(output: str, manifests: Mapping[str, Manifest]) -> list[dict[str, Any]]:
    """The first ones, with the beginning of their texts."""
    shown: list[dict[str, Any]] = []
    for manifest in manifests.values():
        if manifest.counts["dead_letters"] and len(shown) < _SHOWN_DEAD_LETTERS:
            table = read_dead_letters(dead_letters_url(output, manifest.name))
            for row in table.slice(0, _SHOWN_DEAD_LETTERS - len(shown)).to_pylist():
                raw = row.pop("raw_bytes")
                text = row["text"] if raw is None else raw[:_DEAD_LETTER_TEXT].decode("utf-8", "backslashreplace")
                shown.append({**row, "text": (text or "")[:_DEAD_LETTER_TEXT]})
    return shown


def _edits(counts: Mapping[str, int]) -> int:
    return counts["insertions"] + counts["deletions"]


def _histogram_labels() -> Sequence[str]:
    """
    >>> list(_histogram_labels())[:3], list(_histogram_labels())[-1]
    (['none', 'up to 1', '1–2'], 'more than 100')
    """
    inner = [f"{low}–{high}" for low, high in itertools.pairwise(HISTOGRAM_EDGES)]
    return ["none", f"up to {HISTOGRAM_EDGES[0]}", *inner, f"more than {HISTOGRAM_EDGES[-1]}"]
