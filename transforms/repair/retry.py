"""Dead letters tried again: only those documents go through the model, everything else is taken from the output."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from respace.storage.files import describe
from transforms.formats.contract import Document, Outcome
from transforms.formats.sidecar import patch_sidecar, sidecar_table
from transforms.repair.edit_statistics import EditStatistics
from transforms.repair.outputs import local_copy
from transforms.repair.work import CountedRepair, RepairShard, RepairWork
from transforms.shards.contract import Fingerprint, ShardResult, fingerprint_of
from transforms.shards.dead_letters import read_dead_letters
from transforms.shards.manifests import Manifest, changed_settings, read_manifest


@dataclass(frozen=True, kw_only=True)
class RetryWork:
    """Tries the dead letters of one file again; a file that was mended since is repaired as a whole.

    A file that is done was done with the options of ``repair``.
    """

    repair: RepairWork

    rules: ClassVar[int] = RepairWork.rules

    @property
    def output(self) -> str:
        return self.repair.output

    def fingerprint(self, shard: RepairShard) -> Fingerprint:
        return self.repair.fingerprint(shard)

    def __call__(self, shard: RepairShard) -> ShardResult:
        work = self.repair
        manifest = read_manifest(work.output, shard.name)
        if manifest is None or changed_settings(manifest.fingerprint, fingerprint_of(work, shard)):
            return work(shard)
        if manifest.run == work.run or not manifest.counts["dead_letters"]:
            return ShardResult(shard.name)
        started = time.monotonic()
        form, files = work.format(shard), work.files(shard)
        rows = frozenset(read_dead_letters(files.dead_letters)["row"].to_pylist())
        previous = describe(files.target, shard.name)
        replaced = files.replaced()
        retried = _Retried(rows, work.documents(shard, replaced.letters))
        with replaced as (path, sidecar):
            form.patch(previous, path, retried)
            if sidecar is not None:
                new = sidecar_table(retried.documents, retried.outcomes, work.formats, retried.model)
                with tempfile.TemporaryDirectory(prefix="respace-") as folder:
                    tried = [document.row for document in retried.documents]
                    patch_sidecar(local_copy(files.sidecar, folder), sidecar, tried, new)
            form.verify(shard.file, form.cut(shard.file, 1 << 62)[0].span, path)
        return self._finish(shard, manifest, retried.repair.statistics, time.monotonic() - started)

    def _finish(self, shard: RepairShard, old: Manifest, new: EditStatistics, seconds: float) -> ShardResult:
        merged = EditStatistics.merge([(old.counts, old.details), (new.counts, new.to_json())])
        # The documents that were tried again were counted as read before.
        merged.counts.update({name: -new.counts[name] for name in ("documents", "bytes")})
        merged.counts["dead_letters"] = new.counts["dead_letters"]
        self.repair.finish(shard, merged, old.details["seconds"] + seconds)
        return ShardResult(shard.name, new.counts)


class _Retried:
    """Repairs the chosen rows, and remembers what became of them."""

    def __init__(self, rows: frozenset[int], repair: CountedRepair):
        self.repair = repair
        self._rows = rows
        self.documents: list[Document] = []
        self.outcomes: list[Outcome] = []

    @property
    def model(self) -> str:
        return self.repair.model

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        outcomes = self.repair(documents)
        self.documents += documents
        self.outcomes += outcomes
        return outcomes

    def chosen(self, rows: Sequence[int]) -> list[int]:
        return [place for place, row in enumerate(rows) if row in self._rows]
