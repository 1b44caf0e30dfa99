"""`python -m pipelines.make_benchmarks`: the paper's six benchmarks from clean text and matched paragraphs.

    python -m pipelines.make_benchmarks --input sentences/test --text_column sentence --matched matched \\
        --acl_pairs acl --typos typos.tsv --output benchmarks/test

The layout is the public one (`<name>/corrupt.txt`, `correct.txt`, `spelling.txt`). Misspellings come from the half of
the collection that training never sees. What cannot be made because its input is missing is left out, with a message.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, opened_output, option_from_file, readable_files, run_stage
from pipelines.job.summary import check_errors, print_summary
from respace import benchmarks
from respace.benchmark_statistics import statistics_table
from respace.hashing import json_digest
from respace.noise import Recipe
from respace.noise.contents import contents_digest
from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, join_url
from respace.storage.inputs import list_inputs
from respace.storage.publish import publish_bytes
from transforms.formats.contract import WHOLE
from transforms.formats.registry import SUFFIXES
from transforms.formats.rows import CleanText
from transforms.shards.contract import fingerprint_of

_SLICE_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(JobOptions):
    """The paper's six benchmarks from clean text, matched paragraphs and supplied pairs."""

    text_column: str = option("text", "column or member that holds the text (default text)", metavar="NAME")
    matched: tuple[str, ...] = option((), "output of match_arxiv, for the arXiv benchmarks", metavar="PATH")
    acl_pairs: str | None = option(None, "corrupt.txt, correct.txt, spelling.txt, for ACL", metavar="DIRECTORY")
    sequences: int = option(10_000, "of each benchmark (default 10,000)", metavar="N", least=1)
    typos: str | None = option(None, "misspellings; their test half is used (default: codespell's)", metavar="FILE")
    confusions: str | None = option(None, "OCR confusions (default: those that ship with Respace)", metavar="FILE")
    seed: int = option(0, "which sequences, which errors (default 0)")


def job(options: BenchmarkOptions) -> int:
    from transforms.benchmarks import (
        CLEAN,
        PAIRS,
        SAMPLE,
        WRITE,
        BenchmarkShard,
        Sample,
        SourceSlice,
        WriteBenchmark,
        check_pairs,
        statistics_of,
    )

    halves = option_from_file("typos", options.typos, benchmarks.check_halves)
    if options.confusions is not None:
        from respace.noise.parameters import confusion_table

        option_from_file("confusions", options.confusions, lambda path: confusion_table(path, None))
    reader = CleanText(text_column=options.text_column)
    texts = list_inputs(options.input, SUFFIXES)
    clean = readable_files(options, texts, reader.check)
    matched: list[InputFile] = []
    pairs: list[InputFile] = []
    if options.matched:
        matched = list_inputs(options.matched, (".parquet",), option="--matched")
        pairs = readable_files(options, matched, check_pairs)
    acl = None
    if options.acl_pairs is not None:
        try:
            acl = benchmarks.read_sequences(options.acl_pairs)
        except BadFile as error:
            raise UserError(f"--acl_pairs {error}") from error

    slices = [
        SourceSlice(
            name=f"{SAMPLE}/{CLEAN}/{file.name}/{number:05}",
            kind=CLEAN,
            file=file,
            span=part.span,
            size=part.text_bytes,
        )
        for file in clean
        for number, part in enumerate(reader.cut(file, _SLICE_BYTES))
    ]
    slices += [
        SourceSlice(name=f"{SAMPLE}/{PAIRS}/{file.name}", kind=PAIRS, file=file, span=WHOLE, size=file.size)
        for file in pairs
    ]
    slices = slices[: options.limit]
    sample = Sample(output=options.output, reader=reader, sequences=options.sequences, seed=options.seed)
    noise = contents_digest(Recipe(typos=options.typos, confusions=options.confusions))
    described = [[part.name, dict(fingerprint_of(sample, part))] for part in slices]
    write = WriteBenchmark(
        output=options.output,
        clean=tuple(part.name for part in slices if part.kind == CLEAN),
        pairs=tuple(part.name for part in slices if part.kind == PAIRS),
        acl_pairs=options.acl_pairs,
        sequences=options.sequences,
        typos=options.typos,
        confusions=options.confusions,
        seed=options.seed,
        source=json_digest([described, noise, None if acl is None else asdict(acl)]),
    )
    inputs = {
        benchmarks.ACL: acl is not None,
        **dict.fromkeys(benchmarks.FROM_PAIRS, bool(write.pairs)),
        **dict.fromkeys(benchmarks.FROM_CLEAN_TEXT, bool(write.clean)),
    }
    names = [name for name in benchmarks.NAMES if inputs[name]]
    for name in benchmarks.NAMES:
        if not inputs[name]:
            print(f"{name}: left out, {_missing(name, options)}", file=sys.stderr)
    sampling = Stage(title="sampling", work=sample, shards=slices, folder=SAMPLE, limited=False)
    with opened_output(options):
        sampled = run_stage(options, sampling)
        if options.dry_run:
            print(f"then {', '.join(names)} would be written to {options.output}")
            return 0
        done = set(sampled.manifests)
        write = replace(
            write,
            clean=tuple(name for name in write.clean if name in done),
            pairs=tuple(name for name in write.pairs if name in done),
        )
        shards = [BenchmarkShard(name=f"{WRITE}/{name}", benchmark=name) for name in names]
        written = run_stage(options, Stage(title="writing", work=write, shards=shards, folder=WRITE, limited=False))
        made = {name.removeprefix(f"{WRITE}/"): statistics_of(found) for name, found in written.manifests.items()}
        content = {name: asdict(made[name]) for name in names}
        publish_bytes(join_url(options.output, "statistics.json"), (json.dumps(content, indent=1) + "\n").encode())
    print(statistics_table(made))
    for name, found in made.items():
        if name != benchmarks.ACL and found.sequences < options.sequences:
            wanted = f"{found.sequences:,} sequences, not {options.sequences:,}"
            print(f"{name}: {wanted}: the input has no more different ones")
    rows: list[tuple[str, object]] = [
        ("rows read", sampled.counts["rows"]),
        ("empty rows", sampled.counts["empty_rows"]),
        ("too long", sampled.counts["too_long"]),
        ("dead letters", sampled.counts["dead_letters"]),
        ("unreadable files", len(texts) - len(clean) + len(matched) - len(pairs) + len(sampled.failed)),
        ("misspellings for training, for benchmarks", f"{halves[0]:,}, {halves[1]:,}, none in both"),
    ]
    print_summary(f"written to {options.output}", rows)
    check_errors(options, sampled.counts["dead_letters"], sampled.counts["rows"])
    return 0


def _missing(name: str, options: BenchmarkOptions) -> str:
    if name == benchmarks.ACL:
        return "it needs --acl_pairs"
    if name in benchmarks.FROM_PAIRS and not options.matched:
        return "it needs --matched"
    return "none of its input is read: see --on_bad_file and --limit"


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, BenchmarkOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
