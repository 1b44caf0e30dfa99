"""Names of shards that an output on a disk cannot have next to each other, found before any work.

>>> impossible_names("/out", ["a.txt", "a.txt.json/b.txt", "c.txt"])
{'a.txt': 'a.txt: its manifest would have the name of the folder a.txt.json/. Rename one of the two'}

Whatever belongs to a shard has its name and a suffix more: ``_manifest/NAME.json``, ``_dead_letters/NAME.parquet``. A
disk allows 255 bytes for a name, and no file where there is a folder; an object store has neither limit.
"""

from __future__ import annotations

import os
from collections.abc import Collection

from respace.storage.files import is_local

_MOST_BYTES = 255
_BESIDE = {".json": "its manifest", ".parquet": "its dead letters"}
# Dead letters are rare: a name that is too long for them alone fails when there are some.
_LONGEST_SUFFIX = ".json"


def impossible_names(output: str, names: Collection[str]) -> dict[str, str]:
    """The shards that cannot be done because of their names, and why."""
    if not is_local(output):
        return {}
    folders = {folder for folder in {os.path.dirname(name) for name in names} if folder}
    for folder in list(folders):
        while (folder := os.path.dirname(folder)) and folder not in folders:
            folders.add(folder)
    found = {}
    for name in names:
        problem = _problem(name, folders)
        if problem:
            found[name] = f"{name}: {problem}"
    return found


def _problem(name: str, folders: Collection[str]) -> str:
    size = len(os.fsencode(os.path.basename(name))) + len(_LONGEST_SUFFIX)
    if size > _MOST_BYTES:
        return (
            f"its manifest would have a name of {size} bytes, more than the {_MOST_BYTES} that a disk allows. "
            f"Rename the file to at most {_MOST_BYTES - len(_LONGEST_SUFFIX)} bytes"
        )
    if name in folders:
        return f"there is also a folder {name}/, and the output can have only one of the two. Rename one of them"
    for suffix, what in _BESIDE.items():
        if name + suffix in folders:
            return f"{what} would have the name of the folder {name}{suffix}/. Rename one of the two"
    return ""
