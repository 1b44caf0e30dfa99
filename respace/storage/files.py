"""Files, through fsspec, so that a local path, ``gs://`` and ``s3://`` are all the same.

>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.jsonl").write_text("{}")
>>> describe(str(folder / "a.jsonl")).size
2
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, BinaryIO

from respace.storage.errors import BadFile, BadOption
from respace.storage.installing import install_hint

if TYPE_CHECKING:
    import fsspec

# What says that a file is another one than before, in the words of the different stores.
_VERSION_KEYS = ("etag", "ETag", "generation", "md5Hash", "mtime", "LastModified", "updated", "created")
GLOB = set("*?[")


@dataclass(frozen=True, slots=True, kw_only=True)
class InputFile:
    """One input file.

    Args:
        url: what to open: a local path or a URL.
        name: its path relative to the input it was found under; the output has the same name.
        size: bytes.
        version: etag or time of modification: changes whenever the file does.
    """

    url: str
    name: str
    size: int
    version: str


def filesystem(url: str) -> tuple[fsspec.AbstractFileSystem, str]:
    """The file system of a path or URL, and the path inside it."""
    # Imported when it is needed: reading a model that ships with Respace takes less time than this import.
    import fsspec
    from fsspec.implementations.local import LocalFileSystem

    if "://" not in url:  # fsspec would take a name with "::" for a chain of URLs
        return LocalFileSystem(), str(LocalFileSystem._strip_protocol(url))
    try:
        # A listing that is kept would hide what other processes write while this one runs.
        store, path = fsspec.core.url_to_fs(url, use_listings_cache=False)
        return store, str(path)
    except ImportError as error:
        how = f", for s3:// with: {install_hint('s3')}" if url.startswith("s3") else ""
        raise BadOption(f"{url}: {error}. Install the file system's package{how}") from error
    except ValueError as error:
        raise BadOption(f"{url}: {error}. Expected a local path, or a URL such as gs://bucket/path") from error


def is_local(url: str) -> bool:
    return "://" not in url or url.startswith(("file://", "local://"))


def join_url(root: str, *names: str) -> str:
    """
    >>> join_url("gs://bucket/out/", "_manifest", "a/b.json")
    'gs://bucket/out/_manifest/a/b.json'
    """
    return "/".join([root.rstrip("/") or "/", *names])


def describe(url: str, name: str = "") -> InputFile:
    """One file whose URL is known. Raises FileNotFoundError if it is not there."""
    store, path = filesystem(url)
    info = store.info(path)
    return InputFile(
        url=url, name=name or os.path.basename(path), size=int(info["size"] or 0), version=version_of(info)
    )


def file_size(url: str) -> int | None:
    """Bytes of a file, or None where there is none."""
    store, path = filesystem(url)
    store.invalidate_cache(store._parent(path))  # another process may have written since this one looked
    try:
        info = store.info(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return int(info["size"] or 0) if info["type"] == "file" else None


def file_digest(url: str) -> str:
    """The SHA-256 of what a file holds."""
    store, path = filesystem(url)
    with store.open(path, "rb") as stream:
        return _digest(stream)


def input_digest(file: InputFile) -> str:
    """The SHA-256 of what an input holds. Raises BadFile if it changed since it was listed."""
    with open_input(file) as stream:
        return _digest(stream)


def _digest(stream: BinaryIO) -> str:
    digest = hashlib.sha256()
    while block := stream.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()


def read_bytes(url: str) -> bytes:
    if "://" not in url:  # a tenth of the time, which counts where there are many
        with open(os.path.expanduser(url), "rb") as stream:
            return stream.read()
    store, path = filesystem(url)
    return bytes(store.cat_file(path))


def remove(url: str) -> None:
    """Removes a file; one that is gone already is fine."""
    store, path = filesystem(url)
    try:
        store.rm_file(path)
    except FileNotFoundError:
        return


def remove_folder(url: str) -> None:
    """Removes a folder and all that is in it; one that is gone already is fine."""
    store, path = filesystem(url)
    if is_local(url):
        shutil.rmtree(path, ignore_errors=True)
    elif store.exists(path):
        store.rm(path, recursive=True)


@contextmanager
def open_input(file: InputFile) -> Iterator[BinaryIO]:
    """Opens an input for reading, as the bytes it has. A file that changed since it was listed is a bad file."""
    store, path = filesystem(file.url)
    try:
        now = describe(file.url, file.name)
    except FileNotFoundError as error:
        raise BadFile(
            f"{file.url}: has disappeared since the job was planned, or is a broken link. Rerun the job"
        ) from error
    except PermissionError as error:
        raise BadFile(f"{file.url}: may not be read ({error})") from error
    if (now.size, now.version) != (file.size, file.version):
        raise BadFile(f"{file.url}: changed while the job was running ({file.size} → {now.size} bytes). Rerun the job")
    try:
        stream = store.open(path, "rb")
    except PermissionError as error:
        raise BadFile(f"{file.url}: may not be read ({error})") from error
    with stream:
        yield stream


def check_apart(inputs: Sequence[str], output: str) -> None:
    """Outputs never land inside inputs, and inputs are never inside the output.

    Raises:
        BadOption: one of the two contains the other.
    """
    where = absolute(output)
    for one in inputs:
        base = absolute(fixed_part(one))
        if where == base or where.startswith(base.rstrip("/") + "/"):
            raise BadOption(
                f"--output {output} lies inside --input {one}. Give an output directory outside of the input"
            )
        if base.startswith(where.rstrip("/") + "/"):
            raise BadOption(f"--input {one} lies inside --output {output}. Give an output directory beside the input")


def check_links(inputs: Sequence[str], output: str) -> None:
    """No link inside the output leads into an input, or to a folder that has one.

    Raises:
        BadOption: one does.
    """
    if not is_local(output):
        return
    root = filesystem(output)[1]
    bases = [absolute(fixed_part(one)) for one in inputs]
    for folder, names, _ in os.walk(root):
        for link in (os.path.join(folder, name) for name in names if os.path.islink(os.path.join(folder, name))):
            where = os.path.realpath(link)
            if any(is_within(where, base) or is_within(base, where) for base in bases):
                raise BadOption(
                    f"--output {output}: {link} is a link to {where}, which is an input or has one inside. "
                    "Remove the link, or give another output directory"
                )


def check_own_folders(output: str) -> None:
    """What a job keeps for itself in its output (``_manifest``, ``_parts``, …) is a folder there, and no link.

    Raises:
        BadOption: one is a link: what is written to or removed from it would be elsewhere.
    """
    if not is_local(output):
        return
    root = filesystem(output)[1]
    for name in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        path = os.path.join(root, name)
        if name.startswith("_") and os.path.islink(path):
            raise BadOption(
                f"--output {output}: {name} is a link to {os.path.realpath(path)}, and a job keeps its own files "
                "there. Remove the link, or give another output directory"
            )


def is_within(path: str, folder: str) -> bool:
    """Whether an absolute path is a folder or below it.

    >>> is_within("/a/b", "/a"), is_within("/ab", "/a")
    (True, False)
    """
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def version_of(info: dict[str, Any]) -> str:
    for key in _VERSION_KEYS:
        value = info.get(key)
        if value is not None:
            # Some stores give a time as a number when listing, and as a date when asked for one file.
            value = value.timestamp() if isinstance(value, datetime) else value
            return f"{value:.6f}" if isinstance(value, float) else str(value)
    return ""


def fixed_part(pattern: str) -> str:
    """The directory before the first wildcard; of a path without one, the path."""
    if not GLOB & set(pattern) or filesystem(pattern)[0].exists(filesystem(pattern)[1]):
        return pattern
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if GLOB & set(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def absolute(url: str) -> str:
    store, path = filesystem(url)
    if is_local(url):
        return os.path.realpath(path)
    return str(store.unstrip_protocol(path)).rstrip("/")
