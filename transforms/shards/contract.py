"""What a job is made of: shards, and the work on one shard.

Work is a callable dataclass that knows nothing of Beam. It reads the shard's input, publishes the shard's output and
ends with `transforms.shards.manifests.finish_shard`. It may be called twice for one shard, or twice at once, and must
then give the same bytes. It raises `BadFile` for an input that cannot be read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from respace.version import VERSION

Fingerprint = Mapping[str, str | int | float | bool | None]


class Shard(Protocol):
    """What work is called with: small and picklable."""

    @property
    def name(self) -> str:
        """Names the shard's manifest."""

    @property
    def size(self) -> int:
        """Bytes that the work will report as progress, about; 0 if that is not known."""


@dataclass(frozen=True, slots=True)
class ShardResult:
    """What was done. Without counts, there was nothing left to do.

    Args:
        name: of the shard.
        counts: whole numbers that add up over shards; they become Beam's counters.
        details: anything else, for a report.
    """

    name: str
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)


AnyShard = TypeVar("AnyShard", bound=Shard, contravariant=True)


class ShardWork(Protocol[AnyShard]):
    """The work on one shard; picklable."""

    @property
    def output(self) -> str:
        """Output directory of the job."""

    @property
    def rules(self) -> int:
        """Raised whenever the same input and settings give another output than before."""

    def fingerprint(self, shard: AnyShard, /) -> Fingerprint:
        """What the output depends on, beside code and rules: the input and the settings."""

    def __call__(self, shard: AnyShard, /) -> ShardResult: ...


def fingerprint_of(work: ShardWork[AnyShard], shard: AnyShard) -> Fingerprint:
    """Everything that the output of a shard depends on. No work can forget the versions of code and rules."""
    return {"code": f"respace {VERSION}", "rules": work.rules, **work.fingerprint(shard)}
