"""What jobs tell their users: the plan, unreadable files, what was done, and whether too much failed."""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import islice

from pipelines.job.options import JobOptions
from respace.storage.errors import UserError, printable
from respace.storage.files import join_url
from transforms.shards.contract import Shard
from transforms.shards.dead_letters import DEAD_LETTERS
from transforms.shards.resume import ResumePlan

# Of a dry run: more than these scroll the sums away.
MOST_LISTED = 50


def print_summary(title: str, rows: Sequence[tuple[str, object]]) -> None:
    """Prints what a job did, as aligned lines.

    >>> print_summary("repaired", [("documents", 1200), ("seconds", 1.5)])
    repaired
      documents  1,200
      seconds    1.5
    """
    width = max((len(name) for name, _ in rows), default=0)
    print(printable(title))
    for name, value in rows:
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))
        print(f"  {name:<{width}}  {shown}")


def print_plan(
    title: str,
    resume: ResumePlan,
    pieces: Mapping[str, Sequence[Shard]],
    bad: Mapping[str, str],
    output: str,
    prune: bool = False,
    inputs: Mapping[str, int] | None = None,
    most: int | None = MOST_LISTED,
    what: str = "files",
) -> None:
    """What a stage would do, and why: files by reason, and the first of them one by one.

    Args:
        title: what the stage does.
        resume: which shards it would do.
        pieces: what each of them is cut into.
        bad: those that cannot be read, and why.
        output: where it would write.
        prune: whether it would remove what was made from inputs that are gone.
        inputs: bytes of all of them, by name.
        most: how many of them to list; None lists all.
        what: they are.
    """
    sizes = inputs or {}
    lines = _plan_lines(resume, pieces, bad, prune)
    for line in islice(lines, most):
        print(printable(line))
    more = sum(1 for _ in lines)
    if more:
        print(f"... and {more:,} more; --verbose lists all of them")
    print_summary(
        f"dry run, {title}: nothing was written",
        [
            ("to do", _number([name for name in resume.to_do if name not in bad], sizes, what)),
            *((f"  {reason}", _number(names, sizes, what)) for reason, names in _by_reason(resume, bad).items()),
            ("to skip", _number(list(resume.done), sizes, what)),
            *([("to remove" if prune else "inputs gone", len(resume.gone))] if resume.gone else []),
            ("unreadable", len(bad)),
            ("shards", sum(map(len, pieces.values()))),
            ("output", output),
        ],
    )


def _plan_lines(
    resume: ResumePlan, pieces: Mapping[str, Sequence[Shard]], bad: Mapping[str, str], prune: bool
) -> Iterator[str]:
    """One line for each file, what cannot be read first."""
    for message in bad.values():
        yield f"cannot read  {message}"
    for name, reason in resume.to_do.items():
        if name not in bad:
            size = sum(piece.size for piece in pieces[name])
            about = [f"about {size:,} bytes"] if size else []
            about += [f"{len(pieces[name])} shards"] if len(pieces[name]) > 1 else []
            yield f"do           {name}  ({'; '.join([', '.join(about), reason] if about else [reason])})"
    for name in resume.gone:
        yield f"{'remove' if prune else 'keep':<12} {name}  (its input is gone)"
    for name, reason in resume.done.items():
        yield f"{'skip':<12} {name}  ({reason})"


def _by_reason(resume: ResumePlan, bad: Container[str]) -> dict[str, list[str]]:
    """What is to be done, by reason. That of a damaged output names its file, which differs."""
    damaged = set(resume.damaged)
    found: dict[str, list[str]] = {}
    for name, reason in resume.to_do.items():
        if name not in bad:
            found.setdefault("its output is missing or was changed" if name in damaged else reason, []).append(name)
    return found


def _number(names: Sequence[str], sizes: Mapping[str, int], what: str) -> str:
    """
    >>> _number(["a", "b"], {"a": 1_500_000, "b": 0}, "files"), _number(["a"], {}, "files"), _number([], {}, "shards")
    ('2 files, 1.5 MB', '1 file', '0 shards')
    """
    size = sum(sizes.get(name, 0) for name in names)
    number = f"{len(names):,} {what.removesuffix('s') if len(names) == 1 else what}"
    return f"{number}, {shown_bytes(size)}" if size else number


def shown_bytes(size: int) -> str:
    """
    >>> shown_bytes(999), shown_bytes(1234), shown_bytes(5_600_000), shown_bytes(7_800_000_000_000)
    ('999 bytes', '1.2 KB', '5.6 MB', '7,800.0 GB')
    """
    for factor, unit in ((10**9, "GB"), (10**6, "MB"), (10**3, "KB")):
        if size >= factor:
            return f"{size / factor:,.1f} {unit}"
    return f"{size} bytes"


def left_out_rows(by_kind: Mapping[str, int]) -> list[tuple[str, object]]:
    """What is in the input and not read, as rows of a summary.

    >>> left_out_rows({"files ending in .pdf": 1200})
    [('left out', '1,200 files ending in .pdf')]
    """
    return [("left out", f"{number:,} {kind}") for kind, number in by_kind.items()]


def handle_bad_files(options: JobOptions, messages: Sequence[str]) -> None:
    """Does with files that cannot be read what ``--on_bad_file`` says.

    Raises:
        UserError: they are an error.
    """
    if messages and options.on_bad_file == "error":
        more = f" ({len(messages) - 1} more files cannot be read either)" if len(messages) > 1 else ""
        raise UserError(f"{sentence(messages[0] + more)} Give --on_bad_file skip to leave such files out")
    if options.on_bad_file == "warn":
        for message in messages:
            print(printable(f"warning: left out: {message}"), file=sys.stderr)


def check_errors(options: JobOptions, failed: int, documents: int, advice: str = "the rest is complete") -> None:
    """Fails a job in which more documents failed than ``--max_error_fraction`` allows."""
    if failed > options.max_error_fraction * max(documents, failed):  # one that could not be counted failed, too
        raise UserError(
            f"{failed:,} of {max(documents, failed):,} documents failed, more than --max_error_fraction "
            f"{options.max_error_fraction:g}. The reasons are in {join_url(options.output, DEAD_LETTERS)}; {advice}"
        )


def sentence(text: str) -> str:
    """
    >>> sentence("a.gz: was it cut short?"), sentence("a.gz: truncated")
    ('a.gz: was it cut short?', 'a.gz: truncated.')
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."
