"""Which Beam runner a job gets, and what that runner must be told before anything is submitted.

The same graph runs everywhere: ``--runner=DataflowRunner`` is all that changes. What this module adds is that a missing
option is told at once and in words, not minutes later by a remote service.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence

# No runner at all, and DirectRunner, first try to download another engine: a job must not depend on the network.
LOCAL_RUNNER = "FnApiRunner"
_LOCAL_NAMES = {LOCAL_RUNNER, "DirectRunner", "BundleBasedDirectRunner", "SwitchingDirectRunner"}

# What each engine cannot do without, and what to write.
_NEEDED: Mapping[str, Mapping[str, str]] = {
    "DataflowRunner": {
        "project": "the Google Cloud project that pays",
        "region": "where the workers run, for instance europe-west1",
        "temp_location": "a gs:// directory for temporary files",
    },
    "PortableRunner": {"job_endpoint": "host:port of the job service"},
}


class RunnerError(ValueError):
    """A runner that cannot work with the options it got."""


def runner_of(arguments: Sequence[str]) -> str:
    """The runner that Beam's arguments name; the local one if they name none.

    >>> runner_of(["--runner=DataflowRunner"]), runner_of([]), runner_of(["--runner", "DirectRunner"])
    ('DataflowRunner', 'FnApiRunner', 'FnApiRunner')
    """
    named = option_value(arguments, "runner")
    return LOCAL_RUNNER if named is None or named.rpartition(".")[2] in _LOCAL_NAMES else named


def check_runner(arguments: Sequence[str]) -> None:
    """Fails where the named runner would fail later.

    Raises:
        RunnerError: with the option, what was expected and what to do.
    """
    if option_value(arguments, "direct_running_mode") == "multi_threading":
        raise RunnerError(
            "--direct_running_mode multi_threading loses rows: expected it to be left out. "
            "This machine's cores are used by --local_workers processes"
        )
    runner = runner_of(arguments)
    for option, meaning in _NEEDED.get(runner.rpartition(".")[2], {}).items():
        if option_value(arguments, option) is None:
            raise RunnerError(f"--runner={runner} needs --{option}: {meaning}")


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
