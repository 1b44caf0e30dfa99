"""Prints how fast noise is injected on one core: `python -m performance.noise_speed [text file or Parquet]`."""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

from respace.noise import Recipe, corrupt

RECIPES = {
    "training": Recipe.training(),
    "ocr": Recipe.ocr(),
    "wiki": Recipe.wiki(),
    "wiki_plus": Recipe.wiki_plus(),
    "no_spaces": Recipe.no_spaces(),
    "pdf": Recipe.pdf(),
}


def read_rows(path: Path, megabytes: float) -> list[str]:
    """The first rows of a text file (lines) or of the column ``text`` of a Parquet file."""
    rows: list[str] = []
    size = 0.0
    for row in _rows(path):
        rows.append(row)
        size += len(row.encode("utf-8", "surrogatepass")) / 1e6
        if size >= megabytes:
            break
    return rows


def _rows(path: Path) -> Iterator[str]:
    if path.suffix == ".parquet":
        import pyarrow.parquet

        for batch in pyarrow.parquet.ParquetFile(path).iter_batches(columns=["text"]):
            yield from batch.column("text").to_pylist()
    else:
        with path.open(encoding="utf-8") as lines:
            yield from (line.rstrip("\n") for line in lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", nargs="?", type=Path, default=Path("examples/clean/notes.txt"))
    parser.add_argument("--megabytes", type=float, default=5.0, help="how much text (default: 5)")
    parser.add_argument("--rows", type=int, default=2000, help="rows per call (default: 2000)")
    options = parser.parse_args()
    if not options.input.is_file():
        parser.error(f"{options.input}: no such file. Name a text file, or a Parquet file with a column 'text'")
    texts = read_rows(options.input, options.megabytes)
    keys = [str(number) for number in range(len(texts))]
    size = sum(len(text.encode("utf-8", "surrogatepass")) for text in texts) / 1e6
    print(f"{len(texts)} rows, {size:.1f} MB, {options.rows} rows per call")
    for name, recipe in RECIPES.items():
        corrupt(texts[:100], keys[:100], recipe, seed=0)  # tables are read once per process: not part of the speed
        start, start_processor = time.perf_counter(), time.process_time()
        for first in range(0, len(texts), options.rows):
            part = slice(first, first + options.rows)
            corrupt(texts[part], keys[part], recipe, seed=1)
        seconds, processor = time.perf_counter() - start, time.process_time() - start_processor
        print(f"{name:10} {size / seconds:6.2f} MB/s of wall time, {size / processor:6.2f} MB/s of processor time")


if __name__ == "__main__":
    main()
