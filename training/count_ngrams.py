"""Counts FAST's language model of characters and spaces.

    python -m training.count_ngrams --sources corpora/*.parquet --work_dir runs/ngrams --output runs/ngrams/model

Text is counted as it is and, a part of it, once more with misspelled and misread words. Every step leaves its result in
the work directory; an interrupted count resumes when you run the same command again.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from models.fast.language_model import ORDERS, LanguageModel
from models.files import save_model
from respace.noise import Recipe, corrupt
from respace.noise.rows import Rows
from training.data.corpora import Corpus, Source
from training.data.text_stream import noisy_recipe
from training.fast.ngrams import count_all, empty_model, estimate, find_alphabet, symbols_of

_ROWS_AT_ONCE = 20_000
# N-grams that occur fewer times are not even looked at.
_FEWEST = {order: 1 if order <= 2 else 2 if order <= 6 else 3 for order in ORDERS}


def texts_in_chunks(paths: list[str], only: int = 1) -> Iterator[list[str]]:
    """All texts, or every ``only``-th chunk of them."""
    number = 0
    for path in paths:
        texts = Corpus(Source(path=path)).texts
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            number += 1
            if number % only == 0:
                yield texts[start : start + _ROWS_AT_ONCE].to_pylist()


def rows_of(texts: list[str]) -> Rows:
    return Rows.of(texts, [""] * len(texts), 0)


def noised(texts: list[str], number: int, recipe: Recipe) -> Rows:
    noisy = corrupt(texts, [f"ngrams/{number}/{at}" for at in range(len(texts))], recipe, seed=1)
    hashes = np.zeros(len(texts), dtype=np.uint64)
    return Rows(characters=noisy.characters, bits=noisy.true_bits, offsets=noisy.offsets, hashes=hashes)


def write_symbols(options: argparse.Namespace, path: Path) -> None:
    """All texts as symbols, in one file."""
    alphabet = find_alphabet(rows_of(texts).characters for texts in texts_in_chunks(options.sources, only=10))
    model = empty_model(alphabet)
    recipe = noisy_recipe(
        typos=options.typos,
        confusions=options.confusions,
        typo_half="all",
        characters_clean=0.0,
        misspelling_rate=0.15,
        slip_share=0.3,
    )
    np.save(path.with_name("alphabet.npy"), alphabet)
    temporary = path.with_suffix(".writing")
    began, last = time.monotonic(), 0.0
    with temporary.open("wb") as stream:
        for number, texts in enumerate(texts_in_chunks(options.sources)):
            stream.write(symbols_of(model, rows_of(texts)).tobytes())
            if (number + 1) % options.noised_every == 0:
                stream.write(symbols_of(model, noised(texts, number, recipe)).tobytes())
            if time.monotonic() - last > 10:
                last = time.monotonic()
                print(f"{stream.tell() / 1e6:.0f} M symbols, {last - began:.0f} s", flush=True)
    os.replace(temporary, path)


def main(arguments: list[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--sources", required=True, nargs="+", help="Parquet files of clean text, column text")
    parser.add_argument("--typos", help="misspellings to inject (default: those of codespell)")
    parser.add_argument("--confusions", help="OCR confusions to inject (default: those that ship)")
    parser.add_argument("--noised_every", type=int, default=3, help="every so many-th part is counted noised, too")
    parser.add_argument("--work_dir", required=True, type=Path, help="symbols and counts are kept here")
    parser.add_argument("--output", required=True, type=Path, help="model directory to write")
    parser.add_argument("--threshold", type=float, default=12.0, help="nats an n-gram must change (default 12)")
    parser.add_argument("--memory_mb", type=int, default=2000, help="for the tables (default 2000)")
    options = parser.parse_args(arguments)
    options.work_dir.mkdir(parents=True, exist_ok=True)
    path = options.work_dir / "symbols"
    try:
        if not path.exists():
            write_symbols(options, path)
    except (OSError, ValueError) as error:
        print(f"training.count_ngrams: {error}", file=sys.stderr)
        return 2
    symbols = np.memmap(path, dtype=np.uint8, mode="r")
    print(f"{len(symbols) / 1e6:.0f} M symbols", flush=True)
    counted = count_all(symbols, _FEWEST, options.memory_mb << 20, options.work_dir)
    model = estimate(symbols, np.load(options.work_dir / "alphabet.npy"), counted, options.threshold)
    sha256 = write(model, options)
    print(f"{sum(array.nbytes for array in model.to_weights().values()) / 1e6:.1f} MB, sha256 {sha256}")
    return 0


def write(model: LanguageModel, options: argparse.Namespace) -> str:
    names = [Path(path).name for path in options.sources]
    config = {"kind": "ngrams", "name": "ngrams", "training": {"sources": names, "threshold": options.threshold}}
    return save_model(options.output, config, model.to_weights())


if __name__ == "__main__":
    sys.exit(main())
