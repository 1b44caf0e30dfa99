"""What jobs tell their users: the plan, unreadable files, what was done, and whether too much failed."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from pipelines.job.options import JobOptions
from respace.storage.errors import UserError, printable
from respace.storage.files import join_url
from transforms.shards.contract import Shard
from transforms.shards.dead_letters import DEAD_LETTERS
from transforms.shards.resume import ResumePlan


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
) -> None:
    """What a stage would do, and why.

    Args:
        title: what the stage does.
        resume: which shards it would do.
        pieces: what each of them is cut into.
        bad: those that cannot be read, and why.
        output: where it would write.
        prune: whether it would remove what was made from inputs that are gone.
    """
    for message in bad.values():
        print(printable(f"cannot read  {message}"))
    for name, reason in resume.to_do.items():
        if name not in bad:
            size = sum(piece.size for piece in pieces[name])
            about = [f"about {size:,} bytes"] if size else []
            about += [f"{len(pieces[name])} shards"] if len(pieces[name]) > 1 else []
            print(printable(f"do           {name}  ({'; '.join([', '.join(about), reason] if about else [reason])})"))
    for name, reason in resume.done.items():
        print(printable(f"{'skip':<12} {name}  ({reason})"))
    for name in resume.gone:
        print(printable(f"{'remove' if prune else 'keep':<12} {name}  (its input is gone)"))
    print_summary(
        f"dry run, {title}: nothing was written",
        [
            ("to do", len(pieces)),
            ("to skip", len(resume.done)),
            *([("to remove" if prune else "inputs gone", len(resume.gone))] if resume.gone else []),
            ("unreadable", len(bad)),
            ("shards", sum(map(len, pieces.values()))),
            ("output", output),
        ],
    )


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
    if failed > options.max_error_fraction * documents:
        raise UserError(
            f"{failed:,} of {documents:,} documents failed, more than --max_error_fraction "
            f"{options.max_error_fraction:g}. The reasons are in {join_url(options.output, DEAD_LETTERS)}; {advice}"
        )


def sentence(text: str) -> str:
    """
    >>> sentence("a.gz: was it cut short?"), sentence("a.gz: truncated")
    ('a.gz: was it cut short?', 'a.gz: truncated.')
    """
    return text if text.endswith((".", "?", "!")) else f"{text}."
