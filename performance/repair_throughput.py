"""How much of the model's speed the repair job reaches, end to end.

    python -m performance.repair_throughput [--input CORPUS.parquet] [--megabytes 4] [--model default]

The same texts go through the model alone and through the whole job (reading, cutting, repairing, writing, verifying,
publishing, manifests), each on all cores and each with the start of its processes and the loading of its model; the
model alone is measured before and after the job, because other work on the machine comes and goes. Printed are both
ways to use the cores with the model alone, one process per core and one process with a thread per core, and the ratio
of the job to the faster one; and the ratio to as many processes in processor time, which other work on the machine
hardly disturbs.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from transforms.repair.model import ModelOptions, shared_repairer
from transforms.shards.workers import WorkerPool, available_cores

SHARDS_PER_CORE = 4
BATCH_CHARACTERS = 1 << 18


@dataclass(frozen=True)
class ModelAlone:
    """Repairs a list of texts and keeps nothing."""

    model: str

    def __call__(self, texts: Sequence[str]) -> int:
        repairer = shared_repairer(ModelOptions(model=self.model))
        return sum(len(repaired.edits) for repaired in repairer.repair_with_edits(list(texts)))


@dataclass(frozen=True)
class Cost:
    """Seconds on the clock, and seconds of processors, of this process and of those it waited for."""

    wall: float
    processor: float

    @classmethod
    def of(cls, action: Callable[[], object]) -> Cost:
        clock, before = time.monotonic(), os.times()
        action()
        return cls(time.monotonic() - clock, sum(os.times()[:4]) - sum(before[:4]))


def model_alone(model: str, shards: Sequence[Sequence[str]], processes: int) -> None:
    """Repairs all texts, with as many threads per process as there are cores for it."""
    pool = WorkerPool(ModelAlone(model), processes)
    for future in [pool.submit(texts) for texts in shards]:
        future.result()
    pool.close()


def job(model: str, source: str, output: str) -> Callable[[], object]:
    """The job, ready to run."""
    import apache_beam  # noqa: F401  its import is no part of the work

    from pipelines.repair_corpus import RepairOptions
    from pipelines.repair_corpus import job as repair_corpus

    options = RepairOptions(input=(source,), output=output, model=model, batch_characters=BATCH_CHARACTERS)
    return partial(repair_corpus, options)


def read_shards(path: str, megabytes: float, number: int) -> list[list[str]]:
    """Texts of a Parquet file, in shards of equal size, repeated until there is enough."""
    texts = [text for text in pq.read_table(path, columns=["text"])["text"].to_pylist() if text]
    shards: list[list[str]] = [[] for _ in range(number)]
    sizes = [0] * number
    place = 0
    while sum(sizes) < megabytes * 1e6:
        shard = sizes.index(min(sizes))
        shards[shard].append(texts[place % len(texts)])
        sizes[shard] += len(texts[place % len(texts)].encode())
        place += 1
    return shards


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--input", default="examples/corpus/scanned.parquet", help="Parquet with a column text")
    parser.add_argument("--megabytes", type=float, default=4.0)
    parser.add_argument("--model", default="default")
    arguments = parser.parse_args()
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    cores = available_cores()
    shards = read_shards(arguments.input, arguments.megabytes, SHARDS_PER_CORE * cores)
    kilobytes = sum(len(text.encode()) for texts in shards for text in texts) / 1000
    print(f"{kilobytes:,.0f} KB of text in {len(shards)} shards on {cores} cores")
    with tempfile.TemporaryDirectory() as folder:
        for number, texts in enumerate(shards):
            path = Path(folder, "in", f"{number:03}.parquet")
            path.parent.mkdir(exist_ok=True)
            pq.write_table(pa.table({"text": texts}), path)
        whole_job = job(arguments.model, str(Path(folder, "in")), str(Path(folder, "out")))
        before = Cost.of(partial(model_alone, arguments.model, shards, cores))
        whole = Cost.of(whole_job)
        after = Cost.of(partial(model_alone, arguments.model, shards, cores))
        threads = Cost.of(partial(model_alone, arguments.model, shards, 1))
    rows = [
        (f"model alone, {cores} processes, one thread each, before the job", before),
        (f"model alone, {cores} processes, one thread each, after the job", after),
        (f"model alone, one process, {cores} threads", threads),
        ("the job", whole),
    ]
    for name, cost in rows:
        print(f"{name:<62} {kilobytes / cost.wall:8.1f} KB/s  ({cost.wall:.1f} s, processors {cost.processor:.1f} s)")
    wall = min((before.wall + after.wall) / 2, threads.wall)
    processor = (before.processor + after.processor) / 2
    print(f"the job reaches {100 * wall / whole.wall:.0f} % of the model alone on the clock")
    print(f"the job reaches {100 * processor / whole.processor:.0f} % of the model alone in processor time")


if __name__ == "__main__":
    main()
