"""The one way a file is written: whole, verified, and only then under its name.

>>> import tempfile, os
>>> target = os.path.join(tempfile.mkdtemp(), "out", "greeting.txt")
>>> with publish(target) as path:
...     _ = open(path, "w").write("hello")
>>> open(target).read(), os.listdir(os.path.dirname(target))
('hello', ['greeting.txt'])

A local file is written beside its final name, under a name of its own for every attempt, closed, verified, flushed to
the disk and renamed. On an object store it is written to a local temporary file, verified, and uploaded in a single
put, which the store shows either whole or not at all. Whoever is killed in between leaves the old file, or none.
"""

from __future__ import annotations

import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from typing import TYPE_CHECKING

from respace.storage.answers import first_answer
from respace.storage.errors import UserError
from respace.storage.files import file_size, filesystem, is_local, join_url, remove

if TYPE_CHECKING:
    import pyarrow as pa

TEMPORARY_SUFFIX = ".respace-tmp"


_check: ContextVar[Callable[[], None] | None] = ContextVar("check before publishing", default=None)


@contextmanager
def checked_by(check: Callable[[], None] | None) -> Iterator[None]:
    """Has this called before anything is published by the code of the block; what it raises prevents that."""
    before = _check.set(check)
    try:
        yield
    finally:
        _check.reset(before)


@contextmanager
def publish(url: str, verify: Callable[[str], None] | None = None) -> Iterator[str]:
    """Yields a local path to write to; when the block ends well, the file appears under ``url``.

    Args:
        url: the final name: a local path or a URL.
        verify: reads the closed file and raises if it is not what it should be; then nothing is published.
    """
    store, path = filesystem(url)
    if is_local(url):
        folder, name = os.path.split(path)
        os.makedirs(folder, exist_ok=True)
        temporary = os.path.join(folder, f".{_shortened(name)}.{secrets.token_hex(8)}{TEMPORARY_SUFFIX}")
    else:
        folder = tempfile.mkdtemp(prefix="respace-")
        temporary = os.path.join(folder, _shortened(os.path.basename(path)))
    try:
        yield temporary
        if verify is not None:
            verify(temporary)
        check = _check.get()
        if check is not None:
            check()
        if is_local(url):
            _flush_to_disk(temporary)
            os.replace(temporary, path)
            _flush_to_disk(folder)
        else:
            store.put_file(temporary, path)
            store.invalidate_cache(store._parent(path))
            size = file_size(url)
            if size != os.path.getsize(temporary):
                raise OSError(f"{url}: {size} bytes after uploading {os.path.getsize(temporary)}")
    finally:
        if is_local(url):
            with suppress(FileNotFoundError):
                os.remove(temporary)
        else:
            shutil.rmtree(folder)


def _shortened(name: str) -> str:
    """The beginning of a name: a disk allows 255 bytes, and a store more."""
    return os.fsdecode(os.fsencode(name)[:150])


def publish_bytes(url: str, content: bytes) -> None:
    """Publishes a small file."""
    with publish(url) as path, open(path, "wb") as stream:
        stream.write(content)


def remove_temporaries(root: str) -> int:
    """Removes what killed runs left under a local directory, and says how many files that were.

    Call it only while holding the run lock: another run's temporary files look the same.
    """
    removed = 0
    if is_local(root):
        for folder, _, names in os.walk(filesystem(root)[1]):
            for name in names:
                if name.startswith(".") and name.endswith(TEMPORARY_SUFFIX):
                    os.remove(os.path.join(folder, name))
                    removed += 1
    return removed


def publish_table(url: str, table: pa.Table, row_group_size: int) -> None:
    """Publishes a table as Parquet, if all its rows can be read back."""
    import pyarrow.parquet as pq

    def verify(path: str) -> None:
        written = pq.ParquetFile(path).metadata.num_rows
        if written != table.num_rows:
            raise OSError(f"{path}: {written} rows written, {table.num_rows} expected")

    with publish(url, verify) as path:
        pq.write_table(table, path, compression="zstd", row_group_size=row_group_size)


def check_writable(root: str, option: str = "--output") -> None:
    """Fails before anything is read if the output, or what another option names, cannot be written.

    Raises:
        UserError: with the reason and what to do.
    """
    # One name for all runs: of those that are killed in between, no more than one file stays, until the next run.
    probe = join_url(root, f".write-test{TEMPORARY_SUFFIX}")
    store, path = filesystem(probe)

    def write() -> None:
        store.pipe_file(path, b"")
        remove(probe)  # which another run may have done

    if not is_local(root):
        first_answer(option, root, write)
        return
    try:
        os.makedirs(filesystem(root)[1], exist_ok=True)
        write()
    except Exception as error:  # every store has its own errors, and all of them mean that it cannot be written
        raise UserError(
            f"{option} {root} cannot be written: {type(error).__name__}: {error}. "
            "Give a directory that can be created or that you may write to"
        ) from error


def _flush_to_disk(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
