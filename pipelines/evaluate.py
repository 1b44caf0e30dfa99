"""`python -m pipelines.evaluate`: benchmarks × methods, as the paper's tables.

    python -m pipelines.evaluate --input $RESPACE_DATA/benchmarks/dev --output runs/evaluation \\
        --methods do_nothing,dynamic_programming,fast --sequences 1000

Writes `<benchmark>/predictions/<method>.txt` in the public layout, `report.md` and `report.json`. Models with penalties
of their own for a benchmark use them there; `<model>_the_one` is the same model with one pair for all.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, StageResult, opened_output, run_stage, total_counts
from respace.storage.errors import BadFile, BadOption, UserError

if TYPE_CHECKING:
    from transforms.evaluation import BenchmarkFiles, EvaluationSlice

# The paper's order; what is not there (a model that does not ship) is left out unless it is named.
PAPER_METHODS = (
    "do_nothing",
    "greedy",
    "dynamic_programming",
    "wordsegment",
    "uni",
    "uni_plus",
    "bid",
    "bid_plus",
    "bid_plus_the_one",
    "fast",
    "fast_search",
)


@dataclass(frozen=True, kw_only=True)
class EvaluateOptions(JobOptions):
    """Evaluates methods on benchmarks (directories with corrupt.txt and correct.txt)."""

    methods: str | None = option(None, "names or model directories (default: all of the paper's)", metavar="A,B")
    sequences: int | None = option(None, "only the first N sequences of each benchmark", metavar="N", least=1)
    slice_sequences: int = option(500, "sequences per unit of work (default: 500)", metavar="N", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.methods is not None and not self.named_methods:
            raise BadOption(f"--methods {self.methods!r}: expected names separated by commas")

    @property
    def named_methods(self) -> list[str]:
        return list(dict.fromkeys(name.strip() for name in (self.methods or "").split(",") if name.strip()))


def job(options: EvaluateOptions) -> int:
    from transforms.evaluation import FOLDER, EvaluateSlice, describe_benchmarks

    try:
        benchmarks = describe_benchmarks(options.input)
    except BadFile as error:
        raise UserError(f"--input {error}") from error
    methods = check_methods(options.named_methods)
    slices = cut_slices(benchmarks, methods, options.sequences, options.slice_sequences)
    title = f"evaluating {len(methods)} methods on {len(benchmarks)} benchmarks"
    with opened_output(options):
        done = run_stage(
            options, Stage(title=title, work=EvaluateSlice(output=options.output), shards=slices, folder=FOLDER)
        )
        if not options.dry_run:
            report(options, benchmarks, methods, slices, done)
    return 0


def check_methods(named: Sequence[str]) -> list[str]:
    """The methods to evaluate. A wrong name fails before anything is done."""
    from models.methods import method_identity, method_names

    if not named:
        known = set(method_names())
        return [name for name in PAPER_METHODS if name in known]
    for name in named:
        try:
            method_identity(name)
        except (ValueError, ImportError, AttributeError, OSError) as error:
            raise BadOption(f"--methods {name}: {error}") from error
    return list(named)


def cut_slices(
    benchmarks: Sequence[BenchmarkFiles], methods: Sequence[str], sequences: int | None, size: int
) -> list[EvaluationSlice]:
    from transforms.evaluation import EvaluationSlice

    return [
        EvaluationSlice(benchmark=benchmark, method=method, start=start, stop=min(start + size, lines))
        for method in methods
        for benchmark in benchmarks
        for lines in [min(benchmark.lines, sequences or benchmark.lines)]
        for start in range(0, lines, size)
    ]


def report(
    options: EvaluateOptions,
    benchmarks: Sequence[BenchmarkFiles],
    methods: Sequence[str],
    slices: Sequence[EvaluationSlice],
    done: StageResult,
) -> None:
    """Joins the predictions of all slices, prints the tables and writes the report."""
    from respace.storage.files import join_url, read_bytes
    from respace.storage.publish import publish_bytes
    from transforms.evaluation import safe_name

    of_pair: dict[tuple[str, str], list[EvaluationSlice]] = {}
    for piece in slices:
        of_pair.setdefault((piece.method, piece.benchmark.name), []).append(piece)
    counts: dict[tuple[str, str], Counter[str]] = {}
    for (method, benchmark), pieces in of_pair.items():
        there = [piece for piece in pieces if piece.name in done.manifests]
        if len(there) < len(pieces):
            # Predictions are read line by line beside the benchmark: with a slice missing they would be shifted.
            print(f"{method} on {benchmark}: left out, {len(pieces) - len(there)} of {len(pieces)} slices are missing")
            continue
        counts[method, benchmark] = total_counts({piece.name: done.manifests[piece.name] for piece in pieces})
        predictions = b"".join(read_bytes(join_url(options.output, f"{piece.name}.txt")) for piece in pieces)
        publish_bytes(join_url(options.output, benchmark, "predictions", f"{safe_name(method)}.txt"), predictions)
    names = [one.name for one in benchmarks]
    tables = format_tables(counts, methods, names)
    print(tables)
    rows = [
        {"method": method, "benchmark": benchmark, **_figures(found), "counts": dict(found)}
        for (method, benchmark), found in counts.items()
    ]
    publish_bytes(join_url(options.output, "report.md"), (tables + "\n").encode())
    publish_bytes(join_url(options.output, "report.json"), json.dumps(rows, indent=1).encode())


def format_tables(
    counts: Mapping[tuple[str, str], Mapping[str, int]], methods: Sequence[str], benchmarks: Sequence[str]
) -> str:
    """F-score and sequence accuracy, in percent, and speed: a table each."""
    titles = {"f_score": "Micro F-score", "sequence_accuracy": "Sequence accuracy", "kilobytes_per_second": "KB/s"}
    lines: list[str] = []
    for figure, title in titles.items():
        lines += [f"## {title}", "", f"| method | {' | '.join(benchmarks)} |", "| --- |" + " --- |" * len(benchmarks)]
        for method in methods:
            cells = [
                f"{_figures(counts[method, benchmark])[figure]:.1f}" if (method, benchmark) in counts else ""
                for benchmark in benchmarks
            ]
            lines.append(f"| {method} | {' | '.join(cells)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _figures(counts: Mapping[str, int]) -> dict[str, Any]:
    from transforms.evaluation import from_counts

    score = from_counts(counts)
    return {
        "f_score": round(100 * score.f_score, 2),
        "sequence_accuracy": round(100 * score.sequence_accuracy, 2),
        "kilobytes_per_second": round(counts["bytes"] / max(1, counts["milliseconds"]), 2),
    }


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, EvaluateOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
