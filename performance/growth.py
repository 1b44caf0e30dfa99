"""Does the time per character stay the same when the input of a job grows?

    python -m performance.growth            # minutes: up to 8 MB, 40 shards, lines of 100,000 characters
    python -m performance.growth --large    # hours: up to 1 GB, 1,000 shards, lines of ten million characters

Three series of whole jobs, as users start them: more and more text; the same text in more and more shards; the same
text in longer and longer lines. Printed are seconds on the clock and of processors, and microseconds of processors per
byte, less what the smallest job with as many workers takes. What others do to the clock, they hardly do to processors.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import cycle
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from performance.speed import read_texts, run_job
from respace.batching import by_size
from transforms.shards.workers import available_cores

SMALL: dict[str, list[float]] = {"megabytes": [1, 2, 8], "shards": [1, 10, 40], "lines": [10, 1_000, 100_000]}
LARGE: dict[str, list[float]] = {
    "megabytes": [1, 10, 100, 1000],
    "shards": [1, 30, 1000],
    "lines": [10, 1_000, 100_000, 10_000_000],
}
# A document of short lines has so many characters.
_DOCUMENT = 20_000
_ROW_GROUP = 1 << 20


@dataclass(frozen=True, kw_only=True)
class Case:
    """One job: so much text in so many shards; in lines of so many characters, or as it is."""

    megabytes: float
    shards: int
    line: int | None = None

    @property
    def row(self) -> str:
        return f"| {self.megabytes:g} | {self.shards:,} | {'as they are' if self.line is None else f'{self.line:,}'} |"


def as_they_are(texts: Sequence[str], size: int) -> Iterator[str]:
    """Documents of so many characters in all, over and over the same ones.

    >>> list(as_they_are(["a b", "c"], 8))
    ['a b', 'c', 'a b', 'c']
    """
    for text in cycle(texts):
        if size <= 0:
            return
        yield text[:size]
        size -= len(text)


def in_lines(texts: Sequence[str], size: int, line: int) -> Iterator[str]:
    """The same text in lines of so many characters; what is held at once is one document.

    >>> [(len(text), text.count("\\n")) for text in in_lines(["to be or not "], 50_000, 9_999)]
    [(19999, 1), (19999, 1), (10005, 1)]
    """
    running = " ".join(" ".join(texts).split()) + " "
    each = max(_DOCUMENT // line, 1) * line
    for start in range(0, size, each):
        length, place = min(each, size - start), start % len(running)
        text = (running[place:] + running * (length // len(running) + 1))[:length]
        yield "\n".join(text[first : first + line] for first in range(0, length, line))


def write_input(folder: Path, texts: Sequence[str], case: Case) -> int:
    """Writes the shards of a case and returns how many bytes of text there are in them."""
    size = 0
    for number in range(case.shards):
        with pq.ParquetWriter(folder / f"{number:04}.parquet", pa.schema([("text", pa.string())])) as writer:
            wanted = round(1e6 * case.megabytes / case.shards)
            documents = as_they_are(texts, wanted) if case.line is None else in_lines(texts, wanted, case.line)
            for group in by_size(documents, len, _ROW_GROUP):
                writer.write_batch(pa.record_batch({"text": group}))
                size += sum(len(text.encode()) for text in group)
    return size


def measure(texts: Sequence[str], model: str, case: Case) -> tuple[int, float, float]:
    """Bytes of text, seconds on the clock and seconds of processors of one job."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        return write_input(Path(folder, "in"), texts, case), *run_job(model, folder)


@lru_cache
def start_of_job(model: str, workers: int) -> float:
    """Seconds of processors that the smallest job with so many workers takes.

    The second one: the first compiles what was never compiled on this machine.
    """
    smallest = Case(megabytes=1e-4, shards=workers)
    return [measure(["one line"], model, smallest)[2] for _ in range(2)][-1]


def series(texts: Sequence[str], model: str, cases: Sequence[Case]) -> None:
    """Prints a table, and how much the slowest case takes more than the fastest."""
    print("\n| megabytes | shards | characters per line | seconds | of processors | microseconds per byte |")
    print("| ---: | ---: | ---: | ---: | ---: | ---: |")
    found = []
    for case in cases:
        size, clock, processors = measure(texts, model, case)
        found.append(1e6 * (processors - start_of_job(model, min(case.shards, available_cores()))) / size)
        print(f"{case.row} {clock:.1f} | {processors:.1f} | {found[-1]:.2f} |", flush=True)
    if min(found) > 0:
        print(f"The slowest takes {max(found) / min(found):.2f} times as long per byte as the fastest.")
    else:
        print("There is so little text that its time is lost in that of the start. Give more.")


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", default="examples/corpus/scanned.parquet", help="Parquet with a column text")
    parser.add_argument("--model", default="default")
    parser.add_argument("--large", action="store_true", help="the sizes of whole corpora")
    parser.add_argument("--megabytes", type=float, nargs="*", help="of the first series")
    parser.add_argument("--shards", type=int, nargs="*", help="of the second one")
    parser.add_argument("--lines", type=int, nargs="*", help="characters per line of the third one")
    parser.add_argument("--size", type=float, help="megabytes of the second and third series (2, or 100 with --large)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        texts = read_texts(options.text, None)
    except (OSError, ValueError) as error:
        print(f"performance.growth: {error}", file=sys.stderr)
        return 2
    given = {name: getattr(options, name) for name in SMALL if getattr(options, name) is not None}
    chosen: dict[str, list[float]] = {**(LARGE if options.large else SMALL), **given}
    size, some = options.size or (100 if options.large else 2), 4 * available_cores()
    for cases in (
        [Case(megabytes=megabytes, shards=some) for megabytes in chosen["megabytes"]],
        [Case(megabytes=size, shards=int(shards)) for shards in chosen["shards"]],
        [Case(megabytes=max(size, line / 1e6), shards=1, line=int(line)) for line in chosen["lines"]],
    ):
        if cases:
            series(texts, options.model, cases)
    return 0


if __name__ == "__main__":
    sys.exit(main())
