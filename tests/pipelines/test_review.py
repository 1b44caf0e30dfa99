"""A review, applied: only what it names is done again, and only what it rejects is left out."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.pipelines.test_nightly import done_again, runs, texts
from tests.pipelines.test_repair_corpus import run
from tests.transforms.corpora import tree, write_parquet
from transforms.repair import plan
from transforms.repair.review import format_entry

TEXTS = [f"number {number} ofthe others ofthe" for number in range(40)]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("a", "b"):
        write_parquet(tmp_path / f"in/{name}.parquet", TEXTS, row_group_size=10)
        (tmp_path / f"in/{name}.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return tmp_path / "in"


def reject(path: Path, shard: str, row: int, gap: int, decision: str = "reject") -> None:
    entry = {"shard": shard, "row": row, "gap": gap, "kind": "insertion", "decision": decision}
    with path.open("a") as stream:
        stream.write(format_entry(entry))


def first_gap(row: int) -> int:
    """Of the space that is inserted first."""
    return len(f"number{row}of")


@pytest.mark.parametrize("parts", [1, 4])
def test_only_what_is_named_is_done_again(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], parts: int
) -> None:
    if parts > 1:
        monkeypatch.setattr(plan, "SMALLEST_SHARD", 1)
        monkeypatch.setattr(plan, "LARGEST_SHARD", (corpus / "a.jsonl").stat().st_size // parts)
    out, review = tmp_path / "out", tmp_path / "review.jsonl"
    review.touch()
    assert run(corpus, out) == 0
    before, known = tree(out, without=("_report",)), runs(out)
    assert run(corpus, out, "--review", str(review)) == 0
    assert done_again(out, known) == []
    reject(review, "a.jsonl", 33, first_gap(33))
    reject(review, "a.parquet", 33, first_gap(33))
    reject(review, "a.parquet", 7, first_gap(7), "accept")
    reject(review, "b.jsonl", 2, first_gap(2))
    reject(review, "b.jsonl", 2, first_gap(2), "accept")
    capsys.readouterr()
    assert run(corpus, out, "--review", str(review), "--dry_run") == 0
    assert "its review has changed" in capsys.readouterr().out
    assert run(corpus, out, "--review", str(review)) == 0
    assert "edits rejected         2" in capsys.readouterr().out
    assert done_again(out, known) == ["a.jsonl", "a.parquet"]
    expected = [text.replace("ofthe", "of the") for text in TEXTS]
    expected[33] = "number 33 ofthe others of the"
    assert texts(out / "a.jsonl") == expected
    applied = runs(out)
    assert run(corpus, out, "--review", str(review)) == 0
    assert done_again(out, applied) == []
    assert run(corpus, out) == 0  # without the review everything is as it was
    assert done_again(out, applied) == ["a.jsonl", "a.parquet"]
    after = tree(out, without=("_report", "_manifest"))
    assert after == {name: content for name, content in before.items() if name in after}


def test_a_review_of_another_corpus_is_told(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    review = tmp_path / "review.jsonl"
    reject(review, "c.jsonl", 0, 1)
    assert run(corpus, tmp_path / "out", "--review", str(review)) == 0
    assert "1 of the 1 files that it rejects edits of are not in the input, c.jsonl among them" in (
        capsys.readouterr().err
    )


def test_a_review_that_is_none(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "review.jsonl").write_text("hello\n")
    assert run(corpus, tmp_path / "out", "--review", str(tmp_path / "review.jsonl")) != 0
    assert "line 1: Expecting value" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()
