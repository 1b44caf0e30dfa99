"""The plan of a repair: how files are cut into shards, and which of them have dead letters to be tried again."""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass

from respace.storage.errors import UserError
from respace.storage.files import InputFile, join_url, open_input
from respace.storage.listing import walk_files
from transforms.formats.contract import FormatOptions
from transforms.formats.lines import USUAL_RATIO
from transforms.formats.registry import format_of
from transforms.repair.work import RepairShard, RepairWork
from transforms.shards.contract import fingerprint_of
from transforms.shards.dead_letters import DEAD_LETTERS
from transforms.shards.manifests import each_manifest
from transforms.shards.resume import CHANGED_INPUT, NEW, ResumePlan, plan_resume

# A shard should take some seconds, so that its overhead does not matter, and not much more, so that all cores end
# together and a killed run loses little.
SMALLEST_SHARD = 1 << 20
LARGEST_SHARD = 64 << 20
_SHARDS_PER_WORKER = 4
_BLOCK = 1 << 20
# A look is a request or two, on a store 20 ms each.
MOST_LOOKED_AT = 10_000


@dataclass(frozen=True)
class CutFile:
    """Cuts a file into its parts.

    Args:
        formats: how documents lie in files.
        target_bytes: of a part. It depends on all inputs, not on what is left of them: a run that continues another
            must cut alike.
        reviewed: names of files whose rows a review counts.
        all_files: look also at files that are too small to be cut, so that bad ones are found before any work. Of a
            million, only whoever works on them looks.
    """

    formats: FormatOptions
    target_bytes: int
    reviewed: Container[str] = ()
    all_files: bool = True

    def __call__(self, shard: RepairShard) -> Sequence[RepairShard]:
        if not self.all_files and shard.file.size * USUAL_RATIO <= self.target_bytes:
            return (shard,)
        form = format_of(shard.name, self.formats)
        slices = form.cut(shard.file, self.target_bytes)
        spans = tuple(one.span for one in slices)
        first_rows = [0] * len(spans)
        if len(spans) > 1 and shard.name in self.reviewed and not form.rows_are_absolute:
            first_rows = lines_before(shard.file, [start for start, _ in spans])
        return [
            RepairShard(
                file=shard.file, span=one.span, size=one.text_bytes, part=part, spans=spans, first_row=first_rows[part]
            )
            for part, one in enumerate(slices)
        ]


def lines_before(file: InputFile, places: Sequence[int]) -> list[int]:
    """How many lines of a file begin before each of some bytes, which are in ascending order."""
    counts: list[int] = []
    read = newlines = 0
    with open_input(file) as stream:
        for place in places:
            while read < place - 1:  # the newline right before a place begins a line there, not before it
                block = stream.read(min(_BLOCK, place - 1 - read))
                if not block:
                    break
                read += len(block)
                newlines += block.count(b"\n")
            counts.append(newlines + 1 if place else 0)
    return counts


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
    letters = walk_files(join_url(work.output, DEAD_LETTERS))
    with_letters = {one.name.removesuffix(".parquet") for one in letters}
    counts = dict.fromkeys([*known.done, *changed], 0)
    for one in each_manifest(work.output, [name for name in counts if name in with_letters]):
        counts[one.name] = one.counts["dead_letters"]
    reasons = {name: f"{number} dead letters" for name, number in counts.items() if number}
    reasons |= {name: f"{reasons[name]}, and {CHANGED_INPUT}" for name in changed if name in reasons}
    to_do = dict(list(reasons.items())[:limit])
    others = {name: f"{number} dead letters" for name, number in counts.items() if name not in to_do}
    waiting = {name: "not done yet" for name in known.to_do if name not in (*to_do, *others)}
    return ResumePlan(to_do=to_do, done={**others, **waiting}, renewed=known.renewed, ledger=known.ledger)
