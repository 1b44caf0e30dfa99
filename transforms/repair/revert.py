"""The way back: an output with provenance becomes the input again, exactly."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from respace.storage.files import join_url
from respace.storage.publish import publish
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of
from transforms.repair.work import TEXT_COLUMN, TEXT_UNIT, RepairShard
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.manifests import finish_shard, input_fingerprint, read_manifest, remove_manifest


@dataclass(frozen=True, kw_only=True)
class RevertWork:
    """Reverts one file of an output."""

    output: str
    formats: FormatOptions
    run: str

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: RepairShard) -> Fingerprint:
        settings = {TEXT_COLUMN: self.formats.text_column, TEXT_UNIT: self.formats.text_unit}
        return {**settings, **input_fingerprint(shard.file)}

    def __call__(self, shard: RepairShard) -> ShardResult:
        manifest = read_manifest(self.output, shard.name)
        if manifest is not None and manifest.run == self.run:
            return ShardResult(shard.name)
        remove_manifest(self.output, shard.name)
        target = join_url(self.output, shard.name)
        with publish(target) as path:
            rows = format_of(shard.name, self.formats).revert(shard.file, path)
        progress.report(documents=rows, bytes=shard.file.size)
        return finish_shard(self, shard, [target], {"documents": rows}, run=self.run, source=shard.file)
