"""The tables of an evaluation: every figure of every method on every benchmark, significance and intervals."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from respace.metrics import Score
from respace.published import REMARK, published
from respace.sequence_scores import SequenceScores
from respace.significance import LEVEL, PERMUTATIONS, bootstrap_interval, randomization_test
from respace.tables import Table

TESTED = ("f_score", "sequence_accuracy")
NOT_SIGNIFICANT = "†"


@dataclass(frozen=True)
class Result:
    """What a method did on a benchmark.

    Args:
        scores: of its predictions.
        kilobytes_per_second: not known of predictions that others made.
        on_correct_text: what it did to the correct text of the sequences that have errors, if it was run on that.
    """

    scores: SequenceScores
    kilobytes_per_second: float | None = None
    on_correct_text: Score | None = None

    @property
    def harm(self) -> float | None:
        """False edits per 10,000 characters when the correct text is the input; it is for sequences without errors."""
        if self.on_correct_text is None:
            return None
        edits, characters = self.scores.edits_in_correct_sequences, self.scores.characters_of_correct_sequences
        edits += self.on_correct_text.edits.false_positives
        characters += self.on_correct_text.characters
        return 1e4 * edits / characters if characters else 0.0


Results = Mapping[tuple[str, str], Result]
PValues = dict[tuple[str, str, str], float]

# Every figure: its name, its title, and how it comes out of a result.
FIGURES: dict[str, tuple[str, Callable[[Result], float | None]]] = {
    "f_score": ("Micro F-score", lambda one: 100 * one.scores.total().f_score),
    "sequence_accuracy": ("Sequence accuracy", lambda one: 100 * one.scores.total().sequence_accuracy),
    "mean_f_score": ("F-score averaged over sequences", lambda one: 100 * one.scores.mean_f_score),
    "precision": ("Precision", lambda one: 100 * one.scores.total().edits.precision),
    "recall": ("Recall", lambda one: 100 * one.scores.total().edits.recall),
    "insertions_f_score": ("F-score of insertions", lambda one: 100 * one.scores.total().insertions.f_score),
    "deletions_f_score": ("F-score of deletions", lambda one: 100 * one.scores.total().deletions.f_score),
    "word_precision": ("Precision of words", lambda one: 100 * one.scores.total_words.precision),
    "word_recall": ("Recall of words", lambda one: 100 * one.scores.total_words.recall),
    "harm": ("Harm: false edits per 10,000 characters, the correct text as input", lambda one: one.harm),
    "harm_where_right": (
        "Harm: false edits per 10,000 characters of sequences that were right already",
        lambda one: one.scores.harm,
    ),
    "kilobytes_per_second": ("KB/s", lambda one: one.kilobytes_per_second),
}


def figures(result: Result) -> dict[str, float | None]:
    """All figures of one method on one benchmark, in percent where they are shares."""
    found = {name: figure(result) for name, (_, figure) in FIGURES.items()}
    return {name: None if value is None else round(value, 2) for name, value in found.items()}


def p_values(results: Results, compare: str | None = None, permutations: int = PERMUTATIONS) -> PValues:
    """Tests every method against one, or against the best of each benchmark: p by figure, method and benchmark."""
    found: PValues = {}
    for figure in TESTED:
        for benchmark in dict.fromkeys(name for _, name in results):
            column = {method: one for (method, name), one in results.items() if name == benchmark}
            against = compare if compare in column else max(column, key=lambda one: _value(column[one], figure))
            for method, one in column.items():
                if method != against and len(one.scores) == len(column[against].scores):
                    found[figure, method, benchmark] = randomization_test(
                        one.scores, column[against].scores, figure, permutations
                    )
    return found


def report_tables(
    results: Results,
    methods: Sequence[str],
    benchmarks: Sequence[str],
    tests: Mapping[tuple[str, str, str], float],
    *,
    compare: str | None = None,
    with_published: bool = False,
) -> list[Table]:
    """One table for each figure that is known."""
    tables = []
    for figure, (title, value) in FIGURES.items():
        rows = []
        for method in methods:
            cells = []
            for benchmark in benchmarks:
                result = results.get((method, benchmark))
                number = None if result is None else value(result)
                mark = NOT_SIGNIFICANT if tests.get((figure, method, benchmark), 0) >= LEVEL else ""
                cells.append("" if number is None else f"{number:.1f}{mark}")
            rows.append([method, *cells])
        if not any(cell for _, *cells in rows for cell in cells):
            continue  # harm that was not measured, or the speed of predictions of others
        remarks = []
        if figure in TESTED and tests:
            against = compare or "the best of the column"
            test = f"paired randomization test, p < {LEVEL}"
            remarks.append(f"{NOT_SIGNIFICANT} not significantly different from {against} ({test}).")
        if with_published and published(figure) and figure in TESTED:
            for system, there in published(figure).items():
                known = [f"{there[one]:.1f}" if one in there else "" for one in benchmarks]
                rows.append([f"{system} (published)", *known])
            remarks.append(REMARK)
        tables.append(Table(title, ["method", *benchmarks], rows, " ".join(remarks)))
    return tables


def interval_tables(results: Results, methods: Sequence[str], benchmarks: Sequence[str]) -> list[Table]:
    """95 % bootstrap intervals of the two figures of the paper."""
    tables = []
    for figure in TESTED:
        rows = []
        for method in methods:
            cells = [_interval(results.get((method, benchmark)), figure) for benchmark in benchmarks]
            rows.append([method, *cells])
        title = f"{FIGURES[figure][0]}: 95 % interval"
        tables.append(Table(title, ["method", *benchmarks], rows, "Bootstrap over sequences."))
    return tables


def report_rows(results: Results, tests: Mapping[tuple[str, str, str], float]) -> list[dict[str, Any]]:
    """The same for programs."""
    rows = []
    for (method, benchmark), result in results.items():
        p = {one: tests[one, method, benchmark] for one in TESTED if (one, method, benchmark) in tests}
        rows.append({"method": method, "benchmark": benchmark, **figures(result), "p_values": p})
    return rows


def _interval(result: Result | None, figure: str) -> str:
    if result is None:
        return ""
    low, high = bootstrap_interval(result.scores, figure)
    return f"{100 * low:.1f}–{100 * high:.1f}"


def _value(result: Result, figure: str) -> float:
    return FIGURES[figure][1](result) or 0.0
