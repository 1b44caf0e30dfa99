"""The whole job against an object store: a real server, and two worker processes of the job."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pyarrow.parquet as pq
import pytest

from tests.object_stores import gcs_store
from tests.transforms.corpora import AFTER, BEFORE, RULES, write_parquet


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[fsspec.AbstractFileSystem]:
    with gcs_store(monkeypatch) as found:
        yield found


def run(*options: str) -> subprocess.CompletedProcess[str]:
    return run_job("repair_corpus", "--model", RULES, "--provenance", *options)


def run_job(name: str, *options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", f"pipelines.{name}", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, env=dict(os.environ), timeout=600)


@pytest.mark.slow
def test_shards_on_an_object_store(store: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    for number in range(3):
        write_parquet(tmp_path / f"in/{number}.parquet", BEFORE * 4)
    (tmp_path / "in/lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in BEFORE * 10_000))
    store.put(f"{tmp_path}/in", "corpus/in", recursive=True)
    paths = ["--input", "gs://corpus/in", "--output", "gs://corpus/out"]
    ended = run(*paths)
    assert ended.returncode == 0, ended.stderr
    names = {name.removeprefix("corpus/out/") for name in store.find("corpus/out")}
    assert names == {
        *(f"{number}.parquet" for number in range(3)),
        *(f"_manifest/{number}.parquet.json" for number in range(3)),
        "lines.jsonl",
        "_manifest/lines.jsonl.json",
        "_report/index.html",
        "_report/summary.json",
    }
    with store.open("corpus/out/1.parquet") as stream:
        assert pq.read_table(stream)["text"].to_pylist() == AFTER * 4
    lines = [json.loads(line)["text"] for line in store.cat_file("corpus/out/lines.jsonl").splitlines()]
    assert lines == AFTER * 10_000
    again = run(*paths)
    assert again.returncode == 0, again.stderr
    assert "4 files: 4 done before, 0 in this run" in again.stdout
    back = run_job("revert_corpus", "--input", "gs://corpus/out", "--output", "gs://corpus/back")
    assert back.returncode == 0, back.stderr
    assert store.cat_file("corpus/back/lines.jsonl") == (tmp_path / "in/lines.jsonl").read_bytes()
