"""`python -m pipelines.make_benchmarks`: the paper's six benchmarks from clean text and matched paragraphs.

    python -m pipelines.make_benchmarks --input sentences/test --text_column sentence --matched matched \\
        --acl_pairs acl --typos typos.tsv --output benchmarks/test

The layout is the public one (`<name>/corrupt.txt`, `correct.txt`, `spelling.txt`). Misspellings come from the half of
the collection that training never sees. What cannot be made for want of input is left out, and said.
"""

from __future__ import annotations

import hashlib
import json
import sys
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

from pipelines.job.options import JobOptions, check_at_least, job_parser, parse_options, print_summary, run_job
from pipelines.job.stages import Stage, check_errors, opened_output, option_from_file, readable_files, run_stage
from respace import benchmarks
from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, describe, join_url, list_inputs
from respace.storage.publish import publish_bytes
from transforms.formats.rows import CLEAN_TEXT_SUFFIXES, CleanText

_SLICE_BYTES = 32 << 20


@dataclass(frozen=True, kw_only=True)
class BenchmarkOptions(JobOptions):
    """Options of this job.

    Args:
        text_column: where the clean text is.
        matched: output of `pipelines.match_arxiv`, for the two arXiv benchmarks.
        acl_pairs: directory with corrupt.txt, correct.txt and spelling.txt, for the ACL benchmark.
        sequences: of each benchmark.
        typos, confusions: files of misspellings and OCR confusions; default: those that ship with Respace.
        seed: which sequences, and which errors.
    """

    text_column: str = "text"
    matched: tuple[str, ...] = ()
    acl_pairs: str | None = None
    sequences: int = 10_000
    typos: str | None = None
    confusions: str | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        check_at_least("--sequences", self.sequences, 1)


def parser() -> ArgumentParser:
    found = job_parser("The paper's six benchmarks from clean text, matched paragraphs and supplied pairs.")
    found.add_argument("--text_column", metavar="NAME", help="column or member that holds the text (default text)")
    found.add_argument("--matched", nargs="+", metavar="PATH", help="output of match_arxiv, for the arXiv benchmarks")
    found.add_argument("--acl_pairs", metavar="DIRECTORY", help="corrupt.txt, correct.txt, spelling.txt, for ACL")
    found.add_argument("--sequences", type=int, metavar="N", help="of each benchmark (default 10,000)")
    found.add_argument("--typos", metavar="FILE", help="misspellings; their test half is used (default: codespell's)")
    found.add_argument("--confusions", metavar="FILE", help="OCR confusions (default: those that ship with Respace)")
    found.add_argument("--seed", type=int, help="which sequences, which errors (default 0)")
    return found


def job(options: BenchmarkOptions) -> int:
    from transforms.benchmarks import (
        CLEAN,
        PAIRS,
        SAMPLE,
        WRITE,
        Benchmark,
        Sample,
        SourceSlice,
        WriteBenchmark,
        check_pairs,
        read_pairs,
        statistics_of,
    )

    halves = option_from_file("typos", options.typos, benchmarks.check_halves)
    if options.confusions is not None:
        from respace.noise.parameters import confusion_table

        option_from_file("confusions", options.confusions, lambda path: confusion_table(path, None))
    reader = CleanText(text_column=options.text_column)
    texts = list_inputs(options.input, CLEAN_TEXT_SUFFIXES)
    clean = readable_files(options, texts, reader.check)
    matched: list[InputFile] = []
    pairs: list[InputFile] = []
    if options.matched:
        matched = list_matched(options.matched)
        pairs = readable_files(options, matched, check_pairs)
    acl: list[InputFile] = []
    if options.acl_pairs is not None:
        try:
            read_pairs(options.acl_pairs)
        except BadFile as error:
            raise UserError(f"--acl_pairs {error}") from error
        acl = [describe(join_url(options.acl_pairs, f"{name}.txt")) for name in ("corrupt", "correct")]

    slices = [
        SourceSlice(name=f"{SAMPLE}/{CLEAN}/{file.name}/{number:05}", kind=CLEAN, file=file, span=span)
        for file in clean
        for number, span in enumerate(reader.spans(file, _SLICE_BYTES))
    ]
    slices += [SourceSlice(name=f"{SAMPLE}/{PAIRS}/{file.name}", kind=PAIRS, file=file, span=(0, -1)) for file in pairs]
    slices = slices[: options.limit]
    sample = Sample(output=options.output, reader=reader, sequences=options.sequences, seed=options.seed)
    others = acl + [describe(path) for path in (options.typos, options.confusions) if path is not None]
    described = [[part.name, sample.fingerprint(part)] for part in slices] + [[one.url, one.version] for one in others]
    write = WriteBenchmark(
        output=options.output,
        clean=tuple(part.name for part in slices if part.kind == CLEAN),
        pairs=tuple(part.name for part in slices if part.kind == PAIRS),
        acl_pairs=options.acl_pairs,
        sequences=options.sequences,
        typos=options.typos,
        confusions=options.confusions,
        seed=options.seed,
        source=hashlib.blake2b(json.dumps(described, sort_keys=True).encode(), digest_size=16).hexdigest(),
    )
    inputs = {
        benchmarks.ACL: bool(acl),
        **dict.fromkeys(benchmarks.FROM_PAIRS, bool(write.pairs)),
        **dict.fromkeys(benchmarks.FROM_CLEAN_TEXT, bool(write.clean)),
    }
    names = [name for name in benchmarks.NAMES if inputs[name]]
    for name in benchmarks.NAMES:
        if not inputs[name]:
            print(f"{name}: left out, {_missing(name, options)}", file=sys.stderr)
    sampling = Stage(title="sampling", work=sample, shards=slices, fingerprint=sample.fingerprint, limited=False)
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
        shards = [Benchmark(name=f"{WRITE}/{name}", benchmark=name) for name in names]
        writing = Stage(title="writing", work=write, shards=shards, fingerprint=write.fingerprint, limited=False)
        written = run_stage(options, writing)
        made = {name.removeprefix(f"{WRITE}/"): statistics_of(found) for name, found in written.manifests.items()}
        content = {name: asdict(made[name]) for name in names}
        publish_bytes(join_url(options.output, "statistics.json"), (json.dumps(content, indent=1) + "\n").encode())
    print(benchmarks.statistics_table(made))
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


def list_matched(matched: Sequence[str]) -> list[InputFile]:
    try:
        return list_inputs(matched, (".parquet",))
    except UserError as error:
        raise UserError(str(error).replace("--input", "--matched")) from error


def _missing(name: str, options: BenchmarkOptions) -> str:
    if name == benchmarks.ACL:
        return "it needs --acl_pairs"
    if name in benchmarks.FROM_PAIRS and not options.matched:
        return "it needs --matched"
    return "none of its input is read: see --on_bad_file and --limit"


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(lambda: job(parse_options(parser(), BenchmarkOptions, argv)))


if __name__ == "__main__":
    sys.exit(main())
