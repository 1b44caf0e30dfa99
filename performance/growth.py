"""Does the time per character stay the same when inputs grow?

    python -m performance.growth [--megabytes 1 10 100] [--shards 1 30 1000] [--lines 10 1000 100000 10000000]

Three series: the whole job on more and more text; the same text in more and more shards; the model alone on the same
text in longer and longer lines. Printed are seconds and microseconds per byte, less what the smallest possible run
takes to start.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Sequence

from performance.speed import measure_job, read_texts, shares_of
from transforms.shards.workers import available_cores


def text_of(texts: Sequence[str], megabytes: float, shards: int) -> list[list[str]]:
    return shares_of(texts, 1000 * megabytes / shards, shards)


def job_series(texts: Sequence[str], model: str, megabytes: Sequence[float], shards: Sequence[int]) -> None:
    _, start, _ = measure_job(model, [["one line"]] * available_cores())
    print(f"the smallest job takes {start:.1f} s\n\n| megabytes | shards | seconds | microseconds per byte |")
    print("| ---: | ---: | ---: | ---: |")
    cases = [(size, 4 * available_cores()) for size in megabytes] + [(megabytes[-1] / 10, count) for count in shards]
    for size, count in cases:
        kilobytes, seconds, _ = measure_job(model, text_of(texts, size, count))
        print(f"| {size:g} | {count:,} | {seconds:.1f} | {1e3 * (seconds - start) / kilobytes:.2f} |", flush=True)


def line_series(texts: Sequence[str], model: str, lengths: Sequence[int]) -> None:
    from respace import Repairer

    repairer = Repairer.load(model)
    repairer.repair("to warm up")
    whole = " ".join(" ".join(texts).split())
    print("\n| characters per line | seconds | microseconds per byte |\n| ---: | ---: | ---: |")
    for length in lengths:
        size = max(1_000_000, length)
        text = (whole * (size // len(whole) + 1))[:size]
        document = "\n".join(text[start : start + length] for start in range(0, size, length))
        began = time.monotonic()
        repairer.repair(document)
        seconds = time.monotonic() - began
        print(f"| {length:,} | {seconds:.1f} | {1e6 * seconds / len(document.encode()):.2f} |", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", default="examples/corpus/scanned.parquet", help="Parquet with a column text")
    parser.add_argument("--model", default="default")
    parser.add_argument("--megabytes", type=float, nargs="*", default=[1, 10, 100])
    parser.add_argument("--shards", type=int, nargs="*", default=[1, 30, 1000])
    parser.add_argument("--lines", type=int, nargs="*", default=[10, 1_000, 100_000, 10_000_000])
    options = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    try:
        texts = read_texts(options.text, None)
    except (OSError, ValueError) as error:
        print(f"performance.growth: {error}", file=sys.stderr)
        return 2
    if options.megabytes:
        job_series(texts, options.model, options.megabytes, options.shards)
    line_series(texts, options.model, options.lines)
    return 0


if __name__ == "__main__":
    sys.exit(main())
