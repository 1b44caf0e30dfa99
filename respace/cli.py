"""The ``respace`` command: repairs its arguments, or standard input line by line."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice

from respace import gaps
from respace.repairer import Repair, Repairer
from respace.version import VERSION

# Lines are repaired together while they come fast; a person who types one line still gets an answer at once.
_LINES_AT_ONCE = 512
_RED, _GREEN, _RESET = "\x1b[41m", "\x1b[42m", "\x1b[0m"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="respace",
        description="Repairs missing and spurious spaces, and changes nothing else.",
        epilog="example: respace 'Thealgo rithm isfast.'",
    )
    parser.add_argument("text", nargs="*", help="texts to repair; standard input, line by line, if there is none")
    parser.add_argument("--diff", action="store_true", help="show inserted spaces on green and deleted ones on red")
    parser.add_argument("--model", default="default", help="a shipped model or a model directory")
    parser.add_argument("--insertion_penalty", type=float, help="evidence needed to insert a space (the model's own)")
    parser.add_argument("--deletion_penalty", type=float, help="evidence needed to delete a space (the model's own)")
    parser.add_argument("--all_text", action="store_true", help="repair also lines that do not look like English prose")
    parser.add_argument("--version", action="version", version=f"respace {VERSION}")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow greets every user with lines about GPUs
    try:
        repairer = Repairer.load(
            options.model, options.insertion_penalty, options.deletion_penalty, all_text=options.all_text
        )
    except ValueError as error:
        print(f"respace: {error}", file=sys.stderr)
        return 2
    show = show_diff if options.diff else (lambda _, repair: repair.text)
    try:
        for lines in [options.text] if options.text else _chunks(_stdin_lines()):
            for line, repair in zip(lines, repairer.repair_with_edits(lines), strict=True):
                sys.stdout.write(show(line, repair) + "\n")
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; point stdout elsewhere so that the interpreter can close it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except KeyboardInterrupt:
        return 130
    return 0


def show_diff(text: str, repair: Repair) -> str:
    """The text with inserted spaces on green and deleted ones on red."""
    codes = gaps.code_points(text)
    positions = (~gaps.is_space(codes)).nonzero()[0]
    pieces, start = [], 0
    for edit in repair.edits:
        end_of_last, here = int(positions[edit.gap - 1]) + 1, int(positions[edit.gap])
        pieces.append(text[start:end_of_last])
        pieces.append(f"{_GREEN} {_RESET}" if edit.kind == "insertion" else f"{_RED}{text[end_of_last:here]}{_RESET}")
        start = here
    return "".join([*pieces, text[start:]])


def _stdin_lines() -> Iterator[str]:
    # Bytes that are no UTF-8 come back out as they went in.
    sys.stdin.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")  # type: ignore[union-attr]
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")  # type: ignore[union-attr]
    for line in sys.stdin:
        yield line.removesuffix("\n")


def _chunks(lines: Iterator[str]) -> Iterable[list[str]]:
    if sys.stdin.isatty():
        yield from ([line] for line in lines)
        return
    while chunk := list(islice(lines, _LINES_AT_ONCE)):
        yield chunk


if __name__ == "__main__":
    sys.exit(main())
