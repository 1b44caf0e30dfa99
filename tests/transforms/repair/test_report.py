from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from tests.transforms.corpora import manifest, repair, work, write_parquet
from transforms.repair.report import CORPUS, report_url, summarise, write_report
from transforms.repair.report_page import render_page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
META = {"name", "content"}
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
    digest = CORPUS.merge(CORPUS.of(manifest(job, name)) for name in ("one.parquet", "two.parquet"))
    failures = {"three.parquet": f"three.parquet: truncated {HOSTILE}"}
    summary = summarise(job.output, digest, failures, {"model": HOSTILE}, "run", seconds=2.0)
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
    assert len(summary["samples"]) == 24
    assert dict(summary["left_alone"])["tag"] > 0
    assert summary["dead_letters"][0]["text"].startswith("why‽ <script>")


def poisoned(value: Any, key: str = "") -> Any:
    """A summary in which every name, text, reason and setting is hostile."""
    if isinstance(value, dict):
        names = {"settings", "unreadable", "not_read"}
        return {HOSTILE + name if key in names else name: poisoned(one, name) for name, one in value.items()}
    if key == "passage":
        return [[what, HOSTILE + text] for what, text in value]
    if isinstance(value, list):
        return [poisoned(one, key) for one in value]
    return HOSTILE + value if isinstance(value, str) and key != "made" else value


def test_what_the_corpus_holds_is_text_not_markup(page: Path) -> None:
    summary = poisoned({**json.loads((page.parent / "summary.json").read_text()), "not_read": {"a": 1}})
    shown = render_page(summary)
    tags: set[str] = set()

    class Reader(HTMLParser):
        def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
            tags.add(tag)
            assert {name for name, _ in attributes} <= {"class", "style", "id", "href", "charset", "lang", *META}
            assert (dict(attributes).get("href") or "#").startswith(("#", "../"))

    Reader().feed(shown)
    assert tags == {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "main",
            "section",
            "div",
            "h1",
            "h2",
            "p",
            "b",
            "small",
            "span",
        ),
        *(
            "table",
            "thead",
            "tbody",
            "tr",
            "th",
            "td",
            "figure",
            "figcaption",
            "blockquote",
            "ins",
            "del",
            "code",
            "a",
            "mark",
        ),
    }
    assert "<script" not in shown
    # Whatever is shown is shown as it is: files, passages, words, reasons, dead letters, settings.
    assert shown.count("&lt;script&gt;") > 100


def test_links_and_times(page: Path) -> None:
    shown = page.read_text()
    assert '<a href="../_dead_letters/one.parquet.parquet">one.parquet, row 200</a>' in shown
    assert '<a href="#dead-letters">1</a>' in shown
    assert '<section id="dead-letters">' in shown
    assert shown.count('href="#edit-') == shown.count("id=edit-") == 24
    assert '<a href="../one.parquet">one.parquet</a>, row 0, gap' in shown
    assert "<b>2.0 s</b><span>last run</span>" in shown  # too small a run for a speed
    assert re.search(r"· \d+ \w+ 20\d\d, \d\d:\d\d UTC<", shown)


def test_nothing_has_no_bar(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    assert sum(one["edits"] for one in summary["confidence"]) == 500
    section = render_page(summary).partition("How sure the model was")[2].partition("</section>")[0]
    assert section.count('class="bar"') == 1  # the method of the tests is always as sure
    assert section.count('class="name"') == 8


def test_certainty(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    assert [one["confidence"] for one in summary["least_certain"]] == [0.75] * 24
    assert summary["kinds"][0] == {"text": "English prose, between letters", "insertions": 250, "deletions": 250}


@pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here")
def test_a_real_browser_opens_it(page: Path, tmp_path: Path) -> None:
    flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking"]
    flags += ["--disable-component-update", "--disable-sync", f"--user-data-dir={tmp_path / 'profile'}"]
    assert CHROMIUM is not None
    command = [CHROMIUM, *flags, "--dump-dom", page.as_uri()]
    shown = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True).stdout
    assert "<title>Respace: repair report</title>" in shown
    for part in (
        "How sure the model was",
        "Least certain edits",
        "Edits by kind of text",
        "Edits per 1,000 characters",
        "Words that changed most",
        "A sample of passages",
        "Dead letters",
        "Throughput",
    ):
        assert part in shown
    assert shown.count("<figure") == 24 + 24 + 1  # passages, least certain edits, a dead letter
    assert "ofthe → of the" in shown


def test_an_empty_corpus_has_a_page_too() -> None:
    summary = summarise("out", CORPUS.merge([]), {}, {}, "run", seconds=0.0)
    assert "No document was changed." in render_page(summary)


def test_many_shards_show_the_slowest(page: Path) -> None:
    summary = json.loads((page.parent / "summary.json").read_text())
    make: Callable[[int], dict[str, object]] = lambda number: {  # noqa: E731
        **summary["shards"][0],
        "name": f"shard{number:03}",
        "kilobytes_per_second": float(number),
    }
    totals = {**summary["totals"], "files": 100}
    shown = render_page({**summary, "totals": totals, "shards": [make(number) for number in range(100)]})
    assert "for the 60 slowest of 100 files" in shown
    assert "shard059" in shown
    assert "shard060" not in shown
