"""`python -m pipelines.extract_wikipedia`: clean sentences from pages-articles dumps of Wikipedia.

    python -m pipelines.extract_wikipedia --input enwiki-pages-articles-multistream.xml.bz2 --output sentences

A multistream dump is read in parallel by byte ranges. The output is Parquet (article_id, title, sentence) in
`train/`, `penalties/`, `development/` and `test/`; which articles are held out depends on a hash of their id.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, StageResult, opened_output, readable_files, run_stage
from pipelines.job.summary import check_errors, print_summary
from respace.storage.errors import BadOption, UserError
from respace.storage.files import InputFile
from respace.storage.inputs import list_inputs

DEFAULT_HELD_OUT = 10_000  # articles for each of the three held-out parts, as in the paper
_PARTS = ("penalties", "development", "test")


def _held_out(part: str) -> Any:
    return option(
        None, f"articles held out for {part} (default: 10,000, or a tenth of all if that is less)", metavar="N", least=0
    )


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(JobOptions):
    """Clean sentences from Wikipedia dumps (.xml, .xml.bz2, multistream)."""

    index: str | None = option(
        None,
        "index of a multistream dump (-index.txt or -index.txt.bz2); without it, stream headers are searched for",
        metavar="FILE",
    )
    range_bytes: int = option(32 << 20, "bytes of the dump per shard (default 32 MiB)", metavar="N", least=1)
    penalties_articles: int | None = _held_out("penalties")
    development_articles: int | None = _held_out("development")
    test_articles: int | None = _held_out("test")
    seed: int = option(0, "which articles are held out (default 0)")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.index is not None and len(self.input) != 1:
            raise BadOption(f"--index {self.index} with {len(self.input)} inputs: expected the one dump it belongs to")

    @property
    def held_out(self) -> dict[str, int | None]:
        return {part: getattr(self, f"{part}_articles") for part in _PARTS}


def job(options: ExtractOptions) -> int:
    from respace.splits import choose_splits
    from respace.wikipedia.dumps import DumpRange
    from transforms.wikipedia import (
        CENSUS,
        DUMP_SUFFIXES,
        EXTRACT,
        DumpShard,
        ExtractSentences,
        TakeCensus,
        plan_dump,
        read_census,
    )

    ranges: list[tuple[str, InputFile, DumpRange]] = []

    def cut(file: InputFile) -> None:
        ranges.extend((name, file, part) for name, part in plan_dump(file, options.range_bytes, options.index))

    files = list_inputs(options.input, DUMP_SUFFIXES)
    unreadable = len(files) - len(readable_files(options, files, cut))
    all_ranges = len(ranges)
    ranges = ranges[: options.limit]

    def stage(title: str, folder: str, work: TakeCensus | ExtractSentences) -> Stage:
        shards = [DumpShard(name=f"{folder}/{name}", file=file, part=part) for name, file, part in ranges]
        return Stage(title=title, work=work, shards=shards, folder=folder)

    wanted = sum(DEFAULT_HELD_OUT if size is None else size for size in options.held_out.values())
    with opened_output(options):
        census = TakeCensus(output=options.output, seed=options.seed, held_out=wanted)
        counted = run_stage(options, stage("finding articles", CENSUS, census))
        if options.dry_run:
            print(f"then the sentences of {len(ranges)} ranges would be extracted to {options.output}")
            return 0
        hashes = read_census(options.output, list(counted.manifests))
        sizes = held_out_sizes(options, counted.counts["articles"])
        extraction = ExtractSentences(output=options.output, seed=options.seed, splits=choose_splits(hashes, sizes))
        extracted = run_stage(options, stage("extracting sentences", EXTRACT, extraction))
    summarise(options, sizes, extracted, unreadable)
    if len(ranges) < all_ranges:
        print(
            f"{len(ranges)} of {all_ranges} ranges: the held-out parts are chosen among these. With another --limit "
            "they would be different ones: choose another --output then, or --overwrite",
            file=sys.stderr,
        )
    check_errors(options, extracted.counts["dead_letters"], extracted.counts["articles"])
    return 0


def held_out_sizes(options: ExtractOptions, articles: int) -> dict[str, int]:
    """How many articles each part gets; a size that the user gave is never changed."""
    sizes = {
        part: min(DEFAULT_HELD_OUT, articles // 10) if size is None else size for part, size in options.held_out.items()
    }
    if sum(sizes.values()) > articles:
        raise UserError(f"{sum(sizes.values())} articles are to be held out of {articles}: give smaller parts")
    return sizes


def summarise(options: ExtractOptions, sizes: dict[str, int], extracted: StageResult, unreadable: int) -> None:
    counts = extracted.counts
    rows: list[tuple[str, object]] = [
        (name.replace("_", " "), counts[name])
        for name in ("pages", "redirects", "other_namespaces", "other_models", "bad_pages", "articles", "sentences")
    ]
    for part in (*_PARTS, "train"):
        held = f" ({sizes[part]} articles held out)" if part in sizes else ""
        rows.append(
            (part, f"{counts[part + '_sentences']:,} sentences of {counts[part + '_articles']:,} articles{held}")
        )
    rows += [("articles without a sentence", counts["articles_without_sentences"])]
    rows += [(name.replace(":", " "), count) for name, count in sorted(counts.items()) if name.startswith("dropped:")]
    rows += [("dead letters", counts["dead_letters"]), ("unreadable files", unreadable)]
    rows += [("unreadable ranges", len(extracted.failed))]
    rows.append(("seconds", round(extracted.seconds, 1)))
    print_summary(f"extracted to {options.output}", rows)


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, ExtractOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
