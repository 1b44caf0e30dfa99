"""The ``respace`` command: repairs a file, its arguments, or standard input line by line."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from contextlib import nullcontext
from itertools import islice

from respace import gaps
from respace.loops import interpreted
from respace.packages import hidden_package
from respace.pdf import PdfError, choose_backend, extract_text
from respace.repairer import Repair, Repairer
from respace.storage.errors import BadOption, UserError, printable
from respace.storage.publish import publish_bytes
from respace.version import VERSION

# Lines are repaired together while they come fast; a person who types one line still gets an answer at once.
_LINES_AT_ONCE = 512
# The interpreter repairs so many characters in the time that loading compiled loops takes.
_SHORT = 400
# A text file has no zero byte; whoever has one, has it early.
_LOOKED_AT = 1 << 16
BOM = "\ufeff"
_RED, _GREEN, _RESET = "\x1b[41m", "\x1b[42m", "\x1b[0m"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="respace",
        description="Repairs missing and spurious spaces, and changes nothing else.",
        epilog="examples: respace note.txt -o repaired.txt; respace 'Thealgo rithm isfast.'; respace < note.txt",
    )
    parser.add_argument(
        "text",
        nargs="*",
        help="a file to repair (text, or a PDF, of which the text is), or texts (after -- also one that is the name of "
        "a file); standard input, line by line, if there is none",
    )
    written = parser.add_mutually_exclusive_group()
    written.add_argument("-o", "--output", metavar="FILE", help="where to write the repaired file")
    written.add_argument("--in_place", metavar="SUFFIX", help="replace the file, and keep it as FILE + SUFFIX")
    parser.add_argument("--diff", action="store_true", help="show inserted spaces on green and deleted ones on red")
    parser.add_argument(
        "--model",
        default="default",
        help="a shipped model, a model directory, or package.module:name, which runs the code of that module",
    )
    parser.add_argument("--insertion_penalty", type=float, help="evidence needed to insert a space (the model's own)")
    parser.add_argument("--deletion_penalty", type=float, help="evidence needed to delete a space (the model's own)")
    parser.add_argument("--all_text", action="store_true", help="repair also lines that do not look like English prose")
    parser.add_argument("--version", action="version", version=f"respace {VERSION}")
    given = sys.argv[1:] if arguments is None else arguments
    options = parser.parse_args(given)
    file = options.text[0] if len(options.text) == 1 and "--" not in given and os.path.isfile(options.text[0]) else None
    if file is None and (options.output or options.in_place):
        parser.error("-o and --in_place need a file to repair. Give its name")
    if options.diff and (options.output or options.in_place):
        parser.error("--diff shows changes, and -o and --in_place write them: expected one of them")
    if options.in_place == "":
        parser.error("--in_place: expected a suffix for the backup, such as .bak")
    hidden = hidden_package()
    if hidden is not None:
        print(f"respace: {hidden}", file=sys.stderr)
        return 2
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow greets every user with lines about GPUs
    characters = sum(map(len, options.text)) if file is None else os.path.getsize(file)
    with interpreted() if options.text and characters <= _SHORT else nullcontext():
        return _run(options, file)


def _run(options: argparse.Namespace, file: str | None) -> int:
    try:
        repairer = Repairer.load(
            options.model, options.insertion_penalty, options.deletion_penalty, all_text=options.all_text
        )
    except ValueError as error:
        print(f"respace: {error}", file=sys.stderr)
        return 2
    if file is not None and not options.diff:
        return repair_file(repairer, file, options.output, options.in_place)
    show = show_diff if options.diff else (lambda _, repair: repair.text)
    try:
        texts = [f"{text}\n" for text in options.text] if file is None else _file_lines(file)
        for lines in [texts] if options.text else _chunks(_stdin_lines()):
            bare = [line.removesuffix("\n") for line in lines]
            for line, text, repair in zip(lines, bare, repairer.repair_with_edits(bare), strict=True):
                sys.stdout.write(show(text, repair) + line[len(text) :])  # the last line may not end in a line break
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read our output has seen enough; point stdout elsewhere so that the interpreter can close it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except UserError as error:
        print(f"respace: {printable(str(error))}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def repair_file(repairer: Repairer, name: str, output: str | None, backup: str | None) -> int:
    """Repairs a text file; every byte that is no space stays as it is. Of a PDF the text is. Gives the exit code."""
    try:
        text = _file_text(name, may_be_pdf=backup is None)
        # A byte order mark is no character of the first word.
        mark = BOM if text.startswith(BOM) else ""
        repaired = (mark + repairer.repair(text.removeprefix(mark))).encode("utf-8", "surrogateescape")
        if backup is not None:
            if os.path.exists(name + backup):
                raise UserError(f"{name}{backup} exists already. Remove it, or give another suffix to --in_place")
            shutil.copy2(name, name + backup)
        if output is None and backup is None:
            sys.stdout.buffer.write(repaired)
            sys.stdout.flush()
        else:
            publish_bytes(output or name, repaired)
        if backup is not None:
            shutil.copymode(name + backup, name)
    except (OSError, UserError) as error:
        print(f"respace: {printable(str(error))}", file=sys.stderr)
        return 1
    return 0


def _file_text(name: str, may_be_pdf: bool = True) -> str:
    with open(name, "rb") as stream:
        content = stream.read()
    if content.startswith(b"%PDF-"):
        if not may_be_pdf:
            raise UserError(f"{name} is a PDF, which cannot be replaced by its text. Give -o FILE")
        return _pdf_text(name, content)
    if b"\0" in content[:_LOOKED_AT]:
        raise UserError(f"{name} is not a text file: it has zero bytes. Convert it to UTF-8 text first")
    return content.decode("utf-8", "surrogateescape")


def _pdf_text(name: str, content: bytes) -> str:
    try:
        return extract_text(content, choose_backend())
    except BadOption as error:
        raise UserError(
            f"{name} is a PDF, and nothing is installed that extracts its text. Install poppler-utils, or run "
            "pip install 'respace[pdf]'; or give its text"
        ) from error
    except PdfError as error:
        raise UserError(f"{name}: {error}") from error


def _file_lines(name: str) -> list[str]:
    sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape", newline="\n")  # type: ignore[union-attr]
    return _file_text(name).splitlines(keepends=True)


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
    yield from sys.stdin


def _chunks(lines: Iterator[str]) -> Iterable[list[str]]:
    if sys.stdin.isatty():
        yield from ([line] for line in lines)
        return
    while chunk := list(islice(lines, _LINES_AT_ONCE)):
        yield chunk


if __name__ == "__main__":
    sys.exit(main())
