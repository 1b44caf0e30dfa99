"""`python -m pipelines.repair_corpus`: Parquet, JSON, CSV or text files in, the same files repaired out.

    python -m pipelines.repair_corpus --input corpus/ --output repaired/
    python -m pipelines.repair_corpus --input corpus/ --output repaired/ --dry_run
    python -m pipelines.repair_corpus --input corpus/ --output repaired/ --sample 200
    python -m pipelines.repair_corpus --input corpus/ --output repaired/ --on_bad_file warn --copy_others --prune

Same names, same rows, same order, everything but the text as it was. An interrupted run resumes when you run the same
command again.
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, StageResult, opened_output, run_stage
from pipelines.job.summary import check_errors, handle_bad_files, left_out_rows, print_summary, shown_bytes
from respace.storage.errors import BadOption
from respace.storage.files import check_apart, check_links, file_size
from respace.storage.inputs import FoundInputs, by_kind, find_inputs
from transforms.formats.arrow_file import files_about_tables
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import check_text_suffixes, suffixes
from transforms.repair.model import ModelOptions
from transforms.repair.plan import MOST_LOOKED_AT, CutFile, plan_retry, shard_bytes
from transforms.repair.renamed import take_over
from transforms.repair.report import CORPUS, report_url, summarise, unreadable_files, write_report
from transforms.repair.report_page import speed_of_run
from transforms.repair.retry import RetryWork
from transforms.repair.review import read_review, rejections
from transforms.repair.sample import bytes_per_second, repair_sample
from transforms.repair.work import (
    PARTS,
    REJECTED_EDITS,
    TEXT_COLUMN,
    TEXT_UNIT,
    RepairShard,
    RepairWork,
    remove_left_parts,
)
from transforms.shards.progress import duration


@dataclass(frozen=True, kw_only=True)
class RepairOptions(JobOptions):
    """Repairs the spaces of a corpus: Parquet, JSON, CSV or text files in, the same files repaired out."""

    model: str = option(
        "default",
        "a shipped model or method, a model directory, or package.module:name, which runs the code of that module "
        "(default: default)",
        metavar="NAME",
        names=("--method",),
    )
    insertion_penalty: float | None = option(
        None, "evidence needed to insert a space (default: the model's)", metavar="P", least=0
    )
    deletion_penalty: float | None = option(
        None, "evidence needed to delete a space (default: the model's)", metavar="P", least=0
    )
    text_column: str = option(
        "text",
        "column or JSON member to repair, such as text or doc.text; of a list, every element (default: text)",
        metavar="NAME",
    )
    id_column: str | None = option(
        None, "column or JSON member that identifies a document in dead letters", metavar="NAME"
    )
    text_unit: str = option(
        "document",
        "a text file is one document (default), or every line is",
        metavar="UNIT",
        choices=("document", "line"),
    )
    text_suffix: tuple[str, ...] = option(
        (), "other suffixes of text files, such as .md .rst; repeatable", metavar="SUFFIX"
    )
    join_hyphenated: bool = option(True, "read a line that ends in a hyphen together with the next one (default: yes)")
    all_text: bool = option(False, "repair also lines that do not look like English prose")
    keep_original: bool = option(False, "add the text as it was")
    provenance: bool = option(False, "add every edit, so that pipelines.revert_corpus can take it back")
    review: str | None = option(
        None, "a review file: edits that people rejected are not made (python -m webapp --corpus)", metavar="FILE"
    )
    retry_dead_letters: bool = option(False, "only repair again what failed, also in files that were mended since")
    overwrite: bool = option(False, "do again what was done with other settings or another model")
    verify: bool = option(False, "read every output, and do again what was damaged since it was published")
    follow_links: bool = option(False, "follow links in the input that lead out of it")
    copy_others: bool = option(False, "copy files of other kinds along, so that the output is a whole corpus")
    sample: int | None = option(
        None, "repair N random documents and write only a report about them", metavar="N", least=1
    )
    prune: bool = option(False, "remove from the output what was made from files that are gone from the input")
    batch_characters: int | None = option(
        None,
        "text given to the model at once (default: 262144, with --preset dataflow-gpu 1048576)",
        metavar="N",
        least=1000,
    )
    max_document_seconds: float = option(
        300.0,
        "documents that take longer are dead letters; longer texts may take as much more for every 262,144 characters "
        "(default: 300; 0: no limit)",
        metavar="N",
        least=0,
        most=604_800,
    )
    max_document_megabytes: int = option(256, "longer documents are dead letters (default: 256)", metavar="N", least=1)

    moved: ClassVar[Mapping[str, str]] = {"revert": "python -m pipelines.revert_corpus"}

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text_suffixes(self.text_suffix)
        if self.sample and (self.retry_dead_letters or self.dry_run):
            raise BadOption("--sample writes only a report: expected no --retry_dead_letters or --dry_run")
        if self.retry_dead_letters and (self.verify or self.prune):
            given = "--verify" if self.verify else "--prune"
            raise BadOption(f"{given} and --retry_dead_letters: expected one of them. Run the job once with each")


def job(options: RepairOptions) -> int:
    work = repair_work(options)
    found = find_inputs(options.input, suffixes(options.text_suffix), follow_links=options.follow_links)
    copied = files_about_tables([file.name for file in found.files])
    work = replace(work, formats=replace(work.formats, copied=copied))
    check_apart(found.followed, options.output)
    check_links(found.followed, options.output)
    left_out = left_out_by_kind(options, found)
    if options.sample:
        return sample_report(options, work, found, left_out)
    files = [*found.files, *(found.others if options.copy_others else ())]
    shards = [RepairShard(file=file, size=file.size) for file in files]
    cut = CutFile(
        formats=work.formats,
        target_bytes=shard_bytes(sum(file.size for file in files), options.parallelism),
        reviewed=work.rejected,
        all_files=len(files) <= MOST_LOOKED_AT,
    )
    warn_of_review(options, work, shards)
    with opened_output(options):
        if options.retry_dead_letters:
            retry = RetryWork(repair=work)
            stage = Stage(title="trying dead letters again", work=retry, shards=shards, in_place=True, digest=CORPUS)
            done = run_stage(options, stage, plan_retry(work, shards, options.limit))
        else:
            done = run_stage(options, repair_stage(options, work, shards, cut, found))
            if not options.dry_run:
                remove_left_parts(options.output, done.is_done)
        if options.dry_run:
            if not options.retry_dead_letters:
                _print_estimate(options, work, done, shards)
            if left_out:
                print_summary("not read", left_out_rows(left_out))
        if not options.dry_run:
            report(options, work, done, left_out)
    return 0


def warn_of_review(options: RepairOptions, work: RepairWork, shards: Sequence[RepairShard]) -> None:
    """A review of files that are not there is one of another corpus, or has grown old; the night goes on."""
    missing = sorted(work.rejected.keys() - {shard.name for shard in shards})
    if missing:
        about = f"{len(missing)} of the {len(work.rejected)} files that it rejects edits of are not in the input"
        print(f"warning: --review {options.review}: {about}, {missing[0]} among them", file=sys.stderr)


def sample_report(options: RepairOptions, work: RepairWork, found: FoundInputs, left_out: Mapping[str, int]) -> int:
    """Repairs a sample, here and now, and writes only its report."""
    with opened_output(options):
        sample = repair_sample(work, found.files, options.sample or 0)
        failed = {**found.unreadable, **sample.unreadable}
        handle_bad_files(options, list(failed.values()))
        digest = CORPUS.merge(map(CORPUS.of, sample.manifests.values()))
        summary = summarise(
            options.output, digest, failed, work.settings, work.run, sample.seconds, sample.dead_letters
        )
        summary["not_read"] = dict(left_out)
        write_report(options.output, summary)
    totals = summary["totals"]
    rows = [(name.replace("_", " "), totals[name]) for name in ("insertions", "deletions", "dead_letters")]
    page = report_url(options.output, is_sample=True)
    title = f"a sample of {totals['documents']:,} documents from {totals['files']:,} files; nothing else was written"
    print_summary(title, [*rows, ("report", page)])
    return 0


def left_out_by_kind(options: RepairOptions, found: FoundInputs) -> dict[str, int]:
    """What the input has and the output will not, by kind."""
    copied = {file.name for file in found.others} if options.copy_others else set()
    return by_kind(one for one in found.left_out if one.name not in copied)


def repair_stage(
    options: RepairOptions, work: RepairWork, shards: Sequence[RepairShard], cut: CutFile, found: FoundInputs
) -> Stage:
    return Stage(
        title="repairing",
        work=work,
        shards=shards,
        cut=cut,
        parts=PARTS,
        in_place=True,
        verify=options.verify,
        prune=options.prune,
        unreadable=found.unreadable,
        digest=CORPUS,
        take_over=partial(take_over, work),
        still_there=frozenset(file.name for file in found.others),
    )


def repair_work(options: RepairOptions) -> RepairWork:
    """The work that the options describe. A model that cannot be is found here, before anything is read."""
    from models.lines import judge_identity
    from models.methods import method_identity

    model = ModelOptions(
        model=options.model,
        insertion_penalty=options.insertion_penalty,
        deletion_penalty=options.deletion_penalty,
        join_hyphenated=options.join_hyphenated,
        all_text=options.all_text,
    )
    batch_characters = options.batch_characters or options.preset_batch_characters
    formats = FormatOptions(
        text_column=options.text_column,
        id_column=options.id_column,
        text_unit=options.text_unit,
        text_suffixes=options.text_suffix,
        keep_original=options.keep_original,
        provenance=options.provenance,
        max_document_bytes=options.max_document_megabytes << 20,
        chunk_bytes=batch_characters,
        copy_others=options.copy_others,
    )
    try:
        identity = method_identity(options.model, options.insertion_penalty, options.deletion_penalty)
    except (ValueError, TypeError, ImportError, AttributeError, OSError) as error:
        raise BadOption(f"--model {options.model}: {error}") from error
    return RepairWork(
        output=options.output,
        model=model,
        formats=formats,
        settings={
            "model": identity,
            TEXT_COLUMN: options.text_column,
            TEXT_UNIT: options.text_unit,
            "join hyphenated": options.join_hyphenated,
            "all text": options.all_text,
            "judge of lines": judge_identity(),
            "keep original": options.keep_original,
            "provenance": options.provenance,
        },
        batch_characters=batch_characters,
        run=secrets.token_hex(8),
        rejected=rejections(read_review(options.review)) if options.review else {},
        document_seconds=options.max_document_seconds,
    )


def report(options: RepairOptions, work: RepairWork, done: StageResult, left_out: Mapping[str, int]) -> None:
    """Writes the report, prints its summary, and fails if too many documents did."""
    summary = summarise(options.output, done.digest, done.failed, work.settings, work.run, done.seconds)
    summary["not_read"] = dict(left_out)
    page = report_url(options.output)
    nothing_new = not (done.plan.resume.to_do or done.plan.renamed or done.pruned or done.collected)
    same = nothing_new and unreadable_files(options.output) == done.failed.keys()
    if not same or file_size(page) is None:  # otherwise the report of the last run stays
        write_report(options.output, summary)
    _print_result(summary, done, page)
    totals = summary["totals"]
    advice = "these documents are unchanged in the output, and --retry_dead_letters tries them again"
    check_errors(options, totals["dead_letters"], totals["documents"], advice)


def _print_estimate(options: RepairOptions, work: RepairWork, done: StageResult, shards: Sequence[RepairShard]) -> None:
    """How long the run would take, by the speed of a few seconds."""
    pieces = [piece for some in done.plan.pieces.values() for piece in some]
    speed = bytes_per_second(work, [shard.file for shard in shards if shard.name in done.plan.pieces])
    if speed is None:
        return
    processes = min(options.parallelism or 1, len(pieces))
    seconds = sum(piece.size for piece in pieces) / speed / processes
    about = f"{processes} process{'es' if processes > 1 else ''} at {shown_bytes(round(speed))}/s, as in a short sample"
    print_summary("estimate", [("time", f"about {duration(seconds)} ({about})")])


def _print_result(summary: Mapping[str, Any], done: StageResult, page: str) -> None:
    totals, run, resume = summary["totals"], summary["this_run"], done.plan.resume
    before, now = (sum(name not in done.failed for name in names) for names in (resume.done, resume.to_do))
    rejected = done.digest["counts"].get(REJECTED_EDITS, 0)
    gone = [("inputs gone", f"{len(resume.gone):,}: {_gone_advice(done)}")] if resume.gone else []
    print_summary(
        f"{done.plan.shards:,} files: {before:,} done before, {now:,} in this run"
        + (f", {len(done.failed):,} unreadable" if done.failed else ""),
        [
            ("documents", totals["documents"]),
            ("edited documents", totals["edited_documents"]),
            ("spaces inserted", totals["insertions"]),
            ("spaces deleted", totals["deletions"]),
            *([("edits rejected", rejected)] if rejected else []),
            ("characters left alone", sum(number for _, number in summary["left_alone"])),
            ("dead letters", totals["dead_letters"]),
            ("unreadable files", totals["unreadable_files"]),
            *gone,
            *left_out_rows(summary["not_read"]),
            ("this run", _this_run(run)),
            ("report", page),
        ],
    )


def _this_run(run: Mapping[str, Any]) -> str:
    """What was done, and how fast where that says something: a small run is mostly its start.

    >>> _this_run({"documents": 3, "bytes": 120, "seconds": 4.0, "kilobytes_per_second": 0.0})
    '3 documents, 120 bytes in 4.0 s'
    """
    speed = speed_of_run(run)
    return f"{run['documents']:,} documents, {shown_bytes(run['bytes'])} in {run['seconds']:,.1f} s" + (
        f" ({speed})" if speed else ""
    )


def _gone_advice(done: StageResult) -> str:
    first = done.plan.resume.gone[0]
    if done.pruned:
        return f"{first} and all others were removed from the output"
    return f"{first} and all others are still in the output; --prune removes them, --dry_run lists them"


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, RepairOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
