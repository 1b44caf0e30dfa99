"""The ledger: nights read what changed and nothing else, and without it everything is the same."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pipelines.job import stages
from tests.pipelines.test_nightly import done_again, runs, write
from tests.pipelines.test_repair_corpus import run, summary
from transforms.shards import ledger, manifests

FILES = 22


class Reads(list[str]):
    """Manifests that were read."""

    def during(self, *arguments: Any) -> set[str]:
        self.clear()
        assert run(*arguments) == 0
        return {url.rpartition("/_manifest/")[2].removesuffix(".json") for url in self}


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    found = Reads()
    read = manifests.read_bytes

    def noted(url: str) -> bytes:
        found.append(url)
        return read(url)

    monkeypatch.setattr(manifests, "read_bytes", noted)
    return found


@pytest.fixture
def corpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(stages, "FEWEST_SHARDS", 1)
    monkeypatch.setattr(ledger, "SHARDS_PER_PAGE", 4)
    for number in range(FILES):
        write(tmp_path / f"in/{number:02}.jsonl", f"word{number % 3} ofthe others", "why‽" if number == 7 else "a x")
    return tmp_path / "in"


OPTIONS = ("--max_error_fraction", "1")


def pages(output: Path) -> list[str]:
    return sorted(path.name for path in (output / "_ledger").iterdir())


def what_it_says(output: Path) -> Any:
    found = summary(output)
    return {key: value for key, value in found.items() if key not in ("made", "this_run")}


def test_a_night_without_changes_reads_no_manifest(corpus: Path, tmp_path: Path, reads: Reads) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, *OPTIONS) == 0
    first, kept = what_it_says(out), pages(out)
    assert len(kept) == 6  # five full ones, and one of two shards
    shutil.rmtree(out / "_report")
    assert reads.during(corpus, out, *OPTIONS) == set()
    assert what_it_says(out) == first
    assert pages(out) == kept
    shutil.rmtree(out / "_ledger")
    assert len(reads.during(corpus, out, *OPTIONS)) == FILES
    shutil.rmtree(out / "_report")
    assert reads.during(corpus, out, *OPTIONS) == set()
    assert what_it_says(out) == first


def test_changes_cost_the_page_they_are_on(corpus: Path, tmp_path: Path, reads: Reads) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, *OPTIONS) == 0
    known = runs(out)
    write(corpus / "05.jsonl", "changed ofthe others")
    write(corpus / "zz.jsonl", "new ofthe others")
    # Those on the page of the changed one, and those on the small last page, which is written again with the new one.
    assert reads.during(corpus, out, *OPTIONS) == {"04.jsonl", "05.jsonl", "06.jsonl", "07.jsonl", "zz.jsonl"}
    assert done_again(out, known) == ["05.jsonl", "zz.jsonl"]
    assert summary(out)["totals"]["files"] == FILES + 1
    (corpus / "zz.jsonl").unlink()
    write(corpus / "05.jsonl", "word2 ofthe others", "a x")
    assert run(corpus, out, *OPTIONS, "--prune") == 0
    after = what_it_says(out)
    shutil.rmtree(out)
    assert run(corpus, out, *OPTIONS) == 0
    expected = what_it_says(out)
    for one in (*after["shards"], *expected["shards"]):
        del one["seconds"], one["kilobytes_per_second"]
    assert after == expected


def test_damaged_and_doubled_pages_change_nothing(corpus: Path, tmp_path: Path, reads: Reads) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, *OPTIONS) == 0
    first, kept = what_it_says(out), pages(out)
    full = [name for name in kept if len(json.loads((out / "_ledger" / name).read_text())["shards"]) == 4]
    (out / "_ledger" / full[0]).write_text("{")
    shutil.copy(out / "_ledger" / full[1], out / "_ledger" / "ffffffffffffffff.json")
    doubled = json.loads((out / "_ledger" / full[1]).read_text())
    content = json.dumps(doubled, indent=1).encode()  # what a killed run may leave: the same shards on another page
    (out / "_ledger" / ledger._page_name(content)).write_bytes(content)
    shutil.rmtree(out / "_report")
    assert len(reads.during(corpus, out, *OPTIONS)) == 4
    assert what_it_says(out) == first
    assert len(pages(out)) == len(kept)


@pytest.mark.parametrize("what", ["output gone", "output changed", "manifest gone", "settings"])
def test_the_ledger_is_not_believed_against_the_files(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], what: str
) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, *OPTIONS) == 0
    known, before = runs(out), (out / "03.jsonl").read_text()
    if what == "output gone":
        (out / "03.jsonl").unlink()
    elif what == "output changed":
        (out / "03.jsonl").write_text(before.replace("word0", "WORD0"))
    elif what == "manifest gone":
        (out / "_manifest/03.jsonl.json").unlink()
    else:
        assert run(corpus, out, *OPTIONS, "--keep_original") == 1
        assert "keep original was False and is now True (21 more shards differ, too)" in capsys.readouterr().err
        return
    assert run(corpus, out, *OPTIONS) == 0
    assert done_again(out, known) == ["03.jsonl"]
    assert (out / "03.jsonl").read_text() == before


def test_dead_letters_are_tried_again(corpus: Path, tmp_path: Path, reads: Reads) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, *OPTIONS) == 0
    write(corpus / "07.jsonl", "mended ofthe others", "a x")
    assert run(corpus, out, *OPTIONS, "--retry_dead_letters") == 0
    assert summary(out)["totals"]["dead_letters"] == 0
    shutil.rmtree(out / "_report")
    assert len(reads.during(corpus, out, *OPTIONS)) <= 4
    assert summary(out)["totals"]["files"] == FILES


def test_small_corpora_have_none(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "FEWEST_SHARDS", FILES + 1)
    assert run(corpus, tmp_path / "out", *OPTIONS) == 0
    assert not (tmp_path / "out/_ledger").exists()


def test_files_that_nobody_looked_at(corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of many files, the small ones are cut and checked by whoever works on them."""
    from tests.transforms.corpora import AFTER, BEFORE, tree, write_parquet

    write_parquet(corpus / "table.parquet", BEFORE)
    (corpus / "bad.parquet").write_bytes(b"not Parquet")
    options = (*OPTIONS, "--on_bad_file", "skip")
    assert run(corpus, tmp_path / "looked", *options) == 0
    monkeypatch.setattr("pipelines.repair_corpus.MOST_LOOKED_AT", 3)
    assert run(corpus, tmp_path / "out", *options) == 0
    aside = ("_report", "_manifest", "_ledger", "_failed")
    assert tree(tmp_path / "out", without=aside) == tree(tmp_path / "looked", without=aside)
    assert len(AFTER) == summary(tmp_path / "out")["totals"]["documents"] - 2 * FILES
    assert list(summary(tmp_path / "out")["unreadable"]) == ["bad.parquet"]
