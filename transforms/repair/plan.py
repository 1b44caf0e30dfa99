"""The plan of a repair: how files are cut into shards, and which of them have dead letters to be tried again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from respace.storage.errors import UserError
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of
from transforms.repair.work import RepairShard, RepairWork
from transforms.shards.contract import fingerprint_of
from transforms.shards.manifests import read_manifests
from transforms.shards.resume import CHANGED_INPUT, NEW, ResumePlan, plan_resume

# A shard should take some seconds, so that its overhead does not matter, and not much more, so that all cores end
# together and a killed run loses little.
SMALLEST_SHARD = 1 << 20
LARGEST_SHARD = 64 << 20
_SHARDS_PER_WORKER = 4


@dataclass(frozen=True)
class CutFile:
    """Cuts a file into its parts.

    The size depends on all inputs, not on what is left of them: a run that continues another must cut alike.
    """

    formats: FormatOptions
    target_bytes: int

    def __call__(self, shard: RepairShard) -> list[RepairShard]:
        slices = format_of(shard.name, self.formats).cut(shard.file, self.target_bytes)
        spans = tuple(one.span for one in slices)
        return [
            RepairShard(file=shard.file, span=one.span, size=one.text_bytes, part=part, spans=spans)
            for part, one in enumerate(slices)
        ]


def shard_bytes(total: int, workers: int | None) -> int:
    """How much text a shard should hold at most.

    >>> shard_bytes(7 << 20, workers=2), shard_bytes(1 << 40, workers=2)
    (1048576, 67108864)

    Args:
        total: bytes of all inputs.
        workers: processes that will share the work; None where that is not known.
    """
    wanted = total // (_SHARDS_PER_WORKER * workers) if workers else LARGEST_SHARD
    return min(LARGEST_SHARD, max(SMALLEST_SHARD, wanted))


def plan_retry(work: RepairWork, shards: Sequence[RepairShard], limit: int | None = None) -> ResumePlan:
    """The files that are done but for their dead letters, and those that were mended since they failed.

    Raises:
        UserError: they were written with different settings, or none of them was done at all.
    """
    fingerprints = {shard.name: fingerprint_of(work, shard) for shard in shards}
    known = plan_resume(work.output, fingerprints, inputs={shard.name: shard.file for shard in shards})
    if not known.done and all(reason == NEW for reason in known.to_do.values()):
        raise UserError(f"{next(iter(known.to_do))} is not done yet. Run the job without --retry_dead_letters first")
    changed = [name for name, reason in known.to_do.items() if reason == CHANGED_INPUT]
    counts = {
        name: one.counts["dead_letters"] for name, one in read_manifests(work.output, [*known.done, *changed]).items()
    }
    reasons = {name: f"{number} dead letters" for name, number in counts.items() if number}
    reasons |= {name: f"{reasons[name]}, and {CHANGED_INPUT}" for name in changed if name in reasons}
    to_do = dict(list(reasons.items())[:limit])
    others = {name: f"{number} dead letters" for name, number in counts.items() if name not in to_do}
    waiting = {name: "not done yet" for name in known.to_do if name not in (*to_do, *others)}
    return ResumePlan(to_do=to_do, done={**others, **waiting}, renewed=known.renewed)
