"""Results in the format of Doval and Gómez-Rodríguez, read and evaluated."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pipelines.evaluate import main as evaluate
from respace.doval import main, parse
from respace.storage.errors import BadFile

RESULTS = (
    "thecatsat\nAcierto! the cat sat\t\n\n"
    "goodvsbad\nFallo! good vsbad vs good vs bad\n\n"
    "aAciertois\nFallo! aAcierto is vs a Acierto is\n"
)


def test_public_layout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results.txt").write_text(RESULTS)
    folder = tmp_path / "dev" / "Doval"
    assert main([str(tmp_path / "results.txt"), str(folder)]) == 0
    assert "3 sentences" in capsys.readouterr().out
    assert (folder / "corrupt.txt").read_text() == "thecatsat\ngoodvsbad\naAciertois\n"
    assert (folder / "correct.txt").read_text() == "the cat sat\ngood vs bad\na Acierto is\n"
    assert (folder / "predictions" / "doval.txt").read_text() == "the cat sat\ngood vsbad\naAcierto is\n"
    arguments = ["--input", str(tmp_path / "dev"), "--output", str(tmp_path / "out"), "--predictions", "doval"]
    assert evaluate([*arguments, "--local_workers", "1"]) == 0
    row = json.loads((tmp_path / "out" / "report.json").read_text())[0]
    assert row["sequence_accuracy"] == 33.33
    assert (row["word_precision"], row["word_recall"]) == (round(500 / 7, 2), round(500 / 9, 2))


def test_results_alone_without_the_sentences() -> None:
    assert [one.correct for one in parse(["Acierto! a b", "Fallo! ab vs a b"])] == ["a b", "a b"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["Fallo! ab vs a c"], "results, line 1: expected the prediction, 'vs' and the truth"),
        (["Fallo!"], "results, line 1: expected"),
        (["hello"], "no line begins with Acierto! or Fallo!"),
    ],
)
def test_bad_results(lines: list[str], message: str) -> None:
    with pytest.raises(BadFile, match=message):
        parse(lines)


def test_a_missing_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(tmp_path / "none"), str(tmp_path / "out")]) == 1
    assert "none is missing" in capsys.readouterr().err
