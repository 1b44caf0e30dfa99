"""Options of jobs: each declared once, with its default, its help and its limits, and checked before anything is done.

A job declares a subclass of `JobOptions` for what it needs beyond the common options. The first line of its docstring
is the job's description::

    @dataclass(frozen=True, kw_only=True)
    class EvaluateOptions(JobOptions):
        \"""Evaluates methods on benchmarks.\"""

        sequences: int | None = option(None, "only the first N sequences of each benchmark", metavar="N", least=1)

    def main(argv=None) -> int:
        return run_job(job, EvaluateOptions, argv)

Options that the job does not know go to Beam. Nothing heavy is imported before all options have been checked.
"""

from __future__ import annotations

import argparse
import difflib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, get_args, get_type_hints

from respace.storage.errors import BadOption
from respace.storage.files import check_apart, is_local
from respace.storage.installing import install_hint
from respace.storage.publish import check_writable
from runners.checks import check_paths, check_runner, check_services
from runners.engines import (
    BATCH_CHARACTERS,
    LOCAL_RUNNER,
    PRESETS,
    RunnerError,
    expand_preset,
    import_runner,
    option_value,
    parallelism_of,
    runner_of,
)

if TYPE_CHECKING:
    from apache_beam.options.pipeline_options import PipelineOptions

_HELP = "help"
_SECRET = re.compile(r"(\w+://)[^/@]*@(.*)", re.DOTALL)
# What the value of an option is called that names files or folders.
_PATHS = ("PATH", "DIRECTORY", "FILE")


def option(
    default: Any,
    help: str,
    *,
    metavar: str | None = None,
    least: float | None = None,
    most: float | None = None,
    choices: Sequence[str] = (),
    names: Sequence[str] = (),
) -> Any:
    """A field that is an option of the command line.

    Args:
        default: its value unless it is given.
        help: what ``--help`` says.
        metavar: how ``--help`` calls its value.
        least, most: limits of a number.
        choices: the values that it, or each of several values, may have.
        names: other names of the flag, such as ``--method``.
    """
    limits = {"least": least, "most": most, "choices": tuple(choices)}
    return field(default=default, metadata={_HELP: help, "metavar": metavar, "names": tuple(names), **limits})


@dataclass(frozen=True, kw_only=True)
class JobOptions:
    """Options of every job; ``beam_arguments`` are those for Beam, as the user gave them."""

    input: tuple[str, ...] = option((), "files, directories, globs or URLs; repeatable", metavar="PATH")
    output: str = option("", "directory or URL to write to", metavar="DIRECTORY")
    on_bad_file: str = option(
        "error",
        "unreadable files: error (default), warn or skip",
        metavar="WHAT",
        choices=("error", "warn", "skip"),
    )
    limit: int | None = option(None, "do at most N shards", metavar="N", least=1)
    dry_run: bool = option(False, "print the plan and write nothing")
    overwrite: bool = option(False, "do again what is done already")
    max_error_fraction: float = option(
        0.01, "fail if more documents than this fail (default 0.01)", metavar="F", least=0, most=1
    )
    local_workers: int | None = option(None, "processes on this machine (default: one per core)", metavar="N", least=1)
    verbose: bool = option(False, "show where an error comes from; with --dry_run, list every file")
    preset: str | None = option(
        None, f"the engine, with the options that it needs: {', '.join(PRESETS)}", metavar="ENGINE"
    )
    remote_workers: int | None = option(
        None,
        "worker processes of another engine, about: large files are cut so that all have work (default: what its "
        "options say)",
        metavar="N",
        least=1,
    )
    worker_threads: int | None = option(
        None, "threads of TensorFlow in a worker of another engine (default: 1)", metavar="N", least=1
    )
    detach: bool = option(False, "submit the job to another engine and leave; rerun the command when it has ended")
    beam_arguments: tuple[str, ...] = ()

    # Options that a job once had, and what does it now.
    moved: ClassVar[Mapping[str, str]] = {}

    def __post_init__(self) -> None:
        if not self.input or not all(self.input):  # an empty one would be the current directory
            raise BadOption("--input is missing: expected a file, directory, glob or URL")
        if not self.output:
            raise BadOption("--output is missing: expected a directory or URL")
        for one in _declared(type(self)):
            _check_value(one, getattr(self, one.name))
            _check_no_secret(one.name, getattr(self, one.name))
        try:
            check_runner(self.engine_arguments)
        except RunnerError as error:
            raise _bad_option(error) from None
        check_apart(self.input, self.output)

    @property
    def engine_arguments(self) -> tuple[str, ...]:
        """What Beam is told: the preset's options, then those that the user gave."""
        return expand_preset(self.preset, self.beam_arguments)

    @property
    def preset_batch_characters(self) -> int:
        """How much text the engine wants a model to get at once."""
        return PRESETS[self.preset].batch_characters if self.preset else BATCH_CHARACTERS

    @property
    def runner(self) -> str:
        return runner_of(self.engine_arguments)

    @property
    def runs_locally(self) -> bool:
        return self.runner == LOCAL_RUNNER

    @property
    def workers(self) -> int:
        """Processes that `EachShard` should use."""
        from transforms.shards.workers import available_cores

        return (self.local_workers or available_cores()) if self.runs_locally else 1

    @property
    def parallelism(self) -> int | None:
        """Processes that share the work, wherever they are; None where nobody knows."""
        return self.workers if self.runs_locally else self.remote_workers or parallelism_of(self.engine_arguments)

    @property
    def threads(self) -> int | None:
        """Threads of TensorFlow in a worker process of another engine; its own processes a local run sets itself."""
        return None if self.runs_locally else self.worker_threads or 1

    def local_paths(self) -> list[tuple[str, str]]:
        """Options that name something on this machine, and what they name."""
        found = []
        for one in _declared(type(self)):
            value = getattr(self, one.name)
            for path in value if isinstance(value, tuple) else (value,):
                named = one.metadata["metavar"] in _PATHS and path
                # A model is a name or a path.
                if (named or (isinstance(path, str) and "/" in path and os.path.exists(path))) and is_local(path):
                    found.append((one.name, path))
        return found


Options = TypeVar("Options", bound=JobOptions)


def job_parser(kind: type[JobOptions]) -> argparse.ArgumentParser:
    """The parser of a job's command line, made from the fields of its options."""
    parser = _Parser(
        prog=f"python -m {_module_of(kind)}",
        formatter_class=_Formatter,
        description=(kind.__doc__ or "").partition("\n")[0],
        allow_abbrev=False,
        argument_default=argparse.SUPPRESS,
        epilog="\n".join(["All other options go to Apache Beam, for instance --runner.", *_examples(kind)]),
    )
    hints = get_type_hints(kind)
    for one in _declared(kind):
        flags = [f"--{one.name}", *one.metadata["names"]]
        about: dict[str, Any] = {"help": one.metadata[_HELP]}
        types = [part for part in get_args(hints[one.name]) if part not in (type(None), ...)] or [hints[one.name]]
        if one.default is True:
            parser.add_argument(*flags, action=argparse.BooleanOptionalAction, **about)
        elif one.default is False:
            parser.add_argument(*flags, action="store_true", **about)
        else:
            several: dict[str, Any] = {"action": "extend", "nargs": "+"} if isinstance(one.default, tuple) else {}
            parser.add_argument(*flags, type=types[0], metavar=one.metadata["metavar"], **several, **about)
    return parser


def parse_options(kind: type[Options], argv: Sequence[str] | None = None) -> Options:
    """Parses and checks the options of a job.

    Raises:
        BadOption: with the value, what was expected and what to do.
    """
    known, others = job_parser(kind).parse_known_args(sys.argv[1:] if argv is None else list(argv))
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value for name, value in vars(known).items()
    }
    _check_others(others, [one.name for one in fields(kind)], kind.moved)
    return kind(**given, beam_arguments=tuple(others))


def _bad_option(error: RunnerError) -> BadOption:
    return BadOption(f"{error}. Run: {install_hint(error.extra)}" if error.extra else str(error))


def check_engine(options: JobOptions) -> None:
    """Fails if the engine cannot be reached, or could not do the job; within seconds.

    Raises:
        BadOption: with the option, what was expected and what to do.
    """
    if options.runs_locally or options.dry_run:
        return
    try:
        for warning in check_paths(options.engine_arguments, options.local_paths()):
            print(f"warning: {warning}", file=sys.stderr)
        check_services(options.engine_arguments)
    except RunnerError as error:
        raise _bad_option(error) from error
    temporary = option_value(options.engine_arguments, "temp_location")
    if temporary is not None:
        check_writable(temporary, "--temp_location")


def check_beam_arguments(options: JobOptions) -> None:
    """Fails on an option that nobody knows. Beam is imported only if there is any to check."""
    if options.engine_arguments:
        pipeline_options(options)


def pipeline_options(options: JobOptions) -> PipelineOptions:
    """Beam's options: what the user gave, with the local runner named.

    Raises:
        BadOption: Beam does not know one of them.
    """
    from apache_beam.options.pipeline_options import PipelineOptions

    try:
        import_runner(options.runner)  # a runner's own options are known once it is imported
    except RunnerError as error:
        raise _bad_option(error) from error
    _check_known(options.runner)
    arguments = list(options.engine_arguments)
    if options.runs_locally:
        arguments.append(f"--runner={LOCAL_RUNNER}")
    unknown = unknown_arguments(arguments)
    if unknown:
        raise BadOption(f"{unknown[0]}: neither this job nor Beam knows this option. See --help")
    return PipelineOptions(arguments)


def unknown_arguments(arguments: Sequence[str]) -> list[str]:
    """Arguments that are no options of Beam, nor of a runner that was imported."""
    from apache_beam.options.pipeline_options import PipelineOptions

    parsers: list[argparse.ArgumentParser] = []
    # Beam gives its parser of all options to whoever has options to add.
    PipelineOptions([]).get_all_options(add_extra_args_fn=parsers.append)
    return parsers[0].parse_known_args(arguments)[1]


def _check_known(runner: str) -> None:
    """Beam would say so when the graph is built, with a stack trace."""
    from apache_beam.options.pipeline_options import StandardOptions

    module, _, name = runner.rpartition(".")
    if module:
        if not hasattr(sys.modules[module], name):
            raise BadOption(f"--runner {runner}: {module} has no {name}. Is the name right?")
        return
    known = sorted({one.rpartition(".")[2] for one in StandardOptions.ALL_KNOWN_RUNNERS})
    if runner.lower().removesuffix("runner") not in {one.lower().removesuffix("runner") for one in known}:
        raise BadOption(
            f"--runner {runner}: no such runner. Expected one of {', '.join(known)}, or package.module.Name"
        )


def _declared(kind: type[JobOptions]) -> list[Field[Any]]:
    return [one for one in fields(kind) if _HELP in one.metadata]


def _check_value(one: Field[Any], value: Any) -> None:
    least, most, choices = (one.metadata[name] for name in ("least", "most", "choices"))
    for given in value if isinstance(value, tuple) else (value,):
        if choices and given not in choices:
            raise BadOption(f"--{one.name} {given}: expected one of {', '.join(choices)}")
    if value is None or least is None:
        return
    if most is not None and not least <= value <= most:  # NaN is not
        raise BadOption(f"--{one.name} {value}: expected a number from {least} to {most}")
    if not value >= least:
        raise BadOption(f"--{one.name} {value}: expected at least {least}")


def _check_no_secret(name: str, value: Any) -> None:
    """A password in a URL would be in logs, manifests and reports."""
    for given in value if isinstance(value, tuple) else (value,):
        found = _SECRET.match(given) if isinstance(given, str) else None
        if found is not None:
            raise BadOption(
                f"--{name} {found[1]}…@{found[2]}: a URL with credentials would be in logs and reports. "
                "Give them where the store looks for them: the environment, or its own configuration"
            )


def _check_others(others: Sequence[str], names: Sequence[str], moved: Mapping[str, str]) -> None:
    """An option of ours with a typing error, or from an older version, must not silently become one of Beam's."""
    for argument in others:
        name = argument.partition("=")[0]
        if not name.startswith("-"):
            continue
        bare = name.strip("-")
        if bare in moved:
            raise BadOption(f"{name}: unknown option. Run: {moved[bare]}")
        close = difflib.get_close_matches(bare, names, n=1, cutoff=0.85)
        if close:
            raise BadOption(f"{name}: unknown option. Did you mean --{close[0]}?")


def _module_of(kind: type[JobOptions]) -> str:
    """The module that is run, also where it is run as a script."""
    spec = getattr(sys.modules.get(kind.__module__), "__spec__", None)
    return spec.name if spec is not None else kind.__module__


def _examples(kind: type[JobOptions]) -> list[str]:
    """The command lines in the docstring of the job's module."""
    text = getattr(sys.modules.get(kind.__module__), "__doc__", None) or ""
    found = [line for line in text.splitlines() if line.startswith("    python -m ")]
    return ["", "examples:", *found] if found else []


class _Formatter(argparse.HelpFormatter):
    """Wraps all but the examples."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        fill = super()._fill_text
        return "\n".join(line if line.startswith("    ") else fill(line, width, indent) for line in text.splitlines())


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> Any:
        raise BadOption(f"{message}. See --help")
