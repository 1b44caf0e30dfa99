"""Input files: found through fsspec, so that a local path, ``gs://`` and ``s3://`` are all the same.

>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.jsonl").write_text("{}")
>>> [file.name for file in list_inputs([str(folder)], suffixes=[".jsonl", ".parquet"])]
['a.jsonl']
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, BinaryIO

import fsspec
from fsspec.implementations.local import LocalFileSystem

from respace.storage.errors import BadFile, BadOption, UserError

# What says that a file is another one than before, in the words of the different stores.
_VERSION_KEYS = ("etag", "ETag", "generation", "md5Hash", "mtime", "LastModified", "updated", "created")
_GLOB = set("*?[")


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
    if "://" not in url:  # fsspec would take a name with "::" for a chain of URLs
        return LocalFileSystem(), str(LocalFileSystem._strip_protocol(url))
    try:
        store, path = fsspec.core.url_to_fs(url)
        return store, str(path)
    except ImportError as error:
        raise BadOption(f"{url}: {error}. Install the file system's package and try again") from error
    except ValueError as error:
        raise BadOption(f"{url}: {error}. Expected a local path, or a URL such as gs://bucket/path") from error


def is_local(url: str) -> bool:
    return isinstance(filesystem(url)[0], LocalFileSystem)


def join_url(root: str, *names: str) -> str:
    """
    >>> join_url("gs://bucket/out/", "_manifest", "a/b.json")
    'gs://bucket/out/_manifest/a/b.json'
    """
    return "/".join([root.rstrip("/") or "/", *names])


def list_inputs(inputs: Sequence[str], suffixes: Sequence[str], option: str = "--input") -> list[InputFile]:
    """Every file that the inputs (files, directories, globs, URLs) name, sorted by name, each once.

    In directories, files of other kinds are passed over, and so is everything whose name begins with ``_`` or ``.``:
    manifests, temporary files, reports.

    Args:
        inputs: what the user gave.
        suffixes: kinds of files that can be read, such as ``.jsonl.gz``.
        option: the option that gave them, for messages.

    Raises:
        UserError: an input is missing or names no file, a name is not valid UTF-8, or two files would have the same
            output name, or one file two.
    """
    found: dict[str, InputFile] = {}
    names: dict[str, str] = {}
    for one in inputs:
        files = list(_files_of(one, tuple(suffixes), option))
        if not files:
            raise UserError(
                f"{option} {one}: no file there that can be read. Expected files ending in {_one_of(suffixes)}"
            )
        for file in files:
            _check_name(file.url)
            other = found.setdefault(file.name, file)
            if other.url != file.url:
                raise UserError(
                    f"{other.url} and {file.url} would both become {file.name} in the output. "
                    f"Give their common parent directory as {option}, or run them into two outputs"
                )
            name = names.setdefault(file.url, file.name)
            if name != file.name:
                raise UserError(
                    f"{file.url} would become both {name} and {file.name} in the output. "
                    "Give every file or directory once, not also a directory above it"
                )
    return sorted(found.values(), key=lambda file: file.name)


def describe(url: str, name: str = "") -> InputFile:
    """One file whose URL is known. Raises FileNotFoundError if it is not there."""
    store, path = filesystem(url)
    info = store.info(path)
    return InputFile(url=url, name=name or os.path.basename(path), size=int(info["size"] or 0), version=_version(info))


def file_size(url: str) -> int | None:
    """Bytes of a file, or None where there is none."""
    store, path = filesystem(url)
    store.invalidate_cache(store._parent(path))  # another process may have written since this one looked
    try:
        info = store.info(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    return int(info["size"] or 0) if info["type"] == "file" else None


def list_files(root: str) -> dict[str, InputFile]:
    """Every file below a directory by its path in it, from one listing; none where there is no directory."""
    store, path = filesystem(root)
    store.invalidate_cache(path)
    found = store.find(path, detail=True) if store.isdir(path) else {}
    names = {str(where)[len(path) :].lstrip("/"): info for where, info in found.items()}
    return {
        name: InputFile(url=join_url(root, name), name=name, size=int(info["size"] or 0), version=_version(info))
        for name, info in names.items()
    }


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
    store, path = filesystem(url)
    return bytes(store.cat_file(path))


def remove(url: str) -> None:
    """Removes a file; one that is gone already is fine."""
    store, path = filesystem(url)
    try:
        store.rm_file(path)
    except FileNotFoundError:
        return


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
    where = _absolute(output)
    for one in inputs:
        base = _absolute(_fixed_part(one))
        if where == base or where.startswith(base.rstrip("/") + "/"):
            raise BadOption(
                f"--output {output} lies inside --input {one}. Give an output directory outside of the input"
            )
        if base.startswith(where.rstrip("/") + "/"):
            raise BadOption(f"--input {one} lies inside --output {output}. Give an output directory beside the input")


def _files_of(one: str, suffixes: tuple[str, ...], option: str) -> Iterator[InputFile]:
    store, path = filesystem(one)
    if store.isdir(path):
        base, found = path, _find(store, path)
    elif store.exists(path):
        if not path.lower().endswith(suffixes):
            raise UserError(f"{option} {one}: unknown kind of file. Expected a name ending in {_one_of(suffixes)}")
        base, found = path.rpartition("/")[0], {path: store.info(path)}
    elif _GLOB & set(path):
        base = filesystem(_fixed_part(one))[1]
        found = {}
        for match, info in store.glob(path, detail=True).items():
            found.update({match: info} if info["type"] == "file" else _find(store, match))
    else:
        raise UserError(f"{option} {one}: not found. Expected an existing file, directory or glob")
    for where, info in sorted(found.items()):
        name = where[len(base) :].lstrip("/")
        hidden = any(part.startswith(("_", ".")) for part in name.split("/"))
        if info["type"] == "file" and where.lower().endswith(suffixes) and (not hidden or where == path):
            url = where if isinstance(store, LocalFileSystem) else store.unstrip_protocol(where)
            yield InputFile(url=url, name=name, size=int(info["size"] or 0), version=_version(info))


def _check_name(url: str) -> None:
    try:
        url.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"{url!r}: the name is not valid UTF-8. Rename the file") from error


def _find(store: fsspec.AbstractFileSystem, root: str) -> dict[str, dict[str, Any]]:
    """Every file below a directory, through links too, which fsspec does not follow."""
    found: dict[str, dict[str, Any]] = {}
    waiting, seen = [root], set()
    while waiting:
        folder = waiting.pop()
        if os.path.realpath(folder) in seen:  # a link may lead back up
            continue
        seen.add(os.path.realpath(folder))
        for where, info in store.find(folder, detail=True).items():
            if not info.get("islink"):
                found[where] = info
            elif store.isdir(where):
                waiting.append(where)
            else:  # a broken link is a file that cannot be read
                found[where] = store.info(where) if store.exists(where) else {**info, "type": "file"}
    return found


def _version(info: dict[str, Any]) -> str:
    for key in _VERSION_KEYS:
        value = info.get(key)
        if value is not None:
            # Some stores give a time as a number when listing, and as a date when asked for one file.
            value = value.timestamp() if isinstance(value, datetime) else value
            return f"{value:.6f}" if isinstance(value, float) else str(value)
    return ""


def _fixed_part(pattern: str) -> str:
    """The directory before the first wildcard; of a path without one, the path."""
    if not _GLOB & set(pattern) or filesystem(pattern)[0].exists(filesystem(pattern)[1]):
        return pattern
    parts = pattern.split("/")
    first = next(place for place, part in enumerate(parts) if _GLOB & set(part))
    return "/".join(parts[:first]) or ("/" if pattern.startswith("/") else ".")


def _absolute(url: str) -> str:
    store, path = filesystem(url)
    if isinstance(store, LocalFileSystem):
        return os.path.realpath(path)
    return str(store.unstrip_protocol(path)).rstrip("/")


def _one_of(suffixes: Sequence[str]) -> str:
    return ", ".join(suffixes)
