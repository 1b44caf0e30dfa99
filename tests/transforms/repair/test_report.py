from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.transforms.corpora import manifest, repair, work, write_parquet
from transforms.repair.report import report_url, summarise, write_report
from transforms.repair.report_page import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = '<script>document.title="owned"</script><img src=http://example.invalid/x>'


@pytest.fixture
def page(tmp_path: Path) -> Path:
    texts = [f"row {row} ofthe {'word ' * (row % 40)} a x" for row in range(200)] + [
        "why‽ " + HOSTILE,
        HOSTILE + " ofthe",
    ]
    write_parquet(tmp_path / "in/one.parquet", texts)
    write_parquet(tmp_path / "in/two.parquet", texts[:50] + ["nothing here"] * 500)
    job = work(tmp_path / "out")
    repair(tmp_path / "in", job)
    manifests = {name: manifest(job, name) for name in ("one.parquet", "two.parquet")}
    failures = {"three.parquet": f"three.parquet: truncated {HOSTILE}"}
    summary = summarise(job.output, manifests, failures, {"model": HOSTILE}, "run", seconds=2.0)
    write_report(job.output, summary)
    return Path(report_url(job.output))


def test_summary(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    totals = summary["totals"]
    assert (totals["files"], totals["documents"], totals["dead_letters"], totals["unreadable_files"]) == (2, 752, 1, 1)
    assert summary["words"]["split"][0] == ["ofthe → of the", 250]
    assert sum(one["documents"] for one in summary["histogram"]) == 751
    assert summary["this_run"]["kilobytes_per_second"] == round(totals["bytes"] / 2000, 1)
    assert [shard["name"] for shard in summary["shards"]] == ["one.parquet", "two.parquet"]
    assert len(summary["samples"]) == 12
    assert dict(summary["left_alone"])["tag"] > 0
    assert summary["dead_letters"][0]["text"].startswith("why‽ <script>")


def test_what_the_corpus_holds_is_text_not_markup(page: Path) -> None:
    seen: list[str] = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            seen.append(tag)
            assert not {"src", "href", "onload", "onerror"} & {name for name, _ in attributes}

    Reader().feed(page.read_text())
    assert not {"script", "img", "link", "iframe"} & set(seen)
    assert {"main", "section", "table", "ins", "del"} <= set(seen)


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_real_browser_opens_it(page: Path, tmp_path: Path) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    assert CHROMIUM is not None
    command = [CHROMIUM, *flags, "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert "<title>Respace: repair report</title>" in shown
    for part in (
        "Edits per 1,000 characters",
        "Words that changed most",
        "A sample of passages",
        "Dead letters",
        "Throughput",
    ):
        assert part in shown
    assert shown.count("<figure>") == 12
    assert "ofthe → of the" in shown


def test_an_empty_corpus_has_a_page_too() -> None:
    summary = summarise("out", {}, {}, {}, "run", seconds=0.0)
    assert "No document was changed." in render_page(summary)


def test_many_shards_show_the_slowest(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    make: Callable[[int], dict[str, object]] = lambda number: {  # noqa: E731
        **summary["shards"][0],
        "name": f"shard{number:03}",
        "kilobytes_per_second": float(number),
    }
    shown = render_page({**summary, "shards": [make(number) for number in range(100)]})
    assert "for the 60 slowest of 100 files" in shown
    assert "shard059" in shown
    assert "shard060" not in shown
