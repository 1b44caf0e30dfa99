"""What becomes of a shard that cannot be done: a result that says so, a note in the output, and nothing published."""

from __future__ import annotations

import errno
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile, UserError
from respace.storage.lock import Fenced
from tests.transforms.corpora import repair, tree, work
from transforms.shards.contract import ShardResult
from transforms.shards.guard import GuardedWork, ShardFailure, forget_failures, keep_failure, read_failures


@dataclass(frozen=True)
class Shard:
    name: str = "a"
    size: int = 0


@dataclass(frozen=True)
class Failing:
    output: str
    error: Exception
    rules: int = 1

    def fingerprint(self, shard: Any) -> dict[str, Any]:
        return {}

    def __call__(self, shard: Any) -> Any:
        raise self.error


@pytest.mark.parametrize(
    ("error", "message", "fatal"),
    [
        (BadFile("a: truncated"), "a: truncated", False),
        (
            CharactersChanged("it differs"),
            "a: it differs. Nothing was published. This is an error of respace, not of the file: please report it with "
            "its trace in _failed/ of the output, and leave the file out until then",
            False,
        ),
        (UserError("no such model"), "no such model", True),
        (OSError(errno.ENOSPC, "no space left"), "a: [Errno 28] no space left", True),
    ],
)
def test_failures_are_results_and_noted(tmp_path: Path, error: Exception, message: str, fatal: bool) -> None:
    result, seconds = GuardedWork(Failing(str(tmp_path), error))(Shard())
    assert isinstance(result, ShardFailure)
    assert (result.name, result.message, result.fatal, result.noted) == ("a", message, fatal, True)
    assert seconds >= 0
    assert read_failures(str(tmp_path), ["a", "b"]) == [result]
    forget_failures(str(tmp_path), ["a", "b"])
    assert read_failures(str(tmp_path), ["a"]) == []


def test_an_unexpected_error_is_a_failure_of_its_shard_with_a_trace(tmp_path: Path) -> None:
    result, _ = GuardedWork(Failing(str(tmp_path), ZeroDivisionError("ours\nand more")))(Shard())
    assert isinstance(result, ShardFailure)
    assert result.message.startswith("a: ZeroDivisionError: ours. This is an error of respace, not of the file: please")
    assert not result.fatal
    (noted,) = read_failures(str(tmp_path), ["a"])
    assert noted == result
    assert "in __call__\n" in noted.trace
    assert "ZeroDivisionError: ours\nand more" in noted.trace


def test_a_run_that_has_ended_writes_no_note(tmp_path: Path) -> None:
    result, _ = GuardedWork(Failing(str(tmp_path), Fenced("over")))(Shard())
    assert result == ShardFailure("a", "over", fatal=True, noted=False)
    assert read_failures(str(tmp_path), ["a"]) == []


@dataclass
class FailsAtFirst:
    """Work whose store is busy for a while."""

    output: str
    errors: int
    number: int
    rules: int = 1

    def fingerprint(self, shard: Any) -> dict[str, Any]:
        return {}

    def __call__(self, shard: Any) -> ShardResult:
        self.errors -= 1
        if self.errors >= 0:
            raise OSError(self.number, os.strerror(self.number))
        return ShardResult(shard.name)


@pytest.mark.parametrize(
    ("errors", "number", "done"),
    [
        (2, errno.ECONNRESET, True),
        (3, errno.ECONNRESET, False),
        (1, errno.ENOSPC, False),
        (1, errno.ENAMETOOLONG, False),
    ],
)
def test_an_error_that_may_pass_is_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, errors: int, number: int, done: bool
) -> None:
    monkeypatch.setattr("transforms.shards.guard._PAUSES", (0.0, 0.0))
    result, _ = GuardedWork(FailsAtFirst(str(tmp_path), errors, number))(Shard())
    assert isinstance(result, ShardResult) == done
    if isinstance(result, ShardFailure):
        assert result.fatal == (number == errno.ENOSPC)
        assert f"a: {'the output cannot' if number == errno.ENAMETOOLONG else '[Errno'}" in result.message


def test_a_failure_that_cannot_be_noted_is_kept(tmp_path: Path) -> None:
    """A file where the folder of the notes should be: they cannot be written, and neither on a full disk."""
    (tmp_path / "_failed").write_text("")
    output = str(tmp_path)
    result, _ = GuardedWork(Failing(output, OSError(errno.ENOSPC, "no space left")))(Shard())
    assert isinstance(result, ShardFailure)
    assert not result.noted
    assert read_failures(output, ["a"]) == []
    keep_failure(output, result)
    assert read_failures(output, ["a", "b"]) == [result]
    assert read_failures(f"{output}/other", ["a"]) == []
    forget_failures(output, ["a"])
    assert read_failures(output, ["a"]) == []


@pytest.mark.parametrize("name", ["a.txt", "a.jsonl", "a.json", "a.csv"])
def test_a_changed_character_is_never_published(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """Whatever goes wrong on the way from the model to the disk: what is written is read back and compared."""
    contents = {"a.txt": "one ofthe", "a.csv": "text\none ofthe\n"}
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / name).write_text(contents.get(name, '{"text": "one ofthe"}'))
    module = {"a.txt": "whole_file", "a.csv": "csv_file"}.get(name, "json_line")
    if name == "a.txt":
        monkeypatch.setattr("transforms.formats.whole_file.WholeFile.repair", _writes_another_text)
    else:
        monkeypatch.setattr(f"transforms.formats.{module}.replace_gaps", lambda units, positions, new: "two of the")
    job = work(tmp_path / "out")
    with pytest.raises(CharactersChanged):
        repair(tmp_path / "in", job)
    assert tree(tmp_path / "out") == {}


def _writes_another_text(self: Any, file: Any, span: Any, path: str, sidecar: Any, repair: Any, model: str) -> int:
    documents = [document for _, found in self.read(file, span) for document in found]
    repair(documents)
    Path(path).write_text("two of the")
    return len(documents)
