"""What one file or one disk can do to a night: that file fails, the reason is one line, and the rest is done."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.pipelines.test_repair_corpus import run, summary
from tests.transforms.corpora import RULES

ROOT = Path(__file__).parents[2]
GOOD = '{"text": "one ofthe others"}\n'


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "in").mkdir()
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / "in" / name).write_text(GOOD)
    return tmp_path / "in"


@pytest.mark.parametrize("policy", ["error", "warn", "skip"])
def test_an_error_of_ours_in_one_shard(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], policy: str
) -> None:
    from transforms.formats.lines import LineFormat

    verify = LineFormat.verify

    def wrong(self: Any, file: Any, span: Any, path: str) -> int:
        if file.name == "a.jsonl":
            raise IndexError("ours")
        return verify(self, file, span, path)

    monkeypatch.setattr(LineFormat, "verify", wrong)
    assert run(corpus, tmp_path / "out", "--on_bad_file", policy) == (1 if policy == "error" else 0)
    shown = capfd.readouterr().err
    assert "Traceback" not in shown
    assert ("a.jsonl: IndexError: ours. This is an error of respace" in shown) == (policy != "skip")
    note = json.loads((tmp_path / "out/_failed/a.jsonl.json").read_text())
    assert 'raise IndexError("ours")' in note["trace"]
    if policy != "error":
        assert (tmp_path / "out/b.jsonl").exists()
        assert summary(tmp_path / "out")["unreadable"].keys() == {"a.jsonl"}


LONG = "x" * 245 + ".jsonl"


@pytest.mark.parametrize(
    ("name", "neighbour", "message"),
    [
        (LONG, "b.jsonl", "a name of 256 bytes, more than the 255 that a disk allows. Rename the file to at most 250"),
        ("a.csv", "a.csv.parquet/c.jsonl", "its dead letters would have the name of the folder a.csv.parquet/"),
        ("a.txt", "a.txt.json/c.jsonl", "its manifest would have the name of the folder a.txt.json/"),
        ("d/a.txt", "d/a.txt.json/e/f/c.jsonl", "its manifest would have the name of the folder d/a.txt.json/"),
    ],
)
def test_names_that_the_output_cannot_have(
    corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], name: str, neighbour: str, message: str
) -> None:
    out = tmp_path / "out"
    for path, content in ((name, "text\none ofthe\n"), (neighbour, GOOD)):
        (corpus / path).parent.mkdir(parents=True, exist_ok=True)
        (corpus / path).write_text(content)
    assert run(corpus, out) == 1
    assert f"{name}: " in (shown := capfd.readouterr().err)
    assert message in shown
    assert run(corpus, out, "--on_bad_file", "skip", "--prune") == 0
    assert "Traceback" not in capfd.readouterr().err
    assert summary(out)["unreadable"].keys() == {name}
    assert (out / neighbour).read_text() == GOOD.replace("ofthe", "of the")
    assert run(corpus, out, "--on_bad_file", "skip", "--retry_dead_letters") == 0


def test_a_folder_that_came_after_the_manifest_of_its_name(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (corpus / "a.txt").write_text("one ofthe")
    assert run(corpus, out) == 0
    (corpus / "a.txt.json").mkdir()
    (corpus / "a.txt.json/c.jsonl").write_text(GOOD)
    (corpus / "b.jsonl").write_text(GOOD * 2)
    assert run(corpus, out, "--on_bad_file", "skip") == 0
    assert (out / "b.jsonl").read_text() == GOOD.replace("ofthe", "of the") * 2
    assert summary(out)["unreadable"].keys() == {"a.txt", "a.txt.json/c.jsonl"}
    assert (out / "a.txt").read_text() == "one of the"


def small_disks() -> bool:
    command = ["unshare", "-rm", "sh", "-c", "mount -t tmpfs -o size=64k tmpfs /mnt"]
    try:
        return subprocess.run(command, capture_output=True).returncode == 0
    except FileNotFoundError:
        return False


@pytest.mark.skipif(not small_disks(), reason="no disk of 64 KB can be mounted here")
@pytest.mark.parametrize("workers", [1, 2])
def test_a_full_disk_is_one_line(tmp_path: Path, workers: int) -> None:
    """Full to the last block: not even the note of the failure fits."""
    (tmp_path / "in").mkdir()
    (tmp_path / "out").mkdir()
    for number in range(3):
        (tmp_path / f"in/{number}.jsonl").write_text(GOOD * 3000)
    job = f"{sys.executable} -m pipelines.repair_corpus --input {tmp_path}/in --output {tmp_path}/out/made"
    job += f" --model {RULES} --local_workers {workers}"
    script = f"mount -t tmpfs -o size=64k tmpfs {tmp_path}/out && {job}"
    ended = subprocess.run(
        ["unshare", "-rm", "sh", "-c", script], cwd=ROOT, capture_output=True, text=True, env={**os.environ}
    )
    assert ended.returncode == 1
    errors = [line for line in ended.stderr.splitlines() if "to do" not in line and "/3 shards" not in line]
    assert len(errors) == 1, ended.stderr
    assert errors[0].startswith("error: ")
    assert "No space left on device" in errors[0]
