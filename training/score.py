"""Scores a model: ``python -m training.score --benchmarks ../shared/benchmarks/dev``.

One pair of penalties for all benchmarks with spaces, zero for text that lost all of them; then harm: false edits in
the correct text given as input.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from respace.benchmarks import Benchmark, read_benchmarks
from respace.metrics import Score, score_bits
from training.penalties import Penalties, accuracy_grid, best

if TYPE_CHECKING:
    from models.fast.model import FastModel

Logits = list[NDArray[np.float32]]

# A missed repair is forgiven, a new error is not: correct text as input counts three quarters as much as corrupt text.
CLEAN_WEIGHT = 0.75


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores by benchmark with one pair of penalties, harm on correct text, and the best pair of each benchmark."""

    penalties: Penalties
    rows: dict[str, Score]
    harm: dict[str, Score]
    fitted: dict[str, tuple[Penalties, Score]]


def score_fast(model: FastModel, benchmarks: Sequence[Benchmark], penalties: Penalties | None = None) -> Scores:
    """Scores FAST.

    Without given penalties, one pair is fitted for all: the best mean sequence accuracy over the benchmarks with
    spaces, given their corrupt and their correct text.
    """
    logits = {one.name: _judged_logits(model, one) for one in benchmarks}
    harm_logits = {one.name: _judged_logits(model, one.clean()) for one in benchmarks if not _without_spaces(one)}
    grids = {
        one.name: accuracy_grid(logits[one.name], [given.bits for given in one.given], one.true)
        for one in benchmarks
        if one.name in harm_logits
    }
    if penalties is None:
        clean = [accuracy_grid(harm_logits[one.name], one.true, one.true) for one in benchmarks if one.name in grids]
        together = np.mean(list(grids.values()), axis=0) + CLEAN_WEIGHT * np.mean(clean, axis=0) if grids else None
        penalties = Penalties(insertion=0, deletion=0) if together is None else best(together)
    fitted = {}
    for one in benchmarks:
        pair = best(grids[one.name]) if one.name in grids else Penalties(insertion=0, deletion=0)
        fitted[one.name] = (pair, score_logits(one, logits[one.name], pair))
    return Scores(
        penalties=penalties,
        rows={one.name: score_logits(one, logits[one.name], penalties) for one in benchmarks},
        harm={
            one.name: score_logits(one.clean(), harm_logits[one.name], penalties)
            for one in benchmarks
            if one.name in harm_logits
        },
        fitted=fitted,
    )


def _judged_logits(model: FastModel, benchmark: Benchmark) -> Logits:
    from models.fast.method import in_company

    logits = model.sequence_logits(benchmark.given)
    return [in_company(given.bits, values) for given, values in zip(benchmark.given, logits, strict=True)]


def score_logits(benchmark: Benchmark, logits: Logits, penalties: Penalties) -> Score:
    total = Score()
    for given, true, values in zip(benchmark.given, benchmark.true, logits, strict=True):
        pair = Penalties(insertion=0, deletion=0) if given.lost_all_spaces else penalties
        bits = np.where(given.bits, values >= -pair.deletion, values > pair.insertion)
        bits[:1] = False
        total += score_bits(given.bits, true, bits)
    return total


def _without_spaces(benchmark: Benchmark) -> bool:
    return not any(given.bits.any() for given in benchmark.given)


def format_table(scores: Scores) -> str:
    pair = scores.penalties
    lines = [
        f"penalties: insertion {pair.insertion:g}, deletion {pair.deletion:g}; zero for texts without spaces",
        f"{'benchmark':24}{'F':>7}{'seq.acc.':>10}{'F ins.':>8}{'F del.':>8}{'harm':>7}   own penalties: F / seq.acc.",
    ]
    for name, score in scores.rows.items():
        own, own_score = scores.fitted[name]
        harm = f"{scores.harm[name].false_edits_per_10000_characters:7.2f}" if name in scores.harm else "       "
        lines.append(
            f"{name:24}{100 * score.f_score:7.2f}{100 * score.sequence_accuracy:10.2f}"
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
    parser.add_argument("--fit", action="store_true", help="fit the penalties instead of taking the model's own")
    options = parser.parse_args()
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    from models.fast.method import FastMethod

    try:
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
        method = FastMethod.load(options.model)
    except (OSError, ValueError) as error:
        sys.exit(f"training.score: {error}")
    own = Penalties(insertion=method.insertion_penalty, deletion=method.deletion_penalty)
    print(f"model {method.identity}")
    print(format_table(score_fast(method.model, benchmarks, None if options.fit else own)))


if __name__ == "__main__":
    main()
