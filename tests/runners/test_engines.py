from __future__ import annotations

import pytest

from runners.engines import LOCAL_RUNNER, RunnerError, check_runner, runner_of

DATAFLOW = ["--runner=DataflowRunner", "--project=p", "--region", "europe-west1", "--temp_location=gs://b/t"]


def test_local_runners_are_one() -> None:
    for name in ("DirectRunner", "FnApiRunner", "apache_beam.runners.direct.DirectRunner"):
        assert runner_of([f"--runner={name}"]) == LOCAL_RUNNER
    assert runner_of(["--runner=FlinkRunner"]) == "FlinkRunner"


def test_what_is_complete_passes() -> None:
    check_runner([])
    check_runner(DATAFLOW)
    check_runner(["--runner=FlinkRunner"])


@pytest.mark.parametrize("left_out", ["project", "region", "temp_location"])
def test_what_dataflow_needs_is_named(left_out: str) -> None:
    given = " ".join(DATAFLOW).replace(f"--{left_out}", "--other").split()
    with pytest.raises(RunnerError, match=f"--runner=DataflowRunner needs --{left_out}: "):
        check_runner(given)


def test_a_mode_that_loses_rows_is_refused() -> None:
    with pytest.raises(RunnerError, match="multi_threading loses rows"):
        check_runner(["--direct_running_mode=multi_threading"])
