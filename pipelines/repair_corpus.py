"""Repairs the spaces of a corpus: Parquet, JSONL or text shards in, the same shards repaired out.

    python -m pipelines.repair_corpus --input corpus/ --output repaired/

Same names, same rows, same order, everything but the text as it was. A run that was stopped goes on where it was when
the same command is given again.
"""

from __future__ import annotations

import argparse
import secrets
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import respace
from models.lines import judge_identity
from models.methods import method_identity
from pipelines.options import (
    JobOptions,
    check_at_least,
    check_beam_arguments,
    job_parser,
    parse_options,
    pipeline_options,
    print_summary,
    run_job,
)
from pipelines.report import error_fraction_message, print_plan, print_result, report_url, summarise, write_report
from transforms.errors import BadOption, UserError
from transforms.failures import forget_failures, read_failures
from transforms.files import file_size, list_inputs
from transforms.manifests import Fingerprint, read_manifests
from transforms.planning import RepairPlan, plan_repair, plan_retry, plan_revert
from transforms.progress import ProgressLine
from transforms.publish import check_writable, remove_temporaries
from transforms.repair import ModelOptions, RepairWork
from transforms.retry import RetryWork
from transforms.revert import RevertWork
from transforms.run_lock import run_lock
from transforms.shard_format import SUFFIXES, FormatOptions

# Raised whenever the same options give another output than before.
OUTPUT_FORMAT = 2

TEXT_UNITS = ("document", "line")


@dataclass(frozen=True, kw_only=True)
class RepairOptions(JobOptions):
    """Options of the repair job, see ``--help``."""

    model: str = "default"
    insertion_penalty: float | None = None
    deletion_penalty: float | None = None
    text_column: str = "text"
    id_column: str | None = None
    text_unit: str = "document"
    join_hyphenated: bool = True
    all_text: bool = False
    keep_original: bool = False
    provenance: bool = False
    revert: bool = False
    retry_dead_letters: bool = False
    batch_characters: int = 1 << 18
    max_document_megabytes: int = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.text_unit not in TEXT_UNITS:
            raise BadOption(f"--text_unit {self.text_unit}: expected one of {', '.join(TEXT_UNITS)}")
        check_at_least("--insertion_penalty", self.insertion_penalty, 0)
        check_at_least("--deletion_penalty", self.deletion_penalty, 0)
        check_at_least("--batch_characters", self.batch_characters, 1000)
        check_at_least("--max_document_megabytes", self.max_document_megabytes, 1)
        if self.revert and self.retry_dead_letters:
            raise BadOption("--revert and --retry_dead_letters: expected one of them")


def parser() -> argparse.ArgumentParser:
    added = job_parser(__doc__.splitlines()[0])
    add = added.add_argument
    add(
        "--model", "--method", metavar="NAME", help="a shipped model or method, or a model directory (default: default)"
    )
    add("--insertion_penalty", type=float, metavar="P", help="evidence needed to insert a space (default: the model's)")
    add("--deletion_penalty", type=float, metavar="P", help="evidence needed to delete a space (default: the model's)")
    add("--text_column", metavar="NAME", help="column or JSON member to repair (default: text)")
    add("--id_column", metavar="NAME", help="column or JSON member that identifies a document in dead letters")
    add("--text_unit", metavar="UNIT", help="a text file is one document (default), or every line is")
    add(
        "--join_hyphenated",
        action=argparse.BooleanOptionalAction,
        help="read a line that ends in a hyphen together with the next one (default: yes)",
    )
    add("--all_text", action="store_true", help="repair also lines that do not look like English prose")
    add("--keep_original", action="store_true", help="add the text as it was")
    add("--provenance", action="store_true", help="add every edit, so that --revert can take it back")
    add("--revert", action="store_true", help="turn an output with provenance back into the input")
    add("--retry_dead_letters", action="store_true", help="only repair again what failed")
    add("--batch_characters", type=int, metavar="N", help="text given to the model at once (default: 262144)")
    add("--max_document_megabytes", type=int, metavar="N", help="longer documents are dead letters (default: 256)")
    return added


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(lambda: repair_corpus(parse_options(parser(), RepairOptions, argv)))


def repair_corpus(options: RepairOptions) -> int:
    """Runs the job and gives its exit code."""
    check_beam_arguments(options)
    repair = repair_work(options)
    work: RepairWork | RetryWork | RevertWork = repair
    plan_of: Callable[[], RepairPlan]
    files = list_inputs(options.input, SUFFIXES)
    limit, overwrite = options.limit, options.overwrite
    if options.revert:
        work = revert_work(options, repair)
        plan_of = partial(plan_revert, files, options.output, work.fingerprint_of, overwrite=overwrite, limit=limit)
    elif options.retry_dead_letters:
        work = RetryWork(repair=repair)
        plan_of = partial(plan_retry, files, options.output, repair.fingerprint_of, limit=limit)
    else:
        plan_of = partial(
            plan_repair,
            files,
            options.output,
            repair.formats,
            repair.fingerprint_of,
            workers=options.workers if options.runs_locally else None,
            overwrite=overwrite,
            limit=limit,
        )
    if options.dry_run:
        print_plan(plan_of(), options.output, "revert" if options.revert else "repair")
        return 0
    check_writable(options.output)
    with run_lock(options.output):
        remove_temporaries(options.output)
        plan = plan_of()
        check_bad_files(options, plan.bad_files)
        seconds = run_shards(options, work, plan)
        return finish(options, repair, plan, seconds)


def repair_work(options: RepairOptions) -> RepairWork:
    model = ModelOptions(
        model=options.model,
        insertion_penalty=options.insertion_penalty,
        deletion_penalty=options.deletion_penalty,
        join_hyphenated=options.join_hyphenated,
        all_text=options.all_text,
    )
    formats = FormatOptions(
        text_column=options.text_column,
        id_column=options.id_column,
        text_unit=options.text_unit,
        keep_original=options.keep_original,
        provenance=options.provenance,
        max_document_bytes=options.max_document_megabytes << 20,
        chunk_bytes=options.batch_characters,
    )
    try:
        identity = (
            ""
            if options.revert
            else method_identity(options.model, options.insertion_penalty, options.deletion_penalty)
        )
    except (ValueError, TypeError, ImportError, AttributeError, OSError) as error:
        raise BadOption(f"--model {options.model}: {error}") from error
    fingerprint: Fingerprint = {
        "code": f"respace {respace.__version__}, output format {OUTPUT_FORMAT}",
        "model": identity,
        "text column": options.text_column,
        "text unit": options.text_unit,
        "join hyphenated": options.join_hyphenated,
        "all text": options.all_text,
        "judge of lines": judge_identity(),
        "keep original": options.keep_original,
        "provenance": options.provenance,
    }
    return RepairWork(
        output=options.output,
        model=model,
        formats=formats,
        fingerprint=fingerprint,
        batch_characters=options.batch_characters,
        run=secrets.token_hex(8),
        overwrite=options.overwrite,
    )


def revert_work(options: RepairOptions, repair: RepairWork) -> RevertWork:
    fingerprint: Fingerprint = {
        "code": f"respace {respace.__version__}, revert",
        "text column": options.text_column,
        "text unit": options.text_unit,
    }
    return RevertWork(output=options.output, formats=repair.formats, fingerprint=fingerprint, run=repair.run)


def run_shards(options: RepairOptions, work: RepairWork | RetryWork | RevertWork, plan: RepairPlan) -> float:
    """The graph. Returns how many seconds it took."""
    if not plan.shards:
        return 0.0
    import apache_beam as beam

    from transforms.shards import EachShard

    forget_failures(options.output, {shard.name for shard in plan.shards})
    with ProgressLine(len(plan.shards), sum(plan.text_bytes.values())) as line:
        with beam.Pipeline(options=pipeline_options(options)) as pipeline:
            _ = (
                pipeline
                | "Shards" >> beam.Create(list(plan.shards))
                | "Repair"
                >> EachShard(
                    work,
                    output=options.output,
                    workers=min(options.workers, len(plan.shards)),
                    stop_at_bad_file=options.on_bad_file == "error",
                )
            )
        return line.seconds


def check_bad_files(options: RepairOptions, bad: Mapping[str, str]) -> None:
    """
    Raises:
        UserError: there are bad files, and they are an error.
    """
    if not bad or options.on_bad_file == "skip":
        return
    if options.on_bad_file == "warn":
        for message in bad.values():
            print(f"warning: {message}", file=sys.stderr)
        return
    more = f" ({len(bad) - 1} more files cannot be read either)" if len(bad) > 1 else ""
    raise UserError(f"{next(iter(bad.values()))}{more}. To go on without such files, give --on_bad_file warn or skip")


def finish(options: RepairOptions, work: RepairWork, plan: RepairPlan, seconds: float) -> int:
    """Checks that everything was done, reports it, and gives the exit code."""
    noted = read_failures(options.output, [shard.name for shard in plan.shards])
    for failure in noted:
        if failure.fatal:
            raise UserError(f"{failure.message}. Mend that and run the same command again: what is done is skipped")
    file_of = {shard.name: shard.file.name for shard in plan.shards}
    failures = {file_of[failure.name]: failure.message for failure in noted}
    check_bad_files(options, failures)
    manifests = read_manifests(options.output, [file.name for file in plan.files])
    missing = sorted({*file_of.values()} - set(manifests) - set(failures))
    if missing:
        raise UserError(f"{len(missing)} files were not finished, {missing[0]} among them. Run the same command again")
    if options.revert:
        documents = sum(manifest.counts["documents"] for manifest in manifests.values())
        print_summary("reverted", [("files", len(manifests)), ("documents", documents), ("output", options.output)])
        return 0
    summary = summarise(options.output, manifests, {**plan.bad_files, **failures}, work.fingerprint, work.run, seconds)
    page = report_url(options.output)
    if plan.shards or file_size(page) is None:  # a run that had nothing to do leaves the report of the last that had
        write_report(options.output, summary)
    print_result(summary, plan, page)
    too_many = error_fraction_message(summary, options.max_error_fraction)
    if too_many:
        raise UserError(too_many)
    return 0


if __name__ == "__main__":
    sys.exit(main())
