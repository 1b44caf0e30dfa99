"""The files that a shard becomes: its target, what is added to a text file, its dead letters."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass

from respace.storage.files import filesystem, is_local, join_url, remove
from respace.storage.publish import publish
from transforms.formats.sidecar import sidecar_url
from transforms.shards.dead_letters import DeadLetterWriter, dead_letters_url
from transforms.shards.manifests import remove_manifest


@dataclass(frozen=True)
class OutputFiles:
    """The files that a shard, or a part, becomes."""

    root: str
    name: str
    has_sidecar: bool = False

    @property
    def target(self) -> str:
        return join_url(self.root, self.name)

    @property
    def sidecar(self) -> str:
        return sidecar_url(self.root, self.name)

    @property
    def dead_letters(self) -> str:
        return dead_letters_url(self.root, self.name)

    def replaced(self) -> _Replaced:
        return _Replaced(self)

    def published(self, with_dead_letters: bool) -> list[str]:
        urls = [self.target, *([self.sidecar] if self.has_sidecar else [])]
        return urls + ([self.dead_letters] if with_dead_letters else [])


class _Replaced(ExitStack):
    """Local paths to write the target and the sidecar to; ``letters`` is where dead letters go.

    What was there before stays, manifest and all, until everything new is written and verified: a file that cannot be
    read any more loses nothing. From then to its manifest the shard counts as not done.
    """

    def __init__(self, files: OutputFiles):
        super().__init__()
        self._files = files
        self.letters = DeadLetterWriter(files.dead_letters)

    def __enter__(self) -> tuple[str, str | None]:  # type: ignore[override]
        files = self._files
        target = self.enter_context(publish(files.target))
        sidecar = self.enter_context(publish(files.sidecar)) if files.has_sidecar else None
        self.enter_context(self.letters)
        self.push(self._forget)  # the last that is entered is the first that is left
        return target, sidecar

    def _forget(self, kind: object, error: object, trace: object) -> None:
        if kind is None:
            files = self._files
            remove_manifest(files.root, files.name)
            remove(files.dead_letters)
            if not files.has_sidecar:  # an earlier run may have left one, which would not fit
                remove(files.sidecar)


def local_copy(url: str, folder: str) -> str:
    """A local path with the content of a file."""
    store, path = filesystem(url)
    if is_local(url):
        if not os.path.exists(path):
            raise FileNotFoundError(url)
        return path
    local = os.path.join(folder, f"{len(os.listdir(folder)):05}")
    store.get_file(path, local)
    return local
