"""The whole job: six benchmarks in the public layout, the same ones whatever the cut and the order of the input."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.make_benchmarks import main
from respace.gaps import split
from transforms.shards.dead_letters import read_dead_letters

WORDS = ["which", "people", "their", "because", "government", "beginning", "the", "of", "until", "science", "believe"]


def texts(number: int) -> list[str]:
    draw = np.random.default_rng(1)
    return [" ".join(draw.choice(WORDS, 12)) + f" {row}." for row in range(number)]


def write_inputs(folder: Path, rows: list[str]) -> list[str]:
    """Clean text, matched paragraphs and pairs; returns the options that name them."""
    (folder / "in").mkdir(parents=True)
    (folder / "matched").mkdir()
    (folder / "acl").mkdir()
    half = len(rows) // 2
    pq.write_table(pa.table({"sentence": rows[:half]}), folder / "in" / "a.parquet", row_group_size=17)
    pq.write_table(pa.table({"sentence": rows[half:] + rows[:3]}), folder / "in" / "b.parquet")
    pairs = {"extracted": ["F (R,  T )\nis", "n+ 1 is"], "truth": ["F(R, T) is", "n + 1 is"], "document_id": ["d", "d"]}
    pq.write_table(pa.table(pairs), folder / "matched" / "m.parquet")
    for name, content in {"corrupt": "a c at\nb\n", "correct": "a cat\nb\n", "spelling": "a bat\nb\n"}.items():
        (folder / "acl" / f"{name}.txt").write_text(content)
    return [
        *["--input", str(folder / "in"), "--text_column", "sentence", "--local_workers", "1"],
        *["--matched", str(folder / "matched"), "--acl_pairs", str(folder / "acl")],
    ]


def written(output: Path) -> dict[str, list[str]]:
    return {
        str(path.relative_to(output)): path.read_text().split("\n")[:-1]
        for path in sorted(output.glob("[A-Za-z]*/*.txt"))
    }


def test_six_benchmarks_in_the_public_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = texts(300)
    options = write_inputs(tmp_path, rows)
    assert main([*options, "--output", str(tmp_path / "out"), "--sequences", "100"]) == 0
    found = written(tmp_path / "out")
    spelled = ["ACL", "Wiki.typos", "Wiki.typos.no_spaces", "arXiv.OCR"]
    assert sorted(found) == sorted(
        [f"{name}/{kind}.txt" for name in (*spelled, "Wiki", "arXiv.pdftotext") for kind in ("corrupt", "correct")]
        + [f"{name}/spelling.txt" for name in spelled]
    )
    assert found["ACL/corrupt.txt"] == ["a c at", "b"]
    assert sorted(found["arXiv.pdftotext/corrupt.txt"]) == ["F (R, T ) is", "n+ 1 is"]
    assert sorted(found["arXiv.pdftotext/correct.txt"]) == ["F(R, T) is", "n + 1 is"]
    assert len(found["Wiki/correct.txt"]) == len(set(found["Wiki/correct.txt"])) == 100
    assert set(found["Wiki/correct.txt"]) < set(rows)
    assert found["Wiki.typos/spelling.txt"] == found["Wiki/correct.txt"]
    assert found["Wiki.typos.no_spaces/correct.txt"] != found["Wiki/correct.txt"]
    for name in ("ACL", "arXiv.OCR", "arXiv.pdftotext", "Wiki", "Wiki.typos", "Wiki.typos.no_spaces"):
        for corrupt, correct in zip(found[f"{name}/corrupt.txt"], found[f"{name}/correct.txt"], strict=True):
            assert split(corrupt)[0] == split(correct)[0]
    statistics = json.loads((tmp_path / "out" / "statistics.json").read_text())
    assert statistics["ACL"] == {
        "sequences": 2,
        "erroneous": 1,
        "spurious": 1,
        "missing": 0,
        "tokens": 3,
        "tokenization_errors": 0,
        "spelling_errors": 0,
        "mixed_errors": 1,
    }
    printed = capsys.readouterr().out
    assert re.search(r"ACL +2 +1 \(50\.0%\).*\n +public, dev half +500 +203 \(40\.6%\)", printed)
    assert "none in both" in printed
    assert "arXiv.OCR: 2 sequences, not 100: the input has no more different ones" in printed
    assert "Wiki: " not in printed
    # The same sequences with other files, another order, another cut, two processes.
    other = write_inputs(tmp_path / "other", rows[::-1])
    more = ["--sequences", "100", "--local_workers", "2"]
    assert main([*other, "--output", str(tmp_path / "again"), *more]) == 0
    assert written(tmp_path / "again") == found
    assert main([*options, "--output", str(tmp_path / "seed"), "--sequences", "100", "--seed", "2"]) == 0
    assert written(tmp_path / "seed")["Wiki/correct.txt"] != found["Wiki/correct.txt"]


def test_what_has_no_input_is_left_out_and_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = write_inputs(tmp_path, texts(20))[:6]
    assert main([*options, "--output", str(tmp_path / "out")]) == 0
    errors = capsys.readouterr().err
    assert "ACL: left out, it needs --acl_pairs" in errors
    assert "arXiv.OCR: left out, it needs --matched" in errors
    assert sorted(path.name for path in (tmp_path / "out").glob("[A-Za-z]*/")) == [
        "Wiki",
        "Wiki.typos",
        "Wiki.typos.no_spaces",
    ]


def test_pairs_that_differ_in_more_than_spaces_are_dead_letters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    options = write_inputs(tmp_path, texts(20))
    pairs = {"extracted": ["a b", "c d"], "truth": ["ab", "c e"]}
    pq.write_table(pa.table(pairs), tmp_path / "matched" / "m.parquet")
    assert main([*options, "--output", str(tmp_path / "out")]) == 1
    assert "1 of 25 documents failed" in capsys.readouterr().err
    (letters,) = (tmp_path / "out" / "_dead_letters").rglob("*.parquet")
    assert read_dead_letters(str(letters))["message"].to_pylist() == [
        "extracted and true text differ in more than their spaces"
    ]
    assert written(tmp_path / "out")["arXiv.pdftotext/correct.txt"] == ["ab"]


def test_no_benchmark_is_made_of_input_that_is_not_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    options = write_inputs(tmp_path, texts(20))
    assert main([*options, "--output", str(tmp_path / "out"), "--limit", "1"]) == 0
    assert (
        "arXiv.pdftotext: left out, none of its input is read: see --on_bad_file and --limit" in capsys.readouterr().err
    )
    assert not (tmp_path / "out" / "arXiv.pdftotext").exists()
    pq.write_table(pa.table({"extracted": [1], "truth": [2]}), tmp_path / "matched" / "m.parquet")
    assert main([*options, "--output", str(tmp_path / "skip")]) == 1
    assert "m.parquet: the column 'extracted' is int64: expected output of match_arxiv" in capsys.readouterr().err
    assert main([*options, "--output", str(tmp_path / "skip"), "--on_bad_file", "skip"]) == 0
    assert re.search(r"unreadable files +1\n", capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "message", "code"),
    [
        (["--sequences", "0"], "--sequences 0: expected at least 1", 2),
        (["--typos", "missing.tsv"], "--typos missing.tsv", 2),
        (["--matched", "missing"], "--matched missing: not found", 1),
        (["--acl_pairs", "missing"], "expected a benchmark to hold corrupt.txt and correct.txt", 1),
    ],
)
def test_bad_options(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str, code: int
) -> None:
    options = write_inputs(tmp_path, texts(3))[:6]
    assert main([*options, "--output", str(tmp_path / "out"), *arguments]) == code
    assert message in capsys.readouterr().err
