from __future__ import annotations

import subprocess
import sys

import pytest

from respace import cli
from respace.gaps import Edit
from respace.repairer import Repair


def respace(*arguments: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([sys.executable, "-m", "respace.cli", *arguments], input=stdin, capture_output=True)


def test_diff_marks_insertions_green_and_deletions_red() -> None:
    repair = Repair("a bcd e", [Edit(1, "insertion"), Edit(3, "deletion")])
    assert cli.show_diff("abc\td e", repair) == "a\x1b[42m \x1b[0mbc\x1b[41m\t\x1b[0md e"
    assert cli.show_diff("abc", Repair("abc", [])) == "abc"


def test_repairs_standard_input_line_by_line_and_keeps_every_other_byte() -> None:
    lines = b"Thisline lost a space.\r\n\nand th is one has too many\nnot \xff utf-8"
    done = respace(stdin=lines)
    assert done.returncode == 0, done.stderr
    assert done.stdout == b"This line lost a space.\r\n\nand this one has too many\nnot \xff utf-8\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--model", "defualt", "x"], "respace: unknown method 'defualt': expected one of do_nothing"),
        (["--insertion_penalty", "-1", "x"], "respace: insertion_penalty -1: expected a number of at least 0"),
    ],
)
def test_mistakes_are_told_without_a_stack_trace(arguments: list[str], message: str) -> None:
    done = respace(*arguments)
    assert done.returncode == 2
    assert done.stderr.decode().startswith(message)
    assert b"Traceback" not in done.stderr
