"""Does FAST decide on processors as its network does when TensorFlow computes all of it, in 32 bits?

    python -m performance.faithful --benchmarks $RESPACE_DATA/benchmarks/dev --sequences 2000

The engine of `models.fast.processor` leaves layers out where the exit is certain. This counts the decisions that differ
for that, and what becomes of every score.
"""

from __future__ import annotations

import argparse
import sys

import numpy as np

from models.fast.method import FastMethod
from models.files import ModelError, load_model
from models.lines import load_line_judge
from models.tensorflow import import_tensorflow
from respace.benchmarks import read_benchmarks
from respace.gaps import Bits
from respace.metrics import Score, score_bits
from respace.storage.errors import UserError


def _after_the_first(bits: Bits) -> Bits:
    """The first gap never holds a space, whatever a method says."""
    return np.concatenate([[False], bits[1:]])


def main() -> int:
    parser = argparse.ArgumentParser(
        prog="python -m performance.faithful",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--sequences", type=int, help="only the first so many of each")
    parser.add_argument("--model", default="default", help="a shipped model or a model directory")
    options = parser.parse_args()
    try:
        files, benchmarks = load_model(options.model), read_benchmarks(options.benchmarks, options.sequences)
    except (OSError, ValueError, UserError, ModelError) as error:
        print(f"performance.faithful: {error}", file=sys.stderr)
        return 2
    import_tensorflow()
    from models.fast.on_tensorflow import TensorFlowNetwork

    mine, plain = FastMethod.from_files(files), FastMethod.from_files(files)
    plain.model.network = TensorFlowNetwork(plain.model.config, files.weights)
    judge = load_line_judge()
    gaps = differing = 0
    print(f"{'benchmark':26}{'gaps':>12}{'others':>8}{'F':>9}{'plain':>8}{'seq.acc.':>10}{'plain':>8}")
    for benchmark in benchmarks:
        given = benchmark.judged(judge).given
        decided = [[_after_the_first(one.bits) for one in method.decide(given)] for method in (mine, plain)]
        others = sum(int(np.count_nonzero(one != other)) for one, other in zip(*decided, strict=True))
        count = sum(len(one.bits) for one in given)
        cases = [list(zip(given, benchmark.true, found, strict=True)) for found in decided]
        scores = [sum((score_bits(one.bits, true, bits) for one, true, bits in case), Score()) for case in cases]
        percent = [100 * value for one in scores for value in (one.f_score, one.sequence_accuracy)]
        print(f"{benchmark.name:26}{count:12,}{others:8,}", end="")
        print(f"{percent[0]:9.2f}{percent[2]:8.2f}{percent[1]:10.2f}{percent[3]:8.2f}", flush=True)
        gaps, differing = gaps + count, differing + others
    print(f"{differing} of {gaps:,} decisions differ: {1e5 * differing / max(1, gaps):.2f} of 100,000")
    return 0


if __name__ == "__main__":
    sys.exit(main())
