from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import apache_beam as beam
import pytest
from apache_beam.options.pipeline_options import PipelineOptions
from apache_beam.testing.util import assert_that, equal_to

from respace.storage.errors import UserError
from respace.storage.lock import run_lock
from tests.transforms.shards.toy import Shard, Shout
from transforms.shards.each_shard import EachShard
from transforms.shards.guard import ShardFailure, forget_failures, read_failures
from transforms.shards.progress import listen
from transforms.shards.workers import thread_settings

SHARDS = [Shard(f"s{number}", "hello") for number in range(8)]


def run(
    shards: list[Shard],
    output: str,
    workers: int = 1,
    expected: list[str] | None = None,
    arguments: tuple[str, ...] = (),
    **options: Any,
) -> dict[str, int]:
    pipeline = beam.Pipeline(options=PipelineOptions(["--runner=FnApiRunner", *arguments]))
    results = pipeline | beam.Create(shards) | EachShard(Shout(output), workers=workers, **options)
    if expected is not None:
        assert_that(results | beam.Map(lambda result: result.name), equal_to(expected))
    result = pipeline.run()
    result.wait_until_finish()
    return {metric.key.metric.name: metric.committed for metric in result.metrics().query()["counters"]}


@pytest.mark.parametrize("workers", [1, 2])
def test_every_shard_is_done_and_counted(tmp_path: Path, workers: Any) -> None:
    heard: list[dict[str, int]] = []
    stop = listen(heard.append)
    counters = run(SHARDS, str(tmp_path), workers, expected=[shard.name for shard in SHARDS])
    stop()
    assert counters == {"shards": 8, "letters": 40}
    assert sorted(os.listdir(tmp_path)) == [f"s{number}" for number in range(8)]
    assert sum(counts.get("documents", 0) for counts in heard) == 8
    assert sum(counts.get("shards", 0) for counts in heard) == 8


def test_a_bad_file_is_a_result_and_leaves_a_note(tmp_path: Path) -> None:
    shards = [Shard("a", "x"), Shard("b", "bad"), Shard("c", "y")]
    counters = run(shards, str(tmp_path), expected=["a", "b", "c"])
    assert counters == {"shards": 2, "letters": 2, "bad_files": 1}
    assert read_failures(str(tmp_path), ["a", "b", "c"]) == [ShardFailure("b", "b: bad")]
    forget_failures(str(tmp_path), ["a", "b", "c"])
    assert read_failures(str(tmp_path), ["a", "b", "c"]) == []


def test_a_bad_file_can_stop_the_rest(tmp_path: Path) -> None:
    shards = [Shard("b", "bad"), *SHARDS]
    counters = run(shards, str(tmp_path), stop_at_bad_file=True)
    assert counters == {"bad_files": 1}


def test_bundles_run_again_and_repeated_descriptors_change_nothing(tmp_path: Path) -> None:
    run(SHARDS * 2, str(tmp_path), arguments=("--direct_runner_bundle_repeat=2",))
    assert sorted(os.listdir(tmp_path)) == [f"s{number}" for number in range(8)]
    assert all((tmp_path / name).read_bytes() == b"HELLO" for name in os.listdir(tmp_path))


def test_a_mistake_of_the_user_stops_the_rest(tmp_path: Path) -> None:
    counters = run([Shard("m", "mistake"), *SHARDS], str(tmp_path))
    assert counters == {"bad_files": 1}
    assert read_failures(str(tmp_path), ["m"]) == [ShardFailure("m", "a mistake", fatal=True)]


def test_a_worker_process_that_dies_stops_the_rest(tmp_path: Path) -> None:
    shards = [Shard("k", "killed"), *SHARDS]
    run(shards, str(tmp_path), workers=2)
    failures = read_failures(str(tmp_path), [shard.name for shard in shards])
    assert failures[0].fatal
    assert "k: a worker process died" in failures[0].message
    assert len(failures) <= 3


def test_threads_are_set_where_the_work_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in thread_settings(1):
        monkeypatch.setenv(name, "of before")
    run(SHARDS[:1], str(tmp_path), threads=3)
    assert {name: os.environ[name] for name in thread_settings(3)} == thread_settings(3)
    assert os.environ["TF_NUM_INTRAOP_THREADS"] == "3"


def test_work_of_a_run_that_has_ended(tmp_path: Path) -> None:
    with run_lock(str(tmp_path)) as lock:
        run(SHARDS[:1], str(tmp_path), fence=lock.fence)
    counters = run(SHARDS[1:2], str(tmp_path), fence=lock.fence)
    assert counters == {"bad_files": 1}
    (failure,) = read_failures(str(tmp_path), [SHARDS[1].name])
    assert failure.fatal
    assert "is no longer its own" in failure.message
    with pytest.raises((UserError, RuntimeError), match="is no longer its own"):  # as it is, or as Beam tells it
        run(SHARDS[1:2], str(tmp_path), fence=lock.fence, elsewhere=True)
    assert os.listdir(tmp_path) == ["s0"]  # not even a note of the failure: the output is another run's
