"""Learns to tell English prose from everything else: ``python -m training.train_prose --help``.

Prose is clean text, half of it with misspellings and OCR errors; everything else are the kinds of a corpus of text that
is not English prose, each kind alike. Lines in it that are English (comments, documentation) are left out: they may be
either. What `training.data.held_out` keeps for measuring is never read.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray

from models.files import save_model
from models.prose import LINE_BREAK, SHORT, TABLE_BITS, ProseModel, ngram_rows
from respace import gaps
from respace.noise import Recipe, corrupt, true_texts
from training.data.corpora import Corpus, Source
from training.data.held_out import kept_for_measuring

# Of the kinds of text that are not English prose, these are to be repaired like prose.
PROSE_KINDS = ("references",)
_FUNCTION_WORDS = frozenset(
    "the of and to in a is that for was as with on by it be are from at this which or an not have has were their its "
    "but they you we he she his her can will if when than then these such into other there been also may your".split()
)
_SHORTEST, _LONGEST = 8, 260
_BATCH = 512
_CAPITALS = 0.03


def is_english(line: str) -> bool:
    """Whether a line has as many of the commonest English words as English prose has."""
    words = [word.strip(".,;:!?()\"'*/#").lower() for word in line.split()]
    common = sum(word in _FUNCTION_WORDS for word in words)
    return common >= 2 and common >= 0.15 * len(words)


def stretches_by_kind(path: str, each: int, random: np.random.Generator) -> tuple[list[str], list[str]]:
    """Stretches of lines, ``each`` of every kind: those of `PROSE_KINDS`, and those that are not English prose."""
    table = pq.read_table(path, columns=["kind", "text"])
    by_kind: dict[str, list[str]] = {}
    for kind, text in zip(table.column("kind").to_pylist(), table.column("text").to_pylist(), strict=True):
        if not kept_for_measuring(text):
            by_kind.setdefault(kind, []).append(text)
    prose: list[str] = []
    other: list[str] = []
    for kind, texts in sorted(by_kind.items()):
        wanted = kind in PROSE_KINDS
        lines = [
            [line for line in text.split("\n") if line.strip() and (wanted or not is_english(line))] for text in texts
        ]
        lines = [one for one in lines if one]
        chosen = (lines[place] for place in random.integers(0, len(lines), each).tolist())
        (prose if wanted else other).extend(_some_lines(one, random) for one in chosen)
    return prose, other


def prose_stretches(paths: Sequence[str], total: int, random: np.random.Generator) -> list[str]:
    """Rows of clean text from every source alike, half of them with wrong characters."""
    out = []
    for number, path in enumerate(paths):
        corpus = Corpus(Source(path=path))
        rows = corpus.take(random.integers(0, len(corpus), total // len(paths)))
        texts = [_some_lines(row.split("\n"), random) for row in rows]
        # Headings are in capitals now and then.
        texts = [text.upper() if random.random() < _CAPITALS else text for text in texts]
        noisy = Recipe(characters_clean=0.5, spaces_clean=1.0)
        out += true_texts(corrupt(texts, [f"{number}/{place}" for place in range(len(texts))], noisy, seed=1))
    return out


def _some_lines(lines: Sequence[str], random: np.random.Generator) -> str:
    """One to three lines that follow each other."""
    start = int(random.integers(0, len(lines)))
    return "\n".join(lines[start : start + int(random.integers(1, 4))])


def cut(text: str, random: np.random.Generator) -> gaps.Codes:
    """The characters of a stretch, or of a part of it, with its line breaks."""
    lines = [gaps.code_points(gaps.split(line)[0]) for line in text.split("\n")]
    codes = np.concatenate([np.append(line, np.uint32(LINE_BREAK)) for line in lines])[:-1]
    length = int(np.exp(random.uniform(np.log(_SHORTEST), np.log(_LONGEST))))
    start = int(random.integers(0, max(1, len(codes) - length)))
    return codes[start : start + length]


def batches(
    stretches: Sequence[str], labels: NDArray[np.float32], random: np.random.Generator
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float32], NDArray[np.float32]]]:
    """(stretch of each n-gram, row of each n-gram, weight of each stretch's sum, label of each stretch)."""
    order = random.permutation(len(stretches))
    for start in range(0, len(order), _BATCH):
        chosen = order[start : start + _BATCH]
        parts = [cut(stretches[place], random) for place in chosen.tolist()]
        lengths = np.array([len(part) for part in parts])
        owner = np.repeat(np.arange(len(parts)), lengths)
        # N-grams that reach into the stretch before are few, and as random as the order.
        rows = ngram_rows(np.concatenate(parts))
        weights = (1 / np.sqrt(lengths + SHORT)).astype(np.float32)
        yield np.tile(owner, len(rows)), rows.reshape(-1), weights, labels[chosen]


def train(
    stretches: Sequence[str], labels: NDArray[np.float32], epochs: int, random: np.random.Generator, shrink: float
) -> ProseModel:
    """Logistic regression by Adagrad."""
    table = np.zeros(1 << TABLE_BITS, dtype=np.float32)
    squares = np.full(1 << TABLE_BITS, 1e-4, dtype=np.float32)
    bias = 0.0
    for epoch in range(epochs):
        rate = 0.1 * (1 - epoch / epochs)
        losses = []
        for owner, rows, weights, wanted in batches(stretches, labels, random):
            logits = bias + weights * np.bincount(owner, table[rows], minlength=len(wanted))
            probability = 1 / (1 + np.exp(-logits))
            losses.append(float(np.mean(np.logaddexp(0, np.where(wanted > 0, -logits, logits)))))
            error = (probability - wanted) / len(wanted)
            gradient = np.bincount(rows, (error * weights)[owner], minlength=len(table)).astype(np.float32)
            gradient += np.float32(shrink) * table
            squares += gradient * gradient
            table -= rate * gradient / np.sqrt(squares)
            bias -= float(rate * error.sum())
        print(f"epoch {epoch + 1} of {epochs}: loss {np.mean(losses):.4f}", flush=True)
    return ProseModel.of(table, bias)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nonprose", required=True, help="Parquet with the columns kind and text")
    parser.add_argument("--prose", required=True, nargs="+", help="Parquet files or directories of clean English text")
    parser.add_argument("--output", required=True, help="model directory to write")
    parser.add_argument("--each", type=int, default=3000, help="stretches of every kind (default: 3000)")
    parser.add_argument("--epochs", type=int, default=6, help="times that all stretches are read (default: 6)")
    parser.add_argument("--shrink", type=float, default=1e-7, help="pull of all weights to zero (default: 1e-7)")
    options = parser.parse_args()
    random = np.random.default_rng(1)
    try:
        more_prose, other = stretches_by_kind(options.nonprose, options.each, random)
        prose = prose_stretches(options.prose, len(other), random) + more_prose
    except (OSError, ValueError) as error:
        sys.exit(f"training.train_prose: {error}")
    print(f"{len(prose):,} stretches of prose, {len(other):,} of everything else")
    labels = np.array([1.0] * len(prose) + [0.0] * len(other), dtype=np.float32)
    model = train([*prose, *other], labels, options.epochs, random, options.shrink)
    sha256 = save_model(Path(options.output), model.to_config(), model.to_weights())
    print(f"{options.output}: sha256 {sha256}")


if __name__ == "__main__":
    main()
