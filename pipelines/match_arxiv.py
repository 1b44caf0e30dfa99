"""`python -m pipelines.match_arxiv`: paragraphs as PDF extraction gives them, paired with their ground truth.

    python -m pipelines.match_arxiv --input papers --output pairs

The input is LaTeX (.tex, directories, .tar, .tar.gz, .gz) with the PDFs made from it; the output is Parquet
(document_id, position, extracted, truth). With `--source_only` no PDF is needed, the input may also be a Parquet file
of sources (repo, path, doc_id, tex), and the output is clean running text (source, document_id, kind, text).
"""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, StageResult, opened_output, readable_files, run_stage
from pipelines.job.summary import check_errors, print_summary
from respace.storage.errors import UserError
from respace.storage.files import InputFile
from respace.storage.inputs import list_inputs


@dataclass(frozen=True, kw_only=True)
class MatchOptions(JobOptions):
    """Paragraphs of PDFs with their ground truth from LaTeX; or clean text from LaTeX alone."""

    source_only: bool = option(False, "clean text from sources, without PDFs")
    pdf_backend: str = option("auto", "auto (default), poppler, pypdfium2 or pdfminer", metavar="NAME")
    pdf_seconds: float = option(60.0, "time for one PDF (default 60)", metavar="S", least=0.1)
    pdf_memory_mb: int = option(2048, "memory for one PDF (default 2048)", metavar="MB", least=1)
    latex_seconds: float = option(60.0, "time for one document (default 60)", metavar="S", least=0.1)
    characters_per_source: int | None = option(
        None, "with --source_only: at most so much of one source, so that no book dominates", metavar="N", least=1
    )
    documents_per_shard: int = option(16, "documents per shard (default 16)", metavar="N", least=1)
    shard_bytes: int = option(16 << 20, "bytes of LaTeX per shard (default 16 MiB)", metavar="N", least=1)
    show_errors: int = option(10, "spacing errors to print at the end (default 10)", metavar="N", least=0)


def job(options: MatchOptions) -> int:
    from respace.pdf import PdfLimits, choose_backend
    from transforms.arxiv.documents import SOURCE_SUFFIXES, group_documents
    from transforms.arxiv.match import MatchDocuments
    from transforms.arxiv.shards import DocumentShard, plan_documents, plan_parquet

    backend = "" if options.source_only else choose_backend(options.pdf_backend)
    files = list_inputs(options.input, SOURCE_SUFFIXES)
    tables = [file for file in files if file.name.lower().endswith(".parquet")]
    documents = group_documents(file for file in files if file not in tables)
    if not options.source_only:
        _check_pdfs([table.url for table in tables], [document.pdf is not None for document in documents])
    shards: list[DocumentShard] = plan_documents(documents, options.documents_per_shard, options.shard_bytes)

    def cut(table: InputFile) -> None:
        shards.extend(plan_parquet(table, options.shard_bytes))

    unreadable = len(tables) - len(readable_files(options, tables, cut))
    work = MatchDocuments(
        output=options.output,
        source_only=options.source_only,
        pdf_backend=backend,
        tolerate_bad_files=options.on_bad_file != "error",
        most_characters=options.characters_per_source,
        pdf_limits=PdfLimits(seconds=options.pdf_seconds, memory_bytes=options.pdf_memory_mb << 20),
        latex_seconds=options.latex_seconds,
    )
    title = "reading LaTeX" if options.source_only else "matching PDFs"
    with opened_output(options):
        result = run_stage(options, Stage(title=title, work=work, shards=shards))
    if options.dry_run:
        return 0
    bad = [message for made in result.manifests.values() for message in made.details["bad files"]]
    if options.on_bad_file == "warn":
        for message in bad:
            print(f"warning: left out: {message}", file=sys.stderr)
    pdfs = sum(file.name.lower().endswith(".pdf") for file in files)
    counts = result.counts
    counts["pdfs_without_source"] = pdfs - sum(document.pdf is not None for document in documents)
    counts["bad_files"] += unreadable
    summarise(options, result, counts, backend)
    # A file that the user lets us leave out is not a document that failed.
    check_errors(options, counts["dead_letters"] - len(bad), counts["documents"] - len(bad))
    return 0


def _check_pdfs(tables: Sequence[str], have_pdf: Sequence[bool]) -> None:
    if tables:
        raise UserError(f"{tables[0]} holds sources without PDFs. Give --source_only to have their text")
    if not any(have_pdf):
        raise UserError(
            f"none of {len(have_pdf)} documents has a PDF. Expected one with the same name, or in the same directory. "
            "Give --source_only to have the text of the sources"
        )


def summarise(options: MatchOptions, result: StageResult, counts: Counter[str], backend: str) -> None:
    rows: list[tuple[str, object]] = [("documents", counts["documents"])]
    if options.source_only:
        rows += [("paragraphs", counts["paragraphs"]), ("kept", counts["kept"]), ("characters", counts["characters"])]
        rows += [(name, count) for name, count in sorted(counts.items()) if name.startswith("left out: ")]
    else:
        prose, matched = counts["prose_paragraphs"], counts["matched_prose"]
        share = f" ({100 * matched / prose:.1f} %)" if prose else ""
        rows += [
            ("documents without a PDF", counts["documents_without_pdf"]),
            ("PDFs without a source", counts["pdfs_without_source"]),
            ("PDFs read with", backend),
            ("paragraphs", counts["paragraphs"]),
            ("matched", counts["matched"]),
            ("prose paragraphs", prose),
            ("matched prose", f"{matched:,}{share}"),
            ("with citations or references", counts["matched_with_labels"]),
            ("with spacing errors", counts["matched_with_errors"]),
            ("spurious spaces", counts["spurious_spaces"]),
            ("missing spaces", counts["missing_spaces"]),
        ]
        rows += [(name, count) for name, count in sorted(counts.items()) if name.startswith("unmatched prose: ")]
    rows += [(name, count) for name, count in sorted(counts.items()) if name.startswith("passed over: ")]
    rows += [("bad files", counts["bad_files"]), ("dead letters", counts["dead_letters"])]
    rows.append(("seconds", round(result.seconds, 1)))
    print_summary(f"written to {options.output}", rows)
    if not options.source_only:
        _print_errors(options, result)


def _print_errors(options: MatchOptions, result: StageResult) -> None:
    samples = [sample for _, made in sorted(result.manifests.items()) for sample in made.details["spacing errors"]]
    if samples and options.show_errors:
        print("spacing errors of the extraction, for instance")
    for extracted, truth in samples[: options.show_errors]:
        print(f"  extracted  {extracted}\n  truth      {truth}")


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, MatchOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
