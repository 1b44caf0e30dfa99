"""SIGKILL at random moments: what is left is never half, and the next run makes it whole."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipelines.disturbed_driver import check_one_owner
from tests.transforms.corpora import tree, write_parquet

SHARDS = 40


def write_corpus(folder: Path, rows: int) -> None:
    for number in range(SHARDS):
        texts = [f"{row} ofthe {number} a\tx{' word' * (row % 50)}" if row % 31 else "why‽" for row in range(rows)]
        if number % 4:
            write_parquet(folder / f"{number % 3}/shard{number}.parquet", texts, row_group_size=rows // 3)
        else:
            path = folder / f"shard{number}.jsonl"
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    # One large file, which is cut into parts.
    write_parquet(
        folder / "large.parquet", [f"{row} ofthe {'word ' * 60}" for row in range(8 * rows)], row_group_size=rows
    )


@pytest.mark.parametrize(
    ("rows", "kills"), [(30, 10), pytest.param(200, 10, marks=pytest.mark.slow)], ids=["small", "large"]
)
def test_ten_kills(tmp_path: Path, rows: int, kills: int) -> None:
    write_corpus(tmp_path / "in", rows)
    folders = [str(tmp_path / name) for name in ("in", "undisturbed", "disturbed")]
    command = [sys.executable, "-m", "tests.pipelines.kill_driver", *folders, str(kills), "7"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=3000, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert ended.stdout.count("killed ") == kills or "from the start again" in ended.stdout
    aside = ("_manifest", "_report")
    undisturbed, disturbed = tree(folders[1], without=aside), tree(folders[2], without=aside)
    assert len(undisturbed) == 2 * (SHARDS + 1) - 1  # every shard but the large one has dead letters
    assert disturbed == undisturbed
    assert not [
        name for name in tree(folders[2]) if "respace-tmp" in name or name.startswith(("_parts", "_run", "_failed"))
    ]
    assert _manifests(folders[2]) == _manifests(folders[1])


def _manifests(folder: str) -> dict[str, object]:
    """Manifests without what differs from run to run."""
    found: dict[str, object] = {}
    for path in sorted(Path(folder, "_manifest").rglob("*.json")):
        manifest = json.loads(path.read_text())
        del manifest["run"], manifest["versions"], manifest["details"]["seconds"]
        found[path.name] = manifest
    return found


@pytest.mark.parametrize(
    ("events", "fits"),
    [
        ("1 took, 1 let-go, 2 took", True),
        ("1 took, 1 killed, 2 took", True),
        ("1 took, 1 paused, 2 took, 1 went-on, 1 let-go", True),
        ("1 took, 1 paused, 1 went-on, 2 took", True),  # just about to
        ("1 took, 2 took", False),
        ("1 took, 2 paused, 2 took", False),
        ("1 took, 1 let-go, 2 took, 1 took", False),
        ("1 took, 1 paused, 2 took, 1 went-on, 3 took", False),
    ],
)
def test_two_owners_are_seen(events: str, fits: bool) -> None:
    noted = [(float(at), int(one.split()[0]), one.split()[1]) for at, one in enumerate(events.split(", "))]
    if fits:
        check_one_owner(noted)
        return
    with pytest.raises(SystemExit, match="took the lock of"):
        check_one_owner(noted)
