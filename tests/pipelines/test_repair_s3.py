"""The job against S3: a real server on this machine, and what goes wrong with stores in practice."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from tests.object_stores import SECRET, s3_store
from tests.transforms.corpora import BEFORE, RULES, different, tree, write_parquet


@pytest.fixture
def store(monkeypatch: pytest.MonkeyPatch) -> Iterator[fsspec.AbstractFileSystem]:
    with s3_store(monkeypatch) as found:
        yield found


def run(*options: str, seconds: float = 600) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "pipelines.repair_corpus", "--model", RULES, "--local_workers", "1", *options]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=seconds)


@pytest.mark.slow
def test_the_bytes_of_a_local_run(store: fsspec.AbstractFileSystem, tmp_path: Path) -> None:
    write_parquet(tmp_path / "in/a.parquet", BEFORE * 4)
    (tmp_path / "in/b.txt").write_text("\n".join(BEFORE))
    store.put(f"{tmp_path}/in", "corpus/in", recursive=True)
    here = run("--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"))
    there = run("--input", "s3://corpus/in", "--output", "s3://corpus/out")
    assert (here.returncode, there.returncode) == (0, 0), there.stderr
    again = run("--input", "s3://corpus/in", "--output", "s3://corpus/out")
    assert "2 files: 2 done before, 0 in this run" in again.stdout
    store.get("corpus/out", f"{tmp_path}/fetched", recursive=True)
    aside = ("_manifest", "_report")
    assert not different(tree(tmp_path / "fetched", without=aside), tree(tmp_path / "out", without=aside))
    written = b"".join(tree(tmp_path / "fetched").values()) + (there.stdout + there.stderr).encode()
    assert SECRET.encode() not in written


@pytest.mark.slow
@pytest.mark.parametrize(
    ("environment", "arguments", "message"),
    [
        ({}, ["--input", "s3://missing/in", "--output", "{never}"], "error: --input s3://missing/in: not found"),
        (
            {},
            ["--input", "s3://corpus/small", "--output", "s3://missing/out"],
            "error: --output s3://missing/out: the store cannot be used (FileNotFoundError: ",
        ),
        (
            {"AWS_ACCESS_KEY_ID": "", "AWS_SECRET_ACCESS_KEY": ""},
            ["--input", "s3://corpus/small", "--output", "{never}"],
            "error: --input s3://corpus/small: the store cannot be used (NoCredentialsError: ",
        ),
        (
            {"AWS_ENDPOINT_URL": "http://127.0.0.1:{closed}"},
            ["--input", "s3://corpus/small", "--output", "{never}"],
            "error: --input s3://corpus/small: the store cannot be used (",
        ),
    ],
    ids=["no input bucket", "no output bucket", "no credentials", "no endpoint"],
)
def test_what_goes_wrong_is_one_line(
    environment: dict[str, str],
    arguments: list[str],
    message: str,
    store: fsspec.AbstractFileSystem,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    store.pipe_file("corpus/small/a.txt", b"one ofthe others")
    with socket.create_server(("127.0.0.1", 0)) as free:
        closed = free.getsockname()[1]
    for name, value in environment.items():
        monkeypatch.setenv(name, value.format(closed=closed))
    started = time.monotonic()
    ended = run(*(argument.format(never=tmp_path / "never") for argument in arguments))
    assert ended.returncode in (1, 2)
    assert ended.stderr.splitlines()[-1].startswith(message), ended.stderr
    assert "Traceback" not in ended.stderr
    assert SECRET not in ended.stderr
    assert time.monotonic() - started < 120  # 30 on a quiet machine, of which Python takes some
