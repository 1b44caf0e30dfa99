"""The files that a shard becomes: its target, what is added to a text file, its dead letters; then its manifest."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass

from respace.storage.files import file_size, filesystem, is_local, join_url, remove
from respace.storage.publish import publish
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import has_sidecar
from transforms.shards.dead_letters import dead_letters_url
from transforms.shards.manifests import remove_manifest

PROVENANCE = "_provenance"


@dataclass(frozen=True)
class OutputFiles:
    """The files that a shard, or a part, becomes."""

    root: str
    name: str
    formats: FormatOptions

    @property
    def target(self) -> str:
        return join_url(self.root, self.name)

    @property
    def sidecar(self) -> str:
        return sidecar_url(self.root, self.name) if has_sidecar(self.name, self.formats) else ""

    @property
    def dead_letters(self) -> str:
        return dead_letters_url(self.root, self.name)

    def replaced(self) -> _Replaced:
        return _Replaced(self)

    def sizes(self, with_dead_letters: bool) -> dict[str, int]:
        urls = [self.target, *([self.sidecar] if self.sidecar else [])]
        urls += [self.dead_letters] if with_dead_letters else []
        return {url[len(self.root.rstrip("/")) + 1 :]: file_size(url) or 0 for url in urls}


class _Replaced(ExitStack):
    """Local paths to write the target and the sidecar to. The shard counts as not done from here to its manifest."""

    def __init__(self, files: OutputFiles):
        super().__init__()
        self._files = files

    def __enter__(self) -> tuple[str, str]:  # type: ignore[override]
        remove_manifest(self._files.root, self._files.name)
        remove(self._files.dead_letters)
        if not self._files.sidecar:  # an earlier run may have left one, which would not fit
            remove(sidecar_url(self._files.root, self._files.name))
        target = self.enter_context(publish(self._files.target))
        sidecar = self.enter_context(publish(self._files.sidecar)) if self._files.sidecar else ""
        return target, sidecar


def sidecar_url(root: str, name: str) -> str:
    return join_url(root, PROVENANCE, f"{name}.parquet")


def local_copy(url: str, folder: str) -> str:
    """A local path with the content of a file."""
    store, path = filesystem(url)
    if is_local(url):
        if not os.path.exists(path):
            raise FileNotFoundError(url)
        return path
    local = os.path.join(folder, f"{len(os.listdir(folder)):05}-{os.path.basename(path)}")
    store.get_file(path, local)
    return local
