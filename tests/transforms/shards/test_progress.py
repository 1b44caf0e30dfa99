from __future__ import annotations

import io

import pytest

from respace.loops import compiled
from transforms.shards.progress import ProgressLine, report


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """Time as a test wants it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch):
        self.now = 0.0
        monkeypatch.setattr(ProgressLine, "seconds", property(lambda line: self.now))


def test_counts_rates_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    line = ProgressLine(shards=4, total_bytes=10_000_000, stream=io.StringIO())
    clock.now = 30.0  # the model was loaded and compiled
    line.add({"documents": 1, "bytes": 100})
    assert line.line() == "0/4 shards, 1 documents, 0:30"
    clock.now = 40.0
    line.add({"shards": 1, "documents": 1999, "bytes": 2_500_000, "edits": 30})
    assert line.line() == "1/4 shards, 2,000 documents (50/s), 63 KB/s, 30 edits, 0:30 left"
    line.add({"bytes": 7_500_000, "dead_letters": 1})
    assert line.line().endswith("30 edits, 1 dead letters, 0:40")


def test_no_time_left_is_better_than_a_wrong_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """A run of 76 s said that 85 hours were left: the start counted, and so did what is around the texts."""
    clock = Clock(monkeypatch)
    line = ProgressLine(shards=2, total_bytes=1_000_000, stream=io.StringIO())
    clock.now = 30.0
    line.add({"bytes": 100})
    clock.now = 30.1
    line.add({"bytes": 100})
    assert "left" not in line.line()
    clock.now = 34.0
    line.add({"bytes": 9_800, "around": 90_000})
    assert line.line().endswith("0:36 left")  # a tenth in 4 s
    line.add({"around": 900_000})
    assert line.line().endswith("0:34")


def test_a_slow_run_knows_the_time_left_after_a_while(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    line = ProgressLine(shards=2, total_bytes=1_000_000, stream=io.StringIO())
    line.add({"bytes": 100})
    for clock.now in (10.0, 20.0):
        line.add({"bytes": 500})
        assert "left" not in line.line()
    clock.now = 30.0
    assert line.line().endswith("8:19:27 left")


def test_the_first_run_on_a_machine_says_at_once_that_it_compiles() -> None:
    out = io.StringIO()
    loop = compiled(eval("lambda value: value + 1"))  # what is in no file is compiled every time
    with ProgressLine(shards=3, stream=out):
        assert loop(2) == 3
        assert loop(2.5) == 3.5
        assert out.getvalue() == "0/3 shards, first run on this machine: compiling, 1 loops, 0:00\n"
        report(documents=3, bytes=100)
    assert out.getvalue().splitlines()[1].startswith("0/3 shards, 3 documents (")


def test_a_terminal_line_redraws_itself() -> None:
    out = Terminal()
    with ProgressLine(shards=1, stream=out):
        report(shards=1)
    assert out.getvalue().startswith("\r\x1b[K1/1 shards")
    assert out.getvalue().endswith("\n")


def test_nothing_is_shown_of_other_times() -> None:
    out = io.StringIO()
    report(shards=1)
    with ProgressLine(shards=1, stream=out):
        pass
    report(shards=1)
    assert out.getvalue() == ""
