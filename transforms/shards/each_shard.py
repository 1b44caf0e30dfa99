"""One element is one shard: the transform that every job of this project is built on.

What shards and work are, `transforms.shards.contract` says; `pipelines.job.stages` runs the only graph there is::

    with beam.Pipeline(options=pipeline_options(options)) as pipeline:
        pipeline | PlannedShards(write_plan(options.output, shards)) | EachShard(work, workers=options.workers)
    failures = read_failures(options.output, names)  # of transforms.shards.guard
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, wait
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import apache_beam as beam
from apache_beam.metrics import Metrics
from apache_beam.transforms.window import GlobalWindow
from apache_beam.utils.windowed_value import WindowedValue

from respace.storage.errors import UserError
from respace.storage.lock import Fence
from transforms.shards import progress
from transforms.shards.contract import Shard, ShardResult, ShardWork
from transforms.shards.guard import GuardedWork, ShardFailure, keep_failure
from transforms.shards.plan_files import PlanSlice, read_slice
from transforms.shards.workers import WorkerPool, thread_settings

NAMESPACE = "respace"


class PlannedShards(beam.PTransform):
    """The shards of some slices of a plan."""

    def __init__(self, slices: Sequence[PlanSlice]) -> None:
        super().__init__()
        self._slices = list(slices)

    def expand(self, pipeline: beam.pvalue.PBegin) -> beam.PCollection:
        return pipeline | "Slices" >> beam.Create(self._slices) | "Read" >> beam.FlatMap(read_slice)


class EachShard(beam.PTransform):
    """Does the work on every shard and passes its results on.

    Counts of a result become Beam counters, and seconds per shard a distribution. A `BadFile` becomes a `ShardFailure`,
    which is also left in ``_failed/`` of the output for the process that started the job.

    Args:
        work: what to do with a shard.
        workers: local processes to use; 1 works in this process, which is right on every distributed runner.
        threads: of TensorFlow in the process that works on a shard; None leaves that to it.
        stop_at_bad_file: start no more shards once one could not be read.
        fence: see `GuardedWork`.
        elsewhere: the process that started the job is another one, and hears of a failure by its note or an error.
    """

    def __init__(
        self,
        work: ShardWork[Any],
        *,
        workers: int = 1,
        threads: int | None = None,
        stop_at_bad_file: bool = False,
        fence: Fence | None = None,
        elsewhere: bool = False,
    ) -> None:
        super().__init__()
        self.fence, self.elsewhere = fence, elsewhere
        self.work, self.workers, self.threads, self.stop_at_bad_file = work, workers, threads, stop_at_bad_file

    def expand(self, shards: beam.PCollection) -> beam.PCollection:
        work = GuardedWork(self.work, self.fence)
        runner = _RunShards(work, self.workers, self.threads, self.stop_at_bad_file, self.elsewhere)
        # Without the reshuffle a runner may fuse all shards into the bundle of the Create.
        return shards | "Distribute" >> beam.Reshuffle() | "Work" >> beam.ParDo(runner)


class _RunShards(beam.DoFn):
    def __init__(self, work: GuardedWork, workers: int, threads: int | None, stop_at_bad_file: bool, elsewhere: bool):
        self._work, self._workers, self._threads = work, workers, threads
        self._stop_at_bad_file, self._elsewhere = stop_at_bad_file, elsewhere
        self._seconds = Metrics.distribution(NAMESPACE, "shard_milliseconds")
        self._pool: WorkerPool | None = None
        self._running: dict[Future[Any], Shard] = {}
        self._stopped = False

    def setup(self) -> None:
        if self._threads is not None:  # before the work imports TensorFlow
            os.environ.update(thread_settings(self._threads))

    def process(self, shard: Shard) -> Iterator[Any]:
        if self._stopped:
            return
        if self._workers == 1:
            yield self._finished(*self._work(shard))
            return
        # Processes are started with the first shard: a runner may set up more instances than it uses.
        if self._pool is None:
            self._pool = WorkerPool(self._work, self._workers)
        self._running[self._pool.submit(shard)] = shard
        # One more than there are processes, so that none waits for the next shard.
        if len(self._running) > self._workers:
            yield from self._next_results()

    def finish_bundle(self) -> Iterator[WindowedValue]:
        window = GlobalWindow()
        while self._running:
            for result in self._next_results():
                yield WindowedValue(result, window.max_timestamp(), (window,))

    def teardown(self) -> None:
        if self._pool is not None:
            self._pool.close()
            self._pool = None

    def _next_results(self) -> Iterator[Any]:
        """Waits for the shards that end next."""
        for future in wait(self._running, return_when=FIRST_COMPLETED).done:
            shard = self._running.pop(future)
            try:
                result, seconds = future.result()
            except BrokenProcessPool:
                reason = "a worker process died; most often the memory ran out, and fewer --local_workers need less"
                result, seconds = self._work.failed(shard, f"{shard.name}: {reason}", fatal=True), 0.0
            yield self._finished(result, seconds)

    def _tell(self, failure: ShardFailure) -> None:
        """Has the process that started the job know of a failure that could not be noted."""
        if failure.noted:
            return
        if self._elsewhere:
            raise UserError(failure.message)
        keep_failure(self._work.work.output, failure)

    def _finished(self, result: ShardResult | ShardFailure, seconds: float) -> ShardResult | ShardFailure:
        self._seconds.update(int(1000 * seconds))
        if isinstance(result, ShardFailure):
            self._tell(result)
            Metrics.counter(NAMESPACE, "bad_files").inc()
            self._stopped = self._stopped or self._stop_at_bad_file or result.fatal
        else:
            Metrics.counter(NAMESPACE, "shards").inc()
            for name, count in result.counts.items():
                Metrics.counter(NAMESPACE, name).inc(count)
        progress.report(shards=1)
        return result
