from __future__ import annotations

from pathlib import Path

import pytest

from tests.transforms.corpora import plan, work, write_parquet
from transforms.repair.plan import LARGEST_SHARD, SMALLEST_SHARD, shard_bytes


@pytest.mark.parametrize(
    ("total", "workers", "expected"),
    [
        (0, 2, SMALLEST_SHARD),
        (80 << 20, 2, 10 << 20),
        (80 << 20, 1, 20 << 20),
        (1 << 50, 2, LARGEST_SHARD),
        (80 << 20, None, LARGEST_SHARD),
    ],
)
def test_size_of_shards(total: int, workers: int | None, expected: int) -> None:
    assert shard_bytes(total, workers) == expected


def test_a_run_that_continues_another_cuts_alike(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transforms.repair.plan.SMALLEST_SHARD", 300)
    for name in ("a", "b", "c"):
        write_parquet(tmp_path / f"in/{name}.parquet", [f"{row} {name} words" for row in range(400)], row_group_size=50)
    job = work(tmp_path / "out")
    whole = plan(tmp_path / "in", job, workers=2)
    assert len(whole.shards) > 6
    for shard in whole.shards:
        if shard.file.name != "c.parquet":
            job(shard)
    rest = plan(tmp_path / "in", job, workers=2)
    assert list(rest.resume.done) == ["a.parquet", "b.parquet"]
    assert rest.shards == [shard for shard in whole.shards if shard.file.name == "c.parquet"]


def test_bad_files_are_found_before_any_work(tmp_path: Path) -> None:
    write_parquet(tmp_path / "in/good.parquet", ["a"])
    (tmp_path / "in/bad.parquet").write_bytes(b"no Parquet")
    planned = plan(tmp_path / "in", work(tmp_path / "out"))
    assert list(planned.bad_files) == ["bad.parquet"]
    assert [shard.name for shard in planned.shards] == ["good.parquet"]
