"""How a job starts and ends: its exit code, its errors, and what a signal does."""

from __future__ import annotations

import errno
import logging
import multiprocessing
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from pipelines.job.options import Options, check_engine, parse_options
from pipelines.job.remote import Detached, check_detach
from respace.storage.errors import UserError, printable

# Only the user can make room, and there may be none to say more.
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def run_job(job: Callable[[Options], int | None], kind: type[Options], argv: Sequence[str] | None = None) -> int:
    """Parses a job's options, runs it and gives its exit code."""
    given = sys.argv[1:] if argv is None else argv

    def run() -> int | None:
        options = parse_options(kind, given)
        check_detach(options)
        check_engine(options)
        return job(options)

    return exit_code(run, verbose="--verbose" in given)


def exit_code(action: Callable[[], int | None], verbose: bool = False) -> int:
    """Runs something. A user's mistake is one line on standard error, and a stack trace only if that is wanted."""
    with _noted_signals() as noted:
        try:
            return action() or 0
        except Detached as left:
            print(left, file=sys.stderr)
            return 0
        except (Exception, KeyboardInterrupt) as error:
            # After a signal any error is its doing: Beam makes one of its own of an interrupt.
            if not noted and isinstance(error, UserError):
                if verbose:
                    traceback.print_exception(error)
                print(f"error: {printable(str(error))}", file=sys.stderr)
                return error.exit_code
            if not noted and isinstance(error, OSError) and error.errno in FULL:
                print(f"error: {printable(str(error))}. Make room and rerun the same command", file=sys.stderr)
                return 1
            if not noted and not isinstance(error, KeyboardInterrupt):
                raise
        print("stopped. Rerun the same command; finished shards are skipped", file=sys.stderr)
        return 128 + (noted[0] if noted else signal.SIGINT)


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
