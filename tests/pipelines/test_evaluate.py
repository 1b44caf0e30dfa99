"""The evaluation job, through a real pipeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from pipelines.evaluate import PAPER_METHODS, cut_slices, main
from respace.method import Decision, GivenSequence, Method
from transforms.evaluation import describe_benchmarks


class PutSpacesEverywhere:
    """A bad method whose score is easy to work out."""

    identity = "put spaces everywhere"
    context = 0

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        return [
            Decision(np.ones(len(one.bits), dtype=bool), np.ones(len(one.bits), dtype=np.float32)) for one in sequences
        ]


def spaces_everywhere(insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    return PutSpacesEverywhere()


class Fails(PutSpacesEverywhere):
    """Cannot read a sequence without spaces."""

    identity = "fails"

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        if not all(one.bits.any() for one in sequences):
            raise IndexError("no space")
        return super().decide(sequences)


def fails(insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    return Fails()


@pytest.fixture
def benchmarks(tmp_path: Path) -> Path:
    for name in ("ACL", "Wiki"):
        (tmp_path / "dev" / name).mkdir(parents=True)
        (tmp_path / "dev" / name / "corrupt.txt").write_text("thec at\na b\nxy z\nabc\nab\n")
        (tmp_path / "dev" / name / "correct.txt").write_text("the cat\na b\nx yz\na b c\nab\n")
    return tmp_path / "dev"


def test_table_and_predictions(benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = f"{__name__}:spaces_everywhere"
    out = tmp_path / "out"
    arguments = ["--input", str(benchmarks), "--output", str(out), "--methods", f"do_nothing,{name}"]
    arguments += ["--slice_sequences", "2", "--local_workers", "1"]
    assert main(arguments) == 0
    printed = capsys.readouterr().out
    assert "| do_nothing | 0.0† | 0.0† |" in printed  # five sequences are too few to tell
    assert "| do_nothing | 40.0 | 40.0 |" in printed
    assert "† not significantly different from the best of the column" in printed
    predicted = out / "Wiki" / "predictions"
    assert (predicted / "do_nothing.txt").read_text() == "thec at\na b\nxy z\nabc\nab\n"
    spaced = next(path for path in predicted.iterdir() if path.name != "do_nothing.txt")
    assert spaced.read_text() == "t h e c a t\na b\nx y z\na b c\na b\n"
    rows = json.loads((out / "report.json").read_text())
    assert {(row["method"], row["benchmark"]) for row in rows} == {
        (m, b) for m in ("do_nothing", name) for b in ("ACL", "Wiki")
    }
    everywhere = next(row for row in rows if row["method"] == name)
    # Four of its insertions are right (the|c, x|y, a|b|c), four are wrong, and it deletes nothing of two spaces.
    assert everywhere["precision"] == 50
    assert everywhere["recall"] == 66.67
    assert everywhere["insertions_f_score"] == 66.67
    assert everywhere["deletions_f_score"] == 0
    # One false space in "ab" as it is given; in the correct text of the others, 4 in "the cat" and 1 in "x yz".
    assert everywhere["harm_where_right"] == 2500
    assert everywhere["harm"] == round(1e4 * (1 + 4 + 1) / (4 + 6 + 3 + 3), 2)
    assert next(row for row in rows if row["method"] == "do_nothing")["harm"] == 0
    assert everywhere["p_values"]["sequence_accuracy"] == 1
    assert "0.0–0.0" in (out / "report.md").read_text()
    assert r"do\_nothing & 0.0\textdagger{} & 0.0\textdagger{} \\" in (out / "report.tex").read_text()
    assert "Recall,do_nothing,Wiki,0.0" in (out / "report.csv").read_text().splitlines()
    assert "<td>do_nothing</td>" in (out / "report.html").read_text()
    assert main(arguments) == 0  # all slices are done: nothing runs, the same table
    assert capsys.readouterr().out == printed


def test_a_method_that_fails_is_named(benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    methods = f"do_nothing,{__name__}:fails"
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--methods", methods]
    assert main([*arguments, "--local_workers", "1", "--slice_sequences", "2"]) == 1
    printed = capsys.readouterr().err
    assert "error: fails fails on ACL: IndexError: no space" in printed
    assert "Traceback" not in printed


def test_harm_can_be_measured_later(benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--methods", "do_nothing"]
    arguments += ["--local_workers", "1"]
    assert main([*arguments, "--no-harm"]) == 0
    assert (
        "Harm: false edits per 10,000 characters, the correct text" not in (tmp_path / "out" / "report.md").read_text()
    )
    assert json.loads((tmp_path / "out" / "report.json").read_text())[0]["harm"] is None
    assert main(arguments) == 0
    assert "2 to do, 2 done" in capsys.readouterr().err
    assert json.loads((tmp_path / "out" / "report.json").read_text())[0]["harm"] == 0


def test_first_sequences_only(benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--methods", "do_nothing"]
    assert main([*arguments, "--sequences", "2", "--local_workers", "1"]) == 0
    assert "| do_nothing | 50.0 | 50.0 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--methods", "magic"], "--methods magic: unknown method 'magic': expected one of do_nothing"),
        (["--methods", ","], "expected names separated by commas"),
        (["--predictions", "magic"], "--predictions magic: no benchmark has predictions/magic.txt. Found: none"),
        (
            ["--methods", "do_nothing", "--compare", "fast"],
            "--compare fast: expected one of the methods that are scored",
        ),
        (["--sequences", "0"], "--sequences 0: expected at least 1"),
    ],
)
def test_bad_options(
    benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert main(["--input", str(benchmarks), "--output", str(tmp_path / "out"), *options]) == 2
    assert message in capsys.readouterr().err


def test_missing_benchmarks(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    assert main(["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--methods", "do_nothing"]) == 1
    assert "no corrupt.txt there" in capsys.readouterr().err


def predictions(benchmarks: Path, name: str, content: str) -> None:
    (benchmarks / "Wiki" / "predictions").mkdir(exist_ok=True)
    (benchmarks / "Wiki" / "predictions" / f"{name}.txt").write_text(content)


def test_predictions_of_others_are_scored_without_running(
    benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    predictions(benchmarks, "theirs", "the cat\na b\nx yz\na b c\nab\n")
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--predictions", "all"]
    assert main([*arguments, "--published", "--local_workers", "1"]) == 0
    printed = capsys.readouterr().out
    assert "| theirs |  | 100.0 |" in printed
    assert "| BID+ (published) | 89.6 | 98.7 |" in printed
    assert "Published figures are of the test halves" in printed
    assert "do_nothing |" not in printed
    assert main([*arguments, "--methods", "do_nothing", "--compare", "theirs", "--local_workers", "1"]) == 0
    assert "| do_nothing | 0.0 | 0.0† |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("the cat\na b\nx yz\n", "5 given sequences, 5 correct ones, 3 predictions: expected as many"),
        (
            "the cat\na b\nx YZ\na b c\nAb\n",
            "2 of 5 predictions differ from the given text in more than their spaces: line 3",
        ),
    ],
)
def test_predictions_that_do_not_fit(
    benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str, message: str
) -> None:
    predictions(benchmarks, "theirs", content)
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--predictions", "theirs"]
    assert main([*arguments, "--local_workers", "1"]) == 1
    assert message in capsys.readouterr().err
    assert main([*arguments, "--local_workers", "1", "--on_bad_file", "warn"]) == 0
    assert "theirs on Wiki: left out" in capsys.readouterr().out


def test_rows_of_the_paper() -> None:
    assert PAPER_METHODS[0] == "do_nothing"
    assert "bid_plus_the_one" in PAPER_METHODS


def test_changed_correct_text_is_not_the_same_benchmark(
    benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--input", str(benchmarks), "--output", str(tmp_path / "out"), "--methods", "do_nothing"]
    assert main([*arguments, "--local_workers", "1"]) == 0
    correct = benchmarks / "Wiki" / "correct.txt"
    correct.write_text(correct.read_text().replace("the cat", "th ecat"))
    assert main([*arguments, "--local_workers", "1"]) == 1
    assert "was written with different settings: benchmark was" in capsys.readouterr().err


@pytest.mark.parametrize("reason", ["limit", "bad file"])
def test_predictions_are_whole_or_left_out(
    benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], reason: str
) -> None:
    arguments = ["--input", str(benchmarks / "Wiki"), "--output", str(tmp_path / "out"), "--methods", "do_nothing"]
    arguments += ["--slice_sequences", "2", "--local_workers", "1", "--on_bad_file", "skip"]
    if reason == "limit":
        arguments += ["--limit", "1"]
    else:
        correct = benchmarks / "Wiki" / "correct.txt"
        correct.write_text(correct.read_text().replace("a b", "a c"))
    assert main(arguments) == 0
    assert "do_nothing on Wiki: left out" in capsys.readouterr().out
    assert not (tmp_path / "out" / "Wiki" / "predictions").exists()


def test_the_estimate_of_the_time_left_knows_how_many_sequences_there_are(benchmarks: Path) -> None:
    found = describe_benchmarks([str(benchmarks)])
    whole = sum(piece.size for piece in cut_slices(found, ["do_nothing"], None, 500))
    part = sum(piece.size for piece in cut_slices(found, ["do_nothing"], 1, 500))
    assert whole == sum((benchmarks / name / "corrupt.txt").stat().st_size for name in ("ACL", "Wiki"))
    assert 0 < part < whole / 3
