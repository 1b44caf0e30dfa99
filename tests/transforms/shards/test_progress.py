from __future__ import annotations

import io

import pytest

from respace.loops import compiled
from transforms.shards.progress import ProgressLine, report


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_counts_rates_and_time_left(monkeypatch: pytest.MonkeyPatch) -> None:
    line = ProgressLine(shards=4, total_bytes=10_000, stream=io.StringIO())
    monkeypatch.setattr(ProgressLine, "seconds", property(lambda self: 10.0))
    line.counts.update(shards=1, documents=2000, bytes=2500, edits=30)
    assert line.line() == "1/4 shards, 2,000 documents (200/s), 30 edits, 0:30 left"
    line.counts["documents"] = 9
    assert line.line() == "1/4 shards, 9 documents, 30 edits, 0:30 left"
    line.counts["documents"] = 2000
    line.counts.update(bytes=12500, dead_letters=1)
    assert line.line() == "1/4 shards, 2,000 documents (200/s), 2 KB/s, 30 edits, 1 dead letters, 0:10"


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
