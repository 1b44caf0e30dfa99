from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from respace.packages import PACKAGES, hidden_package

ROOT = Path(__file__).parents[2]


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def test_nothing_hides_ours() -> None:
    assert hidden_package() is None


@pytest.mark.parametrize("name", ["models", "transforms"])
def test_a_package_of_somebody_else(tmp_path: Path, name: str) -> None:
    assert name in PACKAGES
    (tmp_path / name).mkdir()
    (tmp_path / name / "__init__.py").touch()
    line = f"{tmp_path / name} hides the package {name} of respace in {ROOT}. Run from another folder"
    job = run(tmp_path, "-m", "pipelines.repair_corpus", "--help")
    assert job.returncode == 2
    assert job.stderr.startswith(f"error: {line}")
    assert job.stderr.count("\n") == 1
    here = "import sys; sys.path.insert(0, '')"
    command = run(tmp_path, "-c", f"{here}; from respace.cli import main; sys.exit(main([]))")
    assert command.returncode == 2
    assert command.stderr.startswith(f"respace: {line}")
    library = run(tmp_path, "-c", f"{here}; import pipelines")
    assert library.stderr.splitlines()[-1].startswith(f"ImportError: {line}")
