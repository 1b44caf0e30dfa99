"""Speed and memory of `make_training_shards`, end to end: `python -m performance.training_shards TEXT.parquet`.

The job runs as a user would run it, in processes of its own, on a small and on a large part of the text. Memory is the
largest sum over all its processes, and should not grow with the input. Where other work shares the cores, the wall
clock says little: the processor time per megabyte says what two free cores would do.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

import pyarrow.parquet as pq


@dataclass(frozen=True)
class Measured:
    megabytes: float
    wall_seconds: float
    processor_seconds: float
    peak_megabytes: float


def write_part(source: Path, target: Path, megabytes: float) -> float:
    """The first so many megabytes of text as a Parquet file; returns how many there are."""
    size = 0
    parquet = pq.ParquetFile(source)
    with pq.ParquetWriter(target, parquet.schema_arrow.empty_table().select(["text"]).schema) as writer:
        for batch in parquet.iter_batches(8192, columns=["text"]):
            writer.write_batch(batch)
            size += batch.column("text").nbytes
            if size >= megabytes * 1e6:
                break
    return size / 1e6


def measure(source: Path, megabytes: float, formats: list[str], workers: int) -> Measured:
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder) / "text.parquet"
        written = write_part(source, text, megabytes)
        command = [sys.executable, "-m", "pipelines.make_training_shards", "--input", str(text)]
        command += ["--output", f"{folder}/shards", "--formats", *formats, "--local_workers", str(workers)]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        started = time.perf_counter()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        peak = _Peak(process.pid)
        code = process.wait()
        seconds = time.perf_counter() - started
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if code:
            raise RuntimeError(f"{' '.join(command)} failed with exit code {code}")
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Measured(written, seconds, spent, peak.stop())


class _Peak:
    """Watches the memory of a process and all that it started: proportional set size, so shared pages count once."""

    def __init__(self, pid: int):
        self._pid, self._peak, self._done = pid, 0, threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._done.set()
        self._thread.join()
        return self._peak / 1e3

    def _watch(self) -> None:
        while not self._done.wait(0.2):
            self._peak = max(self._peak, sum(_kilobytes(pid) for pid in _family(self._pid)))


def _family(pid: int) -> list[int]:
    try:
        children = [
            int(child)
            for task in os.listdir(f"/proc/{pid}/task")
            for child in Path(f"/proc/{pid}/task/{task}/children").read_text().split()
        ]
    except OSError:
        return []
    return [pid, *(one for child in children for one in _family(child))]


def _kilobytes(pid: int) -> int:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:  # it ended in the meantime
        return 0
    return next((int(line.split()[1]) for line in lines if line.startswith("Pss:")), 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("input", type=Path, help="Parquet with a column text")
    parser.add_argument("--megabytes", type=float, nargs="+", default=[30.0, 270.0])
    parser.add_argument("--formats", nargs="+", default=["parquet"])
    parser.add_argument("--workers", type=int, default=2)
    options = parser.parse_args()
    if not options.input.is_file():
        parser.error(f"{options.input}: no such file. Name a Parquet file with a column 'text'")
    print(f"formats {', '.join(options.formats)}, {options.workers} processes, load {os.getloadavg()[0]:.1f}")
    print("MB of text   wall s   MB/s   processor s   MB/s on free cores   peak memory MB")
    for megabytes in options.megabytes:
        found = measure(options.input, megabytes, options.formats, options.workers)
        free = found.megabytes * options.workers / found.processor_seconds
        print(
            f"{found.megabytes:10.1f} {found.wall_seconds:8.1f} {found.megabytes / found.wall_seconds:6.2f}"
            f" {found.processor_seconds:13.1f} {free:20.2f} {found.peak_megabytes:16.0f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
