"""What a stage does when its work cannot be done."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pipelines.job.options import JobOptions
from pipelines.job.stages import Stage, run_stage
from pipelines.job.summary import check_errors
from respace.storage.errors import BadFile, UserError
from transforms.shards.contract import Fingerprint, fingerprint_of


@dataclass(frozen=True)
class Shard:
    name: str
    size: int = 0


@dataclass(frozen=True)
class Raise:
    error: Exception
    output: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: Shard) -> Fingerprint:
        return {}

    def __call__(self, shard: Shard) -> Any:
        raise self.error


def run(output: Path, error: Exception, on_bad_file: str) -> Any:
    options = JobOptions(input=("in",), output=str(output), on_bad_file=on_bad_file, local_workers=1)
    stage = Stage(title="trying", work=Raise(error, str(output)), shards=[Shard("try/a")], folder="try")
    return run_stage(options, stage)


@pytest.mark.parametrize("on_bad_file", ["error", "warn", "skip"])
def test_an_output_that_cannot_be_written_is_never_left_out(tmp_path: Path, on_bad_file: str) -> None:
    full = OSError(errno.ENOSPC, "No space left on device")
    with pytest.raises(UserError, match=r"try/a: .*No space left on device\. Fix this and rerun the same command"):
        run(tmp_path, full, on_bad_file)


def test_bad_files_follow_on_bad_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    bad = BadFile("a.gz: was it cut short?")
    with pytest.raises(UserError, match=r"was it cut short\? Give --on_bad_file skip to leave such files out"):
        run(tmp_path, bad, "error")
    assert run(tmp_path, bad, "warn").failed == {"try/a": "a.gz: was it cut short?"}
    assert "warning: left out: a.gz: was it cut short?\n" in capsys.readouterr().err
    assert run(tmp_path, bad, "skip").failed == {"try/a": "a.gz: was it cut short?"}
    assert "warning" not in capsys.readouterr().err


def test_the_names_of_shards_are_in_the_folder_of_their_stage(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="the shard other/a is not in the stage's folder try/"):
        Stage(title="trying", work=Raise(BadFile(""), str(tmp_path)), shards=[Shard("other/a")], folder="try")


def test_progress_is_shown_with_one_worker_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, BadFile("a.gz: truncated"), "skip")
    assert "1/1 shards" in capsys.readouterr().err


def test_every_fingerprint_has_the_versions_of_code_and_rules(tmp_path: Path) -> None:
    from respace.version import VERSION

    work = Raise(BadFile(""), str(tmp_path))
    assert fingerprint_of(work, Shard("a")) == {"code": f"respace {VERSION}", "rules": 1}


def test_documents_that_failed_and_were_not_counted(tmp_path: Path) -> None:
    options = JobOptions(input=("in",), output=str(tmp_path), max_error_fraction=0.5)
    with pytest.raises(UserError, match="1 of 1 documents failed"):
        check_errors(options, failed=1, documents=0)
    check_errors(options, failed=0, documents=0)
    check_errors(options, failed=1, documents=2)
