"""What the repair job tells about itself: the plan, ``_report/summary.json``, and the page ``_report/index.html``."""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from pipelines.options import print_summary
from pipelines.report_page import render_page
from transforms.dead_letters import DEAD_LETTERS, dead_letters_url, read_dead_letters
from transforms.files import join_url
from transforms.manifests import Fingerprint, Manifest
from transforms.planning import RepairPlan
from transforms.publish import publish_bytes
from transforms.statistics import COUNTS, HISTOGRAM_EDGES, Statistics

REPORT = "_report"
_SHOWN_SAMPLES = 24
_SHOWN_WORDS = 24
_SHOWN_DEAD_LETTERS = 20
_DEAD_LETTER_TEXT = 200


def summarise(
    output: str,
    manifests: Mapping[str, Manifest],
    failures: Mapping[str, str],
    fingerprint: Fingerprint,
    run: str,
    seconds: float,
) -> dict[str, Any]:
    """Everything the report shows, as JSON."""
    total = Statistics.merge(((one.counts, one.details) for one in manifests.values()), samples=_SHOWN_SAMPLES)
    counts = total.counts
    new = sum((Counter(one.counts) for one in manifests.values() if one.run == run), Counter[str]())
    return {
        "made": datetime.now(UTC).isoformat(timespec="seconds"),
        "output": output,
        "settings": dict(fingerprint),
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


def print_result(summary: Mapping[str, Any], plan: RepairPlan, page: str) -> None:
    totals, run = summary["totals"], summary["this_run"]
    print_summary(
        f"{len(plan.files):,} files: {len(plan.resume.done):,} done before, {len(plan.resume.to_do):,} in this run",
        [
            ("documents", totals["documents"]),
            ("edited documents", totals["edited_documents"]),
            ("spaces inserted", totals["insertions"]),
            ("spaces deleted", totals["deletions"]),
            ("characters left alone", sum(number for _, number in summary["left_alone"])),
            ("dead letters", totals["dead_letters"]),
            ("unreadable files", totals["unreadable_files"]),
            (
                "this run",
                f"{run['documents']:,} documents, {run['bytes'] / 1e6:,.1f} MB in {run['seconds']:,.1f} s "
                f"({run['kilobytes_per_second']:,.0f} KB/s)",
            ),
            ("report", page),
        ],
    )


def print_plan(plan: RepairPlan, output: str, verb: str) -> None:
    """What a run would do, and why."""
    parts = Counter(shard.file.name for shard in plan.shards)
    sizes = {file.name: file.size for file in plan.files}
    for name, reason in plan.resume.to_do.items():
        if name in plan.bad_files:
            print(f"cannot read  {plan.bad_files[name]}")
        else:
            cut = f", {parts[name]} shards" if parts[name] > 1 else ""
            print(f"{verb:<12} {name}  ({sizes[name]:,} bytes{cut}; {reason})")
    for name, reason in plan.resume.done.items():
        print(f"{'skip':<12} {name}  ({reason})")
    print_summary(
        "dry run: nothing was written",
        [
            (f"files to {verb}", len(plan.resume.to_do) - len(plan.bad_files)),
            ("files to skip", len(plan.resume.done)),
            ("unreadable files", len(plan.bad_files)),
            ("shards", len(plan.shards)),
            ("bytes of input", sum(sizes[name] for name in plan.resume.to_do)),
            ("output", output),
        ],
    )


def error_fraction_message(summary: Mapping[str, Any], allowed: float) -> str | None:
    """What to say if too many documents failed."""
    totals = summary["totals"]
    if totals["dead_letters"] <= allowed * totals["documents"]:
        return None
    return (
        f"{totals['dead_letters']:,} of {totals['documents']:,} documents failed, more than --max_error_fraction "
        f"{allowed:g}. They are unchanged in the output, and in {join_url(summary['output'], DEAD_LETTERS)} with the "
        "reason; when that is mended, --retry_dead_letters tries them again"
    )


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
