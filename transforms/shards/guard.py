"""Inputs that could not be read: what became of them, told to the process that started the job.

On a distributed runner that process sees no exception of a worker as it was. So a bad file is a result, and leaves a
note in ``_failed/`` of the output.
"""

from __future__ import annotations

import errno
import json
import time
from collections.abc import Iterable
from dataclasses import asdict, dataclass
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
# Trying again will not help, and the user can.
_LASTING_ERRORS = {errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.ENAMETOOLONG}


@dataclass(frozen=True, slots=True)
class ShardFailure:
    """A shard that could not be done, and why.

    Args:
        name: of the shard.
        message: what to tell the user.
        fatal: it was not the input's fault: the disk is full, the model cannot be loaded, a process died.
    """

    name: str
    message: str
    fatal: bool = False


@dataclass(frozen=True, slots=True)
class GuardedWork:
    """Work whose bad files are results: retrying them, as runners do with errors, would not help.

    Args:
        work: what to do with a shard.
        fence: whether the run still owns its output: it may have ended or been paused. Nothing is published if not.
    """

    work: ShardWork[Any]
    fence: Fence | None = None

    def __call__(self, shard: Shard) -> tuple[ShardResult | ShardFailure, float]:
        if self.fence is None:
            return self._guarded(shard)
        try:
            with checked_by(self.fence.check):
                self.fence.check()
                return self._guarded(shard)
        except Fenced as error:  # without a note: the output is another run's
            return ShardFailure(shard.name, str(error), fatal=True), 0.0

    def _guarded(self, shard: Shard) -> tuple[ShardResult | ShardFailure, float]:
        started = time.monotonic()
        try:
            result: ShardResult | ShardFailure = self.work(shard)
        except BadFile as error:
            result = self.failed(shard, str(error))
        except CharactersChanged as error:
            result = self.failed(
                shard,
                f"{shard.name}: {error}. Nothing was published. This is an error of respace, not of the file: "
                "please report it, and leave the file out until then",
            )
        except UserError as error:
            result = self.failed(shard, str(error), fatal=True)
        except OSError as error:
            if error.errno not in _LASTING_ERRORS:
                raise  # the network may be back when the runner tries again
            result = self.failed(shard, f"{shard.name}: {error}", fatal=True)
        return result, time.monotonic() - started

    def failed(self, shard: Shard, message: str, fatal: bool = False) -> ShardFailure:
        """The result of a shard that could not be done, which is also noted."""
        failure = ShardFailure(shard.name, message, fatal)
        publish_bytes(failure_url(self.work.output, shard.name), json.dumps(asdict(failure)).encode())
        return failure


def failure_url(output: str, name: str) -> str:
    return join_url(output, FAILED, f"{name}.json")


def read_failures(output: str, names: Iterable[str]) -> list[ShardFailure]:
    """The shards among these whose input could not be read."""
    there = _noted(output)
    found = in_parallel(lambda name: read_bytes(failure_url(output, name)), [name for name in names if name in there])
    return [ShardFailure(**json.loads(content)) for content in found]


def forget_failures(output: str, names: Iterable[str]) -> None:
    """Removes what an earlier run noted, before these shards are tried again."""
    there = _noted(output)
    do_in_parallel(lambda name: remove(failure_url(output, name)), [name for name in names if name in there])


def _noted(output: str) -> set[str]:
    """The shards that have a note, from one listing."""
    return {one.name.removesuffix(".json") for one in walk_files(join_url(output, FAILED))}
