"""`python -m pipelines.extract_wikipedia`: clean sentences from pages-articles dumps of Wikipedia.

    python -m pipelines.extract_wikipedia --input enwiki-pages-articles-multistream.xml.bz2 --output sentences

A multistream dump is read in parallel by byte ranges. The output is Parquet (article_id, title, sentence) in
`train/`, `penalties/`, `development/` and `test/`; which articles are held out depends on a hash of their id.
"""

from __future__ import annotations

import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import dataclass

from pipelines.job.options import JobOptions, check_at_least, job_parser, parse_options, print_summary, run_job
from pipelines.job.stages import Stage, StageResult, check_errors, opened_output, readable_files, run_stage
from respace.storage.errors import BadOption, UserError
from respace.storage.files import InputFile, list_inputs

DEFAULT_HELD_OUT = 10_000  # articles for each of the three held-out parts, as in the paper
_PARTS = ("penalties", "development", "test")


@dataclass(frozen=True, kw_only=True)
class ExtractOptions(JobOptions):
    """Options of this job.

    Args:
        index: the `-index.txt.bz2` of a multistream dump; without it, stream headers are searched for.
        range_bytes: size of a range, the unit of work.
        penalties_articles, development_articles, test_articles: sizes of the held-out parts. Default: 10,000 each, or
            a tenth of the articles if that is less.
        seed: another seed holds out other articles.
    """

    index: str | None = None
    range_bytes: int = 32 << 20
    penalties_articles: int | None = None
    development_articles: int | None = None
    test_articles: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("--range_bytes", self.range_bytes, 1)
        for part in _PARTS:
            check_at_least(f"--{part}_articles", getattr(self, f"{part}_articles"), 0)
        if self.index is not None and len(self.input) != 1:
            raise BadOption(f"--index {self.index} with {len(self.input)} inputs: expected the one dump it belongs to")

    @property
    def held_out(self) -> dict[str, int | None]:
        return {part: getattr(self, f"{part}_articles") for part in _PARTS}


def parser() -> ArgumentParser:
    found = job_parser("Clean sentences from Wikipedia dumps (.xml, .xml.bz2, multistream).")
    found.add_argument("--index", metavar="FILE", help="index of a multistream dump (-index.txt or -index.txt.bz2)")
    found.add_argument("--range_bytes", type=int, metavar="N", help="bytes of the dump per shard (default 32 MiB)")
    for part in _PARTS:
        found.add_argument(f"--{part}_articles", type=int, metavar="N", help=f"articles held out for {part}")
    found.add_argument("--seed", type=int, help="which articles are held out (default 0)")
    return found


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

    def shards(stage: str) -> list[DumpShard]:
        return [DumpShard(name=f"{stage}/{name}", file=file, part=part) for name, file, part in ranges]

    def stage(title: str, name: str, work: TakeCensus | ExtractSentences) -> Stage:
        total = sum(part.stop - part.start for _, _, part in ranges)
        return Stage(title=title, work=work, shards=shards(name), fingerprint=work.fingerprint, total_bytes=total)

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
            "they are others: give another --output then, or --overwrite",
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
    return run_job(lambda: job(parse_options(parser(), ExtractOptions, argv)))


if __name__ == "__main__":
    sys.exit(main())
