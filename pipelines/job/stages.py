"""A job as stages: each runs one function on many shards, resumes, and leaves manifests that can be added up.

What `pipelines.job.options` is for the options of a job, this is for its course. A stage has a name, which is a folder
for its manifests, so that two stages of one job may have shards of the same name::

    with opened_output(options):
        shards = run_stage(options, Stage("extract", work, descriptors, fingerprint))
    print_summary("extracted", total_counts(shards).items())
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from pipelines.job.options import JobOptions, pipeline_options
from respace.storage.errors import BadFile, BadOption, UserError
from respace.storage.files import InputFile, filesystem, join_url, remove
from respace.storage.lock import run_lock
from respace.storage.publish import check_writable, remove_temporaries
from transforms.shards.guard import ShardDescriptor, forget_failures, read_failures
from transforms.shards.manifests import (
    MANIFESTS,
    Fingerprint,
    Manifest,
    plan_resume,
    read_manifest,
    read_manifests,
    remove_manifest,
)
from transforms.shards.progress import ProgressLine


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One function on many shards.

    Args:
        title: what it does, for the plan and the progress line.
        work: the function, picklable. It publishes the shard's files and last the manifest of the shard's name.
        shards: descriptors; their names begin with the name of the stage's folder.
        fingerprint: what the output of a shard depends on.
        total_bytes: of all shards, for the estimate of the time left.
        limited: whether ``--limit`` counts this stage's shards.
    """

    title: str
    work: Callable[[Any], Any]
    shards: Sequence[ShardDescriptor]
    fingerprint: Callable[[Any], Fingerprint]
    total_bytes: int = 0
    limited: bool = True


@dataclass(kw_only=True)
class StageResult:
    """Manifests of the shards that are done, now or before, and the names of those whose input could not be read."""

    manifests: Mapping[str, Manifest]
    failed: Sequence[str] = ()
    seconds: float = 0.0
    counts: Counter[str] = field(default_factory=Counter)


@contextmanager
def opened_output(options: JobOptions) -> Iterator[None]:
    """Checks that the output can be written, and holds its lock. A dry run touches nothing."""
    if options.dry_run:
        yield
        return
    check_writable(options.output)
    with run_lock(options.output):
        remove_temporaries(options.output)
        yield


def run_stage(options: JobOptions, stage: Stage) -> StageResult:
    """Does what is not done yet.

    Raises:
        UserError: a shard was made with other options; a file could not be read and ``--on_bad_file`` is error; or
            the output could not be written.
    """
    beam_options = pipeline_options(options)  # bad options fail before anything is done
    by_name = {shard.name: shard for shard in stage.shards}
    fingerprints = {name: stage.fingerprint(shard) for name, shard in by_name.items()}
    plan = plan_resume(
        options.output, fingerprints, overwrite=options.overwrite, limit=options.limit if stage.limited else None
    )
    if options.dry_run:
        _print_plan(stage, plan.to_do, plan.done)
        return StageResult(manifests=read_manifests(options.output, plan.done))
    forget_failures(options.output, by_name)
    started = time.monotonic()
    if plan.to_do:
        for name, reason in plan.to_do.items():
            if reason != "new":
                _forget(options.output, name)
        if options.overwrite:
            for name in _known_shards(options.output, stage):
                _forget(options.output, name)
        print(f"{stage.title}: {len(plan.to_do)} shards to do, {len(plan.done)} done", file=sys.stderr)
        _run(options, stage, [by_name[name] for name in plan.to_do], beam_options)
    failed = read_failures(options.output, plan.to_do)
    for failure in failed:
        if failure.fatal:
            raise UserError(f"{failure.message}. Mend that and run the same command again: what is done is skipped")
    for failure in failed:
        if options.on_bad_file == "error":
            raise UserError(_with_advice(failure.message))
        if options.on_bad_file == "warn":
            print(f"warning: left out: {failure.message}", file=sys.stderr)
    manifests = read_manifests(options.output, [*plan.done, *plan.to_do])
    return StageResult(
        manifests=manifests,
        failed=[failure.name for failure in failed],
        seconds=time.monotonic() - started,
        counts=total_counts(manifests),
    )


def is_complete(options: JobOptions, stage: Stage) -> bool:
    """Whether all shards of a stage are done, so that what comes before it need not be done again."""
    if options.overwrite:
        return False
    return not plan_resume(options.output, {shard.name: stage.fingerprint(shard) for shard in stage.shards}).to_do


def total_counts(manifests: Mapping[str, Manifest]) -> Counter[str]:
    total: Counter[str] = Counter()
    for manifest in manifests.values():
        total.update(manifest.counts)
    return total


def check_errors(options: JobOptions, failed: int, documents: int) -> None:
    """Fails a job in which more documents failed than ``--max_error_fraction`` allows."""
    if documents and failed / documents > options.max_error_fraction:
        raise UserError(
            f"{failed} of {documents} documents failed, more than --max_error_fraction {options.max_error_fraction:g}. "
            f"The reasons are in {options.output}/_dead_letters; the rest of the output is complete"
        )


def readable_files(
    options: JobOptions, files: Sequence[InputFile], check: Callable[[InputFile], None]
) -> list[InputFile]:
    """The files that pass a check; what becomes of the others, ``--on_bad_file`` says."""
    found = []
    for file in files:
        try:
            check(file)
            found.append(file)
        except BadFile as error:
            if options.on_bad_file == "error":
                raise UserError(_with_advice(str(error))) from error
            if options.on_bad_file == "warn":
                print(f"warning: left out: {error}", file=sys.stderr)
    return found


def option_from_file(name: str, text: str | None, read: Callable[[Any], Any]) -> Any:
    """Reads a file that an option names; what is wrong with it is a bad option."""
    try:
        return read(text)
    except (OSError, ValueError) as error:
        raise BadOption(f"--{name} {text}: {error}") from error


def _with_advice(message: str) -> str:
    """
    >>> _with_advice("a.gz: was it cut short?")
    'a.gz: was it cut short? Give --on_bad_file skip to leave such files out'
    """
    return f"{message}{'' if message.endswith('?') else '.'} Give --on_bad_file skip to leave such files out"


def _known_shards(output: str, stage: Stage) -> list[str]:
    """Every shard of the stage that has a manifest: one that was cut differently has shards of other names."""
    folder = stage.shards[0].name.partition("/")[0]
    store, path = filesystem(join_url(output, MANIFESTS))
    found = store.find(f"{path}/{folder}") if store.isdir(f"{path}/{folder}") else []
    return [str(one)[len(path) :].lstrip("/").removesuffix(".json") for one in found]


def _forget(output: str, name: str) -> None:
    """Marks a shard as not done, then removes what it published: not all of it is always written again."""
    manifest = read_manifest(output, name)
    remove_manifest(output, name)
    for published in manifest.outputs if manifest is not None else ():
        remove(join_url(output, published))


def _run(options: JobOptions, stage: Stage, shards: Sequence[ShardDescriptor], beam_options: Any) -> None:
    import apache_beam as beam

    from transforms.shards.each_shard import EachShard

    # No more processes than shards: each costs the start of a Python.
    workers = min(options.workers, len(shards))
    local = options.workers > 1
    with ProgressLine(len(shards), stage.total_bytes) if local else nullcontext():  # noqa: SIM117
        with beam.Pipeline(options=beam_options) as pipeline:
            _ = (
                pipeline
                | beam.Create(list(shards))
                | EachShard(
                    stage.work,
                    output=options.output,
                    workers=workers,
                    stop_at_bad_file=options.on_bad_file == "error",
                )
            )


def _print_plan(stage: Stage, to_do: Mapping[str, str], done: Mapping[str, str]) -> None:
    print(f"{stage.title}: would do {len(to_do)} shards, skip {len(done)}")
    for name, reason in [*to_do.items(), *done.items()]:
        print(f"  {name}: {reason}")
