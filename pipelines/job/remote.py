"""A job on another engine has an owner: the process that started it, and after that the lock of its output.

Stopping the process cancels the job. With ``--detach`` the process ends and the job goes on; the lock then names it, as
it does after the process was killed, and no second run writes beside it.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

from pipelines.job.options import JobOptions
from respace.storage.errors import BadOption, UserError
from respace.storage.files import join_url
from respace.storage.lock import LOCK_NAME, Fenced, RemoteJob, RunLock, held_lock, job_name
from runners.engines import option_value, short_name
from runners.flink.jobs import cancel_jobs, running_jobs

if TYPE_CHECKING:
    import apache_beam as beam

# How long a job may take to end after it was cancelled.
_CANCEL_SECONDS = 60.0
_ASK_SECONDS = 10.0
_POLL_SECONDS = 0.5
_OVER = ("DONE", "FAILED", "CANCELLED", "UPDATED", "DRAINED")


class Detached(Exception):
    """The job goes on without this process."""


def run_graph(pipeline: beam.Pipeline, options: JobOptions) -> None:
    """Runs a graph to its end, wherever it runs. The lock of the output is held.

    Raises:
        Detached: it was submitted, and that was all that was wanted.
    """
    if options.runs_locally:
        pipeline.run().wait_until_finish()
        return
    result = _submit(pipeline, options)
    lock, job = held_lock(options.output), _reference(result, options)
    assert lock is not None
    try:
        lock.note_job(job)
    except Fenced:  # nobody else knows of the job, and its workers would publish nothing
        result.cancel()
        raise
    if options.detach:
        if job is None:
            result.cancel()
            raise BadOption(f"--detach: a job of {options.runner} ends with this process. Leave it out")
        lock.note_job(job, kept=True)
        raise Detached(
            f"detached: {job_name(job)}. When it has ended, rerun the same command: "
            "it checks what was done, does what is left, and writes the report"
        )
    try:
        result.wait_until_finish()
    except KeyboardInterrupt:
        _cancel(result, lock, job)
        raise
    except Exception as error:  # every engine's client has its own for a job that failed, and for one it lost sight of
        if job is not None and not _is_known_to_be_over(job):
            lock.note_job(job, kept=True)
        raise UserError(
            f"the job failed on {options.runner}: {_first_line(error)}. Its own log says more; when the reason is "
            "gone, rerun the same command: finished shards are skipped"
        ) from error
    lock.note_job(None)


def _submit(pipeline: beam.Pipeline, options: JobOptions) -> Any:
    """
    Raises:
        UserError: the engine does not take the job.
    """
    import grpc
    from google.api_core.exceptions import GoogleAPICallError

    try:
        return pipeline.run()
    except GoogleAPICallError as error:
        raise UserError(
            f"--runner={options.runner}: the job was not taken: {_first_line(error)}. "
            "Check --project, --region, --temp_location and what your credentials allow"
        ) from error
    except grpc.RpcError as error:
        endpoint = option_value(options.engine_arguments, "job_endpoint")
        said = error.details() if isinstance(error, grpc.Call) else error
        raise UserError(f"--job_endpoint {endpoint}: the job was not taken: {_first_line(said)}") from error


def _is_known_to_be_over(job: RemoteJob) -> bool:
    try:
        return is_over(job)
    except UserError:
        return False


def _first_line(error: object) -> str:
    return (str(error).strip().splitlines() or ["no reason was given"])[0][:500]


def check_detach(options: JobOptions) -> None:
    """
    Raises:
        BadOption: ``--detach`` where the job cannot outlive this process.
    """
    if not options.detach:
        return
    arguments = options.engine_arguments
    name = short_name(options.runner)
    workers_are_here = (option_value(arguments, "environment_type") or "").upper() == "LOOPBACK"
    if name != "DataflowRunner" and (option_value(arguments, "job_endpoint") is None or workers_are_here):
        raise BadOption(
            f"--detach: a job of {name} as it is started here ends with this process. Give --job_endpoint of a job "
            "service and workers outside of this process, for instance --preset flink, or leave --detach out"
        )


def is_over(job: RemoteJob) -> bool:
    """Whether a job that a lock names has ended.

    Raises:
        UserError: nobody knows.
    """
    try:
        return _state(job) in _OVER
    except Exception as error:  # every engine's client has its own; all of them mean that it cannot be asked
        raise UserError(
            f"whether this job still runs cannot be told: {job_name(job)} ({type(error).__name__}). Start its service "
            f"again; if you know that the job has ended, remove {LOCK_NAME} from the output"
        ) from error


def _reference(result: Any, options: JobOptions) -> RemoteJob | None:
    """By what others can ask about a job; None where it cannot outlive this process."""
    arguments = options.engine_arguments
    name = short_name(options.runner)
    if name == "DataflowRunner":
        place = {key: option_value(arguments, key) for key in ("project", "region", "dataflow_endpoint")}
        return {"runner": name, "id": str(result.job_id()), **{key: value for key, value in place.items() if value}}
    endpoint = option_value(arguments, "job_endpoint")
    here = (option_value(arguments, "environment_type") or "").upper() == "LOOPBACK"
    if endpoint is None or here or not hasattr(result, "_job_id"):
        return None
    reference = {"runner": name, "id": str(result._job_id), "endpoint": endpoint}
    master = option_value(arguments, "flink_master")
    return {**reference, "flink_master": master} if name == "FlinkRunner" and master is not None else reference


def _state(job: RemoteJob) -> str:
    if job["runner"] == "DataflowRunner":
        return _dataflow_state(job)
    if "flink_master" in job and running_jobs(job["flink_master"], _flink_name(job)):
        return "RUNNING"  # whatever the job service says, which may have forgotten it
    import grpc
    from apache_beam.portability.api import beam_job_api_pb2, beam_job_api_pb2_grpc

    with grpc.insecure_channel(job["endpoint"]) as channel:
        service = beam_job_api_pb2_grpc.JobServiceStub(channel)
        request = beam_job_api_pb2.GetJobStateRequest(job_id=job["id"])
        try:
            state = service.GetState(request, timeout=_ASK_SECONDS).state
        except grpc.RpcError as error:
            # A job service that was started again has forgotten its jobs.
            if error.code() == grpc.StatusCode.NOT_FOUND:
                return "DONE"
            raise
        return str(beam_job_api_pb2.JobState.Enum.Name(state))


def _flink_name(job: RemoteJob) -> str:
    """The name of a job in Flink; Beam's job server adds something of its own for the id."""
    return job["id"].rpartition("_")[0]


def _dataflow_state(job: RemoteJob) -> str:
    from apache_beam.options.pipeline_options import PipelineOptions
    from apache_beam.runners.dataflow.internal.apiclient import DataflowApplicationClient

    place = [f"--{key}={value}" for key, value in job.items() if key not in ("runner", "id")]
    # Beam's own client asks where the job was submitted; an endpoint on this machine has no credentials.
    own = ["--no_auth"] if "localhost" in job.get("dataflow_endpoint", "") else []
    found = DataflowApplicationClient(PipelineOptions([*place, *own])).get_job(job["id"])
    return str(found.current_state.name).removeprefix("JOB_STATE_")


def _cancel(result: Any, lock: RunLock, job: RemoteJob | None) -> None:
    """Cancels a job and waits until it has ended. One that does not keeps the lock."""
    print("cancelling the job", file=sys.stderr)
    deadline = time.monotonic() + _CANCEL_SECONDS
    try:
        result.cancel()
        if job is not None and "flink_master" in job:
            cancel_jobs(job["flink_master"], _flink_name(job))
        while job is not None and not is_over(job):
            if time.monotonic() > deadline:
                raise UserError(f"it did not end within {_CANCEL_SECONDS:.0f} s")
            time.sleep(_POLL_SECONDS)
    except Exception as error:  # whatever it is, the job may go on, and must keep its output for itself
        if job is None:
            raise
        lock.note_job(job, kept=True)
        url = join_url(lock.output, LOCK_NAME)
        print(f"error: {job_name(job)} could not be cancelled ({error}). It keeps {url}", file=sys.stderr)
        return
    lock.note_job(None)
