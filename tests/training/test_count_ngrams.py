from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.fast.language_model import LanguageModel
from models.files import load_model
from training.count_ngrams import main


@pytest.fixture
def arguments(tmp_path: Path) -> list[str]:
    texts = [f"the {word} sat on the mat and the {word} ran" for word in ("cat", "dog", "cow", "hen")] * 60
    pq.write_table(pa.table({"text": texts}), tmp_path / "text.parquet")
    return [
        *("--sources", str(tmp_path / "text.parquet"), "--work_dir", str(tmp_path / "work")),
        *("--output", str(tmp_path / "model"), "--memory_mb", "8", "--threshold", "2"),
    ]


def test_the_command_counts_and_resumes(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 0
    first = capsys.readouterr().out
    model = LanguageModel.from_weights(load_model(str(tmp_path / "model")).weights)
    assert model is not None
    assert (tmp_path / "model" / "language_model.safetensors").is_file()
    (tmp_path / "work" / "ngrams5.npz").unlink()  # as if it had been interrupted there
    assert main(arguments) == 0
    assert capsys.readouterr().out.splitlines()[-1] == first.splitlines()[-1]


def test_a_missing_source_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    missing = str(tmp_path / "missing.parquet")
    code = main(["--sources", missing, "--work_dir", str(tmp_path / "work"), "--output", str(tmp_path / "model")])
    assert code == 2
    assert "missing.parquet" in capsys.readouterr().err
