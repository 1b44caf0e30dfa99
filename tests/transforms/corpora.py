"""Small corpora for tests, and one call that repairs them without a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from respace.storage.errors import BadFile
from respace.storage.inputs import list_inputs
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import SUFFIXES
from transforms.repair.model import ModelOptions
from transforms.repair.plan import CutFile, shard_bytes
from transforms.repair.work import RepairShard, RepairWork
from transforms.shards.contract import ShardResult, fingerprint_of
from transforms.shards.manifests import Manifest, read_manifest
from transforms.shards.resume import ResumePlan, plan_resume

RULES = "tests.transforms.rule_method:Rules"
BEFORE = ["one ofthe others", "a\u00a0x in it", "nothing to do", "", "a  x of\tthe ofthe"]
AFTER = ["one of the others", "ax in it", "nothing to do", "", "ax of\tthe of the"]


def work(output: Path | str, run: str = "run", **formats: Any) -> RepairWork:
    return RepairWork(
        output=str(output),
        model=ModelOptions(model=RULES),
        formats=FormatOptions(**formats),
        settings={"model": "rules", **{key: str(value) for key, value in formats.items()}},
        batch_characters=1000,
        run=run,
    )


@dataclass(frozen=True)
class Planned:
    resume: ResumePlan
    shards: list[RepairShard]
    bad_files: dict[str, str]


def whole_files(source: Path | str) -> list[RepairShard]:
    return [RepairShard(file=file) for file in list_inputs([str(source)], SUFFIXES)]


def plan(source: Path | str, job: RepairWork, workers: int | None = None, **options: Any) -> Planned:
    """What a stage of the job would do."""
    files = {shard.name: shard for shard in whole_files(source)}
    fingerprints = {name: fingerprint_of(job, one) for name, one in files.items()}
    resume = plan_resume(job.output, fingerprints, inputs={name: one.file for name, one in files.items()}, **options)
    cut = CutFile(job.formats, shard_bytes(sum(shard.file.size for shard in files.values()), workers))
    shards: list[RepairShard] = []
    bad: dict[str, str] = {}
    for name in resume.to_do:
        try:
            shards += cut(files[name])
        except BadFile as error:
            bad[name] = str(error)
    return Planned(resume, shards, bad)


def repair(
    source: Path | str, job: RepairWork, workers: int | None = None, overwrite: bool = False
) -> list[ShardResult]:
    """Repairs everything that needs it. Raises BadFile for the first file that cannot be read."""
    planned = plan(source, job, workers, overwrite=overwrite)
    for message in planned.bad_files.values():
        raise BadFile(message)
    return [job(shard) for shard in planned.shards]


def manifest(job: RepairWork, name: str) -> Manifest:
    found = read_manifest(job.output, name)
    assert found is not None
    return found


def write_parquet(path: Path, texts: Sequence[str | None], row_group_size: int = 1000, **columns: Any) -> pa.Table:
    table = pa.table({"id": list(range(len(texts))), "text": pa.array(texts, pa.string()), **columns})
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table, path, row_group_size=row_group_size)
    return table


def tree(folder: Path | str, *, without: tuple[str, ...] = ()) -> dict[str, bytes]:
    """Every file below a folder."""
    found = {}
    for path in sorted(Path(folder).rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and not name.startswith(without):
            found[name] = path.read_bytes()
    return found


def different(found: dict[str, bytes], wanted: dict[str, bytes]) -> list[str]:
    """Names of files that are not the same. (To compare the trees themselves, pytest would explain byte by byte.)"""
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))
