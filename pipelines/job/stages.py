"""A job as stages: each does one kind of work on many shards, resumes, and leaves manifests that can be added up.

This is the only way a graph runs. Every job reads::

    with opened_output(options):
        done = run_stage(options, Stage(title="extracting sentences", work=work, shards=shards, folder="extract"))
    print_summary("extracted", done.counts.items())
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import chain
from typing import Any

from pipelines.job.options import JobOptions, check_beam_arguments, pipeline_options
from pipelines.job.remote import is_over, run_graph
from pipelines.job.summary import MOST_LISTED, handle_bad_files, print_plan, sentence
from respace.storage.errors import BadFile, BadOption, UserError
from respace.storage.files import InputFile, check_links, check_own_folders
from respace.storage.lock import held_lock, run_lock
from respace.storage.parallel import do_in_parallel, in_parallel
from respace.storage.publish import check_writable, remove_temporaries
from transforms.shards.contract import Fingerprint, Shard, ShardWork, fingerprint_of
from transforms.shards.guard import forget_failures, read_failures
from transforms.shards.ledger import FEWEST_SHARDS, Digest, write_ledger
from transforms.shards.manifests import Manifest, each_manifest, read_manifests, remove_manifest
from transforms.shards.names import impossible_names
from transforms.shards.plan_files import remove_plans, write_plan
from transforms.shards.progress import ProgressLine
from transforms.shards.resume import (
    NEW,
    ResumePlan,
    forget_shard,
    known_shards,
    plan_resume,
    renamed_shards,
    renew_manifest,
)
from transforms.shards.watch import ManifestWatch


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One kind of work on many shards.

    Args:
        title: what it does, for the plan and the progress line.
        work: what is done with a shard.
        shards: what there is to do.
        folder: of the stage's manifests; the names of its shards are in it. A job of one stage needs none.
        cut: makes several shards of one that needs work; the last of them to be done puts it together.
        parts: the folder of the output where these have their manifests until then.
        limited: whether ``--limit`` counts this stage's shards.
        in_place: every shard is one ``file``, and the work replaces what it published before: what changed is done
            again by itself. Otherwise, where everything is done again, all that the stage ever published is removed
            first: an earlier run may have cut its input otherwise.
        verify: read all outputs, and do again what is not what was published.
        prune: remove what was made from inputs that are gone.
        unreadable: folders of the input that could not be listed, by name, and why: bad files like any other.
        digest: what is wanted of all shards in the end, where there may be more of them than manifests fit in memory.
        take_over: publishes what was done of a file that was renamed again under its new name; False if it cannot.
        still_there: names of what the input has and this run does not do: not gone, if an earlier run did it.
    """

    title: str
    work: ShardWork[Any]
    shards: Sequence[Shard]
    folder: str = ""
    cut: Callable[[Any], Sequence[Shard]] | None = None
    parts: str = ""
    limited: bool = True
    in_place: bool = False
    verify: bool = False
    prune: bool = False
    unreadable: Mapping[str, str] = field(default_factory=dict)
    digest: Digest | None = None
    take_over: Callable[[Any, str], bool] | None = None
    still_there: frozenset[str] = frozenset()

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
        renamed: those whose content was done under another name, which is gone.
    """

    shards: int
    resume: ResumePlan
    pieces: Mapping[str, Sequence[Shard]]
    bad_files: Mapping[str, str]
    renamed: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class StageResult:
    """What is known of the shards that are done, now or before, and why the others could not be read.

    Args:
        plan: what was to be done.
        manifests: of the shards, unless the stage wants a digest.
        digest: of all of them, if it does.
        failed: the others, and why.
        seconds: that the work took.
        pruned: whether what was made from inputs that are gone was removed.
        collected: a job of an earlier run did some of it after that run had left.
    """

    plan: StagePlan
    manifests: Mapping[str, Manifest] = field(default_factory=dict)
    digest: Mapping[str, Any] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    pruned: bool = False
    collected: bool = False

    @property
    def counts(self) -> Counter[str]:
        return total_counts(self.manifests)

    def is_done(self, name: str) -> bool:
        return name not in self.failed and (name in self.plan.resume.done or name in self.plan.pieces)


@contextmanager
def opened_output(options: JobOptions) -> Iterator[None]:
    """Checks that the output can be written, and holds its lock. A dry run touches nothing."""
    check_beam_arguments(options)  # bad options fail before anything is done
    if options.dry_run:
        yield
        return
    check_writable(options.output)
    check_links(options.input, options.output)
    check_own_folders(options.output)
    with run_lock(options.output, is_over) as lock:
        remove_temporaries(options.output)
        remove_plans(options.output)
        try:
            yield
        finally:
            # A worker that died on another engine left some, although the job went on without it.
            if not options.runs_locally and not lock.kept and lock.fence.is_open():
                remove_temporaries(options.output)


def run_stage(options: JobOptions, stage: Stage, resume: ResumePlan | None = None) -> StageResult:
    """Does what is not done yet, or what ``resume`` says. A dry run prints it.

    Raises:
        UserError: a shard was written with different settings; a file could not be read and ``--on_bad_file`` is error;
            or the output could not be written.
    """
    plan = _plan(options, stage, resume)
    if options.dry_run:
        print_plan(
            stage.title,
            plan.resume,
            plan.pieces,
            plan.bad_files,
            options.output,
            prune=stage.prune,
            inputs={shard.name: shard.size for shard in stage.shards},
            most=None if options.verbose else MOST_LISTED,
            what="files" if stage.in_place else "shards",
        )
        handle_bad_files(options, list(plan.bad_files.values()))  # what ends the run ends its plan
        known = {} if stage.digest else read_manifests(options.output, plan.resume.done)
        return StageResult(plan=plan, manifests=known)
    handle_bad_files(options, list(plan.bad_files.values()))
    _renew(options, stage, plan.resume)
    plan = _take_over(stage, plan)
    if stage.prune:
        do_in_parallel(lambda name: forget_shard(options.output, name), plan.resume.gone)
    pieces = [piece for name in plan.pieces for piece in plan.pieces[name]]
    forget_failures(options.output, [*plan.pieces, *(piece.name for piece in pieces)])
    seconds = 0.0
    if pieces:
        if resume is None:
            _forget_old(options, stage, plan)
        print(f"{stage.title}: {len(plan.pieces)} to do, {len(plan.resume.done)} done", file=sys.stderr)
        seconds = _run(options, stage, plan)
    lock = held_lock(options.output)
    return replace(
        _finished(options, stage, plan, seconds),
        pruned=stage.prune and bool(plan.resume.gone),
        collected=lock is not None and lock.left_by is not None,
    )


def is_complete(options: JobOptions, stage: Stage) -> bool:
    """Whether all shards of a stage are done, so that what comes before it need not be done again."""
    if options.overwrite:
        return False
    return not plan_resume(options.output, _Fingerprints(stage), folder=stage.folder).to_do


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
    impossible = impossible_names(options.output, [shard.name for shard in stage.shards])
    wanted = _Fingerprints(stage, without=impossible)
    if resume is None:
        limit = options.limit if stage.limited else None
        resume = plan_resume(
            options.output,
            wanted,
            inputs=_Inputs(wanted.shards) if stage.in_place else None,
            overwrite=options.overwrite,
            verify=stage.verify,
            limit=limit,
            folder=stage.folder,
            digest=stage.digest,
        )
        hidden = tuple(f"{folder}/" for folder in stage.unreadable)  # what is in them may still be there
        there = {*stage.still_there, *impossible}
        gone = [name for name in resume.gone if name not in there and not name.startswith(hidden)]
        resume = replace(resume, gone=gone if stage.in_place else [])
    resume = replace(resume, to_do={name: why for name, why in resume.to_do.items() if name not in impossible})

    def cut(name: str) -> Sequence[Shard] | BadFile:
        try:
            return stage.cut(wanted.shards[name]) if stage.cut else (wanted.shards[name],)
        except BadFile as error:
            return error

    pieces: dict[str, Sequence[Shard]] = {}
    bad_files = {**stage.unreadable, **impossible}
    for name, found in zip(resume.to_do, in_parallel(cut, resume.to_do), strict=True):
        if isinstance(found, BadFile):
            bad_files[name] = str(found)
        else:
            pieces[name] = found
    renamed: dict[str, str] = {}
    if stage.take_over is not None:
        new = [name for name in pieces if resume.to_do[name] == NEW]
        renamed = renamed_shards(options.output, wanted, _Inputs(wanted.shards), new, resume.gone)
        reasons = {name: f"{old} was renamed, and is taken over" for name, old in renamed.items()}
        resume = replace(resume, to_do={**resume.to_do, **reasons})
    number = len(wanted) + len(impossible)
    return StagePlan(shards=number, resume=resume, pieces=pieces, bad_files=bad_files, renamed=renamed)


def _take_over(stage: Stage, plan: StagePlan) -> StagePlan:
    """Does what was only renamed, which needs no worker; it counts as done before."""
    take_over = stage.take_over
    if take_over is None or not plan.renamed:
        return plan
    shards = {shard.name: shard for shard in stage.shards if shard.name in plan.renamed}
    taken = in_parallel(lambda name: take_over(shards[name], plan.renamed[name]), plan.renamed, together=1)
    done = {name for name, is_done in zip(plan.renamed, taken, strict=True) if is_done}
    resume = replace(
        plan.resume,
        to_do={name: reason for name, reason in plan.resume.to_do.items() if name not in done},
        done={**plan.resume.done, **{name: plan.resume.to_do[name] for name in plan.resume.to_do if name in done}},
    )
    return replace(plan, resume=resume, pieces={name: one for name, one in plan.pieces.items() if name not in done})


class _Fingerprints(Mapping[str, Fingerprint]):
    """What the outputs of a stage's shards should depend on, made when it is asked for: a million would not fit."""

    def __init__(self, stage: Stage, without: Container[str] = ()):
        self.shards: Mapping[str, Any] = {shard.name: shard for shard in stage.shards if shard.name not in without}
        self._work = stage.work

    def __getitem__(self, name: str) -> Fingerprint:
        return fingerprint_of(self._work, self.shards[name])

    def __contains__(self, name: object) -> bool:
        return name in self.shards

    def __iter__(self) -> Iterator[str]:
        return iter(self.shards)

    def __len__(self) -> int:
        return len(self.shards)


class _Inputs(Mapping[str, InputFile]):
    """The file of each shard."""

    def __init__(self, shards: Mapping[str, Any]):
        self._shards = shards

    def __getitem__(self, name: str) -> InputFile:
        file: InputFile = self._shards[name].file
        return file

    def __iter__(self) -> Iterator[str]:
        return iter(self._shards)

    def __len__(self) -> int:
        return len(self._shards)


def _run(options: JobOptions, stage: Stage, plan: StagePlan) -> float:
    """The graph; how many seconds it took."""
    pieces = [piece for shard in plan.pieces.values() for piece in shard]
    import apache_beam as beam

    from transforms.shards.each_shard import EachShard, PlannedShards

    lock = held_lock(options.output)
    # No more processes than shards: each costs the start of a Python.
    work = EachShard(
        stage.work,
        workers=min(options.workers, len(pieces)),
        threads=options.threads,
        stop_at_bad_file=options.on_bad_file == "error",
        fence=lock.fence if lock is not None else None,
        elsewhere=not options.runs_locally,
    )
    pipeline = beam.Pipeline(options=pipeline_options(options))
    _ = pipeline | "Shards" >> PlannedShards(write_plan(options.output, pieces)) | "Work" >> work
    line = ProgressLine(len(pieces), sum(piece.size for piece in pieces), listening=options.runs_locally)
    watch = ManifestWatch(options.output, plan.pieces, stage.parts, line.add)
    try:
        with line, nullcontext() if options.runs_locally else watch:
            run_graph(pipeline, options)
    finally:
        if lock is None or not lock.kept:  # otherwise the job goes on, and has to read it
            remove_plans(options.output)
    return line.seconds


def _finished(options: JobOptions, stage: Stage, plan: StagePlan, seconds: float) -> StageResult:
    """Checks that everything was done, and gathers what is known of it."""
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
    known = plan.resume.ledger
    read = (name for name in (*plan.resume.done, *plan.resume.to_do) if name not in failed and name not in known)
    finished: set[str] = set()

    def manifests() -> Iterator[Manifest]:
        for manifest in each_manifest(options.output, read):
            finished.add(manifest.name)
            yield manifest

    result = StageResult(plan=plan, failed=failed, seconds=seconds)
    if stage.digest is None:
        result.manifests = {manifest.name: manifest for manifest in manifests()}
    else:
        result.digest = _digest(options.output, stage.digest, plan, manifests())
    missing = [name for name in plan.pieces if name not in finished and name not in failed]
    if missing:
        raise UserError(f"{len(missing)} shards were not finished, {missing[0]} among them. Rerun the same command")
    return result


def _digest(output: str, digest: Digest, plan: StagePlan, manifests: Iterable[Manifest]) -> Mapping[str, Any]:
    """The digest of all shards: those of the ledger, and the others, which enter it."""
    ledger = plan.resume.ledger
    if plan.shards < FEWEST_SHARDS and not (ledger.known or ledger.stale):
        return digest.merge(map(digest.of, manifests))
    known = [ledger.digest] if ledger.digest is not None else []
    return digest.merge(chain(known, write_ledger(output, manifests, digest, ledger.stale)))


def _renew(options: JobOptions, stage: Stage, resume: ResumePlan) -> None:
    if not resume.renewed:
        return
    wanted = _Fingerprints(stage)
    do_in_parallel(lambda one: renew_manifest(options.output, one[0], wanted[one[0]], one[1]), resume.renewed.items())


def _forget_old(options: JobOptions, stage: Stage, plan: StagePlan) -> None:
    """Removes what is done again. Where shards are replaced one by one, it stays until then."""
    if stage.in_place:
        for name in plan.resume.damaged:  # whoever works on it would see a manifest that matches
            remove_manifest(options.output, name)
        return
    old = [name for name in plan.pieces if plan.resume.to_do[name] != NEW]
    for name in [*old, *(known_shards(options.output, stage.folder) if options.overwrite else ())]:
        forget_shard(options.output, name)
