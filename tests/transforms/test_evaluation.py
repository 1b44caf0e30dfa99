"""Slices of benchmarks: their predictions, counts and mistakes."""

from __future__ import annotations

from pathlib import Path

import pytest

from respace.benchmarks import read_lines
from respace.metrics import Counts, Score
from respace.storage.errors import BadFile
from transforms.evaluation import (
    BenchmarkFiles,
    EvaluateSlice,
    EvaluationSlice,
    describe_benchmarks,
    from_counts,
    to_counts,
)
from transforms.shards.contract import fingerprint_of
from transforms.shards.manifests import done_manifest


def benchmark(root: Path, name: str = "Wiki", corrupt: str = "", correct: str = "") -> BenchmarkFiles:
    (root / name).mkdir(parents=True)
    (root / name / "corrupt.txt").write_text(corrupt or "thec at\na b\nxy z\n")
    (root / name / "correct.txt").write_text(correct or "the cat\na b\nx yz\n")
    return describe_benchmarks([str(root / name)])[0]


def one_slice(found: BenchmarkFiles, start: int = 0, stop: int = 3) -> EvaluationSlice:
    return EvaluationSlice(benchmark=found, method="do_nothing", start=start, stop=stop)


def test_a_slice(tmp_path: Path) -> None:
    piece = one_slice(benchmark(tmp_path / "in"), 1, 3)
    work = EvaluateSlice(output=str(tmp_path / "out"))
    result = work(piece)
    assert (tmp_path / "out" / "_slices" / "do_nothing" / "Wiki" / "0000001.txt").read_text() == "a b\nxy z\n"
    score = from_counts(result.counts)
    assert (score.sequences, score.correct_sequences, score.characters) == (2, 1, 5)
    assert score.insertions == Counts(0, 0, 1)
    assert score.deletions == Counts(0, 0, 1)
    assert done_manifest(str(tmp_path / "out"), piece.name, fingerprint_of(work, piece)) is not None


def test_counts_are_scores() -> None:
    score = Score(Counts(1, 2, 3), Counts(4, 5, 6), 7, 3, 100)
    assert from_counts(to_counts(score)) == score


def test_benchmarks_in_the_papers_order(tmp_path: Path) -> None:
    for name in ("zebra", "Wiki.typos", "ACL", "Wiki"):
        benchmark(tmp_path, name)
    assert [one.name for one in describe_benchmarks([str(tmp_path)])] == ["ACL", "Wiki", "Wiki.typos", "zebra"]
    assert describe_benchmarks([str(tmp_path)])[0].lines == 3


def test_lines_end_at_newlines_alone(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes("a\u2028b\x0bc\r\n\nlast".encode())
    assert read_lines(str(tmp_path / "a.txt")) == ["a\u2028b\x0bc\r", "", "last"]


def test_mistakes(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match=r"no corrupt.txt there"):
        describe_benchmarks([str(tmp_path)])
    work = EvaluateSlice(output=str(tmp_path / "out"))
    other = benchmark(tmp_path / "in", "other", "ab\ncd\n", "a b\nce\n")
    with pytest.raises(BadFile, match="other, line 2: corrupt and correct text differ in more than their spaces"):
        work(one_slice(other, 0, 2))
    short = benchmark(tmp_path / "in", "short", "ab\ncd\n", "a b\n")
    with pytest.raises(BadFile, match="2 corrupt lines, 1 correct ones"):
        work(one_slice(short, 0, 2))
    benchmark(tmp_path / "again", "other")
    with pytest.raises(BadFile, match="have the same name"):
        describe_benchmarks([str(tmp_path / "in"), str(tmp_path / "again")])
