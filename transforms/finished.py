"""How a shard ends: its manifest, written last, and its counts for Beam."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from respace.storage.files import file_size, join_url
from transforms.shards.manifests import Fingerprint, Manifest, write_manifest


@dataclass(frozen=True)
class FinishedShard:
    """What is told of a shard; `EachShard` turns the counts into Beam's counters."""

    name: str
    counts: Mapping[str, int] = field(default_factory=dict)


def finish_shard(
    output: str, name: str, fingerprint: Fingerprint, urls: Sequence[str], counts: Mapping[str, int]
) -> FinishedShard:
    """Writes the manifest of a shard, whose files have been published under these URLs."""
    prefix = join_url(output, "")
    sizes = {url.removeprefix(prefix): file_size(url) or 0 for url in urls}
    write_manifest(output, Manifest(name=name, fingerprint=fingerprint, outputs=sizes, counts=dict(counts)))
    return FinishedShard(name, dict(counts))
