"""Scores a model: ``python -m training.score --benchmarks $RESPACE_DATA/benchmarks/dev``.

One pair of penalties for all benchmarks with spaces, zero for text that lost all of them; then harm: false edits in
the correct text given as input. Measured is what users get, with guarded gaps and the judgement of lines; and beside
it what the model decides without them.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from respace.benchmarks import ACL, ARXIV_OCR, ARXIV_PDF, WIKI, WIKI_PLUS, Benchmark, read_benchmarks
from respace.judgement import LineJudge
from respace.method import decided_bits
from respace.metrics import Score, score_bits
from training.penalties import GRID, Penalties, accuracy_grid, best, harm_grid

if TYPE_CHECKING:
    from models.fast.model import FastModel

Logits = list[NDArray[np.float32]]
# A missed repair is forgiven, a new error is not: correct text as input counts three quarters as much as corrupt text.
CLEAN_WEIGHT = 0.75
# And so many false edits per 10,000 characters of it are the most that fitted penalties may cause.
MOST_HARM = {ACL: 6.5, ARXIV_OCR: 2.5, ARXIV_PDF: 2.5, WIKI: 1.2, WIKI_PLUS: 2.0}


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores by benchmark with one pair of penalties, harm on correct text, and the best pair of each benchmark."""

    penalties: Penalties
    rows: dict[str, Score]
    harm: dict[str, Score]
    fitted: dict[str, tuple[Penalties, Score]]


def score_fast(
    model: FastModel,
    benchmarks: Sequence[Benchmark],
    penalties: Penalties | None = None,
    judge: LineJudge | None = None,
) -> Scores:
    """Scores FAST.

    Without given penalties, one pair is fitted for all: the best mean sequence accuracy over the benchmarks with
    spaces, given their corrupt and their correct text, that harms the correct text no more than `MOST_HARM`. Without a
    judge, nothing is guarded.
    """
    return score_decisions(network_logits(model, benchmarks), penalties, judge)


@dataclass(frozen=True, kw_only=True)
class NetworkLogits:
    """What the network says of each benchmark and, where it has spaces, of its correct text."""

    corrupt: list[tuple[Benchmark, Logits]]
    correct: list[tuple[Benchmark, Logits]]


def network_logits(model: FastModel, benchmarks: Sequence[Benchmark]) -> NetworkLogits:
    clean = [one.clean() for one in benchmarks if not _without_spaces(one)]
    return NetworkLogits(
        corrupt=[(one, model.sequence_logits(one.given)) for one in benchmarks],
        correct=[(one, model.sequence_logits(one.given)) for one in clean],
    )


def score_decisions(raw: NetworkLogits, penalties: Penalties | None, judge: LineJudge | None) -> Scores:
    """Scores of what is decided by these logits, as `score_fast`."""
    corrupt = {one.name: _judged(one, values, judge) for one, values in raw.corrupt}
    correct = {one.name: _judged(one, values, judge) for one, values in raw.correct}
    grids = {name: _grid(*corrupt[name]) for name in correct}
    if penalties is None:
        penalties = _fit(list(grids.values()), correct) if grids else Penalties(insertion=0, deletion=0)
    fitted = {}
    for name, one in corrupt.items():
        pair = best(grids[name]) if name in grids else Penalties(insertion=0, deletion=0)
        fitted[name] = (pair, score_logits(*one, pair))
    return Scores(
        penalties=penalties,
        rows={name: score_logits(*one, penalties) for name, one in corrupt.items()},
        harm={name: score_logits(*one, penalties) for name, one in correct.items()},
        fitted=fitted,
    )


def _fit(grids: list[NDArray[np.float64]], correct: dict[str, tuple[Benchmark, Logits]]) -> Penalties:
    """The pair with the best mean accuracy that harms correct text no more than it may."""
    clean = [_grid(*one) for one in correct.values()]
    together = np.mean(grids, axis=0) + CLEAN_WEIGHT * np.mean(clean, axis=0)
    allowed = np.ones((len(GRID), len(GRID)), dtype=bool)
    for name, (benchmark, logits) in correct.items():
        allowed &= harm_grid(logits, benchmark.true) <= MOST_HARM.get(name, np.inf)
    return best(np.where(allowed, together, 0.0))


def _judged(benchmark: Benchmark, values: Logits, judge: LineJudge | None) -> tuple[Benchmark, Logits]:
    """The logits that penalties are to judge."""
    from models.fast.method import judged_logits

    if judge is not None:
        benchmark = benchmark.judged(judge)
    return benchmark, [judged_logits(given, one) for given, one in zip(benchmark.given, values, strict=True)]


def _grid(benchmark: Benchmark, logits: Logits) -> NDArray[np.float64]:
    return accuracy_grid(logits, [given.bits for given in benchmark.given], benchmark.true)


def score_logits(benchmark: Benchmark, logits: Logits, penalties: Penalties) -> Score:
    total = Score()
    for given, true, values in zip(benchmark.given, benchmark.true, logits, strict=True):
        bits = decided_bits(given, values, penalties.insertion, penalties.deletion)
        bits[:1] = False
        total += score_bits(given.bits, true, bits)
    return total


def _without_spaces(benchmark: Benchmark) -> bool:
    return not any(given.bits.any() for given in benchmark.given)


def format_comparison(guarded: Scores, bare: Scores) -> str:
    """What guards and the judgement of lines cost, and what harm they prevent."""
    lines = [f"{'without guards':26}{'F':>7}{'seq.acc.':>10}{'harm':>7}   guards change F, seq.acc. by"]
    for name, score in bare.rows.items():
        harm = f"{bare.harm[name].false_edits_per_10000_characters:7.2f}" if name in bare.harm else "       "
        changes = [
            100 * (getattr(guarded.rows[name], key) - getattr(score, key)) for key in ("f_score", "sequence_accuracy")
        ]
        lines.append(
            f"{name:26}{100 * score.f_score:7.2f}{100 * score.sequence_accuracy:10.2f}{harm}"
            f"   {changes[0]:+.2f} {changes[1]:+.2f}"
        )
    return "\n".join(lines)


def format_table(scores: Scores) -> str:
    pair = scores.penalties
    lines = [
        f"penalties: insertion {pair.insertion:g}, deletion {pair.deletion:g}; zero for texts without spaces",
        f"{'benchmark':26}{'F':>7}{'seq.acc.':>10}{'F ins.':>8}{'F del.':>8}{'harm':>7}   own penalties: F / seq.acc.",
    ]
    for name, score in scores.rows.items():
        own, own_score = scores.fitted[name]
        harm = f"{scores.harm[name].false_edits_per_10000_characters:7.2f}" if name in scores.harm else "       "
        lines.append(
            f"{name:26}{100 * score.f_score:7.2f}{100 * score.sequence_accuracy:10.2f}"
            f"{100 * score.insertions.f_score:8.2f}{100 * score.deletions.f_score:8.2f}{harm}   "
            f"({own.insertion:g}, {own.deletion:g}) "
            f"{100 * own_score.f_score:.2f} / {100 * own_score.sequence_accuracy:.2f}"
        )
    lines.append("harm: false edits per 10,000 characters when the correct text is the input")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--model", default="default", help="a shipped model or a model directory")
    parser.add_argument("--sequences", type=int, help="score only the first so many of each")
    parser.add_argument(
        "--without_guards", action="store_true", help="score only what the model decides without guards and judgement"
    )
    parser.add_argument("--fit", action="store_true", help="fit the penalties instead of taking the model's own")
    options = parser.parse_args()
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    from models.fast.method import FastMethod

    try:
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
        benchmarks += [one.with_all_spaces_lost() for one in benchmarks if one.name == WIKI]
        method = FastMethod.load(options.model)
    except (OSError, ValueError) as error:
        sys.exit(f"training.score: {error}")
    own = Penalties(insertion=method.insertion_penalty, deletion=method.deletion_penalty)
    print(f"model {method.identity}")
    raw = network_logits(method.model, benchmarks)
    bare = score_decisions(raw, None if options.fit else own, None)
    if options.without_guards:
        print(format_table(bare))
        return
    from models.lines import load_line_judge

    guarded = score_decisions(raw, None if options.fit else own, load_line_judge())
    print(format_table(guarded), format_comparison(guarded, bare), sep="\n\n")


if __name__ == "__main__":
    main()
