"""Progress of a job whose workers are elsewhere: the manifests that appear in its output."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType

from respace.storage.files import join_url
from respace.storage.listing import walk_files
from transforms.shards.contract import Shard
from transforms.shards.manifests import MANIFESTS

_LOG = logging.getLogger(__name__)
_SECONDS = 10.0
# A listing of many files takes a while: looking should not be most of what is done.
_SHARE = 0.05


class ManifestWatch:
    """Tells of shards whose manifests are new, while the block runs and when it ends.

    Args:
        output: output directory.
        pieces: what each shard was cut into.
        parts: the folder of the output that has the manifests of pieces; they go when their shard is put together.
        tell: called with counts, like `transforms.shards.progress.report`.
        seconds: how often to look.
    """

    def __init__(
        self,
        output: str,
        pieces: Mapping[str, Sequence[Shard]],
        parts: str,
        tell: Callable[[dict[str, int]], None],
        seconds: float = _SECONDS,
    ):
        self._output, self._pieces, self._parts, self._tell = output, pieces, parts, tell
        self._seconds = seconds
        self._done: set[str] = set()
        self._ended = threading.Event()

    def __enter__(self) -> ManifestWatch:
        self._before = self._versions()
        self._thread = threading.Thread(target=self._watch, name="respace-manifests", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._thread.join()
        if kind is None:
            self.look()

    def look(self) -> None:
        """Tells what is new since the last look."""
        now = self._versions()
        for name, pieces in self._pieces.items():
            whole = self._is_new(now, name)
            new = [
                piece
                for piece in pieces
                if piece.name not in self._done and (whole or (len(pieces) > 1 and self._is_new(now, piece.name)))
            ]
            if new:
                self._done.update(piece.name for piece in new)
                self._tell({"shards": len(new), "bytes": sum(piece.size for piece in new)})

    def _is_new(self, now: Mapping[str, str], name: str) -> bool:
        return name in now and now[name] != self._before.get(name)

    def _versions(self) -> dict[str, str]:
        """Versions of all manifests, by the names of their shards."""
        folders = [self._output, *([join_url(self._output, self._parts)] if self._parts else [])]
        return {
            file.name.removesuffix(".json"): file.version
            for folder in folders
            for file in walk_files(join_url(folder, MANIFESTS))
        }

    def _watch(self) -> None:
        wait = self._seconds
        while not self._ended.wait(wait):
            started = time.monotonic()
            try:
                self.look()
            except Exception as error:  # parts that go while they are listed, or a store that is busy: the job goes on
                _LOG.info("progress could not be read: %s", error)
            wait = max(self._seconds, (time.monotonic() - started) / _SHARE)
