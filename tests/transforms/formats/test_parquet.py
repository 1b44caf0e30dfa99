from __future__ import annotations

import datetime
import decimal
import itertools
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.storage.errors import BadFile
from tests.transforms.corpora import AFTER, BEFORE, manifest, repair, tree, work, write_parquet
from transforms.formats import parquet_tables
from transforms.formats.parquet import cut_rows
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters


def rich_table() -> pa.Table:
    """Every type that a corpus may hold."""
    day = datetime.datetime(2024, 2, 29, 12, 30, 1, 123456)
    nested = pa.list_(pa.struct([("a", pa.int32()), ("b", pa.list_(pa.string()))]))
    return pa.table(
        {
            "nested": pa.array([[{"a": 1, "b": ["x", None]}], None, [], [{"a": None, "b": None}], [None]], nested),
            "map": pa.array(
                [[("k", 1)], None, [], [("a", None), ("b", 2)], [("z", 0)]], pa.map_(pa.string(), pa.int64())
            ),
            "decimal": pa.array(
                [decimal.Decimal("1.50"), None, decimal.Decimal("-99999999.99")] + [None] * 2, pa.decimal128(38, 2)
            ),
            "dictionary": pa.array(["a", "b", None, "a", "b"]).dictionary_encode(),
            "ns": pa.array([1, None, 3, 4, 5], pa.timestamp("ns", tz="Europe/Berlin")),
            "us": pa.array([day, None, day, day, day], pa.timestamp("us")),
            "date": pa.array([day.date(), None] + [day.date()] * 3, pa.date32()),
            "time": pa.array([1, 2, None, 4, 5], pa.time64("ns")),
            "text": pa.array(BEFORE, pa.large_string()),
            "nan": pa.array([float("nan"), None, float("inf"), -0.0, 1e300]),
            "half": pa.array([1.5, None, 2.5, 3.5, 4.5], pa.float16()),
            "bytes": pa.array([b"\xff\x00", None, b"", b"a", b"b"], pa.large_binary()),
            "fixed": pa.array([b"ab", None, b"cd", b"ef", b"gh"], pa.binary(2)),
            "vector": pa.array([[1.0, 2.0]] * 5, pa.list_(pa.float32(), 2)),
            "bool": pa.array([True, None, False, True, False]),
            "null": pa.array([None] * 5),
            "duration": pa.array([1, None, 3, 4, 5], pa.duration("ms")),
        },
        metadata={b"made by": b"a test", b"pandas": b"{}"},
    )


@pytest.mark.parametrize("added", [{}, {"provenance": True, "keep_original": True}])
def test_everything_but_the_text_survives(tmp_path: Path, added: Any) -> None:
    table = rich_table()
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in/a.parquet", row_group_size=2, compression={"text": "gzip", "ns": "snappy"})
    job = work(tmp_path / "out", **added)
    repair(tmp_path / "in", job)
    out = pq.ParquetFile(tmp_path / "out/a.parquet")
    source = pq.ParquetFile(tmp_path / "in/a.parquet")
    got, given = out.read(), source.read()
    assert got["text"].to_pylist() == AFTER
    assert got.schema.metadata == given.schema.metadata
    for name in given.column_names:
        assert got.schema.field(name).equals(given.schema.field(name), check_metadata=True), name
        if name not in ("text", "nan"):
            assert got[name].equals(given[name]), name
    assert repr(got["nan"].to_pylist()) == repr(given["nan"].to_pylist())
    assert out.metadata.num_row_groups == 3
    place = given.column_names.index("text")
    paths = [out.metadata.row_group(0).column(i).path_in_schema for i in range(out.metadata.row_group(0).num_columns)]
    assert out.metadata.row_group(0).column(paths.index("text")).compression == "GZIP"
    assert place == got.column_names.index("text")
    if added:
        assert got["respace_original"].to_pylist() == BEFORE
        assert got["respace_insertions"].to_pylist() == [1, 0, 0, 0, 1]
        assert got["respace_deletions"].to_pylist() == [0, 1, 0, 0, 1]
        assert got["respace_edits"].to_pylist()[1] == [
            {"gap": 1, "kind": "deletion", "confidence": 0.75, "whitespace": "\u00a0"}
        ]
        assert set(got["respace_model"].to_pylist()) == {"rules (None, None)"}


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())]
)
def test_every_kind_of_string(tmp_path: Path, kind: Any) -> None:
    (tmp_path / "in").mkdir()
    column = (
        pa.array([*BEFORE, None]).cast(kind)
        if not pa.types.is_dictionary(kind)
        else pa.array([*BEFORE, None]).dictionary_encode()
    )
    pq.write_table(pa.table({"text": column}), tmp_path / "in/a.parquet")
    repair(tmp_path / "in", work(tmp_path / "out"))
    got, given = pq.read_table(tmp_path / "out/a.parquet"), pq.read_table(tmp_path / "in/a.parquet")
    assert got.schema == given.schema
    assert got["text"].to_pylist() == [*AFTER, None]


def test_invalid_utf8_is_a_dead_letter_and_its_bytes_stay(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    raw = pa.array([b"ofthe", b"bad \xff ofthe", None], pa.binary()).view(pa.string())
    pq.write_table(pa.table({"text": raw, "name": ["a", "b", "c"]}), tmp_path / "in/a.parquet")
    job = work(tmp_path / "out", id_column="name", provenance=True)
    repair(tmp_path / "in", job)
    got = pq.read_table(tmp_path / "out/a.parquet")["text"].combine_chunks().view(pa.binary())
    assert got.to_pylist() == [b"of the", b"bad \xff ofthe", None]
    (letter,) = read_dead_letters(dead_letters_url(job.output, "a.parquet")).to_pylist()
    assert (letter["row"], letter["id"], letter["error"], letter["raw_bytes"]) == (
        1,
        "b",
        "UnicodeDecodeError",
        b"bad \xff ofthe",
    )
    assert manifest(job, "a.parquet").counts["dead_letters"] == 1


def test_a_large_file_in_parts_is_the_same_as_in_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{row} ofthe {'word ' * (row % 7)}" if row % 13 else f"{row} why‽" for row in range(500)]
    write_parquet(tmp_path / "in/a.parquet", texts, row_group_size=120)
    one = work(tmp_path / "one", provenance=True)
    repair(tmp_path / "in", one)
    monkeypatch.setattr("transforms.repair.plan.SMALLEST_SHARD", 1500)
    cut = work(tmp_path / "cut", provenance=True)
    results = repair(tmp_path / "in", cut, workers=2)
    assert len(results) > 5
    assert tree(tmp_path / "cut", without=("_manifest",)) == tree(tmp_path / "one", without=("_manifest",))
    assert manifest(cut, "a.parquet").counts == manifest(one, "a.parquet").counts
    assert manifest(cut, "a.parquet").details["split"] == {"ofthe → of the": 461}
    assert not list((tmp_path / "cut" / "_parts").rglob("*.*"))


def test_row_groups_too_large_to_hold_are_streamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet_tables, "CHUNK_BYTES", 1000)
    monkeypatch.setattr(parquet_tables, "ROW_GROUP_BYTES", 5000)
    table = write_parquet(tmp_path / "in/a.parquet", [f"{row} ofthe" for row in range(2000)], row_group_size=2000)
    repair(tmp_path / "in", work(tmp_path / "out"))
    out = pq.ParquetFile(tmp_path / "out/a.parquet")
    assert out.metadata.num_row_groups > 5
    assert out.read()["id"].equals(table["id"])
    assert out.read()["text"].to_pylist() == [f"{row} of the" for row in range(2000)]


def test_an_empty_file_gives_an_empty_file(tmp_path: Path) -> None:
    write_parquet(tmp_path / "in/a.parquet", [])
    job = work(tmp_path / "out", provenance=True)
    repair(tmp_path / "in", job)
    got = pq.read_table(tmp_path / "out/a.parquet")
    assert got.num_rows == 0
    assert "respace_edits" in got.column_names
    assert manifest(job, "a.parquet").counts["documents"] == 0


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (
            {"body": ["a"], "n": [1]},
            r"no column 'text'. The columns are body \(string\), n \(int64\); choose with --text_col",
        ),
        ({"text": [1]}, r"the column 'text' is int64, expected a string"),
        ({"text": [b"a"]}, "the column 'text' is binary, expected a string"),
        ({"text": ["a"], "respace_edits": [1]}, "has a column 'respace_edits' already: it is an output of this job"),
    ],
)
def test_columns_that_do_not_fit(tmp_path: Path, columns: Any, message: Any) -> None:
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(columns), tmp_path / "in/a.parquet")
    with pytest.raises(BadFile, match=message):
        repair(tmp_path / "in", work(tmp_path / "out"))


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.95])
def test_a_truncated_file(tmp_path: Path, keep: Any) -> None:
    path = tmp_path / "in/a.parquet"
    write_parquet(path, [f"{row} ofthe" for row in range(5000)])
    content = path.read_bytes()
    path.write_bytes(content[: int(keep * len(content))])
    with pytest.raises(BadFile, match=r"a\.parquet: cannot be read as Parquet .* Fetch or write it again"):
        repair(tmp_path / "in", work(tmp_path / "out"))


def test_damage_inside_a_file_is_found_while_reading(tmp_path: Path) -> None:
    path = tmp_path / "in/a.parquet"
    write_parquet(path, [f"{row} ofthe" for row in range(20000)])
    content = bytearray(path.read_bytes())
    content[2000:12000] = b"\xff" * 10000
    path.write_bytes(content)
    with pytest.raises(BadFile, match="cannot be read as Parquet"):
        repair(tmp_path / "in", work(tmp_path / "out"))
    assert tree(tmp_path / "out") == {}


def test_a_column_that_pyarrow_cannot_keep_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Verification compares every column with the input; here one comes back changed."""
    write_parquet(tmp_path / "in/a.parquet", ["ofthe"])
    original = parquet_tables.repaired_table

    def careless(*arguments: Any) -> Any:
        table = original(*arguments)
        return table.set_column(0, table.schema.field(0), pa.array([7], pa.int64()))

    monkeypatch.setattr(parquet_tables, "repaired_table", careless)
    with pytest.raises(BadFile, match=r"the column 'id' \(int64\) does not survive being written"):
        repair(tmp_path / "in", work(tmp_path / "out"))
    assert tree(tmp_path / "out") == {}


@pytest.mark.parametrize("target", [1, 100, 250, 10**9])
def test_cuts_cover_all_rows(target: Any) -> None:
    groups = [(10, 100), (0, 0), (3, 1000), (20, 5), (20, 5)]
    ranges = [part.span for part in cut_rows(groups, target)]
    assert ranges[0][0] == 0
    assert ranges[-1][1] == 53
    assert all(low[1] == high[0] and low[0] < low[1] for low, high in itertools.pairwise(ranges))
    assert (len(ranges) == 1) == (target == 10**9)


def test_columns_may_have_the_same_name(tmp_path: Path) -> None:
    names = ["n", "text", "n"]
    (tmp_path / "in").mkdir()
    table = pa.Table.from_arrays([pa.array([1, 2]), pa.array(["ofthe", "a x"]), pa.array(["u", "v"])], names=names)
    pq.write_table(table, tmp_path / "in/a.parquet")
    repair(tmp_path / "in", work(tmp_path / "out", provenance=True))
    out = pq.ParquetFile(tmp_path / "out/a.parquet").read()
    assert out.column_names[:3] == names
    assert [out.column(place).to_pylist() for place in range(3)] == [[1, 2], ["of the", "ax"], ["u", "v"]]


def test_identifiers_that_are_no_valid_utf8(tmp_path: Path) -> None:
    ids = pa.array([b"ok", b"\xff"], pa.binary()).view(pa.string())
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"name": ids, "text": ["why‽", "why‽"]}), tmp_path / "in/a.parquet")
    job = work(tmp_path / "out", id_column="name")
    repair(tmp_path / "in", job)
    assert read_dead_letters(dead_letters_url(job.output, "a.parquet"))["id"].to_pylist() == ["ok", "\\xff"]
