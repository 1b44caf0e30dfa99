"""Footers that end the process that reads them: Arrow does not catch all of its own errors there.

So every footer is first read whole in a process that may die, once, when its file is cut into shards.
"""

from __future__ import annotations

import os
import threading

import pyarrow.parquet as pq

from respace.storage.errors import BadFile
from respace.storage.files import InputFile, open_input
from transforms.shards.killable import KillableFunction, Stopped

_SECONDS = 60.0
_ENCRYPTED = b"PARE"  # how a file with an encrypted footer ends
_lock = threading.Lock()


def check_footer(file: InputFile) -> None:
    """
    Raises:
        BadFile: whoever reads the footer dies; or it is encrypted.
    """
    if _is_encrypted(file):
        raise BadFile(f"{file.url}: is encrypted, and cannot be read. Decrypt it, or leave it out")
    with _lock:
        try:
            try:
                _read_apart(file)
            except Stopped:  # somebody may have stopped the process: only a footer that does it again is to blame
                _read_apart(file)
        except Stopped as error:
            raise BadFile(
                f"{file.url}: its footer cannot be read as Parquet ({error}). It is damaged, or has encrypted columns: "
                "fetch or write it again, or decrypt it"
            ) from error


def _is_encrypted(file: InputFile) -> bool:
    """Whether the footer is."""
    with open_input(file) as stream:
        if file.size < len(_ENCRYPTED):
            return False
        stream.seek(-len(_ENCRYPTED), os.SEEK_END)
        return stream.read() == _ENCRYPTED


def read_footer(file: InputFile) -> None:
    """Looks at everything in a footer. What it raises, the reader of the file will raise, too, and say better."""
    try:
        with open_input(file) as stream:
            metadata = pq.ParquetFile(stream, pre_buffer=False).metadata
            for index in range(metadata.num_row_groups):
                group = metadata.row_group(index)
                for place in range(group.num_columns):
                    group.column(place)
    except Exception:  # of any kind: only the end of the process counts here
        return


_read_apart: KillableFunction[InputFile, None] = KillableFunction(read_footer, seconds=_SECONDS, quiet=True)
