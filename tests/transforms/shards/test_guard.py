"""What becomes of a shard that cannot be done: a result that says so, a note in the output, and nothing published."""

from __future__ import annotations

import errno
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from respace.repairer import CharactersChanged
from respace.storage.errors import BadFile, UserError
from tests.transforms.corpora import repair, tree, work
from transforms.shards.guard import GuardedWork, ShardFailure, forget_failures, read_failures


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
            "a: it differs. Nothing was published. This is an error of respace, not of the file: please report it, "
            "and leave the file out until then",
            False,
        ),
        (UserError("no such model"), "no such model", True),
        (OSError(errno.ENOSPC, "no space left"), "a: [Errno 28] no space left", True),
    ],
)
def test_failures_are_results_and_noted(tmp_path: Path, error: Exception, message: str, fatal: bool) -> None:
    result, seconds = GuardedWork(Failing(str(tmp_path), error))(Shard())
    assert result == ShardFailure("a", message, fatal)
    assert seconds >= 0
    assert read_failures(str(tmp_path), ["a", "b"]) == [result]
    forget_failures(str(tmp_path), ["a", "b"])
    assert read_failures(str(tmp_path), ["a"]) == []


@pytest.mark.parametrize("error", [OSError(errno.ECONNRESET, "reset"), ZeroDivisionError("ours")])
def test_what_may_pass_is_the_runners_to_try_again(tmp_path: Path, error: Exception) -> None:
    with pytest.raises(type(error)):
        GuardedWork(Failing(str(tmp_path), error))(Shard())
    assert read_failures(str(tmp_path), ["a"]) == []


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
