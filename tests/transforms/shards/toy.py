"""A small job on shards, for tests: it must be importable by worker processes."""

from __future__ import annotations

import os
import signal
from dataclasses import dataclass
from typing import ClassVar

from respace.storage.errors import BadFile, UserError
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult


@dataclass(frozen=True)
class Shard:
    name: str
    content: str
    size: int = 0


@dataclass(frozen=True)
class Shout:
    """Writes the content in capitals; 'bad' is unreadable, 'mistake' is the user's, 'killed' ends the process."""

    output: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: Shard) -> Fingerprint:
        return {"content": shard.content}

    def __call__(self, shard: Shard) -> ShardResult:
        if shard.content == "bad":
            raise BadFile(f"{shard.name}: bad")
        if shard.content == "mistake":
            raise UserError("a mistake")
        if shard.content == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        publish_bytes(join_url(self.output, shard.name), shard.content.upper().encode())
        progress.report(documents=1)
        return ShardResult(shard.name, {"letters": len(shard.content)})
