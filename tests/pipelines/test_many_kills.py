"""SIGKILL again and again, with methods that are really used: nothing lost, nothing changed but spaces, no stack trace.

``RESPACE_KILLS=100 pytest -m slow tests/pipelines/test_many_kills.py`` is the long form: so many for each method.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.object_stores import gcs_store, s3_store
from tests.pipelines.test_repair_kill import _manifests
from tests.transforms.corpora import tree, write_parquet

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples/corpus"
KILLS = int(os.environ.get("RESPACE_KILLS", "5"))
TEXT = "Thequick brown fox jum ps over the lazy dog, and nobody knowswhy."


def write_corpus(folder: Path) -> None:
    shutil.copytree(EXAMPLES, folder)
    for number in range(6):
        (folder / f"more{number}.txt").write_text(f"{number} {TEXT}\n" * 20)
    texts = [f"{row} {TEXT}" for row in range(60)]
    write_parquet(folder / "table.parquet", texts, row_group_size=20)
    (folder / "lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    (folder / "array.json").write_text(json.dumps([{"text": [text, "a"]} for text in texts], indent=1))
    (folder / "table.csv").write_text("n,text\n" + "".join(f'{row},"{text}"\n' for row, text in enumerate(texts)))


@pytest.mark.parametrize("model", ["dynamic_programming", "default"])
def test_kills(tmp_path: Path, model: str) -> None:
    write_corpus(tmp_path / "in")
    folders = [str(tmp_path / name) for name in ("in", "undisturbed", "disturbed")]
    command = [sys.executable, "-m", "tests.pipelines.kill_driver", *folders, str(KILLS), "11", model]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=None, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    # A process whose parent dies while it is started ends in Python's own code, with a stack; none of ours may.
    assert not re.search(r'File ".*/(respace|models|transforms|pipelines)/', ended.stderr), ended.stderr
    assert ended.stdout.count("killed ") == KILLS
    left = [
        name for name in tree(folders[2]) if "respace-tmp" in name or name.startswith(("_parts", "_run", "_failed"))
    ]
    assert left == []
    expected, found = _manifests(folders[1]), _manifests(folders[2])
    assert found.keys() == expected.keys()
    for name in found:
        assert found[name] == expected[name], name
    for name, content in tree(folders[0]).items():
        if name.endswith(".txt"):
            assert "".join((tmp_path / "disturbed" / name).read_text().split()) == "".join(content.decode().split())
    before, after = (
        pq.read_table(tmp_path / place / "table.parquet")["text"].to_pylist() for place in ("in", "disturbed")
    )
    assert ["".join(text.split()) for text in after] == ["".join(text.split()) for text in before]
    assert after != before


def write_small_corpus(folder: Path) -> None:
    """A few files of each kind that is written in its own way, with what the rules of tests repair and cannot read."""
    texts = [f"{row} one ofthe others, a x{' word' * row}" if row % 7 else "why‽" for row in range(30)]
    write_parquet(folder / "table.parquet", texts, row_group_size=10)
    for number in range(3):
        (folder / f"{number}.txt").write_text("".join(f"{number} {text}\n" for text in texts if "‽" not in text))
    (folder / "lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def libfaketime() -> str | None:
    """The library that sets the clock of a process apart, where it is installed."""
    return next((str(path) for path in sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))), None)


# Half of the kills of the long form on object stores; with RESPACE_KILLS=100 these are 200.
@pytest.mark.parametrize(("place", "kills"), [("local", KILLS), ("s3", KILLS - KILLS // 2), ("gs", KILLS // 2)])
def test_kills_and_pauses_with_clocks_apart(
    tmp_path: Path, place: str, kills: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same bytes, one owner at any time, and no stack trace: see `disturbed_driver`."""
    clock = libfaketime()
    if clock is None:
        pytest.skip("libfaketime is not installed (on Debian: apt-get install libfaketime)")
    write_small_corpus(tmp_path / "in")
    servers: dict[str, Any] = {"s3": s3_store, "gs": gcs_store}
    with servers[place](monkeypatch) if place in servers else nullcontext():
        disturbed = f"{place}://corpus/out" if place in servers else str(tmp_path / "disturbed")
        arguments = [str(tmp_path / "in"), str(tmp_path / "undisturbed"), disturbed, str(kills), "5"]
        ended = subprocess.run(
            [sys.executable, "-m", "tests.pipelines.disturbed_driver", *arguments],
            capture_output=True,
            text=True,
            check=False,
            env={
                **os.environ,
                "LD_PRELOAD": clock,
                "FAKETIME": "+0",
                "FAKETIME_NO_CACHE": "1",
                "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                "DONT_FAKE_MONOTONIC": "1",
            },
        )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert int(re.findall(r"done: (\d+) killed", ended.stdout)[0]) >= kills
