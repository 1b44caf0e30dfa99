"""Which engine runs a job: Beam's runners by their names, and presets that spell out what each of them must be told.

The same graph runs everywhere. ``--preset flink`` stands for the options that this job needs on Flink; whatever the
user gives beside it counts more. ``--runner=FlinkRunner`` without a preset adds nothing.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

# No runner at all, and DirectRunner, first try to download another engine: a job must not depend on the network.
LOCAL_RUNNER = "FnApiRunner"
_LOCAL_NAMES = {LOCAL_RUNNER, "DirectRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner"}
# Runners that Beam has and does not know by their short names.
_FULL_NAMES = {"DaskRunner": "apache_beam.runners.dask.dask_runner.DaskRunner"}
# Options that are lists: what the user gives is added, not put in place of the preset's.
_LISTS = ("experiments",)
_SAME_OPTION = {"machine_type": "worker_machine_type", "experiment": "experiments", "resource_hint": "resource_hints"}


# Enough to keep the threads of a processor busy.
BATCH_CHARACTERS = 1 << 18


class RunnerError(ValueError):
    """A runner that cannot work with the options it got.

    Args:
        message: the option, what is wrong with it, and what to do.
        extra: the extra of this project that brings the package that is missing, if that is what is wrong.
    """

    def __init__(self, message: str, extra: str | None = None):
        super().__init__(message)
        self.extra = extra


@dataclass(frozen=True)
class Preset:
    """What an engine is told unless the user says otherwise.

    Args:
        runner: Beam's name of the engine.
        options: Beam's options; a flag has no value.
        batch_characters: how much text a job gives to its model at once.
    """

    runner: str
    options: Mapping[str, str] = field(default_factory=dict)
    batch_characters: int = BATCH_CHARACTERS


# A machine of Dataflow runs one worker process for every virtual core, and each of them would take a dozen shards at
# once: one is what its core and its memory are enough for.
_DATAFLOW = {
    "worker_machine_type": "n2-standard-8",
    "disk_size_gb": "50",
    "autoscaling_algorithm": "THROUGHPUT_BASED",
    "num_workers": "1",
    "max_num_workers": "16",
    "number_of_worker_harness_threads": "1",
    "no_use_public_ips": "",
}
# Beam's default of five minutes is also how long it listens to some job services: longer jobs would seem to fail.
_PATIENT = {"job_server_timeout": str(7 * 24 * 3600)}
# Workers in the cluster's own machines, each of which has `python -m runners.worker_pool` running.
_POOL = {
    "job_endpoint": "localhost:8099",
    "environment_type": "EXTERNAL",
    "environment_config": "localhost:50000",
    **_PATIENT,
}

PRESETS: Mapping[str, Preset] = {
    "local": Preset(LOCAL_RUNNER),
    "portable": Preset(
        "PortableRunner", {"job_endpoint": "localhost:8099", "environment_type": "LOOPBACK", **_PATIENT}
    ),
    "prism": Preset("PrismRunner", {"environment_type": "LOOPBACK", **_PATIENT}),
    "flink": Preset("FlinkRunner", {**_POOL, "flink_master": "localhost:8081"}),
    "spark": Preset("SparkRunner", _POOL),
    "dask": Preset("DaskRunner", {"dask_partition_size": "1"}),
    "dataflow": Preset("DataflowRunner", _DATAFLOW),
    "dataflow-gpu": Preset(
        "DataflowRunner",
        {
            **_DATAFLOW,
            "worker_machine_type": "g2-standard-8",
            "max_num_workers": "4",
            # All shards of a machine share its GPU, so they share one process and one copy of the model.
            "number_of_worker_harness_threads": "4",
            "experiments": "no_use_multiple_sdk_containers",
            # For the whole pipeline: a hint on one transform would make a second environment.
            "resource_hints": "accelerator=type:nvidia-l4;count:1;install-nvidia-driver",
        },
        # Several of the batches that a GPU computes: windows of about the same length go together.
        batch_characters=1 << 20,
    ),
}


def expand_preset(name: str | None, arguments: Sequence[str]) -> tuple[str, ...]:
    """Beam's arguments: those of a preset, then those of the user, whose runner has its full name.

    >>> expand_preset("dask", ["--dask_partition_size=3"])
    ('--runner=apache_beam.runners.dask.dask_runner.DaskRunner', '--dask_partition_size=3')

    Raises:
        RunnerError: there is no such preset, or the user names another runner than it has.
    """
    preset = _preset(name, arguments)
    given = option_names(arguments)
    added = [f"--runner={preset.runner}"] if preset is not None and "runner" not in given else []
    for option, value in (preset.options if preset is not None else {}).items():
        if option not in given or option in _LISTS:
            added.append(f"--{option}={value}" if value else f"--{option}")
    return tuple(_with_full_name([*added, *arguments]))


def _preset(name: str | None, arguments: Sequence[str]) -> Preset | None:
    if name is None:
        return None
    if name not in PRESETS:
        raise RunnerError(f"--preset {name}: expected one of {', '.join(PRESETS)}")
    preset, runner = PRESETS[name], option_value(arguments, "runner")
    if runner is not None and runner.rpartition(".")[2] != preset.runner and runner_of(arguments) != preset.runner:
        raise RunnerError(f"--preset {name} and --runner={runner}: the preset is for {preset.runner}. Give one of them")
    return preset


def _with_full_name(arguments: list[str]) -> list[str]:
    runner = option_value(arguments, "runner")
    if runner not in _FULL_NAMES:
        return arguments
    named = [f"--runner={_FULL_NAMES[runner]}"]
    return [*named, *without_option(arguments, "runner")]


def runner_of(arguments: Sequence[str]) -> str:
    """The runner that Beam's arguments name; the local one if they name none.

    >>> runner_of(["--runner=DataflowRunner"]), runner_of([]), runner_of(["--runner", "DirectRunner"])
    ('DataflowRunner', 'FnApiRunner', 'FnApiRunner')
    """
    named = option_value(arguments, "runner")
    return LOCAL_RUNNER if named is None or named.rpartition(".")[2] in _LOCAL_NAMES else named


def short_name(runner: str) -> str:
    """
    >>> short_name("apache_beam.runners.dask.dask_runner.DaskRunner")
    'DaskRunner'
    """
    return runner.rpartition(".")[2]


def parallelism_of(arguments: Sequence[str]) -> int | None:
    """How many workers an engine was asked for, as far as its options say.

    >>> parallelism_of(["--parallelism=8"]), parallelism_of(["--max_num_workers", "16"]), parallelism_of([])
    (8, 16, None)
    """
    for option in ("parallelism", "max_num_workers", "num_workers"):
        value = option_value(arguments, option)
        if value is not None and value.isdecimal() and int(value):
            return int(value)
    return None


def option_value(arguments: Sequence[str], name: str) -> str | None:
    """The last value of an option among unparsed arguments.

    >>> option_value(["--runner=A", "--runner", "B", "--x"], "runner")
    'B'
    """
    found = None
    for position, argument in enumerate(arguments):
        if argument.startswith(f"--{name}="):
            found = argument.partition("=")[2]
        elif argument == f"--{name}" and position + 1 < len(arguments):
            found = arguments[position + 1]
    return found


def option_names(arguments: Sequence[str]) -> set[str]:
    """Which options are among unparsed arguments, each by one name.

    >>> sorted(option_names(["--machine_type=a", "--flag", "value"]))
    ['flag', 'worker_machine_type']
    """
    names = {one.removeprefix("--").partition("=")[0] for one in arguments if one.startswith("--")}
    return {_SAME_OPTION.get(name, name) for name in names}


def without_option(arguments: Sequence[str], name: str) -> list[str]:
    """
    >>> without_option(["--a", "--runner", "B", "--runner=C", "--d"], "runner")
    ['--a', '--d']
    """
    kept: list[str] = []
    skip = False
    for argument in arguments:
        if skip or argument.startswith(f"--{name}="):
            skip = False
        elif argument == f"--{name}":
            skip = True
        else:
            kept.append(argument)
    return kept


def import_runner(runner: str) -> None:
    """Imports the module of a runner that is named by its full name, so that Beam knows the runner's own options.

    Raises:
        RunnerError: there is no such module, or what it needs is not installed.
    """
    module = runner.rpartition(".")[0]
    if module:
        try:
            importlib.import_module(module)
        except ImportError as error:
            raise RunnerError(
                f"--runner={runner}: {error}. Is the name right, and the engine's package installed?"
            ) from error
