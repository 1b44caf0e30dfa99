from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.evaluate_spelling import main

pytest.importorskip("symspellpy")


@pytest.fixture
def benchmark(tmp_path: Path) -> Path:
    folder = tmp_path / "dev" / "ACL"
    folder.mkdir(parents=True)
    (folder / "corrupt.txt").write_text("the algo rihm works\nwe recieve text\n")
    (folder / "correct.txt").write_text("the algorihm works\nwe recieve text\n")
    (folder / "spelling.txt").write_text("the algorithm works\nwe receive text\n")
    return tmp_path / "dev"


def run(benchmark: Path, *more: str) -> int:
    arguments = ["--input", str(benchmark), "--output", str(benchmark.parent / "out"), "--correctors", "symspell"]
    return main([*arguments, "--methods", "do_nothing", *more])


def test_correctors_alone_and_after_perfect_spaces(benchmark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(benchmark) == 0
    printed = capsys.readouterr().out
    assert "| ACL | 6 | 0 | 1 | 1 |" in printed
    assert "| perfect spaces then symspell | 100.0 / 100.0 |" in printed
    assert "| symspell | 50.0 / " in printed
    assert "| BID+ then Google (published) | 18.4 / 66.6 |" in printed
    assert (benchmark.parent / "out" / "spelling.tex").read_text().startswith(r"\begin{table}")


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        (["--methods", "magic"], 2, "--methods magic: unknown method 'magic'"),
        (["--sequences", "0"], 2, "--sequences 0: expected at least 1"),
    ],
)
def test_bad_options(
    benchmark: Path, capsys: pytest.CaptureFixture[str], options: list[str], code: int, message: str
) -> None:
    assert run(benchmark, *options) == code
    assert message in capsys.readouterr().err


def test_a_dry_run_writes_nothing(benchmark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(benchmark, "--dry_run") == 0
    assert "would correct ACL with symspell, alone and after do_nothing" in capsys.readouterr().out
    assert not (benchmark.parent / "out").exists()


def test_no_spelling(benchmark: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (benchmark / "ACL" / "spelling.txt").unlink()
    assert run(benchmark) == 1
    assert "no benchmark there has a spelling.txt" in capsys.readouterr().err
