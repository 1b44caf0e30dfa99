"""Shards that could not be done: what became of them, told to the process that started the job.

On a distributed runner that process sees no exception of a worker as it was. So a shard that failed is a result, and
leaves a note in ``_failed/`` of the output. A failure without a note (the disk is full) is kept in this process.
"""

from __future__ import annotations

import errno
import json
import time
import traceback
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from typing import Any

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile, UserError
from respace.storage.files import join_url, read_bytes, remove
from respace.storage.listing import walk_files
from respace.storage.lock import Fence, Fenced
from respace.storage.parallel import do_in_parallel, in_parallel
from respace.storage.publish import checked_by, publish_bytes
from transforms.shards.contract import Shard, ShardResult, ShardWork

FAILED = "_failed"
# Trying again will not help, the next shard will fail like this one, and the user can change it.
LASTING_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM})
# The name of this one shard cannot be written.
_NAME_ERRORS = frozenset({errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST})
# Any other error of a store may pass: seconds to wait before each further attempt.
_PAUSES = (1.0, 10.0)


@dataclass(frozen=True, slots=True)
class ShardFailure:
    """A shard that could not be done, and why.

    Args:
        name: of the shard.
        message: what to tell the user.
        fatal: it was not the input's fault: the disk is full, the model cannot be loaded, a process died.
        trace: where an error of ours happened.
        noted: whether the note could be written.
    """

    name: str
    message: str
    fatal: bool = False
    trace: str = ""
    noted: bool = True


# By output and shard: what could not be noted, because the notes are on the disk that is full.
_without_note: dict[tuple[str, str], ShardFailure] = {}


@dataclass(frozen=True, slots=True)
class GuardedWork:
    """Work whose failures are results: retrying them, as runners do with errors, would not help.

    Args:
        work: what to do with a shard.
        fence: whether the run still owns its output: it may have ended or been paused. Nothing is published if not.
    """

    work: ShardWork[Any]
    fence: Fence | None = None

    def __call__(self, shard: Shard) -> tuple[ShardResult | ShardFailure, float]:
        started = time.monotonic()
        try:
            with checked_by(self.fence.check if self.fence is not None else None):
                result = self._guarded(shard)
        except Fenced as error:  # the output is another run's, and so are the notes in it
            result = ShardFailure(shard.name, str(error), fatal=True, noted=False)
        return result, time.monotonic() - started

    def _guarded(self, shard: Shard) -> ShardResult | ShardFailure:
        try:
            return self._patiently(shard)
        except Fenced:
            raise
        except BadFile as error:
            return self.failed(shard, str(error))
        except CharactersChanged as error:
            return self.failed(shard, f"{shard.name}: {error}. Nothing was published. {_REPORT}", trace=_trace(error))
        except UserError as error:
            return self.failed(shard, str(error), fatal=True)
        except OSError as error:
            if error.errno in _NAME_ERRORS:
                reason = f"the output cannot have a file of this name ({error}). Rename the file or its neighbour"
                return self.failed(shard, f"{shard.name}: {reason}", trace=_trace(error))
            return self.failed(
                shard, f"{shard.name}: {error}", fatal=error.errno in LASTING_ERRORS, trace=_trace(error)
            )
        except Exception as error:  # of any kind: one shard must not end the others. Its trace is in the note.
            return self.failed(
                shard, f"{shard.name}: {type(error).__name__}: {_first_line(error)}. {_REPORT}", trace=_trace(error)
            )

    def _patiently(self, shard: Shard) -> ShardResult:
        """The work, again after a pause where an error of a store may have passed."""
        for pause in _PAUSES:
            try:
                return self._once(shard)
            except OSError as error:
                if error.errno in LASTING_ERRORS | _NAME_ERRORS:
                    raise
                time.sleep(pause)
        return self._once(shard)

    def _once(self, shard: Shard) -> ShardResult:
        if self.fence is not None:
            self.fence.check()
        return self.work(shard)

    def failed(self, shard: Shard, message: str, fatal: bool = False, trace: str = "") -> ShardFailure:
        """The result of a shard that could not be done, which is also noted."""
        failure = ShardFailure(shard.name, message, fatal, trace)
        try:
            publish_bytes(failure_url(self.work.output, shard.name), json.dumps(asdict(failure)).encode())
        except OSError:
            return replace(failure, noted=False)
        return failure


_REPORT = (
    "This is an error of respace, not of the file: please report it with its trace in _failed/ of the output, "
    "and leave the file out until then"
)


def _trace(error: Exception) -> str:
    return "".join(traceback.format_exception(error))


def _first_line(error: Exception) -> str:
    return (str(error).strip().splitlines() or ["no reason was given"])[0][:500]


def failure_url(output: str, name: str) -> str:
    return join_url(output, FAILED, f"{name}.json")


def keep_failure(output: str, failure: ShardFailure) -> None:
    """Keeps a failure that has no note for `read_failures` in this process."""
    _without_note[output, failure.name] = failure


def read_failures(output: str, names: Iterable[str]) -> list[ShardFailure]:
    """The shards among these that could not be done."""
    there, wanted = _noted(output), list(names)
    found = in_parallel(lambda name: read_bytes(failure_url(output, name)), [name for name in wanted if name in there])
    noted = [ShardFailure(**json.loads(content)) for content in found]
    return noted + [_without_note[output, name] for name in wanted if (output, name) in _without_note]


def forget_failures(output: str, names: Iterable[str]) -> None:
    """Removes what an earlier run noted, before these shards are tried again."""
    there, wanted = _noted(output), list(names)
    do_in_parallel(lambda name: remove(failure_url(output, name)), [name for name in wanted if name in there])
    for name in wanted:
        _without_note.pop((output, name), None)


def _noted(output: str) -> set[str]:
    """The shards that have a note, from one listing."""
    return {one.name.removesuffix(".json") for one in walk_files(join_url(output, FAILED))}
