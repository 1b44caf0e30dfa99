"""Benchmarks × methods, slice by slice: predictions as files in the public layout, and counts that add up to scores.

A benchmark is a directory with ``corrupt.txt`` and ``correct.txt``, line by line the same characters. A slice is a
stretch of its lines, repaired by one method; its manifest holds the counts.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from models.methods import fitted_penalties, load_method, method_identity
from respace import __version__, gaps
from respace.metrics import Counts, Score, score_bits
from respace.repairer import GivenSequence, Method, without_spaces
from transforms import progress
from transforms.errors import BadFile, UserError
from transforms.files import file_size, filesystem, is_local, join_url, read_bytes
from transforms.manifests import Fingerprint, Manifest, write_manifest
from transforms.publish import publish_bytes

CORRUPT, CORRECT = "corrupt.txt", "correct.txt"
SLICES = "_slices"
_ORDER = ("ACL", "arXiv.OCR", "arXiv.pdftotext", "Wiki", "Wiki.typos", "Wiki.typos.no_spaces")
_COUNTS = ("true_positives", "false_positives", "false_negatives")


@dataclass(frozen=True, slots=True, kw_only=True)
class BenchmarkFiles:
    """One benchmark: its name, its directory, and how many lines it has."""

    name: str
    url: str
    lines: int
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluationSlice:
    """Lines ``start:stop`` of a benchmark, for one method."""

    benchmark: BenchmarkFiles
    method: str
    start: int
    stop: int

    @property
    def name(self) -> str:
        return f"{SLICES}/{safe_name(self.method)}/{self.benchmark.name}/{self.start:07d}"


@dataclass(frozen=True, slots=True, kw_only=True)
class SliceResult:
    counts: Mapping[str, int]


def find_benchmarks(inputs: Sequence[str]) -> list[BenchmarkFiles]:
    """The benchmarks that directories are or hold, in the paper's order.

    Raises:
        UserError: a directory is missing or holds none, or two benchmarks have the same name.
    """
    found: dict[str, BenchmarkFiles] = {}
    for one in inputs:
        store, path = filesystem(one)
        path = path.rstrip("/")
        directories = [path] if store.exists(f"{path}/{CORRUPT}") else []
        if not directories and store.isdir(path):
            directories = [match.rpartition("/")[0] for match in sorted(store.glob(f"{path}/*/{CORRUPT}"))]
        if not directories:
            raise UserError(f"--input {one}: no {CORRUPT} there, nor in a directory there. Expected benchmarks")
        for directory in directories:
            name = directory.rpartition("/")[2]
            url = directory if is_local(one) else store.unstrip_protocol(directory)
            if name in found:
                raise UserError(f"{found[name].url} and {url} have the same name. Evaluate them into two outputs")
            lines = len(read_lines(join_url(url, CORRUPT)))
            found[name] = BenchmarkFiles(name=name, url=url, lines=lines, size=file_size(join_url(url, CORRUPT)) or 0)
    return sorted(found.values(), key=lambda one: (_ORDER.index(one.name) if one.name in _ORDER else 99, one.name))


def read_lines(url: str) -> list[str]:
    """Lines as the public files separate them: by newlines alone."""
    try:
        lines = read_bytes(url).decode("utf-8").split("\n")
    except FileNotFoundError as error:
        raise BadFile(f"{url} is missing: expected a benchmark to hold {CORRUPT} and {CORRECT}") from error
    except UnicodeDecodeError as error:
        raise BadFile(f"{url} is not UTF-8: {error}") from error
    return lines[:-1] if lines and not lines[-1] else lines


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluateSlice:
    """Repairs a slice, publishes its predictions, and then its manifest with the counts."""

    output: str

    def __call__(self, piece: EvaluationSlice) -> SliceResult:
        corrupt, correct = (
            _cached_lines(join_url(piece.benchmark.url, file), piece.benchmark.size) for file in (CORRUPT, CORRECT)
        )
        if len(corrupt) != len(correct):
            raise BadFile(f"{piece.benchmark.url}: {len(corrupt)} corrupt lines, {len(correct)} correct ones")
        given, truths = [], []
        for number in range(piece.start, piece.stop):
            (characters, bits), (true_characters, truth) = gaps.split(corrupt[number]), gaps.split(correct[number])
            if characters != true_characters:
                raise BadFile(f"{piece.benchmark.url}, line {number + 1}: corrupt and correct differ beyond spaces")
            given.append(GivenSequence(gaps.code_points(characters), bits, without_spaces(bits)))
            truths.append(truth)
        method = _method(piece.method, piece.benchmark.name)
        began = time.monotonic()
        decisions = method.decide(given)
        milliseconds = round(1000 * (time.monotonic() - began))
        score, predictions = Score(), []
        for line, one, truth, decision in zip(corrupt[piece.start : piece.stop], given, truths, decisions, strict=True):
            bits = decision.bits.copy()
            bits[:1] = False
            predictions.append(gaps.apply(line, bits))
            score += score_bits(one.bits, truth, bits)
        content = "".join(line + "\n" for line in predictions).encode()
        publish_bytes(join_url(self.output, f"{piece.name}.txt"), content)
        counts = to_counts(score) | {"milliseconds": milliseconds}
        write_manifest(
            self.output,
            Manifest(
                name=piece.name,
                fingerprint=self.fingerprint(piece),
                outputs={f"{piece.name}.txt": len(content)},
                counts=counts,
            ),
        )
        progress.report(documents=len(given), bytes=len(content))
        return SliceResult(counts=counts)

    def fingerprint(self, piece: EvaluationSlice) -> Fingerprint:
        return {
            "benchmark size": piece.benchmark.size,
            "lines": f"{piece.start}:{piece.stop}",
            "method": _identity(piece.method, piece.benchmark.name),
            "code": __version__,
        }


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
def _cached_lines(url: str, size: int) -> list[str]:
    return read_lines(url)


@lru_cache(maxsize=2)
def _loaded(method: str, insertion_penalty: float | None, deletion_penalty: float | None) -> Method:
    return load_method(method, insertion_penalty, deletion_penalty)


def _method(method: str, benchmark: str) -> Method:
    return _loaded(method, *_penalties(method, benchmark))
