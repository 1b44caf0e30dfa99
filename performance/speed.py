"""How fast FAST is, beside the paper's search, Transformers and word segmenters, measured in one run on the same text.

    python -m performance.speed --text $RESPACE_DATA/corpora/acl_ocr.parquet \\
        --benchmarks $RESPACE_DATA/benchmarks/dev --json speed.json --plot speed.svg [--before CHECKOUT]

Each contestant runs in one process per core with one thread each; repetitions are interleaved, and medians are
printed: thousands of bytes of input per second on all cores, and per second of one core. Loading is not counted, but
for the whole job, whose start is part of it. What a machine gives to others comes and goes: look at the ratios.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from performance.contestants import CONTESTANTS, FAST, PAPER, SIX_LAYERS, SYMSPELL, Contestant, run
from respace.extras import require
from respace.storage.errors import UserError
from transforms.shards.workers import WorkerPool, available_cores

JOB = "repair_corpus, end to end"
BEFORE = "FAST, before"
# A document of the corpus is read in parts of about a paragraph.
_PARAGRAPH = 1000
_SHARDS_PER_CORE = 4


@dataclass
class Measured:
    """Repetitions of one contestant: (thousand bytes, seconds on the clock, seconds of processors)."""

    runs: list[tuple[float, float, float]] = field(default_factory=list)

    @property
    def on_all_cores(self) -> float:
        return statistics.median(size / clock for size, clock, _ in self.runs)

    @property
    def per_core_second(self) -> float:
        return statistics.median(size / processor for size, _, processor in self.runs)


def read_texts(parquet: str | None, benchmarks: str | None) -> list[str]:
    """Paragraphs of a corpus and corrupt sequences of benchmarks, in turns."""
    sources = []
    if parquet:
        documents = [text for text in pq.read_table(parquet, columns=["text"])["text"].to_pylist() if text]
        sources.append([part for text in documents for part in _paragraphs(text)])
    if benchmarks:
        from respace.benchmarks import find_benchmarks, read_sequences

        corrupt = [read_sequences(url, 2000).corrupt for url in find_benchmarks([benchmarks]).values()]
        sources.append([text for together in zip(*corrupt, strict=False) for text in together])
    return [text for together in zip(*sources, strict=False) for text in together]


def _paragraphs(text: str) -> list[str]:
    parts: list[str] = []
    for line in text.split("\n"):
        if parts and len(parts[-1]) < _PARAGRAPH:
            parts[-1] += f"\n{line}"
        else:
            parts.append(line)
    return parts


def shares_of(texts: Sequence[str], kilobytes: float, processes: int) -> list[list[str]]:
    """For each process so many thousand bytes of text, repeated where there is not enough."""
    shares: list[list[str]] = []
    place = 0
    for _ in range(processes):
        share: list[str] = []
        size = 0
        while size < 1000 * kilobytes:
            text = texts[place % len(texts)]
            left = int(1000 * kilobytes) - size
            share.append(text[: max(64, left)])
            size += len(share[-1].encode())
            place += 1
        shares.append(share)
    return shares


def kilobytes_of(shares: Sequence[Sequence[str]]) -> float:
    return sum(len(text.encode()) for share in shares for text in share) / 1000


def measure(pool: WorkerPool, name: str, shares: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    began = time.monotonic()
    futures = [pool.submit((name, share)) for share in shares]
    processor = sum(future.result() for future in futures)
    return kilobytes_of(shares), time.monotonic() - began, processor


def measure_job(model: str, shares: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """The whole job as users start it: in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "in").mkdir()
        for number, share in enumerate(shares):
            pq.write_table(pa.table({"text": list(share)}), Path(folder, "in", f"{number:03}.parquet"))
        return kilobytes_of(shares), *run_job(model, folder)


def run_job(model: str, folder: str) -> tuple[float, float]:
    """Repairs ``in`` of a folder into ``out``: seconds on the clock, and seconds of processors."""
    command = [sys.executable, "-m", "pipelines.repair_corpus", "--input", f"{folder}/in", "--output", f"{folder}/out"]
    began, before = time.monotonic(), os.times()
    subprocess.run([*command, "--model", model], check=True, capture_output=True)
    clock, after = time.monotonic() - began, os.times()
    return clock, after[2] + after[3] - before[2] - before[3]


_BEFORE_SCRIPT = """
import json, sys, time
from concurrent.futures import ProcessPoolExecutor
import multiprocessing, os
def start():
    for name in ("TF_NUM_INTRAOP_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "TF_NUM_INTEROP_THREADS"):
        os.environ[name] = "1"
    global repairer
    from respace import Repairer
    repairer = Repairer.load()
    repairer.repair("to warm up")
def work(texts):
    before = time.process_time()
    repairer.repair_with_edits(texts)
    return time.process_time() - before
if __name__ == "__main__":
    shares = json.load(sys.stdin)
    with ProcessPoolExecutor(len(shares), multiprocessing.get_context("spawn"), start) as pool:
        list(pool.map(work, [share[:1] for share in shares]))
        began = time.monotonic()
        processor = sum(pool.map(work, shares))
        print(json.dumps([time.monotonic() - began, processor]))
"""


def measure_before(checkout: str, shares: Sequence[Sequence[str]]) -> tuple[float, float, float]:
    """FAST of another checkout, with its own code and model."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder, "before.py")
        script.write_text(_BEFORE_SCRIPT)
        done = subprocess.run(
            [sys.executable, str(script)],
            input=json.dumps(shares),
            env=os.environ | {"PYTHONPATH": checkout},
            capture_output=True,
            text=True,
            check=True,
        )
    clock, processor = json.loads(done.stdout.splitlines()[-1])
    return kilobytes_of(shares), clock, processor


def compare(options: argparse.Namespace, texts: Sequence[str]) -> dict[str, Measured]:
    """All contestants, in turns."""
    cores = available_cores()
    runners = [one for one in CONTESTANTS if _chosen(one, options)]
    pools = {one.name: WorkerPool(run, cores) for one in runners}
    measured: dict[str, Measured] = {}
    try:
        for one in runners:
            print(f"loading {one.name}", file=sys.stderr, flush=True)
            measure(pools[one.name], one.name, shares_of(texts, min(1.0, one.kilobytes), cores))
        for number in range(options.repetitions):
            for one in runners:
                _say(number, one.name)
                shares = shares_of(texts, options.seconds * one.kilobytes, cores)
                measured.setdefault(one.name, Measured()).runs.append(measure(pools[one.name], one.name, shares))
            if options.before:
                _say(number, BEFORE)
                shares = shares_of(texts, 30 * options.seconds, cores)
                measured.setdefault(BEFORE, Measured()).runs.append(measure_before(options.before, shares))
            if options.job_megabytes:
                _say(number, JOB)
                count = _SHARDS_PER_CORE * cores
                shares = shares_of(texts, 1000 * options.job_megabytes / count, count)
                measured.setdefault(JOB, Measured()).runs.append(measure_job(options.model, shares))
    finally:
        for pool in pools.values():
            pool.close()
    return measured


def _say(number: int, name: str) -> None:
    print(f"repetition {number + 1}: {name}", file=sys.stderr, flush=True)


def _chosen(one: Contestant, options: argparse.Namespace) -> bool:
    if options.only and not any(part in one.name for part in options.only):
        return False
    if importlib.util.find_spec(one.needs) is None:
        print(f"{one.name} is left out: pip install {one.needs}", file=sys.stderr)
        return False
    return True


def table_of(measured: dict[str, Measured]) -> str:
    fast = measured[FAST].on_all_cores
    lines = [
        "| | KB/s on all cores | KB per core-second | FAST is so many times as fast |",
        "| --- | ---: | ---: | ---: |",
    ]
    for name, one in sorted(measured.items(), key=lambda item: -item[1].on_all_cores):
        ratio = fast / one.on_all_cores
        times = "" if name == FAST else f"{ratio:,.0f}" if ratio >= 10 else f"{ratio:.1f}"
        lines.append(f"| {name} | {one.on_all_cores:.3g} | {one.per_core_second:.3g} | {times} |")
    return "\n".join(lines)


def where_time_goes(model: str, texts: Sequence[str]) -> dict[str, Any]:
    """In this process, on one core: stages, arithmetic, and the share of what the core can do."""
    from models.fast.method import FastMethod
    from performance.stages import Computed, peak_operations_per_second, seconds_of_stages
    from respace import Repairer

    repairer = Repairer.load(model)
    repairer.repair("to warm up")
    seconds = seconds_of_stages(repairer, texts)
    characters = sum(len(text.replace(" ", "")) for text in texts)
    found: dict[str, Any] = {"microseconds per character": {k: 1e6 * v / characters for k, v in seconds.items()}}
    if isinstance(repairer.method, FastMethod):
        with Computed.counted() as computed:
            repairer.repair_with_edits(list(texts))
        peak = peak_operations_per_second()
        found |= {
            "first products per character": computed.fronts / characters,
            "layers per character": computed.layers / characters,
            "operations per character": computed.operations / characters,
            "peak of one core": peak,
            "share of the peak": computed.operations / seconds["network"] / peak,
        }
    return found


def print_where(found: dict[str, Any]) -> None:
    stages = found["microseconds per character"]
    whole = sum(stages.values())
    print("\n| stage | microseconds per character | share |\n| --- | ---: | ---: |")
    for stage, value in sorted(stages.items(), key=lambda item: -item[1]):
        print(f"| {stage} | {value:.2f} | {100 * value / whole:.0f} % |")
    if "peak of one core" in found:
        print(
            f"\nThe network computes {found['first products per character']:.2f} first products and "
            f"{found['layers per character']:.2f} layers per character, "
            f"{found['operations per character']:,.0f} operations in all; one core does "
            f"{found['peak of one core'] / 1e9:.0f} thousand million a second in large products of 32-bit numbers, and "
            f"{100 * found['share of the peak']:.0f} % of that in the network."
        )


def plot(measured: dict[str, Measured], path: str) -> None:
    import matplotlib

    matplotlib.use("svg")
    import matplotlib.pyplot as plt

    rows = sorted(measured.items(), key=lambda item: item[1].on_all_cores)
    figure, axes = plt.subplots(figsize=(8, 0.45 * len(rows) + 1))
    bars = axes.barh([name for name, _ in rows], [one.on_all_cores for _, one in rows], color="#4c78a8")
    axes.bar_label(bars, labels=[f"{one.on_all_cores:.3g}" for _, one in rows], padding=3)
    axes.set_xscale("log")
    axes.set_xlabel("thousand bytes of text per second, all cores")
    axes.spines[["top", "right"]].set_visible(False)
    figure.tight_layout()
    figure.savefig(path)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--text", default="examples/corpus/scanned.parquet", help="Parquet with a column text")
    parser.add_argument("--benchmarks", help="directory of benchmarks, whose corrupt text is read too")
    parser.add_argument("--model", default="default", help="FAST: a shipped model or a model directory")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4, help="about so long for each measurement (default 4)")
    parser.add_argument("--job_megabytes", type=float, default=24, help="of text for the whole job; 0: without it")
    parser.add_argument("--before", help="another checkout, whose FAST is measured too")
    parser.add_argument("--only", nargs="+", help="contestants whose names have one of these parts")
    parser.add_argument("--json", help="write all measurements here")
    parser.add_argument("--plot", help="draw them here, as SVG (needs matplotlib)")
    options = parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ["RESPACE_SPEED_MODEL"] = options.model
    try:
        if options.plot:
            require("matplotlib", "--plot")
        texts = read_texts(options.text, options.benchmarks)
    except (OSError, ValueError, UserError) as error:
        print(f"performance.speed: {error}", file=sys.stderr)
        return 2
    measured = compare(options, texts)
    print(f"{available_cores()} cores; medians of {options.repetitions} repetitions\n")
    if FAST in measured:
        print(table_of(measured))
        for slower in (PAPER, SIX_LAYERS, SYMSPELL, BEFORE):
            if JOB in measured and slower in measured:
                ratio = measured[JOB].on_all_cores / measured[slower].on_all_cores
                print(f"The job is {ratio:,.1f} times as fast as: {slower}.")
    found = where_time_goes(options.model, shares_of(texts, 400, 1)[0])
    print_where(found)
    if options.json:
        written = {name: {"runs": one.runs} for name, one in measured.items()}
        Path(options.json).write_text(json.dumps({"measured": written, "stages": found}, indent=1) + "\n")
    if options.plot:
        plot(measured, options.plot)
    return 0


if __name__ == "__main__":
    sys.exit(main())
