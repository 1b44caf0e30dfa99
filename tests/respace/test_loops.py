"""The same loops, compiled and interpreted: one implementation, two ways to run it."""

from __future__ import annotations

import os
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest

from models.fast.method import FastMethod
from respace import gaps, loops
from respace.loops import compiled, interpreted
from respace.method import GivenSequence
from respace.repairer import Repairer

TEXTS = [
    "Thealgo rithm isfast.",
    'He said:"Deep lear ning-based methods" havebeen shown in2019, see Section 3( Smithet al.,2018 ).',
    "theyallcametothehouseontheriverbankbeforeitwasdark",
    "Über-naïve approach's αβγδε ℝ 中文 \U0001f600 test, file_name.txt and 10,000\u2028new lineof text",
]


@pytest.fixture(scope="module")
def repairer() -> Repairer:
    return Repairer.load()


@pytest.mark.parametrize("text", TEXTS)
def test_interpreted_and_compiled_loops_agree(repairer: Repairer, text: str) -> None:
    assert isinstance(repairer.method, FastMethod)
    characters, bits = gaps.split(text)
    given = [GivenSequence(gaps.code_points(characters), bits)]
    by_numba, repaired = repairer.method.model.sequence_logits(given), repairer.repair_with_edits(text)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with interpreted():
            by_python, again = repairer.method.model.sequence_logits(given), repairer.repair_with_edits(text)
    np.testing.assert_allclose(by_python[0], by_numba[0], atol=1e-3)
    assert (again.text, again.left_alone) == (repaired.text, repaired.left_alone)


@compiled
def _twice(value: int) -> int:
    return 2 * value


@compiled
def _four_times(value: int) -> int:
    return _twice(_twice(value))


def test_loops_call_each_other_and_keep_their_names() -> None:
    assert _four_times(3) == 12
    assert _four_times.__name__ == "_four_times"
    with interpreted():
        assert _four_times(3) == 12


def test_without_a_place_for_what_was_compiled_it_is_compiled_every_time(monkeypatch: pytest.MonkeyPatch) -> None:
    njit = numba.njit

    def no_place(function: Callable[..., Any], cache: bool, **options: Any) -> Any:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return njit(function, **options)

    monkeypatch.setattr(numba, "njit", no_place)
    assert loops.compiled(lambda value: value + 1)(2) == 3


_CALLER = """
from respace.loops import compiled
from {callee} import times

FACTOR = {factor}

@compiled
def caller(value):
    return times(value) * FACTOR
"""
_CALLEE = """
from respace.loops import compiled

@compiled
def times(value):
    return value * {factor}
"""


def _value_of(directory: Path, called: int, read: int, environment: dict[str, str]) -> str:
    (directory / "callee.py").write_text(_CALLEE.format(factor=called))
    (directory / "caller.py").write_text(_CALLER.format(callee="callee", factor=read))
    # Neither the size nor the time of the caller's file tells that something changed.
    os.utime(directory / "caller.py", (1_000_000_000, 1_000_000_000))
    command = [sys.executable, "-B", "-c", "import caller; print(caller.caller(1))"]
    return subprocess.run(command, cwd=directory, env=environment, check=True, capture_output=True, text=True).stdout


def test_what_was_compiled_is_not_used_any_more_when_what_it_calls_or_reads_changes(tmp_path: Path) -> None:
    root = str(Path(__file__).parents[2])
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONPATH": f"{tmp_path}:{root}"}
    assert _value_of(tmp_path, 2, 3, environment) == "6\n"
    assert _value_of(tmp_path, 5, 3, environment) == "15\n"
    assert _value_of(tmp_path, 5, 7, environment) == "35\n"
    kept = len(list((tmp_path / "cache").rglob("*.nbi")))
    assert _value_of(tmp_path, 5, 7, environment) == "35\n"
    assert len(list((tmp_path / "cache").rglob("*.nbi"))) == kept == 5


_FIRST_RUN = """
import collections
from numba.core import event
from respace import Repairer, loops

names = collections.Counter()

class Compilations(event.Listener):
    def on_start(self, event):
        if event.data["dispatcher"].py_func in loops._ours:
            names[event.data["dispatcher"].py_func.__qualname__.partition(".")[0]] += 1

    def on_end(self, event):
        pass

event.register("numba:compile", Compilations())
Repairer.load().repair("Thealgo rithm isfast, and it re pairs whole documents. See www.example.com/a/b.\\n" * 40)
print(sum(names.values()) > 30, sorted(name for name, count in names.items() if count > 1))
"""


@pytest.mark.slow
def test_a_first_run_compiles_every_loop_once(tmp_path: Path) -> None:
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", _FIRST_RUN]
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    # `_copy` is for two kinds of arrays; two modules have a `look_up`.
    assert done.stdout == "True ['_copy', 'look_up']\n"
    # Nothing listens as the command and the jobs do, so it is logged.
    assert done.stderr == f"respace: {loops.FIRST_RUN}\n"
