"""A file that was renamed: what was made of it under its old name is taken over, and no model is asked again."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pyarrow as pa

from respace.storage.files import filesystem, join_url
from respace.storage.publish import publish_table
from transforms.repair.work import RepairShard, RepairWork
from transforms.shards.dead_letters import read_dead_letters
from transforms.shards.manifests import Manifest, finish_shard, read_manifest

_BLOCK = 1 << 20
_LETTERS_PER_GROUP = 1024


def take_over(work: RepairWork, shard: RepairShard, old: str) -> bool:
    """Publishes what was made of a file under its old name again under its new one; False if that is not whole."""
    manifest = read_manifest(work.output, old)
    if manifest is None:
        return False
    now = work.files(shard)
    was = replace(now, name=old)
    letters = bool(manifest.counts["dead_letters"])
    try:
        with now.replaced() as (path, sidecar):
            _copy(work.output, manifest, was.target, path)
            if sidecar is not None:
                _copy(work.output, manifest, was.sidecar, sidecar)
        if letters:
            _rename_letters(was.dead_letters, now.dead_letters, shard.name)
    except (FileNotFoundError, _Changed):
        return False
    details = _renamed(manifest.details, old, shard.name)
    finish_shard(work, shard, now.published(letters), manifest.counts, details, manifest.run, shard.file)
    return True


class _Changed(Exception):
    """A published file is not what it was."""


def _copy(output: str, manifest: Manifest, url: str, path: str) -> None:
    name, digest = url.removeprefix(join_url(output, "")), hashlib.sha256()
    store, source = filesystem(url)
    with store.open(source, "rb") as stream, open(path, "wb") as out:
        while block := stream.read(_BLOCK):
            digest.update(block)
            out.write(block)
    if digest.hexdigest() != manifest.digests.get(name):
        raise _Changed(url)


def _rename_letters(was: str, now: str, name: str) -> None:
    table = read_dead_letters(was)
    place = table.schema.get_field_index("shard")
    names = pa.array([name] * table.num_rows, pa.string())
    publish_table(now, table.set_column(place, table.schema.field(place), names), _LETTERS_PER_GROUP)


def _renamed(value: Any, old: str, new: str) -> Any:
    """Details of a manifest, with the file's new name wherever its edits and samples say where they are from."""
    if isinstance(value, dict):
        return {
            key: new if key == "shard" and inside == old else _renamed(inside, old, new)
            for key, inside in value.items()
        }
    return [_renamed(one, old, new) for one in value] if isinstance(value, list) else value
