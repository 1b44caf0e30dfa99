"""A method that somebody names by its module: found, made, and told what is wrong with it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from models.files import ModelError
from models.methods import load_method, method_identity

ROOT = Path(__file__).parents[2]
EXAMPLE = "examples.own_method:SpaceAfterComma"
MODULE = """
from models.words.baselines import DoNothing
number = 1
def nothing(): return DoNothing()
def both(insertion_penalty, deletion_penalty): return (insertion_penalty, deletion_penalty)
def three(a, b, c): return DoNothing()
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    name = f"method_in_{tmp_path.name}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [path for path in sys.path if path])
    return name


def test_the_example_repairs_a_corpus_as_contributing_says(tmp_path: Path) -> None:
    line = next(line for line in (ROOT / "CONTRIBUTING.md").read_text().splitlines() if EXAMPLE in line)
    assert line.endswith("--input examples/corpus --output output/own_method")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("This is a line,and the other comma, which was right, stays.\n")
    command = [sys.executable, *line.split()[1:-4], "--input", str(tmp_path / "in"), "--output", str(tmp_path / "out")]
    done = subprocess.run([*command, "--local_workers", "1"], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    repaired = (tmp_path / "out" / "a.txt").read_text()
    assert repaired == "This is a line, and the other comma, which was right, stays.\n"


def test_a_module_in_the_current_directory_with_or_without_penalties(module: str) -> None:
    assert method_identity(f"{module}:nothing") == "do_nothing"
    assert load_method(EXAMPLE, 1.0).identity == "space_after_comma 1"


@pytest.mark.parametrize(
    ("name", "penalty", "message"),
    [
        ("gone", None, "has no gone. Check the name"),
        ("number", None, "number is of type int. Expected a class, or a function that returns a method"),
        ("three", None, "three takes other arguments. Expected (insertion_penalty, deletion_penalty)"),
        ("nothing", 1.0, "nothing takes no penalties. Leave them out"),
        ("both", None, "both gives an object of type tuple, which has no identity, context, decide. Expected a Method"),
    ],
)
def test_what_is_wrong_with_it(module: str, name: str, penalty: float | None, message: str) -> None:
    with pytest.raises(ModelError) as caught:
        load_method(f"{module}:{name}", penalty)
    assert message in str(caught.value)


def test_no_such_module_is_one_line_of_the_command(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "respace.cli", "--model", "gone.module:Method", "a text"]
    done = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, capture_output=True)
    assert done.returncode == 2
    advice = "Run from the directory that gone is in, or set PYTHONPATH to it"
    assert done.stderr.decode() == f"respace: No module named 'gone'. {advice}\n"
