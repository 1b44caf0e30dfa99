"""The ``respace`` command: repairs files, its arguments, or standard input line by line."""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from itertools import islice
from typing import BinaryIO

from respace import gaps
from respace.arguments import DASH, Given, choose_targets, sort_arguments
from respace.loops import FIRST_RUN, interpreted, on_compilation
from respace.packages import hidden_package
from respace.repairer import Repair, Repairer
from respace.storage.errors import BadOption, UserError, printable
from respace.storage.publish import publish_bytes
from respace.text_input import (
    BOM,
    LOOKED_AT,
    STANDARD_INPUT,
    check_is_text,
    decode,
    encode,
    file_text,
    is_pdf,
    not_utf8_warning,
    pdf_text,
)
from respace.version import VERSION

# Lines are repaired together while they come fast; a person who types one line still gets an answer at once.
_LINES_AT_ONCE = 512
# The interpreter repairs so many characters in the time that loading compiled loops takes.
_SHORT = 400
_RED, _GREEN, _RESET = "\x1b[31m", "\x1b[32m", "\x1b[0m"
Show = Callable[[str, Repair], str]


def main(arguments: list[str] | None = None) -> int:
    parser = _parser()
    words = sys.argv[1:] if arguments is None else arguments
    after_dashes = words.index("--") if "--" in words else len(words)
    options = parser.parse_intermixed_args(words[:after_dashes])
    texts = [*options.text, *words[after_dashes + 1 :]] if after_dashes < len(words) else []
    try:
        hidden = hidden_package()
        if hidden is not None:
            raise BadOption(hidden)
        given = Given(texts=texts) if texts else sort_arguments(options.text)
        targets = choose_targets(given.files, options.output, options.in_place, options.diff)
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")  # TensorFlow greets every user with lines about GPUs
        with _loops_for(given):
            return _run(options, given, targets)
    except UserError as error:
        _complain(str(error))
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read our output has seen enough; point stdout elsewhere so that the interpreter can close it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="respace",
        description="Repairs missing and spurious spaces, and changes nothing else.",
        epilog="examples: respace note.txt -o repaired.txt; respace 'Thealgo rithm isfast.'; respace < note.txt",
    )
    parser.add_argument(
        "text",
        nargs="*",
        help="files (text or PDF) or texts to repair; - or nothing: standard input",
    )
    written = parser.add_mutually_exclusive_group()
    written.add_argument("-o", "--output", metavar="PATH", help="file to write, or an existing directory")
    written.add_argument("--in_place", metavar="SUFFIX", help="replace each file, and keep it as FILE + SUFFIX")
    parser.add_argument("--diff", action="store_true", help="mark inserted spaces as {+ +} and deleted ones as [- -]")
    parser.add_argument(
        "--model",
        default="default",
        help="a shipped model, a model directory, or package.module:name, which runs the code of that module",
    )
    parser.add_argument("--insertion_penalty", type=float, help="evidence needed to insert a space (the model's own)")
    parser.add_argument("--deletion_penalty", type=float, help="evidence needed to delete a space (the model's own)")
    parser.add_argument("--all_text", action="store_true", help="repair also lines that do not look like English prose")
    parser.add_argument("--version", action="version", version=f"respace {VERSION}")
    return parser


def _loops_for(given: Given) -> AbstractContextManager[None]:
    """A short text is repaired before the compiled loops are loaded; a long one may have to wait for the compiler."""
    characters = given.characters()
    return interpreted() if characters is not None and characters <= _SHORT else nullcontext()


def _run(options: argparse.Namespace, given: Given, targets: dict[str, str | None]) -> int:
    try:
        repairer = Repairer.load(
            options.model, options.insertion_penalty, options.deletion_penalty, all_text=options.all_text
        )
    except ValueError as error:
        raise BadOption(str(error)) from error
    show = _diff_shown() if options.diff else _text_shown
    if given.texts:
        for text, repair in zip(given.texts, _repairs(repairer, list(given.texts)), strict=True):
            _write(show(text, repair) + "\n")
        return 0
    codes = [_repair(repairer, name, targets[name], options, show, len(targets) > 1) for name in given.files]
    return max(codes)


def _repair(
    repairer: Repairer, name: str, target: str | None, options: argparse.Namespace, show: Show, several: bool
) -> int:
    if options.diff and several:
        _write(f"--- {printable(name)}\n")
    if name == DASH:
        return _repair_stdin(repairer, target, show)
    if options.in_place:
        return repair_file(repairer, name, None, options.in_place)
    return repair_file(repairer, name, target, None, show)


def repair_file(repairer: Repairer, name: str, output: str | None, backup: str | None, show: Show | None = None) -> int:
    """Repairs a text file; every byte that is not a space stays as it is. Of a PDF the text is. Gives the exit code.

    Args:
        repairer: repairs.
        name: of the file.
        output: the file to write; default: standard output.
        backup: a suffix, to replace the file instead and keep the original under its name with this suffix.
        show: what is written of a text and its repair; default: the repaired text.
    """
    try:
        text = file_text(name, may_be_pdf=backup is None)
        _warn(not_utf8_warning(name, text))
        repaired = encode(_repaired(repairer, text, show or _text_shown))
        if backup is not None:
            if os.path.exists(name + backup):
                raise UserError(f"{name}{backup} exists already. Remove it, or give another suffix to --in_place")
            shutil.copy2(name, name + backup)
        if output is None and backup is None:
            _write_bytes(repaired)
        else:
            publish_bytes(output or name, repaired)
        if backup is not None:
            shutil.copymode(name + backup, name)
    except BrokenPipeError:
        raise
    except (OSError, UserError) as error:
        _complain(str(error))
        return 1
    return 0


def _repaired(repairer: Repairer, text: str, show: Show) -> str:
    # A byte order mark is not a character of the first word.
    mark = BOM if text.startswith(BOM) else ""
    text = text.removeprefix(mark)
    return mark + show(text, _repairs(repairer, [text])[0])


def _repair_stdin(repairer: Repairer, output: str | None, show: Show) -> int:
    try:
        pieces = repaired_stream(repairer, sys.stdin.buffer, show, at_once=1 if sys.stdin.isatty() else _LINES_AT_ONCE)
        if output is not None:
            publish_bytes(output, b"".join(pieces))
        else:
            for piece in pieces:
                _write_bytes(piece)
    except BrokenPipeError:
        raise
    except (OSError, UserError) as error:
        _complain(str(error))
        return 1
    return 0


def repaired_stream(repairer: Repairer, stream: BinaryIO, show: Show, at_once: int) -> Iterator[bytes]:
    """Standard input, repaired line by line. A PDF is read to its end, and its text is repaired as a whole.

    Raises:
        UserError: it is neither text nor a PDF.
    """
    read, number, warned = 0, 1, False
    for lines in _chunks(stream, at_once):
        content = b"".join(lines)
        if read == 0 and is_pdf(content):
            text = pdf_text(STANDARD_INPUT, content + stream.read())
            yield encode(_repaired(repairer, text, show))
            return
        if read < LOOKED_AT:
            check_is_text(STANDARD_INPUT, content)
        texts = [decode(line) for line in lines]
        if not warned:
            warning = not_utf8_warning(STANDARD_INPUT, "".join(texts), number)
            _warn(warning)
            warned = warning is not None
        yield _repaired_lines(repairer, texts, show)
        read, number = read + len(content), number + len(lines)


def _repaired_lines(repairer: Repairer, lines: list[str], show: Show) -> bytes:
    marks = [BOM if line.startswith(BOM) else "" for line in lines]
    bare = [line.removeprefix(mark).removesuffix("\n") for line, mark in zip(lines, marks, strict=True)]
    return encode(
        "".join(
            # The last line may not end in a line break.
            mark + show(text, repair) + line[len(mark) + len(text) :]
            for line, mark, text, repair in zip(lines, marks, bare, _repairs(repairer, bare), strict=True)
        )
    )


def _chunks(stream: Iterable[bytes], at_once: int) -> Iterator[list[bytes]]:
    lines = iter(stream)
    while chunk := list(islice(lines, at_once)):
        yield chunk


def _repairs(repairer: Repairer, texts: list[str]) -> list[Repair]:
    with _compilation_shown():
        return repairer.repair_with_edits(texts)


@contextmanager
def _compilation_shown() -> Iterator[None]:
    """Says on standard error that loops are compiled, if they are; on a terminal it counts them."""
    counts = sys.stderr.isatty()
    compiled = 0

    def show() -> None:
        nonlocal compiled
        compiled += 1
        if counts:
            line = f"respace: first run on this machine, compiling: {compiled} loops"
            print(f"\r\x1b[K{line}", end="", file=sys.stderr, flush=True)
        elif compiled == 1:
            print(f"respace: {FIRST_RUN}", file=sys.stderr, flush=True)

    stop = on_compilation(show)
    try:
        yield
    finally:
        stop()
        if counts and compiled:
            print(file=sys.stderr)


def _text_shown(text: str, repair: Repair) -> str:
    return repair.text


def _diff_shown() -> Show:
    coloured = sys.stdout.isatty() and not os.environ.get("NO_COLOR")
    return lambda text, repair: show_diff(text, repair, coloured)


def show_diff(text: str, repair: Repair, coloured: bool) -> str:
    """The text with inserted spaces as ``{+ +}`` and deleted ones as ``[- -]``, as wdiff and git write them."""
    codes = gaps.code_points(text)
    positions = (~gaps.is_space(codes)).nonzero()[0]
    green, red, reset = (_GREEN, _RED, _RESET) if coloured else ("", "", "")
    pieces, start = [], 0
    for edit in repair.edits:
        end_of_last, here = int(positions[edit.gap - 1]) + 1, int(positions[edit.gap])
        pieces.append(text[start:end_of_last])
        deleted = f"{red}[-{text[end_of_last:here]}-]{reset}"
        pieces.append(f"{green}{{+ +}}{reset}" if edit.kind == "insertion" else deleted)
        start = here
    return "".join([*pieces, text[start:]])


def _write(text: str) -> None:
    _write_bytes(encode(text))


def _write_bytes(content: bytes) -> None:
    sys.stdout.buffer.write(content)
    sys.stdout.flush()


def _warn(message: str | None) -> None:
    if message is not None:
        _complain(f"warning: {message}")


def _complain(message: str) -> None:
    print(f"respace: {printable(message)}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
