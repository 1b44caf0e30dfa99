"""Killed and run again on object stores: real servers of S3 and GCS, the same bytes, and no long wait for the lock."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from respace.storage.lock import LOCK_NAME
from tests.object_stores import gcs_store, s3_store
from tests.pipelines.test_repair_kill import write_corpus
from tests.transforms.corpora import RULES

pytestmark = pytest.mark.slow
_MOST_SECONDS = 30


@pytest.fixture(params=["s3", "gs"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[str, Any]]:
    """The protocol, and its file system on a server of this machine with the bucket ``corpus``."""
    with (s3_store if request.param == "s3" else gcs_store)(monkeypatch) as found:
        yield request.param, found


def start(protocol: str, output: str) -> subprocess.Popen[str]:
    command = [
        sys.executable,
        "-m",
        "pipelines.repair_corpus",
        "--model",
        RULES,
        "--provenance",
        "--local_workers",
        "2",
    ]
    paths = ["--input", f"{protocol}://corpus/in", "--output", f"{protocol}://corpus/{output}"]
    return subprocess.Popen(
        [*command, *paths, "--max_error_fraction", "1"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ),
    )


def contents(store: Any, output: str) -> dict[str, bytes]:
    """What was published, without what says when."""
    store.invalidate_cache()
    found = {str(path).removeprefix(f"corpus/{output}/"): path for path in store.find(f"corpus/{output}")}
    return {name: store.cat_file(path) for name, path in found.items() if not name.startswith(("_manifest", "_report"))}


def holder(store: Any) -> int | None:
    """Which process holds the lock of the disturbed output."""
    try:
        return int(json.loads(store.cat_file(f"corpus/disturbed/{LOCK_NAME}"))["process"])
    except FileNotFoundError:
        return None


def test_killed_and_run_again(store: tuple[str, Any], tmp_path: Path) -> None:
    protocol, files = store
    write_corpus(tmp_path / "in", 30)
    files.put(f"{tmp_path}/in", "corpus/in", recursive=True)
    undisturbed = start(protocol, "undisturbed")
    assert undisturbed.wait(300) == 0, undisturbed.communicate()[0]
    killed = start(protocol, "disturbed")
    deadline = time.monotonic() + 120
    while len(manifests := files.find("corpus/disturbed/_manifest")) < 3:  # in the middle of its work
        files.invalidate_cache()
        assert killed.poll() is None, killed.communicate()[0]
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    files.invalidate_cache()
    assert files.exists(f"corpus/disturbed/{LOCK_NAME}")
    began = time.monotonic()
    again = start(protocol, "disturbed")
    while holder(files) != again.pid and again.poll() is None:
        time.sleep(0.05)
    assert time.monotonic() - began < _MOST_SECONDS
    output, _ = again.communicate(timeout=300)
    assert again.returncode == 0, output
    assert len(manifests) >= 3
    assert contents(files, "disturbed") == contents(files, "undisturbed")
