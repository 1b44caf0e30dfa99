from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from respace.method import GivenSequence
from respace.storage.errors import UserError
from tests.transforms import rule_method
from tests.transforms.corpora import manifest, repair, tree, whole_files, work, write_parquet
from tests.transforms.formats.test_lines import write
from transforms.repair.model import _repairers
from transforms.repair.plan import plan_retry
from transforms.repair.retry import RetryWork

TEXTS = ["one ofthe", "why‽ ofthe", "a x", "really‽", "end ofthe"]


@pytest.fixture(autouse=True)
def fresh_models() -> Any:
    _repairers.clear()
    yield
    _repairers.clear()


def mend(monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on the method can read what it could not."""
    original = rule_method.Rules._decide

    def braver(self: Any, sequence: GivenSequence) -> Any:
        from respace.gaps import code_points

        characters = sequence.characters.copy()
        characters[characters == code_points("‽")[0]] = ord("?")
        return original(self, GivenSequence(characters, sequence.bits, sequence.lost))

    monkeypatch.setattr(rule_method.Rules, "_decide", braver)


def corpus(folder: Path) -> None:
    write_parquet(folder / "a.parquet", TEXTS, row_group_size=2)
    write(folder / "b.jsonl.gz", b"".join(json.dumps({"text": text}).encode() + b"\n" for text in TEXTS) + b"broken\n")
    write(folder / "c.txt", "\n".join(TEXTS).encode())


def retry(source: Path, job: Any) -> None:
    planned = plan_retry(job, whole_files(source))
    tries = RetryWork(repair=job)
    for shard in whole_files(source):
        if shard.name in planned.to_do:
            tries(shard)


@pytest.mark.parametrize(
    "formats",
    [
        {"text_unit": "line"},
        {"text_unit": "document"},
        {"text_unit": "line", "provenance": True, "keep_original": True},
        {"text_unit": "document", "provenance": True},
    ],
)
def test_only_dead_letters_are_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, formats: dict[str, Any]
) -> None:
    corpus(tmp_path / "in")
    job = work(tmp_path / "out", **formats)
    repair(tmp_path / "in", job)
    assert manifest(job, "a.parquet").counts["dead_letters"] == 2
    mend(monkeypatch)
    seen: list[int] = []
    original = rule_method.Rules.decide

    def watched(self: Any, given: list[GivenSequence]) -> Any:
        seen.extend(len(one.bits) for one in given)
        return original(self, given)

    monkeypatch.setattr(rule_method.Rules, "decide", watched)
    second = work(tmp_path / "out", run="second", **formats)
    retry(tmp_path / "in", second)
    tried = len("why‽ofthe"), len("really‽")
    assert set(seen) <= {*tried, len("".join("".join(TEXTS).split()))}
    fresh = work(tmp_path / "fresh", run="fresh", **formats)
    repair(tmp_path / "in", fresh)
    assert tree(second.output, without=("_manifest",)) == tree(fresh.output, without=("_manifest",))
    for name in ("a.parquet", "b.jsonl.gz", "c.txt"):
        counts = manifest(fresh, name).counts
        assert manifest(second, name).counts == counts, name
        assert manifest(second, name).details["histogram"] == manifest(fresh, name).details["histogram"]


def test_what_fails_again_stays_a_dead_letter(tmp_path: Path) -> None:
    corpus(tmp_path / "in")
    job = work(tmp_path / "out", text_unit="line")
    repair(tmp_path / "in", job)
    before = tree(job.output, without=("_manifest",))
    retry(tmp_path / "in", work(tmp_path / "out", run="second", text_unit="line"))
    assert tree(job.output, without=("_manifest",)) == before
    assert manifest(job, "b.jsonl.gz").counts["dead_letters"] == 3


def test_nothing_to_retry_before_anything_was_done(tmp_path: Path) -> None:
    corpus(tmp_path / "in")
    job = work(tmp_path / "out")
    with pytest.raises(UserError, match=r"a\.parquet is not done yet. Run the job without --retry_dead_letters first"):
        retry(tmp_path / "in", job)


def test_files_that_are_not_done_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus(tmp_path / "in")
    job = work(tmp_path / "out", text_unit="line")
    repair(tmp_path / "in", job)
    (tmp_path / "in/unreadable.parquet").write_bytes(b"PAR1")
    mend(monkeypatch)
    retry(tmp_path / "in", work(tmp_path / "out", run="second", text_unit="line"))
    assert manifest(job, "a.parquet").counts["dead_letters"] == 0
    assert not (tmp_path / "out/unreadable.parquet").exists()
