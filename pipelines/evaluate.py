"""`python -m pipelines.evaluate`: benchmarks × methods, as the paper's tables.

    python -m pipelines.evaluate --input $RESPACE_DATA/benchmarks/dev --output runs/evaluation \\
        --methods do_nothing,dynamic_programming,fast --sequences 1000

Writes `<benchmark>/predictions/<method>.txt` in the public layout, and `report.md`, `.csv`, `.tex`, `.html`, `.json`.
Models with penalties of their own for a benchmark use them there; `<model>_the_one` is the same model with one pair for
all. `--predictions A,B` scores what `predictions/A.txt` of each benchmark already holds, whoever made it.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pipelines.job.options import JobOptions, option
from pipelines.job.run import run_job
from pipelines.job.stages import Stage, StageResult, opened_output, run_stage, total_counts
from respace.storage.errors import BadFile, BadOption, UserError

if TYPE_CHECKING:
    from respace.evaluation_report import Result
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
    predictions: str | None = option(
        None,
        "score predictions/NAME.txt of the benchmarks, or all of them, without running anything",
        metavar="A,B|all",
    )
    compare: str | None = option(None, "test all methods against this one (default: the best)", metavar="METHOD")
    harm: bool = option(True, "repair the correct text, too: what is changed there is harm (default: yes)")
    published: bool = option(False, "show published figures beside ours")
    slice_sequences: int = option(500, "sequences per unit of work (default: 500)", metavar="N", least=1)

    def __post_init__(self) -> None:
        super().__post_init__()
        for name, value in (("methods", self.methods), ("predictions", self.predictions)):
            if value is not None and not _names(value):
                raise BadOption(f"--{name} {value!r}: expected names separated by commas")

    @property
    def named_methods(self) -> list[str]:
        return _names(self.methods)

    @property
    def named_predictions(self) -> list[str]:
        return _names(self.predictions)


def _names(value: str | None) -> list[str]:
    return list(dict.fromkeys(name.strip() for name in (value or "").split(",") if name.strip()))


def job(options: EvaluateOptions) -> int:
    from transforms.evaluation import FOLDER, EvaluateSlice, describe_benchmarks

    try:
        benchmarks = describe_benchmarks(options.input)
    except BadFile as error:
        raise UserError(f"--input {error}") from error
    found = find_predictions(options, benchmarks)
    # Whoever asks for the predictions of others and names no method wants nothing run.
    methods = [] if found and not options.named_methods else check_methods(options.named_methods)
    check_compare(options.compare, [*methods, *found])
    slices = cut_slices(benchmarks, methods, options.sequences, options.slice_sequences, options.harm)
    title = f"evaluating {len(methods)} methods on {len(benchmarks)} benchmarks"
    with opened_output(options):
        done = run_stage(
            options, Stage(title=title, work=EvaluateSlice(output=options.output), shards=slices, folder=FOLDER)
        )
        if not options.dry_run:
            report(options, benchmarks, methods, found, slices, done)
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
    benchmarks: Sequence[BenchmarkFiles],
    methods: Sequence[str],
    sequences: int | None,
    size: int,
    with_harm: bool = False,
) -> list[EvaluationSlice]:
    """Slices of all benchmarks for all methods; those that measure harm come last, as what can best be waited for."""
    from transforms.evaluation import EvaluationSlice

    return [
        EvaluationSlice(benchmark=benchmark, method=method, start=start, stop=min(start + size, lines), harm=harm)
        for harm in ((False, True) if with_harm else (False,))
        for method in methods
        for benchmark in benchmarks
        for lines in [min(benchmark.lines, sequences or benchmark.lines)]
        for start in range(0, lines, size)
    ]


def find_predictions(options: EvaluateOptions, benchmarks: Sequence[BenchmarkFiles]) -> dict[str, dict[str, str]]:
    """The predictions to score that are there already: URLs by method and benchmark."""
    from respace.benchmarks import find_predictions

    there = {one.name: find_predictions(one.url) for one in benchmarks}
    known = list(dict.fromkeys(name for names in there.values() for name in names))
    wanted = known if options.predictions == "all" else options.named_predictions
    for name in wanted:
        if name not in known:
            raise BadOption(f"--predictions {name}: no benchmark has predictions/{name}.txt. Found: {known or 'none'}")
    if options.predictions and not wanted:
        raise BadOption(
            f"--predictions {options.predictions}: no benchmark has a directory predictions/ with .txt files"
        )
    return {name: {one: urls[name] for one, urls in there.items() if name in urls} for name in wanted}


def check_compare(compare: str | None, methods: Sequence[str]) -> None:
    if compare is not None and compare not in methods:
        raise BadOption(f"--compare {compare}: expected one of the methods that are scored: {', '.join(methods)}")


def report(
    options: EvaluateOptions,
    benchmarks: Sequence[BenchmarkFiles],
    methods: Sequence[str],
    found: Mapping[str, Mapping[str, str]],
    slices: Sequence[EvaluationSlice],
    done: StageResult,
) -> None:
    """Joins the predictions of all slices, scores them and those of others, prints the tables and writes the report."""
    from respace import evaluation_report as reports
    from respace import tables as forms
    from respace.storage.files import join_url
    from respace.storage.publish import publish_bytes

    results = join_predictions(options, benchmarks, slices, done)
    results |= score_found(options, benchmarks, found)
    tests = reports.p_values(results, options.compare)
    rows, names = [*methods, *found], [one.name for one in benchmarks]
    tables = reports.report_tables(
        results, rows, names, tests, compare=options.compare, with_published=options.published
    )
    print("\n\n".join(map(forms.markdown, tables)))
    tables += reports.interval_tables(results, rows, names)
    contents = {
        "md": "\n\n".join(map(forms.markdown, tables)) + "\n",
        "csv": forms.comma_separated(tables),
        "tex": "\n\n".join(map(forms.latex, tables)) + "\n",
        "html": forms.html_page("Evaluation", tables),
        "json": json.dumps(reports.report_rows(results, tests), indent=1),
    }
    for suffix, content in contents.items():
        publish_bytes(join_url(options.output, f"report.{suffix}"), content.encode())


def join_predictions(
    options: EvaluateOptions,
    benchmarks: Sequence[BenchmarkFiles],
    slices: Sequence[EvaluationSlice],
    done: StageResult,
) -> dict[tuple[str, str], Result]:
    """Publishes the predictions of every method that has all its slices, and scores them."""
    from respace.evaluation_report import Result
    from respace.storage.files import join_url, read_bytes
    from respace.storage.publish import publish_bytes
    from transforms.evaluation import from_counts, safe_name, score_predictions

    urls = {one.name: one.url for one in benchmarks}
    of_pair: dict[tuple[str, str, bool], list[EvaluationSlice]] = {}
    for piece in slices:
        of_pair.setdefault((piece.method, piece.benchmark.name, piece.harm), []).append(piece)
    results: dict[tuple[str, str], Result] = {}
    for (method, benchmark, harm), pieces in of_pair.items():
        missing = sum(piece.name not in done.manifests for piece in pieces)
        if missing:
            # Predictions are read line by line beside the benchmark: with a slice missing they would be shifted.
            what = "harm left out" if harm else "left out"
            print(f"{method} on {benchmark}: {what}, {missing} of {len(pieces)} slices are missing")
            continue
        counts = total_counts({piece.name: done.manifests[piece.name] for piece in pieces})
        if harm:
            if (method, benchmark) in results:
                known = results[method, benchmark]
                results[method, benchmark] = replace(known, on_correct_text=from_counts(counts))
            continue
        content = b"".join(read_bytes(join_url(options.output, f"{piece.name}.txt")) for piece in pieces)
        target = join_url(options.output, benchmark, "predictions", f"{safe_name(method)}.txt")
        publish_bytes(target, content)
        scores = score_predictions(urls[benchmark], target, options.sequences)
        results[method, benchmark] = Result(scores, counts["bytes"] / max(1, counts["milliseconds"]))
    return results


def score_found(
    options: EvaluateOptions, benchmarks: Sequence[BenchmarkFiles], found: Mapping[str, Mapping[str, str]]
) -> dict[tuple[str, str], Result]:
    """Scores predictions that were there already. ``--on_bad_file`` says what happens to those that cannot be."""
    from respace.evaluation_report import Result
    from transforms.evaluation import score_predictions

    urls = {one.name: one.url for one in benchmarks}
    results = {}
    for method, there in found.items():
        for benchmark, url in there.items():
            try:
                results[method, benchmark] = Result(score_predictions(urls[benchmark], url, options.sequences))
            except BadFile as error:
                if options.on_bad_file == "error":
                    raise UserError(f"{error}, or leave them out with --on_bad_file warn") from error
                print(f"{method} on {benchmark}: left out, {error}")
    return results


def main(argv: Sequence[str] | None = None) -> int:
    return run_job(job, EvaluateOptions, argv)


if __name__ == "__main__":
    sys.exit(main())
