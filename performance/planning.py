"""How long it takes to plan a million shards, and how much memory: new ones, finished ones, on a slow store.

    python -m performance.planning --shards 1000000
    python -m performance.planning --shards 1000000 --milliseconds 20

Makes a corpus of small files and the output of a run that finished all of them, and then runs the repair job: with
nothing done (a dry run), and as on every other night (nothing has changed; summary and report are made again). Files
are links to a few, so that a million fit anywhere; with `--manifests` every shard has a manifest of its own, and the
first run, which has no ledger and reads all of them, is measured too.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, BinaryIO

import fsspec
from fsspec.implementations.local import LocalFileSystem
from fsspec.spec import AbstractFileSystem

from transforms.repair.report import CORPUS
from transforms.shards.ledger import write_ledger
from transforms.shards.manifests import INPUT_VERSION, Manifest, read_manifest, write_manifest

_PER_FOLDER = 1_000  # also the files that a store lists with one request
_TIME = 1_700_000_000
_TEXT = '{"text": "one ofthe others"}\n'


class SlowFileSystem(AbstractFileSystem):
    """Local files behind requests that take a while, as an object store's do; ``slow:///path``."""

    protocol = "slow"
    seconds = 0.02
    requests = 0
    _counting = threading.Lock()

    def __init__(self, *arguments: Any, **options: Any):
        super().__init__(*arguments, **options)
        self._files = LocalFileSystem()

    def _request(self, number: int = 1) -> None:
        with self._counting:
            SlowFileSystem.requests += number
        time.sleep(number * self.seconds)

    def ls(self, path: str, detail: bool = True, **options: Any) -> list[Any]:
        found = self._files.ls(self._strip_protocol(path), detail=detail)
        self._request(1 + len(found) // _PER_FOLDER)
        return list(found)

    def info(self, path: str, **options: Any) -> dict[str, Any]:
        self._request()
        return dict(self._files.info(self._strip_protocol(path)))

    def cat_file(self, path: str, start: int | None = None, end: int | None = None, **options: Any) -> bytes:
        self._request()
        return bytes(self._files.cat_file(self._strip_protocol(path), start, end))

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> None:
        self._request()
        self._files.makedirs(self._parent(path), exist_ok=True)
        self._files.pipe_file(self._strip_protocol(path), value)

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self._request()
        self._files.makedirs(self._parent(rpath), exist_ok=True)
        self._files.put_file(lpath, self._strip_protocol(rpath))

    def rm_file(self, path: str) -> None:
        self._request()
        self._files.rm_file(self._strip_protocol(path))

    def _open(self, path: str, mode: str = "rb", **options: Any) -> BinaryIO:
        self._request()
        stream: BinaryIO = self._files.open(self._strip_protocol(path), mode)
        return stream


def make_corpus(root: Path, shards: int) -> None:
    """The input."""
    for folder, names in _folders(shards):
        _make_links(root / "in" / folder, names, _TEXT)


def make_output(root: Path, shards: int, with_manifests: bool) -> None:
    """What a run leaves that finished everything: made from what it leaves of one file."""
    example = root / "example"
    _make_links(example / "in", ["a.jsonl"], _TEXT)
    repair(str(example / "in"), str(example / "out"))
    manifest = read_manifest(str(example / "out"), "a.jsonl")
    assert manifest is not None
    text = (example / "out/a.jsonl").read_text()
    *_, (last, _) = _folders(shards)
    for folder, names in _folders(shards):
        _make_links(root / "out" / folder, names, text)
        # The ledger's last page is small if it must be, and such a page is not believed: manifests are read.
        if with_manifests or folder == last:
            for one in _manifests(manifest, folder, names):
                write_manifest(str(root / "out"), one)
        else:
            _make_links(root / "out/_manifest" / folder, [f"{name}.json" for name in names], "{}")
    if not with_manifests:
        all_of_them = (one for folder, names in _folders(shards) for one in _manifests(manifest, folder, names))
        for _ in write_ledger(str(root / "out"), all_of_them, CORPUS):
            pass
    shutil.rmtree(example)


def _manifests(example: Manifest, folder: str, names: Sequence[str]) -> Iterator[Manifest]:
    (made,), (size,), (digest,) = example.outputs, example.outputs.values(), example.digests.values()
    assert made == "a.jsonl"
    for name in (f"{folder}/{one}" for one in names):
        yield replace(
            example,
            name=name,
            fingerprint={**example.fingerprint, INPUT_VERSION: f"{_TIME:.6f}"},
            outputs={name: size},
            versions={name: f"{_TIME:.6f}"},
            digests={name: digest},
        )


def _folders(shards: int) -> list[tuple[str, list[str]]]:
    return [
        (f"{first // _PER_FOLDER:05}", [f"{n:07}.jsonl" for n in range(first, min(shards, first + _PER_FOLDER))])
        for first in range(0, shards, _PER_FOLDER)
    ]


def _make_links(folder: Path, names: Sequence[str], text: str) -> None:
    """Files of the same text, as links to one: file systems allow some thousands of them."""
    folder.mkdir(parents=True)
    first = folder / names[0]
    first.write_text(text)
    os.utime(first, (_TIME, _TIME))
    for name in names[1:]:
        os.link(first, folder / name)


def repair(source: str, output: str, *options: str) -> None:
    from pipelines.repair_corpus import main

    with open(os.devnull, "w") as nowhere, contextlib.redirect_stdout(nowhere):
        code = main(["--input", source, "--output", output, "--model", "do_nothing", "--local_workers", "1", *options])
    if code:
        raise SystemExit(f"repair_corpus ended with {code}")


def measure(arguments: Sequence[str], milliseconds: float) -> None:
    """Runs the job in this process, and prints what it took as JSON."""
    fsspec.register_implementation("slow", SlowFileSystem)
    SlowFileSystem.seconds = milliseconds / 1000
    began, worked = time.monotonic(), time.process_time()
    repair(*arguments)
    figures = {
        "seconds": time.monotonic() - began,
        "cpu": time.process_time() - worked,
        "megabytes": _most_megabytes(),
        "requests": SlowFileSystem.requests,
    }
    print(json.dumps(figures))


def _most_megabytes() -> float:
    """Of this process alone: what `resource` says includes the process that started it."""
    status = Path("/proc/self/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) / 1024  # type: ignore[index]


def run(title: str, arguments: Sequence[str], milliseconds: float) -> None:
    """Measures in a process of its own, because memory is measured at its highest."""
    command = [sys.executable, "-m", "performance.planning", "--measure", str(milliseconds), *arguments]
    ended = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found = json.loads(ended.stdout)
    requests = f"{found['requests']:>12,}" if milliseconds else ""
    print(f"{title:40}{found['seconds']:10.1f}{found['cpu']:10.1f}{found['megabytes']:10,.0f}{requests}", flush=True)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m performance.planning", description=__doc__.split("\n")[0])
    parser.add_argument("--shards", type=int, default=1_000_000, metavar="N", help="default: 1000000")
    parser.add_argument("--milliseconds", type=float, default=0, metavar="MS", help="what every request takes")
    parser.add_argument("--manifests", action="store_true", help="write all manifests, and measure a first run")
    parser.add_argument("--folder", metavar="DIRECTORY", help="where to make the files (default: a temporary one)")
    options, job = parser.parse_known_args(argv)
    if options.folder:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="respace-planning-", dir=options.folder) as folder:
        root, slow = Path(folder), "slow://" if options.milliseconds else ""
        print(f"{options.shards:,} shards{'':20}{'seconds':>17}{'CPU s':>10}{'MB':>10}", end="")
        print(f"{'requests':>12}" if slow else "", flush=True)
        make_corpus(root, options.shards)
        paths = [f"{slow}{root}/in", f"{slow}{root}/out", *job]
        run("new: plan of everything", [*paths, "--dry_run"], options.milliseconds)
        make_output(root, options.shards, options.manifests)
        if options.manifests:
            run("finished: the first time, manifests read", paths, options.milliseconds)
            shutil.rmtree(root / "out/_report")
        run("finished: every other night", paths, options.milliseconds)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--measure"]:
        measure(sys.argv[3:], float(sys.argv[2]))
        sys.exit(0)
    sys.exit(main())
