"""Shards in files: every one once, in a graph that does not grow with them."""

from __future__ import annotations

import os
from pathlib import Path

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions

from respace.storage.files import InputFile
from tests.transforms.shards.toy import Shard, Shout
from transforms.repair.work import RepairShard
from transforms.shards import plan_files
from transforms.shards.each_shard import EachShard, PlannedShards
from transforms.shards.plan_files import MOST_SLICES, read_slice, remove_plans, write_plan


@pytest.mark.parametrize("number", [0, 1, 2, 999, 1000, 1001, 2500, 9001])
def test_every_shard_is_in_one_slice(tmp_path: Path, number: int) -> None:
    slices = write_plan(str(tmp_path), range(number))
    assert [shard for one in slices for shard in read_slice(one)] == list(range(number))
    assert len(slices) == min(number, -(-number // max(1, -(-number // MOST_SLICES))))
    assert max((one.stop - one.start for one in slices), default=0) <= -(-number // MOST_SLICES)
    remove_plans(str(tmp_path))
    assert os.listdir(tmp_path) == []


def test_more_shards_than_a_slice_of_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "_SHARDS_PER_FILE", 3)
    slices = write_plan(str(tmp_path), range(10_000))
    assert len(slices) == MOST_SLICES
    assert [shard for one in slices for shard in read_slice(one)] == list(range(10_000))


def test_a_plan_of_somebody_else_is_not_unpickled(tmp_path: Path) -> None:
    (one,) = write_plan(str(tmp_path), ["a"])
    Path(one.url).write_bytes(b"cos\nsystem\n(S'touch /tmp/owned'\ntR.")
    with pytest.raises(OSError, match="is not the plan that was written"):
        read_slice(one)


def graph_bytes(output: str, number: int) -> int:
    """The size of the graph, as an engine gets it."""
    files = [
        InputFile(url=f"gs://bucket/in/{n:08}.jsonl", name=f"{n:08}.jsonl", size=n, version="1") for n in range(number)
    ]
    slices = write_plan(output, [RepairShard(file=file) for file in files])
    pipeline = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    _ = pipeline | PlannedShards(slices) | EachShard(Shout(output))
    return len(pipeline.to_runner_api().SerializeToString())


def test_the_graph_does_not_grow_with_the_shards(tmp_path: Path) -> None:
    small, large = graph_bytes(str(tmp_path / "a"), MOST_SLICES), graph_bytes(str(tmp_path / "b"), 60 * MOST_SLICES)
    assert large < 1.1 * small < 1 << 20  # 20 MB is what Dataflow takes


def test_a_run_of_more_shards_than_slices(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_files, "MOST_SLICES", 10)
    output = str(tmp_path)
    shards = [Shard(f"s{number}", "hello") for number in range(45)]
    pipeline = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner"]))
    _ = pipeline | PlannedShards(write_plan(output, shards)) | EachShard(Shout(output))
    pipeline.run().wait_until_finish()
    remove_plans(output)
    assert sorted(os.listdir(output)) == sorted(shard.name for shard in shards)
