"""Input files: what a user named, found. Nothing is left out without a word.

>>> import tempfile, pathlib
>>> folder = pathlib.Path(tempfile.mkdtemp())
>>> _ = (folder / "a.jsonl").write_text("{}"), (folder / "paper.pdf").write_text("")
>>> found = find_inputs([str(folder)], suffixes=[".jsonl", ".parquet"])
>>> [file.name for file in found.files], found.left_out_by_kind
(['a.jsonl'], {'files ending in .pdf': 1})
"""

from __future__ import annotations

import os
import stat
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

import fsspec
from fsspec.implementations.local import LocalFileSystem

from respace.storage.answers import first_answer
from respace.storage.compression import compression_of
from respace.storage.errors import UserError
from respace.storage.files import GLOB, InputFile, filesystem, fixed_part, is_within, version_of
from respace.storage.listing import local_version, walk_files

HIDDEN = "names that begin with _ or ."
SPECIAL = "pipes, sockets and devices"
OUTSIDE = "links that lead out of the input (--follow_links)"
_FILE, _FOLDER, _FOLLOWED = "file", "folder", "followed"


@dataclass(frozen=True, slots=True)
class LeftOut:
    """Something in an input folder that is not read, and of what kind it is."""

    name: str
    kind: str


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundInputs:
    """What inputs name.

    Args:
        files: those that can be read, sorted by name.
        others: files of other kinds.
        left_out: what is not read: ``others`` and everything that is no file.
        unreadable: folders that cannot be listed, by name, and why.
        followed: where links out of the input led to.
    """

    files: Sequence[InputFile]
    others: Sequence[InputFile] = ()
    left_out: Sequence[LeftOut] = ()
    unreadable: Mapping[str, str] = field(default_factory=dict)
    followed: Sequence[str] = ()

    @property
    def left_out_by_kind(self) -> dict[str, int]:
        return by_kind(self.left_out)


def by_kind(left_out: Iterable[LeftOut]) -> dict[str, int]:
    """How many there are of each kind, the most frequent first."""
    return dict(sorted(Counter(one.kind for one in left_out).items(), key=lambda item: (-item[1], item[0])))


def list_inputs(inputs: Sequence[str], suffixes: Sequence[str], option: str = "--input") -> list[InputFile]:
    """The files of `find_inputs`, for jobs that take what they can read.

    Raises:
        UserError: as there; or a folder cannot be listed.
    """
    found = find_inputs(inputs, suffixes, option, follow_links=True)
    for message in found.unreadable.values():
        raise UserError(message)
    return list(found.files)


def find_inputs(
    inputs: Sequence[str], suffixes: Sequence[str], option: str = "--input", *, follow_links: bool = False
) -> FoundInputs:
    """Everything that the inputs (files, directories, globs, URLs) name, each file once.

    In directories, files of other kinds are not read, and neither is anything whose name begins with ``_`` or ``.``:
    manifests, temporary files, reports.

    Args:
        inputs: what the user gave.
        suffixes: kinds of files that can be read, such as ``.jsonl.gz``.
        option: the option that gave them, for messages.
        follow_links: also those that lead out of a directory that was given.

    Raises:
        UserError: an input is missing or names no file, a name is not valid UTF-8, or two files would have the same
            output name, or one file two.
    """
    gathered = _Gathered(option)
    endings = tuple(suffixes)
    for one in inputs:
        before, given = (len(gathered.files), len(gathered.unreadable)), os.path.basename(one)
        for entry in _entries_of(one, endings, option, follow_links):
            gathered.add(entry, endings, explicit=entry.name == given)
        if before == (len(gathered.files), len(gathered.unreadable)) and not gathered.repeated:
            raise UserError(
                f"{option} {one}: no file there that can be read. Expected files ending in {shown_suffixes(suffixes)}"
            )
    return FoundInputs(
        files=sorted(gathered.files.values(), key=lambda file: file.name),
        others=sorted(gathered.others.values(), key=lambda file: file.name),
        left_out=gathered.left_out,
        unreadable=gathered.unreadable,
        followed=gathered.followed,
    )


@dataclass(frozen=True, slots=True)
class _Entry:
    """Something below an input. ``kind`` is a file, a folder that cannot be listed, a link, or why it is left out."""

    name: str
    kind: str
    file: InputFile | None = None
    message: str = ""


class _Gathered:
    """Sorts entries, and refuses two files of one name and two names of one file."""

    def __init__(self, option: str):
        self._option = option
        self.files: dict[str, InputFile] = {}
        self.others: dict[str, InputFile] = {}
        self.left_out: list[LeftOut] = []
        self.unreadable: dict[str, str] = {}
        self.followed: list[str] = []
        self.repeated = False
        self._names: dict[str, str] = {}
        self._hidden: set[str] = set()

    def add(self, entry: _Entry, suffixes: tuple[str, ...], explicit: bool) -> None:
        if entry.kind == _FOLLOWED:
            self.followed.append(entry.message)
            return
        hidden = _hidden_part(entry.name)
        if hidden and not explicit:
            if hidden not in self._hidden:
                self._hidden.add(hidden)
                self.left_out.append(LeftOut(hidden, HIDDEN))
        elif entry.kind == _FOLDER:
            self.unreadable[entry.name] = entry.message
        elif entry.file is None:
            self.left_out.append(LeftOut(entry.name, entry.kind))
        elif entry.file.url.lower().endswith(suffixes):
            self.repeated = entry.name in self.files
            self._check(entry.file)
            self.files[entry.name] = entry.file
        elif entry.name not in self.others:
            self.others[entry.name] = entry.file
            self.left_out.append(LeftOut(entry.name, _kind_of(entry.name)))

    def _check(self, file: InputFile) -> None:
        _check_name(file.url)
        other = self.files.get(file.name, file)
        if other.url != file.url:
            raise UserError(
                f"{other.url} and {file.url} would both become {file.name} in the output. "
                f"Give their common parent directory as {self._option}, or run them into two outputs"
            )
        name = self._names.setdefault(file.url, file.name)
        if name != file.name:
            raise UserError(
                f"{file.url} would become both {name} and {file.name} in the output. "
                "Give every file or directory once, not also a directory above it"
            )


def _entries_of(one: str, suffixes: tuple[str, ...], option: str, follow_links: bool) -> Iterator[_Entry]:
    store, path = filesystem(one)
    local = isinstance(store, LocalFileSystem)
    if first_answer(option, one, lambda: store.isdir(path)):
        yield from _Walk(path, follow_links).folder(path) if local else _remote_entries(store, path, path)
    elif store.exists(path):
        if not path.lower().endswith(suffixes):
            raise UserError(
                f"{option} {one}: unknown kind of file. Expected a name ending in {shown_suffixes(suffixes)}"
            )
        base = path.rpartition("/")[0]
        # Whoever names a link wants what it leads to.
        yield from _Walk(base, follow_links=True).entry(path) if local else _remote_entries(store, path, base)
    elif GLOB & set(path):
        base = filesystem(fixed_part(one))[1]
        for match in sorted(store.glob(path)):
            yield from _Walk(base, follow_links).entry(match) if local else _remote_entries(store, match, base)
    else:
        raise UserError(f"{option} {one}: not found. Expected an existing file, directory or glob")


def _remote_entries(store: fsspec.AbstractFileSystem, path: str, base: str) -> Iterator[_Entry]:
    if store.isdir(path):
        root = store.unstrip_protocol(path).rstrip("/")
        found = [(f"{path.rstrip('/')}/{one.name}", one.size, one.version) for one in sorted(walk_files(root))]
    else:
        info = store.info(path)
        found = [(path, int(info["size"] or 0), version_of(info))] if info["type"] == "file" else []
    for where, size, version in found:
        name, url = where[len(base) :].lstrip("/"), store.unstrip_protocol(where)
        yield _Entry(name, _FILE, InputFile(url=url, name=name, size=size, version=version))


class _Walk:
    """A walk through a local directory that sees everything: what cannot be listed, what is no file, where links go."""

    def __init__(self, base: str, follow_links: bool):
        self._base, self._follow_links = base, follow_links
        self._real = os.path.realpath(base or "/")
        self._seen: set[str] = set()

    def folder(self, path: str) -> Iterator[_Entry]:
        where = os.path.realpath(path)
        if where in self._seen:  # a link may lead back up
            return
        self._seen.add(where)
        try:
            with os.scandir(path) as entries:
                found = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            yield _Entry(self._name(path), _FOLDER, message=f"{path}: the folder cannot be listed ({error.strerror})")
            return
        for entry in found:
            if entry.is_file(follow_symlinks=False):
                yield self._plain_file(entry)
            else:
                yield from self.entry(os.path.join(path, entry.name))

    def _plain_file(self, entry: os.DirEntry[str]) -> _Entry:
        """What nearly everything is: a file that is no link, of which the listing told all but its size and time."""
        name, size, version = self._name(entry.path), 0, ""
        with suppress(OSError):  # it is gone since, or in a folder that hides its files: a file that cannot be read
            status = entry.stat()
            size, version = status.st_size, local_version(status)
        return _Entry(name, _FILE, InputFile(url=entry.path, name=name, size=size, version=version))

    def entry(self, path: str) -> Iterator[_Entry]:
        name = self._name(path)
        try:
            mode = os.stat(path).st_mode
        except OSError:  # a broken link, or a folder that hides its files: a file that cannot be read
            yield _Entry(name, _FILE, InputFile(url=path, name=name, size=0, version=""))
            return
        if os.path.islink(path) and not is_within(os.path.realpath(path), self._real):
            if not self._follow_links:
                yield _Entry(name, OUTSIDE)
                return
            yield _Entry(name, _FOLLOWED, message=os.path.realpath(path))
        if stat.S_ISDIR(mode):
            if _hidden_part(name):
                yield _Entry(name, HIDDEN)
            else:
                yield from self.folder(path)
        elif stat.S_ISREG(mode):
            info = LocalFileSystem().info(path)
            file = InputFile(url=path, name=name, size=int(info["size"] or 0), version=version_of(info))
            yield _Entry(name, _FILE, file)
        else:
            yield _Entry(name, SPECIAL)

    def _name(self, path: str) -> str:
        return path[len(self._base) :].lstrip("/") or os.path.basename(path)


def _hidden_part(name: str) -> str:
    """The shortest beginning of a path that is hidden, or nothing.

    >>> _hidden_part("a/_old/b.txt"), _hidden_part("a/b.txt")
    ('a/_old', '')
    """
    if not name.startswith(("_", ".")) and "/_" not in name and "/." not in name:
        return ""  # nearly always
    parts = name.split("/")
    first = next((place for place, part in enumerate(parts) if part.startswith(("_", "."))), None)
    return "" if first is None else "/".join(parts[: first + 1])


def _kind_of(name: str) -> str:
    suffix = os.path.splitext(name)[1].lower()
    return f"files ending in {suffix}" if suffix else "files without a suffix"


def _check_name(url: str) -> None:
    try:
        url.encode("utf-8")
    except UnicodeEncodeError as error:
        raise UserError(f"{url!r}: the name is not valid UTF-8. Rename the file") from error


def shown_suffixes(suffixes: Sequence[str]) -> str:
    """
    >>> shown_suffixes([".txt", ".txt.gz", ".txt.xz", ".parquet"])
    '.txt, .parquet, or compressed (.gz, .xz)'
    """
    packed = dict.fromkeys(compression_of(suffix) for suffix in suffixes if compression_of(suffix))
    plain = ", ".join(suffix for suffix in suffixes if not compression_of(suffix))
    return f"{plain}, or compressed ({', '.join(packed)})" if plain and packed else plain or ", ".join(suffixes)
