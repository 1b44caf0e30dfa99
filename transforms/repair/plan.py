"""The plan of a repair: which files there are, which of them need work, and how they are cut into shards."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of
from transforms.repair.work import RepairShard
from transforms.shards.manifests import Fingerprint, ResumePlan, plan_resume, read_manifests

# A shard should take some seconds, so that its overhead does not matter, and not much more, so that all cores end
# together and a killed run loses little.
SMALLEST_SHARD = 1 << 20
LARGEST_SHARD = 64 << 20
_SHARDS_PER_WORKER = 4
# Object stores answer slowly, but many questions at once.
_PARALLEL_CHECKS = 16


@dataclass(frozen=True, kw_only=True)
class RepairPlan:
    """What a run will do.

    Args:
        files: all inputs.
        resume: which of them need work, and why.
        text_bytes: about how much text there is in each that needs work.
        shards: the work itself.
        bad_files: those that cannot be read, and why.
    """

    files: Sequence[InputFile]
    resume: ResumePlan
    text_bytes: Mapping[str, int]
    shards: Sequence[RepairShard]
    bad_files: Mapping[str, str] = field(default_factory=dict)


def plan_repair(
    files: Sequence[InputFile],
    output: str,
    formats: FormatOptions,
    fingerprint_of: Callable[[InputFile], Fingerprint],
    *,
    workers: int | None,
    overwrite: bool = False,
    limit: int | None = None,
) -> RepairPlan:
    """Compares inputs and output, opens what needs work, and cuts it.

    Args:
        files: all inputs.
        output: output directory.
        formats: how documents lie in the files.
        fingerprint_of: what the output of a file depends on.
        workers: processes that will share the work; None where that is not known.
        overwrite: do everything again.
        limit: do at most this many files.
    """
    resume = plan_resume(output, {file.name: fingerprint_of(file) for file in files}, overwrite=overwrite, limit=limit)
    by_name = {file.name: file for file in files}
    wanted = [by_name[name] for name in resume.names]

    def measure(file: InputFile) -> int | BadFile:
        try:
            return format_of(file.name, formats).text_bytes(file)
        except BadFile as error:
            return error

    with ThreadPoolExecutor(_PARALLEL_CHECKS) as pool:
        measured = dict(zip(resume.names, pool.map(measure, wanted), strict=True))
    text_bytes = {name: size for name, size in measured.items() if isinstance(size, int)}
    # The cut depends on all inputs, not on what is left of them: a run that continues another must cut alike.
    target = shard_bytes(sum(file.size for file in files), workers)
    shards: list[RepairShard] = []
    for file in wanted:
        if file.name in text_bytes:
            spans = tuple(format_of(file.name, formats).ranges(file, target))
            shards += [RepairShard(file=file, span=span, part=part, spans=spans) for part, span in enumerate(spans)]
    return RepairPlan(
        files=files,
        resume=resume,
        text_bytes=text_bytes,
        shards=shards,
        bad_files={name: str(error) for name, error in measured.items() if isinstance(error, BadFile)},
    )


def plan_retry(
    files: Sequence[InputFile],
    output: str,
    fingerprint_of: Callable[[InputFile], Fingerprint],
    *,
    limit: int | None = None,
) -> RepairPlan:
    """The files that are done but for their dead letters.

    Raises:
        UserError: they were made with other options, or none of them was made at all.
    """
    done = plan_resume(output, {file.name: fingerprint_of(file) for file in files})
    if not done.done:
        raise UserError(f"{next(iter(done.to_do))} is not done yet. Run the job without --retry_dead_letters first")
    counts = {name: one.counts["dead_letters"] for name, one in read_manifests(output, done.done).items()}
    to_do = {name: f"{number} dead letters" for name, number in counts.items() if number}
    to_do = dict(list(to_do.items())[:limit])
    skipped = {name: "no dead letters" for name, number in counts.items() if not number}
    resume = ResumePlan(to_do=to_do, done={**skipped, **dict.fromkeys(done.to_do, "not done yet")})
    return _whole_files(files, resume)


def plan_revert(
    files: Sequence[InputFile],
    output: str,
    fingerprint_of: Callable[[InputFile], Fingerprint],
    *,
    overwrite: bool = False,
    limit: int | None = None,
) -> RepairPlan:
    """The files that are to be reverted."""
    return _whole_files(
        files,
        plan_resume(output, {file.name: fingerprint_of(file) for file in files}, overwrite=overwrite, limit=limit),
    )


def _whole_files(files: Sequence[InputFile], resume: ResumePlan) -> RepairPlan:
    wanted = [file for file in files if file.name in resume.to_do]
    return RepairPlan(
        files=files,
        resume=resume,
        text_bytes={file.name: file.size for file in wanted},
        shards=[RepairShard(file=file, span=(0, -1)) for file in wanted],
    )


def shard_bytes(total: int, workers: int | None) -> int:
    """How much text a shard should hold at most.

    >>> shard_bytes(7 << 20, workers=2), shard_bytes(1 << 40, workers=2)
    (1048576, 67108864)
    """
    wanted = total // (_SHARDS_PER_WORKER * workers) if workers else LARGEST_SHARD
    return min(LARGEST_SHARD, max(SMALLEST_SHARD, wanted))
