"""What every job has in common: its options, how they are checked, and how a job starts and ends.

A job declares a subclass of `JobOptions` for what it needs beyond the common options, a parser from `job_parser`, and::

    def main(argv=None) -> int:
        return run_job(lambda: job(parse_options(parser(), RepairOptions, argv)))

Options that the parser does not know go to Beam. Nothing heavy is imported before all options have been checked.
"""

from __future__ import annotations

import argparse
import difflib
import logging
import multiprocessing
import signal
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, TypeVar

from respace.storage.errors import BadOption, UserError
from respace.storage.files import check_apart
from runners.engines import LOCAL_RUNNER, RunnerError, check_runner, runner_of

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

_BAD_FILE_CHOICES = ("error", "warn", "skip")


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of every job.

    Args:
        input: files, directories, globs or URLs.
        output: directory or URL.
        on_bad_file: an unreadable file stops the job, is reported, or only counted.
        limit: do at most this many shards.
        dry_run: print the plan and write nothing.
        overwrite: do again what is done already.
        max_error_fraction: share of documents that may fail before the job counts as failed.
        local_workers: processes on this machine; default: one per core. Distributed runners ignore it.
        beam_arguments: options for Beam, as the user gave them.
    """

    input: tuple[str, ...]
    output: str
    on_bad_file: str = "error"
    limit: int | None = None
    dry_run: bool = False
    overwrite: bool = False
    max_error_fraction: float = 0.01
    local_workers: int | None = None
    beam_arguments: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not all(self.input or [""]):  # an empty one would be the current directory
            raise BadOption("--input is missing: expected a file, directory, glob or URL")
        if not self.output:
            raise BadOption("--output is missing: expected a directory or URL")
        if self.on_bad_file not in _BAD_FILE_CHOICES:
            raise BadOption(f"--on_bad_file {self.on_bad_file}: expected one of {', '.join(_BAD_FILE_CHOICES)}")
        check_at_least("--limit", self.limit, 1)
        check_at_least("--local_workers", self.local_workers, 1)
        if not 0 <= self.max_error_fraction <= 1:
            raise BadOption(f"--max_error_fraction {self.max_error_fraction}: expected a number from 0 to 1")
        try:
            check_runner(self.beam_arguments)
        except RunnerError as error:
            raise BadOption(str(error)) from None
        check_apart(self.input, self.output)

    @property
    def runner(self) -> str:
        return runner_of(self.beam_arguments)

    @property
    def runs_locally(self) -> bool:
        return self.runner == LOCAL_RUNNER

    @property
    def workers(self) -> int:
        """Processes that `EachShard` should use."""
        from transforms.shards.workers import available_cores

        return (self.local_workers or available_cores()) if self.runs_locally else 1


Options = TypeVar("Options", bound=JobOptions)


def job_parser(description: str) -> argparse.ArgumentParser:
    """A parser with the options of every job. Names of options are names of fields of the options' class."""
    parser = _Parser(
        description=description,
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        epilog="All other options go to Apache Beam, for instance --runner.",
    )
    parser.add_argument(
        "--input", action="extend", nargs="+", metavar="PATH", help="files, directories, globs or URLs; repeatable"
    )
    parser.add_argument("--output", metavar="DIRECTORY", help="directory or URL to write to")
    parser.add_argument("--on_bad_file", metavar="WHAT", help="unreadable files: error (default), warn or skip")
    parser.add_argument("--limit", type=int, metavar="N", help="do at most N shards")
    parser.add_argument("--dry_run", action="store_true", help="print the plan and write nothing")
    parser.add_argument("--overwrite", action="store_true", help="do again what is done already")
    parser.add_argument(
        "--max_error_fraction", type=float, metavar="F", help="fail if more documents than this fail (default 0.01)"
    )
    parser.add_argument(
        "--local_workers", type=int, metavar="N", help="processes on this machine (default: one per core)"
    )
    return parser


def parse_options(parser: argparse.ArgumentParser, kind: type[Options], argv: Sequence[str] | None = None) -> Options:
    """Parses and checks the options of a job.

    Raises:
        BadOption: with the value, what was expected and what to do.
    """
    known, others = parser.parse_known_args(sys.argv[1:] if argv is None else list(argv))
    given: dict[str, Any] = vars(known)
    for name in ("input", "output"):
        given.setdefault(name, ())
    for name, value in given.items():
        if isinstance(value, list):
            given[name] = tuple(value)
    _check_misspelled(others, [field.name for field in fields(kind)])
    return kind(**given, beam_arguments=tuple(others))


def check_beam_arguments(options: JobOptions) -> None:
    """Fails on an option that nobody knows. Beam is imported only if there is any to check."""
    if options.beam_arguments:
        pipeline_options(options)


def pipeline_options(options: JobOptions) -> PipelineOptions:
    """Beam's options: what the user gave, with the local runner named."""
    from apache_beam.options.pipeline_options import PipelineOptions, _BeamArgumentParser

    arguments = list(options.beam_arguments)
    if options.runs_locally:
        arguments.append(f"--runner={LOCAL_RUNNER}")
        known = _BeamArgumentParser(add_help=False, allow_abbrev=False, conflict_handler="resolve")
        for kind in PipelineOptions.__subclasses__():
            kind._add_argparse_args(known)
        unknown = known.parse_known_args(arguments)[1]
        if unknown:
            raise BadOption(f"{unknown[0]}: neither this job nor Beam knows this option. See --help")
    return PipelineOptions(arguments)


def run_job(job: Callable[[], int | None]) -> int:
    """Runs a job and gives its exit code. A user's mistake is one line on standard error, not a stack trace."""
    with _noted_signals() as noted:
        try:
            return job() or 0
        except (Exception, KeyboardInterrupt) as error:
            # After a signal any error is its doing: Beam makes one of its own of an interrupt.
            if not noted and isinstance(error, UserError):
                print(f"error: {error}", file=sys.stderr)
                return error.exit_code
            if not noted and not isinstance(error, KeyboardInterrupt):
                raise
        print("stopped. Run the same command again: what is done is skipped", file=sys.stderr)
        return 128 + (noted[0] if noted else signal.SIGINT)


def print_summary(title: str, rows: Sequence[tuple[str, object]]) -> None:
    """Prints what a job did, as aligned lines.

    >>> print_summary("repaired", [("documents", 1200), ("seconds", 1.5)])
    repaired
      documents  1,200
      seconds    1.5
    """
    width = max((len(name) for name, _ in rows), default=0)
    print(title)
    for name, value in rows:
        shown = f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)
        print(f"  {name:<{width}}  {shown}")


def check_at_least(name: str, value: float | None, least: float) -> None:
    if value is not None and not value >= least:  # NaN is not
        raise BadOption(f"{name} {value}: expected at least {least}")


@contextmanager
def _noted_signals() -> Iterator[list[int]]:
    """Makes Ctrl-C and SIGTERM stop this process and its workers at once, and lists those that came."""
    noted: list[int] = []

    def stop(number: int, frame: object) -> None:
        noted.append(number)
        logging.disable()  # Beam would log the interrupt with its stack
        for process in multiprocessing.active_children():
            process.kill()  # the exit of this process would wait until they have finished their shards
        raise KeyboardInterrupt

    before = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) != signal.SIG_IGN:  # a job in the background of a shell goes on
                before[number] = signal.signal(number, stop)
    try:
        yield noted
    finally:
        logging.disable(logging.NOTSET)
        for number, handler in before.items():
            signal.signal(number, handler)


def _check_misspelled(others: Sequence[str], names: Sequence[str]) -> None:
    """An option of ours with a typing error must not silently become one of Beam's."""
    for argument in others:
        name = argument.partition("=")[0]
        if not name.startswith("-"):
            continue
        close = difflib.get_close_matches(name.strip("-"), names, n=1, cutoff=0.85)
        if close:
            raise BadOption(f"{name}: unknown option. Did you mean --{close[0]}?")


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadOption(f"{message}. See --help")
