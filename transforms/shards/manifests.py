"""Manifests: the small JSON file that says a shard is done and how. Written last.

A *fingerprint* is a flat dictionary of everything that the output of a shard depends on: the input's size and version,
the options, the model, the code. What becomes of a shard whose manifest has another one, `transforms.shards.resume`
says.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from respace.storage.errors import UserError
from respace.storage.files import (
    InputFile,
    absolute,
    describe,
    file_digest,
    file_size,
    filesystem,
    input_digest,
    is_local,
    is_within,
    join_url,
    read_bytes,
)
from respace.storage.parallel import in_parallel
from respace.storage.publish import publish_bytes
from transforms.shards.contract import AnyShard, Fingerprint, ShardResult, ShardWork, fingerprint_of

MANIFESTS = "_manifest"


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What is known of a finished shard.

    Args:
        name: name of the shard.
        fingerprint: what its output depends on.
        outputs: published files, relative to the output directory, and their sizes.
        versions: etag or time of modification of each of them, as far as their store has any.
        digests: the SHA-256 of what each of them holds.
        input_digest: the SHA-256 of the input, where the shard is one file.
        counts: documents, characters, edits, …: whole numbers that add up over shards.
        details: anything else a report wants to know.
        run: which run made it.
    """

    name: str
    fingerprint: Fingerprint
    outputs: Mapping[str, int]
    versions: Mapping[str, str] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    input_digest: str = ""
    counts: Mapping[str, int] = field(default_factory=dict)
    details: Mapping[str, Any] = field(default_factory=dict)
    run: str = ""


def manifest_url(output: str, name: str) -> str:
    return join_url(output, MANIFESTS, f"{name}.json")


INPUT_SIZE, INPUT_VERSION = "input size", "input version"
REVIEW = "review"  # what people said of the output before: an input, too


def input_fingerprint(file: InputFile) -> dict[str, str | int]:
    """The part of a fingerprint that an input file gives."""
    return {INPUT_SIZE: file.size, INPUT_VERSION: file.version}


def finish_shard(
    work: ShardWork[AnyShard],
    shard: AnyShard,
    urls: Sequence[str],
    counts: Mapping[str, int],
    details: Mapping[str, Any] | None = None,
    run: str = "",
    source: InputFile | None = None,
) -> ShardResult:
    """Writes the manifest of a shard whose files have been published: the last thing that any work does.

    Args:
        work: what was done.
        shard: with which shard.
        urls: what was published.
        counts: see `Manifest`.
        details: see `Manifest`.
        run: see `Manifest`.
        source: the input, if the shard is one file: its content then tells whether a file with another time is new.
    """
    prefix = join_url(work.output, "")
    published = {url.removeprefix(prefix): describe(url) for url in urls}
    manifest = Manifest(
        name=shard.name,
        fingerprint=fingerprint_of(work, shard),
        outputs={name: file.size for name, file in published.items()},
        versions={name: file.version for name, file in published.items()},
        digests={name: file_digest(file.url) for name, file in published.items()},
        input_digest=input_digest(source) if source is not None else "",
        counts={name: int(count) for name, count in sorted(counts.items())},
        details=details or {},
        run=run,
    )
    write_manifest(work.output, manifest)
    return ShardResult(shard.name, manifest.counts, manifest.details)


def write_manifest(output: str, manifest: Manifest) -> None:
    content = json.dumps(asdict(manifest), indent=1, ensure_ascii=False, sort_keys=True)
    publish_bytes(manifest_url(output, manifest.name), content.encode("utf-8", "replace"))


def read_manifest(output: str, name: str) -> Manifest | None:
    """The manifest of a shard, or None if it has none.

    Raises:
        UserError: there is a file that is not a manifest.
    """
    url = manifest_url(output, name)
    try:
        content = read_bytes(url)
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        manifest = Manifest(**json.loads(content))
        if not isinstance(manifest.fingerprint, dict) or not isinstance(manifest.outputs, dict):
            raise TypeError("its fingerprint and its outputs should be objects")
        check_inside(output, manifest.outputs)
        return manifest
    except (ValueError, TypeError, RecursionError) as error:
        raise UserError(f"{url} is not a manifest ({error}). Remove it to have this shard done again") from error


def check_inside(output: str, names: Iterable[str]) -> None:
    """
    Raises:
        ValueError: what a manifest calls a published file leads out of the output.
    """
    root = absolute(output) if is_local(output) else ""
    for name in names:
        inside = not {"", ".", ".."} & set(name.split("/")) and "\0" not in name
        if inside and root:  # a folder on the way may be a link
            inside = is_within(absolute(join_url(output, name).rpartition("/")[0]), root)
        if not inside:
            raise ValueError(f"its file {name!r} is not inside of the output")


def each_manifest(output: str, names: Iterable[str]) -> Iterator[Manifest]:
    """The manifests that there are, one after the other."""
    found = in_parallel(lambda name: read_manifest(output, name), names)
    return (manifest for manifest in found if manifest is not None)


def read_manifests(output: str, names: Iterable[str]) -> dict[str, Manifest]:
    """The manifests that there are, by name. Whoever has many shards wants `each_manifest`."""
    return {manifest.name: manifest for manifest in each_manifest(output, names)}


def changed_settings(was: Fingerprint, wanted: Fingerprint) -> list[str]:
    """What differs between two fingerprints, in words.

    >>> changed_settings({"model": "a", "text column": "text"}, {"model": "b", "text column": "text"})
    ["model was 'a' and is now 'b'"]
    """
    return [
        f"{key} was {was.get(key)!r} and is now {wanted.get(key)!r}"
        for key in sorted({*was, *wanted})
        if was.get(key) != wanted.get(key)
    ]


def missing_outputs(output: str, manifest: Manifest) -> list[str]:
    """Published files of a shard that are gone or have another size than when they were published."""
    return [name for name, size in manifest.outputs.items() if file_size(join_url(output, name)) != size]


def done_manifest(output: str, name: str, fingerprint: Fingerprint) -> Manifest | None:
    """The manifest of a shard that needs no work: files and manifest are there, and the manifest matches."""
    manifest = read_manifest(output, name)
    if manifest is None or changed_settings(manifest.fingerprint, fingerprint) or missing_outputs(output, manifest):
        return None
    return manifest


def remove_manifest(output: str, name: str) -> None:
    """Marks a shard as not done, before its output is replaced."""
    store, path = filesystem(manifest_url(output, name))
    if store.exists(path):
        store.rm_file(path)
