from __future__ import annotations

import bz2
import gzip
import io
import lzma
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.storage.compression import COMPRESSION_SUFFIXES, Limits, open_compressed, open_decompressed
from respace.storage.errors import BadFile


def packed(content: bytes, suffix: str, tmp_path: Path) -> bytes:
    path = str(tmp_path / "packed")
    with open_compressed(path, "x" + suffix) as stream:
        stream.write(content)
    with open(path, "rb") as stream:
        return stream.read()


def unpacked(data: bytes, suffix: str, limits: Limits | None = None) -> bytes:
    with open_decompressed(io.BytesIO(data), "x" + suffix, limits) as stream:
        return stream.read()


@pytest.mark.parametrize("suffix", ["", *COMPRESSION_SUFFIXES])
def test_round_trip_and_same_bytes_every_time(tmp_path: Path, suffix: Any) -> None:
    content = "Größe, naïve, 日本\n".encode() * 10_000
    once = packed(content, suffix, tmp_path)
    assert packed(content, suffix, tmp_path) == once
    assert unpacked(once, suffix) == content
    with open_decompressed(io.BytesIO(once), "x" + suffix) as stream:
        assert stream.readline() == "Größe, naïve, 日本\n".encode()


@pytest.mark.parametrize("suffix", COMPRESSION_SUFFIXES)
def test_several_streams_in_a_row(tmp_path: Path, suffix: Any) -> None:
    data = packed(b"one\n", suffix, tmp_path) + packed(b"two\n", suffix, tmp_path)
    assert unpacked(data, suffix) == b"one\ntwo\n"


@pytest.mark.parametrize(
    ("suffix", "damage"),
    [
        *((suffix, damage) for suffix in COMPRESSION_SUFFIXES for damage in ("truncated", "not compressed")),
        *((suffix, "altered") for suffix in (".gz", ".bz2", ".xz")),  # zstd has no checksum unless its writer wants one
    ],
)
def test_damaged_files_are_bad_files(tmp_path: Path, suffix: Any, damage: Any) -> None:
    import random

    content = random.Random(1).randbytes(200_000)
    data = packed(content, suffix, tmp_path)
    if damage == "truncated":
        data = data[: len(data) // 2]
    elif damage == "altered":
        data = data[:1000] + bytes(2000) + data[3000:]
    else:
        data = b"this is plain text, whatever its name says"
    with pytest.raises(BadFile, match=r"cannot be decompressed after \d+ bytes"):
        unpacked(data, suffix)


@pytest.mark.parametrize("suffix", COMPRESSION_SUFFIXES)
def test_a_bomb_is_stopped_early(tmp_path: Path, suffix: Any) -> None:
    bomb = packed(bytes(32 << 20), suffix, tmp_path)
    assert len(bomb) < 100_000
    limits = Limits(max_ratio=50, ratio_matters_from=1 << 20)
    with open_decompressed(io.BytesIO(bomb), "bomb" + suffix, limits) as stream:
        sizes: list[int] = []
        with pytest.raises(BadFile, match=r"bomb.*: grows more than 50-fold when decompressed"):
            sizes.extend(map(len, iter(lambda: stream.read(1 << 16), b"")))
    assert sum(sizes) < 8 << 20


def test_the_limit_in_bytes() -> None:
    data = gzip.compress(b"ab" * 1000)
    assert len(unpacked(data, ".gz", Limits(max_bytes=2000))) == 2000
    with pytest.raises(BadFile, match="more than 1999 bytes when decompressed"):
        unpacked(data, ".gz", Limits(max_bytes=1999))


def test_an_xz_file_that_wants_gigabytes_is_refused() -> None:
    wants = lzma.compress(b"x", format=lzma.FORMAT_XZ, filters=[{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 30}])
    with pytest.raises(BadFile, match="cannot be decompressed"):
        unpacked(wants, ".xz")


@settings(max_examples=30, deadline=None)
@given(st.lists(st.binary(max_size=300), max_size=4), st.sampled_from([bz2.compress, lzma.compress, gzip.compress]))
def test_any_streams(parts: Any, compress: Any) -> None:
    suffix = {bz2.compress: ".bz2", lzma.compress: ".xz", gzip.compress: ".gz"}[compress]
    data = b"".join(compress(part) for part in parts)
    if data:
        assert unpacked(data, suffix) == b"".join(parts)
