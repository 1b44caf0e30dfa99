"""How fast the paper's search is.

    python -m performance.beam_search linear                       time per character, from 100 to 10,000 characters
    python -m performance.beam_search batch                        64 sequences at once against one at a time
    python -m performance.beam_search prune --model bid_plus --benchmarks $RESPACE_DATA/benchmarks/dev
                                                                  the pruned search against the full one

The first two use random weights, which cost as much as trained ones.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from models.paper.beam_search import BeamSearch, Found

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def random_search(size: str, beams: int) -> BeamSearch:
    from models.paper.beam_search import BeamSearch
    from models.paper.lstm import NetworkSize, initial_weights
    from models.paper.uni import UniModel, uni_shapes
    from models.paper.vocabulary import Vocabulary

    vocabulary = Vocabulary(" " + "".join(chr(0x100 + number) for number in range(199)))
    network = NetworkSize.named(size)
    return BeamSearch(UniModel(vocabulary, network, initial_weights(uni_shapes(203, network), 1)), beams)


def run(search: BeamSearch, sequences: int, length: int) -> tuple[float, Found]:
    """Seconds for a batch of random text, and what came out."""
    random = np.random.default_rng(1)
    ids = random.integers(1, 200, (sequences, length)).astype(np.int32)
    given = random.random((sequences, length)) < 0.15
    zero = np.zeros(sequences)
    began = time.monotonic()
    found = search(ids, np.full(sequences, length, dtype=np.int32), given, None, zero, zero)
    return time.monotonic() - began, found


def linear(options: argparse.Namespace) -> None:
    search = random_search(options.size, options.beams)
    run(search, 1, 20)
    print(f"{options.size} size, {options.beams} beams, one sequence")
    for length in (100, 300, 1_000, 3_000, 10_000):
        seconds, _ = run(search, 1, length)
        print(f"{length:6} characters: {seconds:7.2f} s, {1e3 * seconds / length:.3f} ms per character", flush=True)


def batch(options: argparse.Namespace) -> None:
    search = random_search(options.size, options.beams)
    run(search, 2, 4)
    one_at_a_time = np.mean([run(search, 1, options.characters)[0] for _ in range(3)]) / options.characters
    together = run(search, 64, options.characters)[0] / (64 * options.characters)
    print(
        f"{options.size} size, {options.beams} beams: {1e3 * one_at_a_time:.2f} ms per character one at a time, "
        f"{1e3 * together:.2f} ms at 64 sequences: {one_at_a_time / together:.1f} times as fast"
    )


def prune(options: argparse.Namespace) -> None:
    from models.files import load_model
    from models.paper.pruning import FULL_SEARCH, Pruning
    from models.paper.search import SearchMethod
    from respace.benchmarks import read_benchmarks
    from respace.metrics import Score, score_bits

    files = load_model(options.model)
    searches = {
        "full": FULL_SEARCH,
        "hopeless spaces skipped": Pruning(margin=None, same_bits=None),
        "pruned": Pruning(margin=options.margin),
        "pruned and merged": Pruning(margin=options.margin, same_bits=options.same_bits),
    }
    for benchmark in read_benchmarks(options.benchmarks, options.sequences):
        characters = sum(len(one.bits) for one in benchmark.given)
        full_bits: list[list[bool]] = []
        full_seconds = 0.0
        print(f"{benchmark.name}: {len(benchmark.given)} sequences, {characters} characters", flush=True)
        for name, pruning in searches.items():
            pair = files.config.get("fitted_penalties", {}).get(benchmark.name, files.config["penalties"])
            method = SearchMethod.from_files(files, pair["insertion"], pair["deletion"], options.beams, pruning)
            method.decide(benchmark.given[:2])
            began = time.monotonic()
            decisions = method.decide(benchmark.given)
            seconds = time.monotonic() - began
            bits = [decision.bits.tolist() for decision in decisions]
            if name == "full":
                full_bits, full_seconds = bits, seconds
            score = sum(
                (
                    score_bits(given.bits, true, decision.bits)
                    for given, true, decision in zip(benchmark.given, benchmark.true, decisions, strict=True)
                ),
                Score(),
            )
            different = sum(one != other for one, other in zip(bits, full_bits, strict=True))
            print(
                f"  {name:24} {characters / seconds / 1e3:7.2f} thousand characters/s, "
                f"{full_seconds / seconds:5.2f} times as fast, "
                f"{different} sequences differ, F {100 * score.f_score:.2f}, "
                f"sequence accuracy {100 * score.sequence_accuracy:.2f}",
                flush=True,
            )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["linear", "batch", "prune"])
    parser.add_argument("--beams", type=int, default=5)
    parser.add_argument("--size", help="paper or small (default: small for linear, paper for batch)")
    parser.add_argument("--characters", type=int, default=60, help="per sequence, for batch")
    parser.add_argument("--model", help="a UNI or BID, for prune")
    parser.add_argument("--benchmarks", help="directory of benchmarks in the public layout, for prune")
    parser.add_argument("--sequences", type=int, default=200, help="of each benchmark, for prune")
    parser.add_argument("--margin", type=float, default=12.0)
    parser.add_argument("--same_bits", type=int, default=24)
    options = parser.parse_args(arguments)
    if options.what == "prune" and not (options.model and options.benchmarks):
        parser.error("prune needs --model and --benchmarks")
    options.size = options.size or {"linear": "small"}.get(options.what, "paper")
    try:
        {"linear": linear, "batch": batch, "prune": prune}[options.what](options)
    except (OSError, ValueError) as error:
        print(f"performance.beam_search: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
