from __future__ import annotations

import pytest

from pipelines.job.options import unknown_arguments
from runners.engines import LOCAL_RUNNER, PRESETS, RunnerError, expand_preset, option_value, runner_of


def test_local_runners_are_one() -> None:
    for name in ("DirectRunner", "FnApiRunner", "apache_beam.runners.direct.DirectRunner"):
        assert runner_of([f"--runner={name}"]) == LOCAL_RUNNER
    assert runner_of(["--runner=FlinkRunner"]) == "FlinkRunner"


def test_no_preset_adds_nothing() -> None:
    assert expand_preset(None, ["--runner=FlinkRunner", "--parallelism", "2"]) == (
        "--runner=FlinkRunner",
        "--parallelism",
        "2",
    )


def test_a_preset_spells_out_its_options() -> None:
    assert expand_preset("flink", []) == (
        "--runner=FlinkRunner",
        "--job_endpoint=localhost:8099",
        "--environment_type=EXTERNAL",
        "--environment_config=localhost:50000",
        "--job_server_timeout=604800",
        "--flink_master=localhost:8081",
    )


@pytest.mark.parametrize(
    "given", [["--worker_machine_type=c3-standard-4"], ["--machine_type", "c3-standard-4"]], ids=["one", "other"]
)
def test_every_option_of_a_preset_can_be_replaced(given: list[str]) -> None:
    expanded = expand_preset("dataflow", given)
    assert [one for one in expanded if "machine_type" in one] == [one for one in given if "machine_type" in one]
    assert "--no_use_public_ips" in expanded


def test_experiments_are_added_up() -> None:
    expanded = expand_preset("dataflow-gpu", ["--experiments=mine"])
    assert [one for one in expanded if one.startswith("--experiments")] == [
        "--experiments=no_use_multiple_sdk_containers",
        "--experiments=mine",
    ]


@pytest.mark.parametrize("arguments", [["--runner=DaskRunner"], ["--runner", "DaskRunner"]])
def test_dask_has_a_short_name(arguments: list[str]) -> None:
    expanded = expand_preset(None, [*arguments, "--dask_npartitions=2"])
    assert expanded == ("--runner=apache_beam.runners.dask.dask_runner.DaskRunner", "--dask_npartitions=2")


def test_a_preset_with_its_own_runner_is_fine() -> None:
    assert option_value(expand_preset("spark", ["--runner=SparkRunner"]), "runner") == "SparkRunner"
    assert runner_of(expand_preset("local", ["--runner=DirectRunner"])) == LOCAL_RUNNER


@pytest.mark.parametrize(
    ("preset", "arguments", "message"),
    [
        ("cluster", [], "--preset cluster: expected one of local, portable, prism, "),
        ("flink", ["--runner=SparkRunner"], "--preset flink and --runner=SparkRunner: the preset is for FlinkRunner"),
    ],
)
def test_bad_presets(preset: str, arguments: list[str], message: str) -> None:
    with pytest.raises(RunnerError) as caught:
        expand_preset(preset, arguments)
    assert str(caught.value).startswith(message)


def test_beam_knows_every_option_of_every_preset() -> None:
    from apache_beam.options.pipeline_options import PipelineOptions

    pytest.importorskip("dask.bag", reason="dask is not installed")
    from apache_beam.runners.dask import dask_runner

    assert issubclass(dask_runner.DaskOptions, PipelineOptions)
    for name in PRESETS:
        assert unknown_arguments(expand_preset(name, [])) == [], name
    given = ["--penguins=4", "--runner=FlinkRunner", "--penguins", "5", "-p"]
    assert unknown_arguments(given) == ["--penguins=4", "--penguins", "5", "-p"]
