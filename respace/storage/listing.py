"""Everything below a directory, file by file, and which files there are in sixteen bytes each.

>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a").mkdir(), (folder / "a" / "b.txt").write_text("hello")
>>> found = list(walk_files(str(folder)))
>>> [(one.name, one.size) for one in found]
[('a/b.txt', 5)]
>>> files = FileSet(found)
>>> "a/b.txt" in files, "a/c.txt" in files, files.has(found[0]), files.has(found[0]._replace(size=6))
(True, False, True, False)
"""

from __future__ import annotations

import os
from array import array
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from respace.storage.files import filesystem, is_local, version_of
from respace.storage.parallel import in_parallel

# A store is asked folder by folder, many at a time, which needs little memory; where that would be too many questions,
# it lists all of them at once.
_MOST_FOLDERS = 10_000


class Listed(NamedTuple):
    """A file by its path in the directory that was listed, its bytes, and its etag or time of modification."""

    name: str
    size: int
    version: str


def walk_files(root: str) -> Iterator[Listed]:
    """Every file below a directory, in no order; none where there is no directory."""
    store, path = filesystem(root)
    return _walk_local(path, "") if is_local(root) else _walk_store(store, path.rstrip("/"))


def local_version(status: os.stat_result) -> str:
    """As `version_of` what fsspec says of a local file."""
    return f"{status.st_mtime:.6f}"


def _walk_local(path: str, prefix: str) -> Iterator[Listed]:
    try:
        entries = os.scandir(path)
    except (FileNotFoundError, NotADirectoryError):
        return
    folders = []
    with entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                folders.append(entry.name)
            elif entry.is_file():
                status = entry.stat()
                yield Listed(prefix + entry.name, status.st_size, local_version(status))
    for name in folders:
        yield from _walk_local(f"{path}/{name}", f"{prefix}{name}/")


def _walk_store(store: Any, root: str) -> Iterator[Listed]:
    folders = [root]
    while folders:
        if len(folders) > _MOST_FOLDERS:
            yield from _listed(store.find(root, detail=True).values(), root, folders)
            return
        below: list[str] = []
        seen = set(folders)  # some stores list a folder in itself
        for entries in in_parallel(lambda folder: _entries(store, folder), folders):
            yield from _listed(entries, root, None)
            below += [one["name"].rstrip("/") for one in entries if one["type"] == "directory"]
        folders = [folder for folder in below if folder not in seen]


def _entries(store: Any, folder: str) -> list[dict[str, Any]]:
    try:
        found: list[dict[str, Any]] = store.ls(folder, detail=True)
    except (FileNotFoundError, NotADirectoryError):
        return []
    return found


def _listed(entries: Iterable[dict[str, Any]], root: str, inside: list[str] | None) -> Iterator[Listed]:
    """The files among some entries; with ``inside``, only those below these folders."""
    wanted = None if inside is None else set(inside)
    for one in entries:
        name = str(one["name"])
        if one["type"] != "file" or name.endswith("/"):
            continue
        if wanted is not None and not any(parent in wanted for parent in _parents(name)):
            continue
        yield Listed(name[len(root) :].lstrip("/"), int(one["size"] or 0), version_of(one))


def _parents(name: str) -> Iterator[str]:
    while "/" in name:
        name = name.rpartition("/")[0]
        yield name


class FileSet:
    """Which files there are. Of each, two hashes of 64 bits are kept: of its name, and of all that was listed of it."""

    def __init__(self, files: Iterable[Listed]):
        names, whole = array("q"), array("q")
        for file in files:
            names.append(hash(file.name))
            whole.append(hash(file))
        self._names, self._whole = (np.frombuffer(one, dtype=np.int64) for one in (names, whole))
        self._names.sort()
        self._whole.sort()

    def __len__(self) -> int:
        return len(self._names)

    def __contains__(self, name: object) -> bool:
        return _is_in(self._names, hash(name))

    def has(self, file: Listed) -> bool:
        """Whether a file is there with this size and version."""
        return _is_in(self._whole, hash(file))


def _is_in(hashes: NDArray[np.int64], wanted: int) -> bool:
    place = int(hashes.searchsorted(wanted))
    return place < len(hashes) and int(hashes[place]) == wanted
