from __future__ import annotations

import itertools
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from respace.storage.errors import UserError
from tests.transforms.corpora import manifest, plan, repair, tree, whole_files, work, write_parquet
from transforms.formats.registry import format_of
from transforms.repair import work as module
from transforms.repair.plan import CutFile
from transforms.repair.work import RepairShard
from transforms.shards import progress
from transforms.shards.contract import ShardResult
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters
from transforms.shards.manifests import read_manifest

TEXTS = [f"{row} ofthe {'word ' * (row % 5)}" if row % 9 else "why‽" for row in range(300)]


@pytest.fixture
def source(tmp_path: Path) -> Path:
    write_parquet(tmp_path / "in/a.parquet", TEXTS, row_group_size=40)
    (tmp_path / "in/b.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS))
    return tmp_path / "in"


@pytest.fixture
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transforms.repair.plan.SMALLEST_SHARD", 1000)
    monkeypatch.setattr("transforms.repair.plan._SHARDS_PER_WORKER", 8)


def outputs(job: Any) -> dict[str, bytes]:
    return tree(job.output, without=("_manifest",))


def test_done_shards_are_not_done_again(source: Path, tmp_path: Path) -> None:
    job = work(tmp_path / "out")
    shards = plan(source, job).shards
    first = [job(shard) for shard in shards]
    assert [result.counts["documents"] for result in first] == [300, 300]
    before = outputs(job)
    assert [job(shard) for shard in shards] == [ShardResult("a.parquet"), ShardResult("b.jsonl")]
    assert plan(source, replace(job, run="another")).shards == []
    assert outputs(job) == before


def test_overwrite_does_again_what_differs_and_only_that(source: Path, tmp_path: Path) -> None:
    repair(source, work(tmp_path / "out"))
    assert plan(source, work(tmp_path / "out", run="second"), overwrite=True).shards == []
    job = work(tmp_path / "out", run="second", keep_original=True)
    shards = plan(source, job, overwrite=True).shards
    assert [bool(job(shard).counts) for shard in shards] == [True, True]
    assert [bool(job(shard).counts) for shard in shards] == [False, False]


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize("seed", range(3))
def test_parts_in_any_order_and_repeated_give_the_same(source: Path, tmp_path: Path, seed: int) -> None:
    import random

    one = work(tmp_path / "one", provenance=True)
    repair(source, one)
    job = work(tmp_path / "out", provenance=True)
    shards = [*plan(source, job, workers=2).shards] * 2
    assert len(shards) > 20
    random.Random(seed).shuffle(shards)
    counted = sum(job(shard).counts.get("documents", 0) for shard in shards)
    assert counted == 600
    assert outputs(job) == outputs(one)


@pytest.mark.usefixtures("small_parts")
def test_a_run_goes_on_with_the_parts_of_the_last_one(source: Path, tmp_path: Path) -> None:
    job = work(tmp_path / "out")
    shards = plan(source, job, workers=2).shards
    for shard in shards[::2]:
        job(shard)
    again = work(tmp_path / "out", run="second")
    planned = plan(source, again, workers=2)
    results = [again(shard) for shard in planned.shards]
    assert [bool(result.counts) for result in results].count(False) >= 3
    one = work(tmp_path / "one")
    repair(source, one)
    assert outputs(again) == outputs(one)


@pytest.mark.usefixtures("small_parts")
def test_killed_between_the_last_part_and_the_whole(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    job = work(tmp_path / "out")
    shards = plan(source, job, workers=2).shards
    with monkeypatch.context() as patched:
        patched.setattr(module.RepairWork, "_assemble", lambda self, parts: None)
        for shard in shards:
            job(shard)
    assert not (tmp_path / "out/a.parquet").exists()
    again = work(tmp_path / "out", run="second")
    results = repair(source, again, workers=2)
    assert not any(result.counts for result in results)
    one = work(tmp_path / "one")
    repair(source, one)
    assert outputs(again) == outputs(one)


@pytest.mark.usefixtures("small_parts")
def test_killed_while_parts_are_removed(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is done, so nobody works on it again; what is left of its parts goes at the end of the next run."""
    job = work(tmp_path / "out", provenance=True)
    with monkeypatch.context() as patched:
        patched.setattr(module, "remove_parts", lambda output, name: None)
        repair(source, job, workers=2)
    left = sorted(tmp_path.glob("out/_parts/_manifest/*"))
    assert [path.name for path in left] == ["a.parquet", "b.jsonl"]
    module.remove_left_parts(job.output, ["b.jsonl"].__contains__)
    assert not list(tmp_path.glob("out/_parts/**/b.jsonl"))
    assert list(tmp_path.glob("out/_parts/_manifest/a.parquet/*.json"))


@pytest.mark.usefixtures("small_parts")
def test_two_that_put_the_same_file_together(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second one finds the parts removed, and the file done."""
    job = work(tmp_path / "out")
    shards = [shard for shard in plan(source, job, workers=2).shards if shard.file.name == "b.jsonl"]
    assembled = []
    original = module.RepairWork._assemble

    def twice(self: Any, parts: Any) -> None:
        original(self, parts)
        assembled.append(outputs(job))
        original(self, parts)

    monkeypatch.setattr(module.RepairWork, "_assemble", twice)
    for shard in shards:
        job(shard)
    assert assembled == [outputs(job)]
    assert manifest(job, "b.jsonl").counts["documents"] == 300


def test_documents_in_are_documents_out(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A repair that loses a document must not be published."""
    original = module.CountedRepair.__call__
    monkeypatch.setattr(module.CountedRepair, "__call__", lambda self, documents: original(self, documents[:-1]))
    job = work(tmp_path / "out")
    for shard in plan(source, job).shards:
        with pytest.raises(ValueError, match=r"zip\(\) argument 2 is shorter|is shorter than argument"):
            job(shard)
    assert outputs(job) == {}


class Miscounting:
    """A real format that is one document short in one of its steps."""

    def __init__(self, form: Any, step: str):
        self._form, self._step, self._verifies = form, step, "verify"

    def __getattr__(self, name: str) -> Any:
        return getattr(self._form, name)

    def repair(self, *given: Any) -> int:
        return int(self._form.repair(*given)) - (self._step == "repair")

    def assemble(self, *given: Any) -> None:
        self._form.assemble(*given)
        self._verifies = "verify assembled"

    def verify(self, *given: Any) -> int:
        return int(self._form.verify(*given)) - (self._step == self._verifies)


@pytest.mark.usefixtures("small_parts")
@pytest.mark.parametrize(
    ("step", "workers", "said"),
    [
        ("repair", None, "299 documents went in and 300"),
        ("verify", None, "300 documents went in and 299"),
        ("verify assembled", 2, "300 documents went in and 299"),
    ],
)
def test_a_shard_whose_counts_differ_is_not_published(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str, workers: int | None, said: str
) -> None:
    job = work(tmp_path / "out")
    shards = [shard for shard in plan(source, job, workers).shards if shard.file.name == "b.jsonl"]
    monkeypatch.setattr(module, "format_of", lambda *given: Miscounting(format_of(*given), step))
    for shard in shards[:-1]:
        job(shard)
    with pytest.raises(AssertionError, match=rf"^b\.jsonl: {said} came out; nothing was published"):
        job(shards[-1])
    assert "b.jsonl" not in outputs(job)
    assert read_manifest(job.output, "b.jsonl") is None


def test_changed_options_are_refused_with_the_difference(source: Path, tmp_path: Path) -> None:
    repair(source, work(tmp_path / "out"))
    with pytest.raises(UserError, match="provenance was None and is now 'True'"):
        plan(source, work(tmp_path / "out", provenance=True))


def test_a_changed_input_is_done_again(source: Path, tmp_path: Path) -> None:
    repair(source, work(tmp_path / "out"))
    (source / "b.jsonl").write_text('{"text": "a ofthe"}\n')
    assert plan(source, work(tmp_path / "out")).resume.to_do == {"b.jsonl": "its input has changed"}
    repair(source, work(tmp_path / "out"))
    assert (tmp_path / "out/b.jsonl").read_text() == '{"text": "a of the"}\n'


def test_dead_letters_are_counted_kept_and_written(source: Path, tmp_path: Path) -> None:
    job = work(tmp_path / "out", id_column=None)
    repair(source, job)
    assert pq.read_table(tmp_path / "out/a.parquet")["text"].to_pylist()[:3] == [
        "why‽",
        "1 of the word ",
        "2 of the word word ",
    ]
    letters = read_dead_letters(dead_letters_url(job.output, "a.parquet"))
    assert letters["row"].to_pylist() == list(range(0, 300, 9))
    assert set(letters["stage"].to_pylist()) == {"repair"}
    counts = manifest(job, "a.parquet").counts
    assert (counts["documents"], counts["dead_letters"], counts["edited_documents"]) == (300, 34, 266)


def test_dead_letters_of_an_earlier_run_are_removed(source: Path, tmp_path: Path) -> None:
    repair(source, work(tmp_path / "out"))
    (source / "b.jsonl").write_text('{"text": "ofthe"}\n')
    repair(source, work(tmp_path / "out", run="second"))
    assert sorted(tree(tmp_path / "out", without=("_manifest",))) == [
        "_dead_letters/a.parquet.parquet",
        "a.parquet",
        "b.jsonl",
    ]


def test_part_names_do_not_collide() -> None:
    names = {
        RepairShard(file=file, span=(0, 1), part=part, spans=((0, 1),) * parts).name
        for file, parts in itertools.product([_file("a.parquet"), _file("a.jsonl")], [1, 3])
        for part in range(parts)
    }
    assert len(names) == 8


def _file(name: str) -> Any:
    from respace.storage.files import InputFile

    return InputFile(url=name, name=name, size=1, version="")


def test_progress_moves_within_a_long_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("transforms.repair.documents.repair_in_segments.__defaults__", (2000, lambda piece: None))
    text = "one ofthe others é " * 1000
    (tmp_path / "in").mkdir()
    (tmp_path / "in/long.txt").write_text(text)
    reports: list[dict[str, int]] = []
    stop = progress.listen(reports.append)
    try:
        repair(tmp_path / "in", work(tmp_path / "out"))
    finally:
        stop()
    moved = [report["bytes"] for report in reports if "documents" not in report]
    assert len(moved) == 10
    assert sum(report.get("bytes", 0) for report in reports) == len(text.encode())


def test_rows_of_a_cut_file_are_counted_from_its_beginning(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    lines = [json.dumps({"text": f"{'ofthe' if row % 7 == 3 else 'nothing'} in row {row}"}) for row in range(40)]
    (tmp_path / "in" / "a.jsonl").write_text("".join(line + "\n" for line in lines))
    job = work(tmp_path / "out")
    shards = CutFile(job.formats, 300)(whole_files(tmp_path / "in")[0])
    assert len(shards) > 3
    for shard in shards:
        job(shard)
    details = manifest(job, "a.jsonl").details
    shown = [*details["samples"], *details["least_certain"]]
    assert len(shown) > 6
    assert all(f"row {one['row']}" in one["passage"][-1][1] for one in shown)
