"""Benchmarks × methods, slice by slice: predictions as files in the public layout, and counts that add up to scores.

A slice is a stretch of the lines of a benchmark (see `respace.benchmarks`), repaired by one method; its manifest holds
the counts.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import numpy as np

from models.methods import fitted_penalties, load_method, method_identity
from respace import gaps
from respace.benchmarks import (
    CORRECT,
    CORRUPT,
    Benchmark,
    find_benchmarks,
    make_benchmark,
    read_lines,
    read_sequences,
)
from respace.gaps import Bits
from respace.method import GivenSequence, Method
from respace.metrics import Counts, Score, score_bits
from respace.sequence_scores import SequenceScores, score_sequences
from respace.storage.errors import BadFile, UserError
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.manifests import finish_shard

FOLDER = "_slices"
_WARM_UP = 4  # sequences; models compile themselves on the first ones, which is no part of their speed
_COUNTS = ("true_positives", "false_positives", "false_negatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFiles:
    """One benchmark: its name, its directory, how many lines and bytes it has, and a digest of what is in it."""

    name: str
    url: str
    lines: int
    bytes: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSlice:
    """Lines ``start:stop`` of a benchmark, for one method.

    With ``harm`` the correct text of those that have errors is the input: what a method changes in it is harm. Those
    that have none are a slice's own input already.
    """

    benchmark: BenchmarkFiles
    method: str
    start: int
    stop: int
    harm: bool = False

    @property
    def name(self) -> str:
        kind = "harm/" if self.harm else ""
        return f"{FOLDER}/{safe_name(self.method)}/{self.benchmark.name}/{kind}{self.start:07d}"

    @property
    def size(self) -> int:
        return self.benchmark.bytes * (self.stop - self.start) // max(1, self.benchmark.lines)


def describe_benchmarks(inputs: Sequence[str]) -> list[BenchmarkFiles]:
    """The benchmarks that directories are or hold, in the paper's order. Raises BadFile."""
    return [_described(name, url) for name, url in find_benchmarks(inputs).items()]


def _described(name: str, url: str) -> BenchmarkFiles:
    corrupt, correct = (read_lines(join_url(url, file)) for file in (CORRUPT, CORRECT))
    digest = hashlib.blake2b(digest_size=16)
    for lines in (corrupt, correct):
        digest.update("\n".join(lines).encode())
    size = sum(len(line.encode()) + 1 for line in corrupt)
    return BenchmarkFiles(name=name, url=url, lines=len(corrupt), bytes=size, digest=digest.hexdigest())


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateSlice:
    """Repairs a slice, publishes its predictions, and then its manifest with the counts."""

    output: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: EvaluationSlice) -> Fingerprint:
        return {
            "benchmark": shard.benchmark.digest,
            "lines": f"{shard.start}:{shard.stop}",
            "method": _identity(shard.method, shard.benchmark.name),
        }

    def __call__(self, shard: EvaluationSlice) -> ShardResult:
        url = shard.benchmark.url
        corrupt, correct = (_cached_lines(join_url(url, file), shard.benchmark.digest) for file in (CORRUPT, CORRECT))
        if len(corrupt) != len(correct):
            raise BadFile(f"{url}: {len(corrupt)} corrupt lines, {len(correct)} correct ones")
        here = slice(shard.start, shard.stop)
        wanted = make_benchmark(url, corrupt[here], correct[here], first=shard.start)
        method = _method(shard.method, shard.benchmark.name)
        if shard.harm:
            harm = to_counts(harm_of(method, wanted))
            progress.report(documents=shard.stop - shard.start, bytes=shard.size)
            return finish_shard(self, shard, [], harm)
        _warm_up(method, shard.benchmark.name, wanted.given[:_WARM_UP])
        began = time.monotonic()
        predicted = _decided_bits(method, shard.benchmark.name, wanted.given)
        milliseconds = round(1000 * (time.monotonic() - began))
        progress.report(documents=shard.stop - shard.start, bytes=shard.size)
        target = join_url(self.output, f"{shard.name}.txt")
        lines = [gaps.apply(line, bits) for line, bits in zip(corrupt[here], predicted, strict=True)]
        publish_bytes(target, "".join(line + "\n" for line in lines).encode())
        size = sum(len(line.encode()) + 1 for line in corrupt[here])
        counts = to_counts(_total_score(wanted, predicted))
        return finish_shard(self, shard, [target], counts | {"milliseconds": milliseconds, "bytes": size})


def harm_of(method: Method, benchmark: Benchmark) -> Score:
    """What a method does to the correct text of the sequences that have errors."""
    clean = benchmark.clean()
    wrong = [
        place
        for place, (one, true) in enumerate(zip(benchmark.given, benchmark.true, strict=True))
        if not np.array_equal(one.bits, true)
    ]
    chosen = Benchmark(
        name=clean.name, given=[clean.given[place] for place in wrong], true=[clean.true[place] for place in wrong]
    )
    return _total_score(chosen, _decided_bits(method, benchmark.name, chosen.given) if wrong else [])


def _decided_bits(method: Method, benchmark: str, given: Sequence[GivenSequence]) -> list[Bits]:
    """What a method decides on sequences of a benchmark.

    Raises:
        UserError: it cannot.
    """
    try:
        found = [decision.bits.copy() for decision in method.decide(given)]
    except Exception as error:  # whatever a method raises: which one it was, and where, is what one wants to know
        raise UserError(f"{method.identity} fails on {benchmark}: {type(error).__name__}: {error}") from error
    for bits in found:
        bits[:1] = False
    return found


def _total_score(benchmark: Benchmark, predicted: Sequence[Bits]) -> Score:
    scores = (
        score_bits(one.bits, true, bits)
        for one, true, bits in zip(benchmark.given, benchmark.true, predicted, strict=True)
    )
    return sum(scores, Score())


def score_predictions(directory: str, url: str, sequences: int | None = None) -> SequenceScores:
    """Scores the predictions of a file for a benchmark, or for its first sequences.

    Raises:
        BadFile: other lines or characters than the benchmark has.
    """
    texts = read_sequences(directory, sequences)
    try:
        return score_sequences(texts.corrupt, texts.correct, read_lines(url, sequences))
    except ValueError as error:
        raise BadFile(f"{url}: {error}") from error


def to_counts(score: Score) -> dict[str, int]:
    """A score as whole numbers that add up over slices."""
    kinds = {"insertions": score.insertions, "deletions": score.deletions}
    counts = {f"{kind}_{name}": getattr(value, name) for kind, value in kinds.items() for name in _COUNTS}
    return counts | {
        "sequences": score.sequences,
        "correct_sequences": score.correct_sequences,
        "characters": score.characters,
    }


def from_counts(counts: Mapping[str, int]) -> Score:
    def edits(kind: str) -> Counts:
        return Counts(*(counts[f"{kind}_{name}"] for name in _COUNTS))

    return Score(
        insertions=edits("insertions"),
        deletions=edits("deletions"),
        sequences=counts["sequences"],
        correct_sequences=counts["correct_sequences"],
        characters=counts["characters"],
    )


def safe_name(method: str) -> str:
    """A method's name as a file name: model directories are methods too.

    >>> safe_name("runs/uni/model"), safe_name("bid_plus")
    ('runs-uni-model', 'bid_plus')
    """
    return "".join(one if one.isalnum() or one in "._-" else "-" for one in method).strip("-.")


@lru_cache(maxsize=64)
def _penalties(method: str, benchmark: str) -> tuple[float | None, float | None]:
    """As in the paper, a model is given the penalties that were fitted for a benchmark, where there are some."""
    pair = fitted_penalties(method).get(benchmark)
    return (pair["insertion"], pair["deletion"]) if pair else (None, None)


@lru_cache(maxsize=64)
def _identity(method: str, benchmark: str) -> str:
    return method_identity(method, *_penalties(method, benchmark))


@lru_cache(maxsize=4)
def _cached_lines(url: str, digest: str) -> list[str]:
    return read_lines(url)


@lru_cache(maxsize=2)
def _loaded(method: str, insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    return load_method(method, insertion_penalty, deletion_penalty)


_warm: set[str] = set()


def _warm_up(method: Method, benchmark: str, sequences: Sequence[GivenSequence]) -> None:
    """Runs a method on a few sequences, once in a process."""
    if method.identity not in _warm:
        _warm.add(method.identity)
        _decided_bits(method, benchmark, sequences)


def _method(method: str, benchmark: str) -> Method:
    return _loaded(method, *_penalties(method, benchmark))
