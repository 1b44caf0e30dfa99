"""The ledger: what the manifests of finished shards say, hundreds in one file, so that the next night reads few.

A *page* names shards, what their outputs depend on and the sizes and versions of everything they published, and holds
the digest of what a report needs to know of all of them. A page is believed as long as all of its shards are wanted as
they are, have a manifest, and everything they published is there as it was; then nothing of them is read. With one that
changed, the page is given up and the manifests of the others are read again. It is a memory and nothing more: without
it, or with a part of it, everything is found in the manifests.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from respace.batching import by_size
from respace.storage.files import join_url, read_bytes, remove
from respace.storage.listing import FileSet, Listed
from respace.storage.parallel import in_parallel
from respace.storage.publish import publish_bytes
from transforms.shards.contract import Fingerprint
from transforms.shards.manifests import INPUT_SIZE, INPUT_VERSION, MANIFESTS, Manifest

LEDGER = "_ledger"
# A page that one changed shard spoils costs as many reads as it has shards; a page less costs one.
SHARDS_PER_PAGE = 512
# Below it, reading every manifest costs less than it is worth to keep a ledger.
FEWEST_SHARDS = 2_000
_FORMAT = 1
_INPUT_KEYS = (INPUT_SIZE, INPUT_VERSION)


@dataclass(frozen=True, kw_only=True)
class Digest:
    """What a report needs to know of shards, and how it adds up. Digests are JSON.

    Args:
        of: the digest of one shard.
        merge: the digest of many shards, from those of few. Its order does not matter.
    """

    of: Callable[[Manifest], Mapping[str, Any]]
    merge: Callable[[Iterable[Mapping[str, Any]]], Mapping[str, Any]]


@dataclass(kw_only=True)
class Ledger:
    """Pages that are believed.

    Args:
        known: hashes of the names of all their shards; a million names would take twice the memory.
        digest: of all of them, if there are any.
        stale: URLs of pages that are not believed any more, to be removed when there are new ones.
    """

    known: set[int] = field(default_factory=set)
    digest: Mapping[str, Any] | None = None
    stale: list[str] = field(default_factory=list)

    def __contains__(self, name: object) -> bool:
        return hash(name) in self.known


@dataclass(frozen=True, slots=True)
class _Row:
    """A shard in a page."""

    name: str
    fingerprint: Fingerprint
    published: Sequence[Listed]


def read_ledger(
    output: str, pages: Sequence[str], there: FileSet, wanted: Mapping[str, Fingerprint], digest: Digest
) -> Ledger:
    """The pages that can be believed, read one after the other.

    Args:
        output: output directory.
        pages: names of the files of the ledger.
        there: what the output holds.
        wanted: what the outputs of the shards should depend on.
        digest: how those of pages add up.
    """
    found = Ledger()
    digests = _believed(found, [join_url(output, page) for page in sorted(pages)], there, wanted)
    merged = digest.merge(digests)
    found.digest = merged if found.known else None
    return found


def _believed(
    found: Ledger, urls: Sequence[str], there: FileSet, wanted: Mapping[str, Fingerprint]
) -> Iterator[Mapping[str, Any]]:
    """The digests of the pages that can be believed; what is found out on the way goes to ``found``."""
    for url, page in zip(urls, in_parallel(_read_page, urls, together=1), strict=True):
        rows = list(_rows(page)) if page is not None else []
        names = {hash(row.name) for row in rows}
        # A small page is written again together with new shards: otherwise there would be one more every night. Two
        # that have a shard in common are what a run leaves that was killed between writing one and removing another.
        worth_keeping = len(rows) >= SHARDS_PER_PAGE // 2 and found.known.isdisjoint(names)
        if page is not None and worth_keeping and all(_holds(row, there, wanted) for row in rows):
            found.known |= names
            yield page["digest"]
        else:
            found.stale.append(url)


def write_ledger(
    output: str, manifests: Iterable[Manifest], digest: Digest, stale: Sequence[str] = ()
) -> Iterator[Mapping[str, Any]]:
    """Writes pages of these shards, and yields their digests as it goes; stale pages are removed at the end."""
    written = set()
    for some in by_size(manifests, lambda _: 1, SHARDS_PER_PAGE):
        merged = digest.merge(map(digest.of, some))
        written.add(_write_page(output, some, merged))
        yield merged
    for url in set(stale) - written:
        remove(url)


def _holds(row: _Row, there: FileSet, wanted: Mapping[str, Fingerprint]) -> bool:
    if row.name not in wanted or f"{MANIFESTS}/{row.name}.json" not in there:
        return False
    return wanted[row.name] == row.fingerprint and all(map(there.has, row.published))


def _write_page(output: str, manifests: Collection[Manifest], digest: Mapping[str, Any]) -> str:
    settings: list[Mapping[str, object]] = []
    shards = []
    for manifest in manifests:
        common = {key: value for key, value in manifest.fingerprint.items() if key not in _INPUT_KEYS}
        if common not in settings:
            settings.append(common)
        own = [manifest.fingerprint.get(key) for key in _INPUT_KEYS]
        published = [(name, size, manifest.versions.get(name, "")) for name, size in manifest.outputs.items()]
        shards.append([manifest.name, settings.index(common), *own, published])
    page = {"format": _FORMAT, "settings": settings, "shards": shards, "digest": digest}
    content = json.dumps(page, ensure_ascii=False).encode("utf-8", "replace")
    url = join_url(output, LEDGER, _page_name(content))
    publish_bytes(url, content)
    return url


def _read_page(url: str) -> dict[str, Any] | None:
    """A page, unless it is gone, of another version, or not what was written: its name is the digest of its content."""
    try:
        content = read_bytes(url)
    except FileNotFoundError:
        return None
    if url.rpartition("/")[2] != _page_name(content):
        return None
    page: dict[str, Any] = json.loads(content)
    return page if page["format"] == _FORMAT else None


def _page_name(content: bytes) -> str:
    return f"{hashlib.sha256(content).hexdigest()[:16]}.json"


def _rows(page: Mapping[str, Any]) -> Iterator[_Row]:
    for name, place, size, version, published in page["shards"]:
        fingerprint = {**page["settings"][place], INPUT_SIZE: size, INPUT_VERSION: version}
        yield _Row(name, fingerprint, [Listed(*one) for one in published])
