"""A small job on shards, for tests: it must be importable by worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass, field

from respace.storage.errors import BadFile, UserError
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from transforms.shards import progress


@dataclass(frozen=True)
class Shard:
    name: str
    content: str


@dataclass(frozen=True)
class Result:
    name: str
    process: int
    counts: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Shout:
    """Writes the content in capitals; 'bad' is unreadable, 'mistake' is the user's, 'killed' ends the process."""

    output: str

    def __call__(self, shard: Shard) -> Result:
        if shard.content == "bad":
            raise BadFile(f"{shard.name}: bad")
        if shard.content == "mistake":
            raise UserError("a mistake")
        if shard.content == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        publish_bytes(join_url(self.output, shard.name), shard.content.upper().encode())
        progress.report(documents=1)
        return Result(shard.name, os.getpid(), {"letters": len(shard.content)})
