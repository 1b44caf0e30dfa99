"""The commands of the README for every job run in a plain clone, on the examples."""

from __future__ import annotations

import importlib
import shlex
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def commands() -> list[list[str]]:
    """The commands of the README's section about the jobs."""
    section = (ROOT / "README.md").read_text().partition("## Try every job")[2].partition("\n## ")[0]
    block = section.partition("```\n")[2].partition("```")[0].replace("\\\n", " ")
    return [shlex.split(line)[2:] for line in block.splitlines() if line.startswith("python -m pipelines.")]


def test_every_job_of_the_readme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    found = commands()
    assert {module for module, *_ in found} == {
        f"pipelines.{path.stem}" for path in (ROOT / "pipelines").glob("*.py") if path.stem != "__init__"
    }
    for module, *arguments in found:
        fast = [one if one != "default" else "dynamic_programming" for one in arguments]
        assert importlib.import_module(module).main([*fast, "--local_workers", "1"]) == 0, module
    assert (tmp_path / "output/again/typed.txt").read_bytes() == (ROOT / "examples/corpus/typed.txt").read_bytes()
    capsys.readouterr()
