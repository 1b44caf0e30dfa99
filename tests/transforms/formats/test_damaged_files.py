"""Files of the kind that fuzzers find: flipped bits, lying footers, files cut short. None of them ends the job."""

from __future__ import annotations

import base64
import io
import json
import random
import struct
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow.parquet import encryption

from respace.storage.errors import BadFile
from respace.storage.files import describe
from tests.transforms.corpora import tree, work, write_parquet
from transforms.formats.contract import FormatOptions
from transforms.formats.registry import format_of
from transforms.repair.plan import CutFile
from transforms.repair.work import RepairShard
from transforms.shards.guard import GuardedWork, ShardFailure

TEXTS = [f"row {row} ofthe file, a x" if row % 7 else "" for row in range(77)]


def parquet_bytes(**options: Any) -> bytes:
    stream = io.BytesIO()
    table = pa.table({"id": range(77), "text": TEXTS, "tags": [["one", "two"][: row % 3] for row in range(77)]})
    pq.write_table(table, stream, row_group_size=30, **options)
    return stream.getvalue()


def json_bytes() -> bytes:
    return "".join(json.dumps({"id": row, "text": text}) + "\n" for row, text in enumerate(TEXTS)).encode()


def attempt(folder: Path, name: str, content: bytes) -> str:
    """Repairs one file as the job does; gives what it says about a bad one."""
    source = folder / "in" / name
    source.parent.mkdir(parents=True, exist_ok=True)
    source.write_bytes(content)
    job = work(folder / "out", run=str(random.random()))
    try:
        shards = CutFile(FormatOptions(), 1 << 20)(RepairShard(file=describe(str(source), name)))
    except BadFile as error:
        return str(error)
    for shard in shards:
        result, _ = GuardedWork(job)(shard)
        if isinstance(result, ShardFailure):
            assert not result.fatal, result
            assert "error of respace" not in result.message, result
            return result.message
    return ""


def flipped(content: bytes, rng: random.Random) -> bytes:
    damaged = bytearray(content)
    damaged[rng.randrange(len(damaged))] ^= 1 << rng.randrange(8)
    return bytes(damaged)


@pytest.mark.parametrize("flips", [25, pytest.param(1000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", ["a.parquet", "plain.parquet", "a.jsonl"])
def test_flipped_bits(tmp_path: Path, name: str, flips: int) -> None:
    rng = random.Random(name)
    content = {
        "a.parquet": parquet_bytes(),
        "plain.parquet": parquet_bytes(compression="none", use_dictionary=False, store_schema=False),
        "a.jsonl": json_bytes(),
    }[name]
    bad = 0
    for _ in range(flips):
        damaged = flipped(content, rng)
        message = attempt(tmp_path, name, damaged)
        bad += bool(message)
        if message:
            assert name in message
        else:
            made = tree(tmp_path / "out")[name]
            if name.endswith(".jsonl"):
                assert b"".join(made.split()) == b"".join(damaged.split())
            else:
                assert pq.read_metadata(io.BytesIO(made)).num_rows == 77
    assert bad < flips or not name.endswith(".jsonl")


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl"])
def test_cut_short_anywhere(tmp_path: Path, name: str) -> None:
    content = parquet_bytes() if name.endswith(".parquet") else json_bytes()
    for length in range(0, len(content), len(content) // 60):
        message = attempt(tmp_path, name, content[:length])
        assert bool(message) == (name == "a.parquet")


def footer_with(content: bytes, old: int, new: int) -> list[bytes]:
    """Files in which one number of the footer is another one, each place where it stands in turn."""

    def varint(number: int) -> bytes:
        return bytes([(number * 2) & 0x7F | 0x80, (number * 2) >> 7])

    start = len(content) - 8 - struct.unpack("<I", content[-8:-4])[0]
    places = [place for place in range(start, len(content) - 8) if content[place : place + 2] == varint(old)]
    return [content[:place] + varint(new) + content[place + 2 :] for place in places]


@pytest.mark.parametrize("claimed", [76, 78, 90])
def test_a_footer_that_lies_about_its_rows(tmp_path: Path, claimed: int) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": ["one ofthe"] * 77}), stream, store_schema=False)
    messages = [attempt(tmp_path, "a.parquet", one) for one in footer_with(stream.getvalue(), 77, claimed)]
    told = [message for message in messages if "claims" in message]
    assert len(told) == 3  # in the footer, the row group and the column
    assert all("fetch or write the file again" in message for message in told)


def test_column_names_that_are_no_utf8(tmp_path: Path) -> None:
    message = attempt(tmp_path, "a.parquet", parquet_bytes(store_schema=False).replace(b"tags", b"t\xffgs"))
    assert "a.parquet: a name in it is not valid UTF-8" in message


def test_a_codec_that_can_be_read_and_not_written(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    raw, hadoop = b"\x04text\x15\x0e", b"\x04text\x15\x0a"
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": ["one ofthe"] * 9}), stream, compression="lz4", store_schema=False)
    content = stream.getvalue()
    assert content.count(raw) == 1
    assert attempt(tmp_path, "a.parquet", content.replace(raw, hadoop)) == ""
    assert "compression can be read, but not be written: zstd is written instead" in caplog.text
    written = pq.ParquetFile(tmp_path / "out/a.parquet")
    assert written.metadata.row_group(0).column(0).compression == "ZSTD"
    assert written.read()["text"].to_pylist() == ["one of the"] * 9


def test_what_cannot_be_written_is_not_blamed_on_the_input(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transforms.formats import parquet_tables

    monkeypatch.setattr(parquet_tables, "_compression", lambda *_: "lzo")  # which Arrow can name and not write
    write_parquet(tmp_path / "a.parquet", TEXTS)
    message = attempt(tmp_path, "a.parquet", (tmp_path / "a.parquet").read_bytes())
    assert "a.parquet: can be read, but not be written as Parquet" in message
    assert "truncated" not in message


def test_a_bomb_is_not_to_be_fetched_again(tmp_path: Path) -> None:
    stream = io.BytesIO()
    pq.write_table(pa.table({"text": ["word " * 100_000] * 300}), stream)
    message = attempt(tmp_path, "a.parquet", stream.getvalue())
    assert "grows more than 400-fold when decoded: a decompression bomb?" in message
    assert "etch it again" not in message
    assert "truncated" not in message


def test_a_process_that_was_stopped_is_not_the_footers_fault(tmp_path: Path) -> None:
    from transforms.formats import parquet_footers

    assert attempt(tmp_path, "a.parquet", parquet_bytes()) == ""
    process = parquet_footers._read_apart._process
    assert process is not None
    process.kill()
    assert attempt(tmp_path, "b.parquet", parquet_bytes()) == ""


class Keys(encryption.KmsClient):
    """Keys for tests: they are written in the file."""

    def __init__(self, config: Any):
        super().__init__()

    def wrap_key(self, key: bytes, name: str) -> bytes:
        return base64.b64encode(key)

    def unwrap_key(self, wrapped: bytes, name: str) -> bytes:
        return base64.b64decode(wrapped)


@pytest.mark.parametrize(
    ("plaintext_footer", "message"),
    [(False, "a.parquet: is encrypted, and cannot be read. Decrypt it"), (True, "or has encrypted columns: fetch")],
)
def test_an_encrypted_file_is_one_line(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], plaintext_footer: bool, message: str
) -> None:
    """Arrow ends the process with lines of its own where columns are encrypted and the footer is not."""
    config = encryption.EncryptionConfiguration(
        footer_key="f", column_keys={"t": ["text"]}, plaintext_footer=plaintext_footer
    )
    properties = encryption.CryptoFactory(Keys).file_encryption_properties(encryption.KmsConnectionConfig(), config)
    table = pa.table({"text": ["one ofthe"], "n": [1]})
    with pq.ParquetWriter(tmp_path / "a.parquet", table.schema, encryption_properties=properties) as writer:
        writer.write_table(table)
    with pytest.raises(BadFile, match=message):
        format_of("a.parquet", FormatOptions()).cut(describe(str(tmp_path / "a.parquet"), "a.parquet"), 1 << 20)
    assert capfd.readouterr().err == ""
