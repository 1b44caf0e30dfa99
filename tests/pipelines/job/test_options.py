from __future__ import annotations

import logging
import signal
import socket
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pipelines.job.options import (
    JobOptions,
    check_beam_arguments,
    check_engine,
    job_parser,
    option,
    parse_options,
    pipeline_options,
)
from pipelines.job.remote import check_detach
from pipelines.job.run import exit_code
from respace.storage.errors import BadOption, UserError
from respace.storage.installing import install_hint


@dataclass(frozen=True, kw_only=True)
class Options(JobOptions):
    """A job."""

    text_column: str = option("text", "where the text is")


def parse(*arguments: str) -> Options:
    return parse_options(Options, ["--input", "a", "--output", "b", *arguments])


def test_defaults_and_values() -> None:
    options = parse("--input", "c", "d", "--limit", "3", "--text_column", "body", "--dry_run")
    assert options == Options(input=("a", "c", "d"), output="b", limit=3, text_column="body", dry_run=True)
    assert options.runner == "FnApiRunner"
    assert options.workers >= 1


def test_unknown_options_go_to_beam() -> None:
    options = parse("--runner", "FlinkRunner", "--flink_master=local", "--parallelism=4")
    assert options.beam_arguments == ("--runner", "FlinkRunner", "--flink_master=local", "--parallelism=4")
    assert (options.runner, options.runs_locally, options.workers) == ("FlinkRunner", False, 1)
    beam = pipeline_options(options).get_all_options()
    assert (beam["runner"], beam["parallelism"]) == ("FlinkRunner", 4)


@pytest.mark.parametrize("runner", ["DirectRunner", "apache_beam.runners.direct.DirectRunner", "FnApiRunner"])
def test_the_local_runner_is_named(runner: str) -> None:
    options = parse("--runner", runner, "--direct_runner_bundle_repeat=1")
    assert options.runs_locally
    beam = pipeline_options(options).get_all_options()
    assert (beam["runner"], beam["direct_runner_bundle_repeat"]) == ("FnApiRunner", 1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on_bad_file", "stop"], "--on_bad_file stop: expected one of error, warn, skip"),
        (["--limit", "0"], "--limit 0: expected at least 1"),
        (["--input", ""], "--input is missing: expected a file"),
        (["--max_error_fraction", "nan"], "--max_error_fraction nan: expected a number from 0 to 1"),
        (["--limit", "many"], "invalid int value: 'many'. See --help"),
        (["--max_error_fraction", "1.5"], "--max_error_fraction 1.5: expected a number from 0 to 1"),
        (["--local_workers", "-1"], "--local_workers -1: expected at least 1"),
        (["--overwritte"], "--overwritte: unknown option. Did you mean --overwrite?"),
        (["--text-column", "x"], "--text-column: unknown option. Did you mean --text_column?"),
        (["--direct_running_mode", "multi_threading"], "multi_threading loses rows"),
        (["--direct_running_mode=multi_threading"], "multi_threading loses rows"),
        (["--output", "a/b"], "--output a/b lies inside --input a"),
    ],
)
def test_bad_options(arguments: list[str], message: str) -> None:
    with pytest.raises(BadOption) as caught:
        parse(*arguments)
    assert message in str(caught.value)
    assert caught.value.exit_code == 2


@pytest.mark.parametrize(("given", "missing"), [(["--input", "a"], "--output"), (["--output", "a"], "--input")])
def test_missing_options(given: list[str], missing: str) -> None:
    with pytest.raises(BadOption, match=f"{missing} is missing: expected"):
        parse_options(Options, given)


def test_an_option_that_nobody_knows() -> None:
    with pytest.raises(BadOption, match="--penguins=4: neither this job nor Beam knows this option"):
        check_beam_arguments(parse("--penguins=4"))


def test_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    def failing(error: BaseException) -> Any:
        def job() -> int:
            raise error

        return job

    assert exit_code(lambda: None) == 0
    assert exit_code(lambda: 3) == 3
    assert exit_code(failing(BadOption("bad"))) == 2
    assert exit_code(failing(UserError("worse"))) == 1
    assert exit_code(failing(KeyboardInterrupt())) == 130
    assert capsys.readouterr().err.splitlines()[:2] == ["error: bad", "error: worse"]
    with pytest.raises(ZeroDivisionError):
        exit_code(failing(ZeroDivisionError()))


def test_verbose_shows_where_an_error_comes_from(capsys: pytest.CaptureFixture[str]) -> None:
    def job() -> int:
        raise UserError("a\x1b[31m\n.txt: not found")

    assert exit_code(job) == 1
    assert capsys.readouterr().err == "error: a\\x1b[31m\\n.txt: not found\n"  # one line, and no red
    assert exit_code(job, verbose=True) == 1
    shown = capsys.readouterr().err
    assert "in job" in shown
    assert shown.endswith("error: a\\x1b[31m\\n.txt: not found\n")


@pytest.mark.parametrize(
    ("runner", "message"),
    [
        ("PenguinRunner", "--runner PenguinRunner: no such runner. Expected one of .*FlinkRunner, "),
        ("apache_beam.runners.direct.PenguinRunner", "apache_beam.runners.direct has no PenguinRunner"),
        ("penguins.PenguinRunner", "No module named 'penguins'"),
    ],
)
def test_runners_that_nobody_knows(runner: str, message: str) -> None:
    with pytest.raises(BadOption, match=message):
        check_beam_arguments(parse("--runner", runner))


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_is_no_stack_trace(capfd: pytest.CaptureFixture[str], number: signal.Signals, code: int) -> None:
    before = signal.getsignal(number)

    def job() -> int:
        try:
            signal.raise_signal(number)
        except KeyboardInterrupt as error:
            logging.getLogger().error("as Beam does", exc_info=error)
            raise RuntimeError("as Beam does") from error
        return 0

    assert exit_code(job) == code
    assert capfd.readouterr().err == "stopped. Rerun the same command; finished shards are skipped\n"
    assert signal.getsignal(number) == before
    assert not logging.getLogger().isEnabledFor(logging.DEBUG)
    assert logging.getLogger().isEnabledFor(logging.ERROR)


def test_help_names_every_option(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as ended:
        job_parser(Options).parse_args(["--help"])
    assert ended.value.code == 0
    shown = capsys.readouterr().out
    for flag in (
        "--input",
        "--output",
        "--on_bad_file",
        "--limit",
        "--dry_run",
        "--overwrite",
        "--max_error_fraction",
    ):
        assert flag in shown


@pytest.mark.parametrize("runner", ["FlinkRunner", "SparkRunner", "apache_beam.runners.direct.DirectRunner"])
def test_unknown_options_are_refused_on_every_runner(runner: str) -> None:
    with pytest.raises(BadOption, match="--penguins=4: neither this job nor Beam knows this option"):
        check_beam_arguments(parse("--runner", runner, "--penguins=4"))


def test_a_runner_that_is_not_there() -> None:
    with pytest.raises(BadOption, match=r"--runner=no\.such\.Runner: No module named 'no'"):
        check_beam_arguments(parse("--runner", "no.such.Runner"))


def test_help_shows_how_the_job_is_called(capsys: pytest.CaptureFixture[str]) -> None:
    from pipelines.repair_corpus import RepairOptions

    shown = job_parser(RepairOptions).format_help()
    assert shown.startswith("usage: python -m pipelines.repair_corpus [-h]")
    assert "examples:\n    python -m pipelines.repair_corpus --input corpus/ --output repaired/\n" in shown
    assert "which runs the code" in " ".join(shown.split())


def test_a_preset_and_what_the_user_gives_beside_it() -> None:
    options = parse("--preset", "flink", "--parallelism=6", "--job_endpoint", "flink.example:1")
    assert options.engine_arguments[0] == "--runner=FlinkRunner"
    assert (options.runner, options.runs_locally, options.parallelism, options.threads) == ("FlinkRunner", False, 6, 1)
    beam = pipeline_options(options).get_all_options()
    assert (beam["job_endpoint"], beam["environment_type"]) == ("flink.example:1", "EXTERNAL")
    assert parse("--preset", "flink", "--remote_workers", "9", "--worker_threads", "2").parallelism == 9
    assert parse().threads is None


def test_an_engine_that_is_not_there() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(BadOption, match=f"--job_endpoint 127.0.0.1:{port} cannot be reached .Connection refused"):
        check_engine(parse("--preset", "portable", f"--job_endpoint=127.0.0.1:{port}"))
    check_engine(parse("--preset", "portable", f"--job_endpoint=127.0.0.1:{port}", "--dry_run"))
    check_engine(parse())


def test_a_package_of_an_engine_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(BadOption) as caught:
        check_engine(parse("--runner=DaskRunner"))
    expected = f"--runner=DaskRunner: dask.distributed is not installed. Run: {install_hint('dask')}"
    assert str(caught.value) == expected
    assert "pip install 'apache-beam[dask]" in expected


def test_paths_of_this_machine(tmp_path: Path) -> None:
    mine = str(tmp_path)
    assert parse().local_paths() == [("input", "a"), ("output", "b")]
    options = Options(input=("gs://b/in",), output="gs://b/out", text_column=mine)
    assert options.local_paths() == [("text_column", mine)]


@pytest.mark.parametrize(
    "arguments",
    [[], ["--preset", "dask"], ["--preset", "prism"], ["--preset", "portable"]],
    ids=["here", "dask", "prism", "workers here"],
)
def test_a_job_that_cannot_be_left(arguments: list[str]) -> None:
    with pytest.raises(BadOption, match=r"--detach: a job of .* ends with this process"):
        check_detach(parse("--detach", *arguments))
    check_detach(parse("--detach", "--preset", "flink"))
    check_detach(parse(*arguments))


def test_credentials_in_a_url_are_not_repeated() -> None:
    with pytest.raises(BadOption) as caught:
        parse("--input", "ftp://me:secret@host/corpus")
    assert str(caught.value).startswith("--input ftp://…@host/corpus: a URL with credentials would be in logs")
    assert "secret" not in str(caught.value)
