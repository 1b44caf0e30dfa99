"""Whether two checkouts give the same bytes: `python -m performance.compare_checkouts OLD NEW [--data FOLDER]`.

Every job runs in both, each in processes of its own, on the examples and, with ``--data``, on a little of the dumps,
papers and OCR texts in that folder. Published files must be the same byte by byte. Not compared are what holds times
(reports, seconds in manifests), the fingerprints of manifests (they name the code), and the wording of dead letters.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

_OCR_ROWS = 40


@dataclass(frozen=True)
class Job:
    """One command; its output is the folder of its name, and others may read it."""

    name: str
    arguments: tuple[str, ...]


def example_jobs(checkout: Path, model: str) -> Iterator[Job]:
    """Jobs on the examples; ``{work}`` is where outputs go."""
    corpus = str(checkout / "examples" / "corpus")
    added = ("--provenance", "--keep_original")
    repair = ("pipelines.repair_corpus", "--input", corpus, "--model", model)
    yield Job("repaired", (*repair, *added, "--id_column", "id"))
    yield Job("repaired-lines", (*repair, *added, "--text_unit", "line"))
    yield Job("repaired-plain", repair)
    yield Job("reverted", ("pipelines.revert_corpus", "--input", "{work}/repaired"))
    yield Job("shards", ("pipelines.make_training_shards", "--input", corpus, "--num_shards", "2", "--copies", "3"))
    yield Job("records", ("pipelines.make_training_shards", "--input", corpus, "--formats", "parquet", "tfrecord"))
    yield Job("benchmarks", ("pipelines.make_benchmarks", "--input", corpus, "--sequences", "6"))
    methods = ("--methods", "do_nothing,greedy,dynamic_programming", "--slice_sequences", "2")
    yield Job("evaluation", ("pipelines.evaluate", "--input", "{work}/benchmarks", *methods))


def data_jobs(data: Path, samples: Path, model: str) -> Iterator[Job]:
    """Jobs on a little of the data that is not part of the project."""
    extract = ("pipelines.extract_wikipedia", "--input", str(data / "dumps"), "--range_bytes", "200000")
    yield Job(
        "sentences", (*extract, "--penalties_articles", "2", "--development_articles", "2", "--test_articles", "3")
    )
    matched = ("pipelines.match_arxiv", "--input", str(data / "latexpdf"), "--on_bad_file", "skip")
    yield Job("matched", (*matched, "--max_error_fraction", "1"))
    yield Job("sources", (*matched, "--max_error_fraction", "1", "--source_only", "--documents_per_shard", "4"))
    yield Job("ocr", ("pipelines.repair_corpus", "--input", str(samples), "--model", model, "--provenance"))
    yield Job("clean", ("pipelines.make_training_shards", "--input", "{work}/sources", "--num_shards", "3"))
    dev = str(data / "benchmarks" / "dev")
    yield Job("scores", ("pipelines.evaluate", "--input", dev, "--methods", "dynamic_programming", "--sequences", "40"))
    made = ("pipelines.make_benchmarks", "--input", "{work}/sources", "--matched", "{work}/matched")
    yield Job("made", (*made, "--acl_pairs", f"{dev}/ACL", "--sequences", "200"))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=Path, help="a checkout")
    parser.add_argument("new", type=Path, help="another one")
    parser.add_argument("--data", type=Path, default=os.environ.get("RESPACE_DATA"), help="see docs/data.md")
    parser.add_argument("--model", default="dynamic_programming", help="default: %(default)s, which is fast")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        jobs = list(example_jobs(options.new.resolve(), options.model))
        if options.data is not None:
            samples = Path(folder, "samples")
            write_samples(options.data, samples)
            jobs += data_jobs(options.data.resolve(), samples, options.model)
        places = {checkout: Path(folder, name) for checkout, name in ((options.old, "old"), (options.new, "new"))}
        different = 0
        for job in jobs:
            for checkout, place in places.items():
                run(job, checkout.resolve(), place)
            found = differences(places[options.old] / job.name, places[options.new] / job.name)
            files = sum(path.is_file() for path in (places[options.new] / job.name).rglob("*"))
            print(f"{job.name:<16} {files:4} files: {'; '.join(found) or 'the same'}", flush=True)
            different += bool(found)
    print(f"{len(jobs) - different} of {len(jobs)} jobs give the same bytes")
    return 1 if different else 0


def write_samples(data: Path, folder: Path) -> None:
    """The first rows of the OCR texts, in row groups of two sizes, so that files are cut."""
    folder.mkdir(parents=True)
    table = pq.read_table(data / "corpora" / "acl_ocr.parquet").slice(0, _OCR_ROWS)
    pq.write_table(table, folder / "many_groups.parquet", row_group_size=3)
    pq.write_table(table.slice(0, 10), folder / "one_group.parquet")


def run(job: Job, checkout: Path, place: Path) -> None:
    arguments = [argument.replace("{work}", str(place)) for argument in job.arguments]
    command = [sys.executable, "-m", *arguments, "--output", str(place / job.name), "--local_workers", "2"]
    environment = {**os.environ, "PYTHONPATH": str(checkout), "TF_CPP_MIN_LOG_LEVEL": "3"}
    done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{checkout}: {' '.join(arguments)} failed with {done.returncode}:\n{done.stderr[-2000:]}")


def differences(old: Path, new: Path) -> list[str]:
    """What differs between two outputs, in words."""
    before, after = ({path.relative_to(root): path for path in files_of(root)} for root in (old, new))
    found = [f"{name} is only in the old one" for name in sorted(before.keys() - after.keys())]
    found += [f"{name} is only in the new one" for name in sorted(after.keys() - before.keys())]
    for name in sorted(before.keys() & after.keys()):
        content = content_of(name)
        if content(before[name]) != content(after[name]):
            found.append(f"{name} differs")
    return found


def files_of(root: Path) -> Iterator[Path]:
    for path in root.rglob("*"):
        if path.is_file() and path.relative_to(root).parts[0] != "_report":
            yield path


def content_of(name: Path) -> Callable[[Path], Any]:
    """What of a file must be the same."""
    if name.parts[0] == "_manifest":
        return _manifest
    if name.parts[0] == "_dead_letters":
        return lambda path: pq.read_table(path).drop_columns(["message"]).to_pylist()
    if name.name in ("report.json", "report.md"):
        return _scores
    return Path.read_bytes


def _manifest(path: Path) -> Any:
    manifest = json.loads(path.read_text())
    timed = ("milliseconds", "bytes")  # the speed of an evaluation is counted otherwise than it was
    details = {key: value for key, value in manifest["details"].items() if key != "seconds"}
    counts = {key: value for key, value in manifest["counts"].items() if key not in timed}
    return manifest["name"], sorted(manifest["outputs"]), counts, details


def _scores(path: Path) -> Any:
    text = path.read_text()
    if path.suffix == ".md":
        return text.partition("## KB/s")[0]
    return [(row["method"], row["benchmark"], row["f_score"], row["sequence_accuracy"]) for row in json.loads(text)]


if __name__ == "__main__":
    sys.exit(main())
