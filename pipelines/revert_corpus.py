"""`python -m pipelines.revert_corpus`: an output that was written with `--provenance` becomes the input again, exactly.

python -m pipelines.repair_corpus --input corpus/ --output repaired/ --provenance
python -m pipelines.revert_corpus --input repaired/ --output corpus-again/
"""

from __future__ import annotations

import secrets
import sys
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, opened_output, run_stage
from pipelines.job.summary import print_summary
from respace.storage.inputs import list_inputs
from transforms.formats.arrow_file import files_about_tables
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import check_text_suffixes, suffixes
from transforms.repair.revert import RevertWork
from transforms.repair.work import RepairShard


@dataclass(frozen=True, kw_only=True)
class RevertOptions(JobOptions):
    """Turns an output of pipelines.repair_corpus that has provenance back into the input."""

    text_column: str = option("text", "column or JSON member that was repaired (default: text)", metavar="NAME")
    text_unit: str = option(
        "document",
        "a text file was one document (default), or every line was",
        metavar="UNIT",
        choices=("document", "line"),
    )
    text_suffix: tuple[str, ...] = option(
        (), "other suffixes of text files, such as .md .rst; repeatable", metavar="SUFFIX"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        check_text_suffixes(self.text_suffix)


def job(options: RevertOptions) -> int:
    files = list_inputs(options.input, suffixes(options.text_suffix))
    formats = FormatOptions(
        text_column=options.text_column,
        text_unit=options.text_unit,
        text_suffixes=options.text_suffix,
        copied=files_about_tables([file.name for file in files]),
    )
    work = RevertWork(output=options.output, formats=formats, run=secrets.token_hex(8))
    shards = [RepairShard(file=file, size=file.size) for file in files]
    with opened_output(options):
        done = run_stage(options, Stage(title="reverting", work=work, shards=shards, in_place=True))
    if not options.dry_run:
        rows = [("files", len(done.manifests)), ("documents", done.counts["documents"]), ("output", options.output)]
        print_summary("reverted", [*rows, ("unreadable files", len(done.failed))])
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, RevertOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
