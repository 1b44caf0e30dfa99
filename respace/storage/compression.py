"""Decompression that cannot be made to fill the memory or the disk, and compression that always gives the same bytes.

>>> import io
>>> bomb = gzip.compress(bytes(1 << 20))
>>> with open_decompressed(io.BytesIO(bomb), "x.gz", Limits(max_ratio=10, ratio_matters_from=1 << 10)) as stream:
...     stream.read()
Traceback (most recent call last):
...
respace.storage.errors.BadFile: x.gz: grows more than 10-fold when decompressed: ...
"""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

import pyarrow as pa

from respace.storage.errors import BadFile

COMPRESSION_SUFFIXES = (".gz", ".bz2", ".zst", ".xz")
_ERRORS = (OSError, EOFError, zlib.error, lzma.LZMAError)
# A decompressor asks for its dictionary before a byte comes out; xz allows 4 GB, ordinary files need 65 MB at most.
_DECODER_MEMORY = 256 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a compressed file may become.

    Args:
        max_bytes: bytes after decompression.
        max_ratio: bytes out per byte in. English text gives 3 to 10, repetitive logs 100.
        ratio_matters_from: below this many bytes out, any ratio is harmless.
    """

    max_bytes: int = 1 << 40
    max_ratio: float = 400.0
    ratio_matters_from: int = 64 << 20


def compression_of(name: str) -> str:
    """The compression suffix of a file name, or nothing.

    >>> compression_of("a/b.jsonl.GZ"), compression_of("b.jsonl")
    ('.gz', '')
    """
    return next((suffix for suffix in COMPRESSION_SUFFIXES if name.lower().endswith(suffix)), "")


@contextmanager
def open_decompressed(stream: BinaryIO, name: str, limits: Limits | None = None) -> Iterator[BinaryIO]:
    """The content of a stream whose compression its name tells; an uncompressed one passes through as it is.

    Raises:
        BadFile: while reading, if the file is truncated, corrupt, or grows beyond the limits.
    """
    suffix = compression_of(name)
    if not suffix:
        yield stream
        return
    counted = _CountedReader(stream)
    decoder: Any
    if suffix == ".gz":
        decoder = gzip.GzipFile(fileobj=cast(BinaryIO, counted), mode="rb")
    elif suffix == ".zst":
        decoder = pa.CompressedInputStream(pa.PythonFile(counted, mode="r"), "zstd")
    else:
        decoder = _StreamDecoder(counted, suffix)
    with io.BufferedReader(_BoundedReader(decoder, counted, name, limits or Limits()), 1 << 20) as bounded:
        yield cast(BinaryIO, bounded)


@contextmanager
def open_compressed(path: str, name: str) -> Iterator[BinaryIO]:
    """Writes a local file with the compression that ``name`` tells. The same content always gives the same bytes."""
    suffix = compression_of(name)
    with open(path, "wb") as raw:
        if suffix == ".gz":
            with gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0) as stream:
                yield cast(BinaryIO, stream)
        elif suffix == ".bz2":
            with bz2.BZ2File(raw, "wb") as packed:
                yield cast(BinaryIO, packed)
        elif suffix == ".xz":
            with lzma.LZMAFile(raw, "wb") as packed_xz:
                yield cast(BinaryIO, packed_xz)
        elif suffix == ".zst":
            with pa.CompressedOutputStream(pa.PythonFile(raw, mode="w"), "zstd") as packed_zst:
                yield cast(BinaryIO, packed_zst)
        else:
            yield raw


class _CountedReader(io.RawIOBase):
    """Counts the bytes that the decoder takes in."""

    def __init__(self, stream: BinaryIO):
        self._stream = stream
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)


class _BoundedReader(io.RawIOBase):
    """Passes on what the decoder gives until a limit is reached."""

    def __init__(self, decoder: Any, source: _CountedReader, name: str, limits: Limits):
        self._decoder, self._source, self._name, self._limits = decoder, source, name, limits
        self._count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        try:
            data = self._decoder.read(len(buffer))
        except _ERRORS as error:
            raise BadFile(
                f"{self._name}: cannot be decompressed after {self._count} bytes ({error}). "
                "The file is truncated or damaged: fetch it again"
            ) from error
        self._count += len(data)
        limits = self._limits
        if self._count > limits.max_bytes:
            raise BadFile(
                f"{self._name}: more than {limits.max_bytes} bytes when decompressed. "
                "If that is what it should be, split it into smaller files"
            )
        if self._count > limits.ratio_matters_from and self._count > limits.max_ratio * self._source.count:
            raise BadFile(
                f"{self._name}: grows more than {limits.max_ratio:g}-fold when decompressed: a decompression bomb? "
                "If it is a real text, decompress it beforehand"
            )
        buffer[: len(data)] = data
        return len(data)


class _StreamDecoder:
    """bz2 and xz, many streams in a row, with bounded memory (the standard library's files do not bound xz)."""

    def __init__(self, source: _CountedReader, suffix: str):
        self._source, self._suffix = source, suffix
        self._decoder: Any = self._new()
        self._rest = b""

    def read(self, size: int) -> bytes:
        while True:
            if self._decoder.eof:
                self._rest = self._decoder.unused_data.lstrip(b"\0") or self._source.read(1 << 16).lstrip(b"\0")
                if not self._rest:
                    return b""
                self._decoder = self._new()
            if not self._rest and self._decoder.needs_input:
                self._rest = self._source.read(1 << 16)
                if not self._rest:
                    raise EOFError("it ends in the middle of a stream")
            data, self._rest = self._decoder.decompress(self._rest, size), b""
            if data:
                return bytes(data)

    def _new(self) -> Any:
        if self._suffix == ".bz2":
            return bz2.BZ2Decompressor()
        return lzma.LZMADecompressor(lzma.FORMAT_AUTO, memlimit=_DECODER_MEMORY)
