"""The shards of a run, in files that workers read, so that a graph stays small however many shards there are.

An engine takes a graph in one request (Dataflow up to 20 MB), so its elements are not shards but *slices*: the name of
a plan file in ``_plan/`` of the output, and which of its shards. A slice has the SHA-256 of its file: what somebody
else put there is not unpickled.

>>> import tempfile
>>> slices = write_plan(tempfile.mkdtemp(), ["a", "b", "c"])
>>> [shard for one in slices for shard in read_slice(one)]
['a', 'b', 'c']
"""

from __future__ import annotations

import hashlib
import pickle
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from respace.storage.files import join_url, read_bytes, remove_folder
from respace.storage.parallel import in_parallel
from respace.storage.publish import publish_bytes

PLANS = "_plan"
# Enough for the workers of any engine, some of which never divide what an element becomes (Dask).
MOST_SLICES = 1000
# A file of some thousand shards is about a megabyte.
_SHARDS_PER_FILE = 4096


@dataclass(frozen=True, slots=True)
class PlanSlice:
    """Some shards of a plan file.

    Args:
        url: of the file.
        digest: the SHA-256 of what it holds.
        start, stop: which of its shards.
    """

    url: str
    digest: str
    start: int
    stop: int


def write_plan(output: str, shards: Sequence[Any]) -> list[PlanSlice]:
    """Writes down shards, and gives at most `MOST_SLICES` slices of about the same number of them."""
    in_slice = max(1, -(-len(shards) // MOST_SLICES))
    in_file = in_slice * max(1, _SHARDS_PER_FILE // in_slice)

    def write(first: int) -> list[PlanSlice]:
        some = list(shards[first : first + in_file])
        content = pickle.dumps(some, pickle.HIGHEST_PROTOCOL)
        digest = hashlib.sha256(content).hexdigest()
        url = join_url(output, PLANS, f"{digest[:16]}.pickle")
        publish_bytes(url, content)
        edges = range(0, len(some), in_slice)
        return [PlanSlice(url, digest, start, min(start + in_slice, len(some))) for start in edges]

    written = in_parallel(write, range(0, len(shards), in_file), together=1)
    return [one for slices in written for one in slices]


def read_slice(part: PlanSlice) -> Sequence[Any]:
    """The shards of a slice.

    Raises:
        OSError: its file is not what was written.
    """
    return _read(part.url, part.digest)[part.start : part.stop]


@lru_cache(maxsize=2)
def _read(url: str, digest: str) -> Sequence[Any]:
    content = read_bytes(url)
    if hashlib.sha256(content).hexdigest() != digest:
        raise OSError(f"{url}: is not the plan that was written. Rerun the same command")
    shards: Sequence[Any] = pickle.loads(content)
    return shards


def remove_plans(output: str) -> None:
    """Removes the plan files of a run that is over."""
    remove_folder(join_url(output, PLANS))
