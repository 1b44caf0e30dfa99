"""How much memory the repair job takes, and that it does not grow with the corpus.

    python -m performance.repair_memory [--megabytes 20 2000] [--model do_nothing] [--document_megabytes 200]

Writes a corpus of each size, runs the job on it in processes of its own, and prints the peak of their memory together
(proportional set size, so that what they share is counted once). With ``--document_megabytes`` also a text file that
is a single document.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

FILE_MEGABYTES = 20
DOCUMENT_WORDS = 300
INTERVAL_SECONDS = 0.2


def some_text(seed: int, words: int) -> str:
    letters = "etaoinshrdlucmfwypvbgkjqxz"
    chosen = random.Random(seed)
    vocabulary = ["".join(chosen.choices(letters, k=chosen.randint(1, 10))) for _ in range(2000)]
    return " ".join(chosen.choices(vocabulary, k=words))


def write_corpus(folder: Path, megabytes: int) -> None:
    """Parquet files of 20 MB, each with its own text."""
    folder.mkdir()
    pool = some_text(0, 2_000_000)
    length = DOCUMENT_WORDS * 6
    for number in range(max(1, megabytes // FILE_MEGABYTES)):
        chosen = random.Random(number)
        starts = [chosen.randrange(len(pool) - length) for _ in range(FILE_MEGABYTES * 1_000_000 // length)]
        table = pa.table({"id": list(range(len(starts))), "text": [pool[start : start + length] for start in starts]})
        pq.write_table(table, folder / f"{number:05}.parquet", row_group_size=4000)


def peak_megabytes(command: list[str]) -> tuple[float, float]:
    """Peak memory of a command and all its processes, and how long it took."""
    started = time.monotonic()
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(map(proportional_megabytes, family(process.pid))))
        time.sleep(INTERVAL_SECONDS)
    if process.returncode:
        raise SystemExit(f"the job failed with {process.returncode}")
    return peak, time.monotonic() - started


def family(process: int) -> list[int]:
    """A process and everything it started."""
    try:
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        threads = [entry for entry in os.listdir(f"/proc/{process}/task") if int(entry) != process]
        for thread in threads:
            children += Path(f"/proc/{process}/task/{thread}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):
        return []
    return [process, *(one for child in children for one in family(int(child)))]


def proportional_megabytes(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError, PermissionError):
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Pss:")) / 1000


def measure(source: Path, output: Path, model: str) -> float:
    options = ["--input", str(source), "--output", str(output), "--model", model]
    peak, seconds = peak_megabytes([sys.executable, "-m", "pipelines.repair_corpus", *options])
    print(f"{source.name:<24} peak {peak:7.0f} MB  in {seconds:6.1f} s", flush=True)
    return peak


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--megabytes", type=int, nargs=2, default=[20, 2000], metavar=("SMALL", "LARGE"))
    parser.add_argument("--model", default="do_nothing")
    parser.add_argument("--document_megabytes", type=int)
    arguments = parser.parse_args()
    peaks = []
    with tempfile.TemporaryDirectory() as folder:
        for megabytes in arguments.megabytes:
            source = Path(folder, f"corpus of {megabytes} MB")
            write_corpus(source, megabytes)
            peaks.append(measure(source, Path(folder, f"out{megabytes}"), arguments.model))
        print(f"the large corpus takes {peaks[1] - peaks[0]:+.0f} MB (allowed: +300 MB)")
        if arguments.document_megabytes:
            source = Path(folder, f"document of {arguments.document_megabytes} MB")
            source.mkdir()
            text = some_text(1, 200_000) + "\n"
            with open(source / "long.txt", "w") as stream:
                for _ in range(1 + arguments.document_megabytes * 1_000_000 // len(text)):
                    stream.write(text)
            measure(source, Path(folder, "out document"), arguments.model)


if __name__ == "__main__":
    main()
