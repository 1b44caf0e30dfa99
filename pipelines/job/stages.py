"""A job as stages: each does one kind of work on many shards, resumes, and leaves manifests that can be added up.

This is the only way a graph runs. Every job reads::

    with opened_output(options):
        done = run_stage(options, Stage(title="extracting sentences", work=work, shards=shards, folder="extract"))
    print_summary("extracted", done.counts.items())
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from pipelines.job.options import JobOptions, check_beam_arguments, pipeline_options
from pipelines.job.summary import handle_bad_files, print_plan, sentence
from respace.storage.errors import BadFile, BadOption, UserError
from respace.storage.files import InputFile, check_links
from respace.storage.lock import run_lock
from respace.storage.publish import check_writable, remove_temporaries
from transforms.shards.contract import Shard, ShardWork, fingerprint_of
from transforms.shards.guard import forget_failures, read_failures
from transforms.shards.manifests import Manifest, read_manifests, remove_manifest, write_manifest
from transforms.shards.progress import ProgressLine
from transforms.shards.resume import NEW, ResumePlan, forget_shard, known_shards, plan_resume

# Object stores answer slowly, but many questions at once.
_PARALLEL_CHECKS = 16


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One kind of work on many shards.

    Args:
        title: what it does, for the plan and the progress line.
        work: what is done with a shard.
        shards: what there is to do.
        folder: of the stage's manifests; the names of its shards are in it. A job of one stage needs none.
        cut: makes several shards of one that needs work; the last of them to be done puts it together.
        limited: whether ``--limit`` counts this stage's shards.
        in_place: every shard is one ``file``, and the work replaces what it published before: what changed is done
            again by itself. Otherwise, where everything is done again, all that the stage ever published is removed
            first: an earlier run may have cut its input otherwise.
        verify: read all outputs, and do again what is not what was published.
        prune: remove what was made from inputs that are gone.
        unreadable: folders of the input that could not be listed, by name, and why: bad files like any other.
    """

    title: str
    work: ShardWork[Any]
    shards: Sequence[Shard]
    folder: str = ""
    cut: Callable[[Any], Sequence[Shard]] | None = None
    limited: bool = True
    in_place: bool = False
    verify: bool = False
    prune: bool = False
    unreadable: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for shard in self.shards:
            if self.folder and not shard.name.startswith(f"{self.folder}/"):
                raise ValueError(f"{self.title}: the shard {shard.name} is not in the stage's folder {self.folder}/")


@dataclass(frozen=True, kw_only=True)
class StagePlan:
    """What a stage will do.

    Args:
        shards: how many the stage has.
        resume: which of them need work, and why.
        pieces: what each of them is cut into.
        bad_files: those whose input cannot be read, and why.
    """

    shards: int
    resume: ResumePlan
    pieces: Mapping[str, Sequence[Shard]]
    bad_files: Mapping[str, str]


@dataclass(kw_only=True)
class StageResult:
    """Manifests of the shards that are done, now or before, and why the others could not be read."""

    plan: StagePlan
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    pruned: bool = False

    @property
    def counts(self) -> Counter[str]:
        return total_counts(self.manifests)


@contextmanager
def opened_output(options: JobOptions) -> Iterator[None]:
    """Checks that the output can be written, and holds its lock. A dry run touches nothing."""
    check_beam_arguments(options)  # bad options fail before anything is done
    if options.dry_run:
        yield
        return
    check_writable(options.output)
    check_links(options.input, options.output)
    with run_lock(options.output):
        remove_temporaries(options.output)
        yield


def run_stage(options: JobOptions, stage: Stage, resume: ResumePlan | None = None) -> StageResult:
    """Does what is not done yet, or what ``resume`` says. A dry run prints it.

    Raises:
        UserError: a shard was written with different settings; a file could not be read and ``--on_bad_file`` is error;
            or the output could not be written.
    """
    plan = _plan(options, stage, resume)
    if options.dry_run:
        print_plan(stage.title, plan.resume, plan.pieces, plan.bad_files, options.output, stage.prune)
        return StageResult(plan=plan, manifests=read_manifests(options.output, plan.resume.done))
    handle_bad_files(options, list(plan.bad_files.values()))
    for manifest in plan.resume.renewed.values():
        write_manifest(options.output, manifest)
    for name in plan.resume.gone if stage.prune else ():
        forget_shard(options.output, name)
    pieces = [piece for name in plan.pieces for piece in plan.pieces[name]]
    forget_failures(options.output, [*plan.pieces, *(piece.name for piece in pieces)])
    seconds = 0.0
    if pieces:
        if resume is None:
            _forget_old(options, stage, plan)
        print(f"{stage.title}: {len(plan.pieces)} to do, {len(plan.resume.done)} done", file=sys.stderr)
        seconds = _run(options, stage, pieces)
    return replace(_finished(options, plan, seconds), pruned=stage.prune and bool(plan.resume.gone))


def is_complete(options: JobOptions, stage: Stage) -> bool:
    """Whether all shards of a stage are done, so that what comes before it need not be done again."""
    if options.overwrite:
        return False
    return not plan_resume(
        options.output, {shard.name: fingerprint_of(stage.work, shard) for shard in stage.shards}
    ).to_do


def total_counts(manifests: Mapping[str, Manifest]) -> Counter[str]:
    total: Counter[str] = Counter()
    for manifest in manifests.values():
        total.update(manifest.counts)
    return total


def readable_files(
    options: JobOptions, files: Sequence[InputFile], check: Callable[[InputFile], object]
) -> list[InputFile]:
    """The files that pass a check; what becomes of the others, ``--on_bad_file`` says."""
    found, bad = [], []
    for file in files:
        try:
            check(file)
            found.append(file)
        except BadFile as error:
            bad.append(str(error))
    handle_bad_files(options, bad)
    return found


def option_from_file(name: str, text: str | None, read: Callable[[Any], Any]) -> Any:
    """Reads a file that an option names; what is wrong with it is a bad option."""
    try:
        return read(text)
    except (OSError, ValueError) as error:
        raise BadOption(f"--{name} {text}: {error}") from error


def _plan(options: JobOptions, stage: Stage, resume: ResumePlan | None) -> StagePlan:
    """Compares what is wanted with what is there, and cuts what needs work."""
    by_name = {shard.name: shard for shard in stage.shards}
    if resume is None:
        fingerprints = {name: fingerprint_of(stage.work, shard) for name, shard in by_name.items()}
        limit = options.limit if stage.limited else None
        inputs = {shard.name: shard.file for shard in stage.shards} if stage.in_place else None  # type: ignore[attr-defined]
        resume = plan_resume(
            options.output, fingerprints, inputs=inputs, overwrite=options.overwrite, verify=stage.verify, limit=limit
        )
        if stage.in_place:
            hidden = tuple(f"{folder}/" for folder in stage.unreadable)  # what is in them may still be there
            known = known_shards(options.output, stage.folder)
            gone = [name for name in known if name not in by_name and not name.startswith(hidden)]
            resume = replace(resume, gone=sorted(gone))

    def cut(name: str) -> Sequence[Shard] | BadFile:
        try:
            return stage.cut(by_name[name]) if stage.cut else [by_name[name]]
        except BadFile as error:
            return error

    with ThreadPoolExecutor(_PARALLEL_CHECKS) as pool:
        found = dict(zip(resume.to_do, pool.map(cut, resume.to_do), strict=True))
    return StagePlan(
        shards=len(by_name),
        resume=resume,
        pieces={name: pieces for name, pieces in found.items() if not isinstance(pieces, BadFile)},
        bad_files={
            **stage.unreadable,
            **{name: str(error) for name, error in found.items() if isinstance(error, BadFile)},
        },
    )


def _run(options: JobOptions, stage: Stage, pieces: Sequence[Shard]) -> float:
    """The graph; how many seconds it took."""
    import apache_beam as beam

    from transforms.shards.each_shard import EachShard

    # No more processes than shards: each costs the start of a Python.
    work = EachShard(
        stage.work, workers=min(options.workers, len(pieces)), stop_at_bad_file=options.on_bad_file == "error"
    )
    with (
        ProgressLine(len(pieces), sum(piece.size for piece in pieces)) as line,
        beam.Pipeline(options=pipeline_options(options)) as pipeline,
    ):
        _ = pipeline | "Shards" >> beam.Create(list(pieces)) | "Work" >> work
    return line.seconds


def _finished(options: JobOptions, plan: StagePlan, seconds: float) -> StageResult:
    """Checks that everything was done."""
    shard_of = {piece.name: name for name, pieces in plan.pieces.items() for piece in pieces}
    failures = read_failures(options.output, shard_of)
    for failure in failures:
        if failure.fatal:
            raise UserError(
                f"{sentence(failure.message)} Fix this and rerun the same command; finished shards are skipped"
            )
    failed = {shard_of[failure.name]: failure.message for failure in failures}
    handle_bad_files(options, list(failed.values()))
    failed = {**plan.bad_files, **failed}
    # A file that was good once and is not any more has a manifest, which is not about what is in the input now.
    manifests = read_manifests(
        options.output, [name for name in (*plan.resume.done, *plan.resume.to_do) if name not in failed]
    )
    missing = [name for name in plan.pieces if name not in manifests and name not in failed]
    if missing:
        raise UserError(f"{len(missing)} shards were not finished, {missing[0]} among them. Rerun the same command")
    return StageResult(plan=plan, manifests=manifests, failed=failed, seconds=seconds)


def _forget_old(options: JobOptions, stage: Stage, plan: StagePlan) -> None:
    """Removes what is done again. Where shards are replaced one by one, it stays until then."""
    if stage.in_place:
        for name in plan.resume.damaged:  # whoever works on it would see a manifest that matches
            remove_manifest(options.output, name)
        return
    old = [name for name in plan.pieces if plan.resume.to_do[name] != NEW]
    for name in [*old, *(known_shards(options.output, stage.folder) if options.overwrite else ())]:
        forget_shard(options.output, name)
