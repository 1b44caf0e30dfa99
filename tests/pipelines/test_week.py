"""A week of nights on a folder, with a real method in processes of its own: right every morning, nothing done twice."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from tests.transforms.corpora import write_parquet

pytestmark = pytest.mark.slow

EXAMPLES = Path(__file__).parents[2] / "examples/corpus"
TEXT = "Thequick brown fox jum ps over the lazy dog, and nobody knowswhy. "


class Folder:
    """An input that changes by day, and an output that is made by night."""

    def __init__(self, root: Path):
        self.source, self.output = root / "in", root / "out"
        shutil.copytree(EXAMPLES, self.source)
        for number in range(8):
            (self.source / f"more{number}.txt").write_text(f"{number} {TEXT * 50}\n" * 20)
        write_parquet(self.source / "table.parquet", [f"{row} {TEXT}" for row in range(300)])

    def command(self, *options: str) -> list[str]:
        given = ["--input", str(self.source), "--output", str(self.output), "--model", "dynamic_programming"]
        return [sys.executable, "-m", "pipelines.repair_corpus", *given, "--on_bad_file", "warn", *options]

    def night(self, *options: str, code: int = 0) -> list[str]:
        """Runs the job; gives the names of what was done in it."""
        before = self.runs()
        done = subprocess.run(self.command(*options), capture_output=True, text=True)
        assert done.returncode == code, done.stderr
        assert "Traceback" not in done.stderr, done.stderr
        return sorted(name for name, run in self.runs().items() if before.get(name) != run)

    def runs(self) -> dict[str, Any]:
        root = self.output / "_manifest"
        found = root.rglob("*.json")
        return {str(path.relative_to(root))[:-5]: json.loads(path.read_text())["run"] for path in found}

    def check(self, *bad: str) -> None:
        """Every good input has its output, which has the same characters."""
        for path in sorted(self.source.rglob("*")):
            name = str(path.relative_to(self.source))
            if path.is_file() and name not in bad:
                assert (self.output / name).exists(), name
                if path.suffix == ".txt":
                    assert (self.output / name).read_text().split() != [], name
                    assert "".join((self.output / name).read_text().split()) == "".join(path.read_text().split()), name
        assert not list(self.output.rglob("*.respace-tmp"))


def test_a_week(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    every = sorted(str(path.relative_to(folder.source)) for path in folder.source.rglob("*") if path.is_file())
    assert folder.night() == every
    folder.check()
    # Monday: nothing happened. Tuesday: everything was touched.
    assert folder.night() == []
    for name in every:
        os.utime(folder.source / name, (1e9, 1e9))
    assert folder.night() == []
    # Wednesday: one file is new, one is changed, one is gone, one is bad.
    (folder.source / "new.txt").write_text(TEXT)
    (folder.source / "more1.txt").write_text(TEXT * 3)
    (folder.source / "more2.txt").unlink()
    (folder.source / "bad.parquet").write_bytes(b"PAR1 and nothing else")
    assert folder.night() == ["more1.txt", "new.txt"]
    folder.check("bad.parquet")
    assert (folder.output / "more2.txt").exists()
    assert folder.night("--prune") == []
    assert not (folder.output / "more2.txt").exists()
    # Thursday: an output was damaged, and kept its size and its time.
    target = folder.output / "more3.txt"
    whole, times = target.read_bytes(), target.stat()
    target.write_bytes(bytes(len(whole)))
    os.utime(target, ns=(times.st_atime_ns, times.st_mtime_ns))
    assert folder.night() == []
    assert folder.night("--verify") == ["more3.txt"]
    assert target.read_bytes() == whole
    # Friday: killed in the middle, whenever that is.
    for number in range(4):
        (folder.source / f"more{number + 4}.txt").write_text(f"{number} {TEXT * 60}\n" * 20)
    for seconds in (3.0, 5.0, 7.0):
        running = subprocess.Popen(folder.command(), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        time.sleep(seconds)
        running.send_signal(signal.SIGKILL)
        running.wait()
    folder.night()
    folder.check("bad.parquet")
    # Saturday: the bad file is mended.
    write_parquet(folder.source / "bad.parquet", [TEXT])
    assert folder.night() == ["bad.parquet"]
    assert folder.night("--verify") == []


@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small disk")
def test_a_full_disk(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.output.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", str(folder.output)], capture_output=True
    )
    if mounted.returncode:
        pytest.skip("may not mount")
    try:
        folder.night(code=1)
        subprocess.run(["mount", "-o", "remount,size=100m", str(folder.output)], check=True)
        done = folder.runs()
        assert set(folder.night()).isdisjoint(done)
        folder.check()
    finally:
        subprocess.run(["umount", str(folder.output)], check=True)
