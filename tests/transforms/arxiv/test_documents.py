"""Documents from directories, archives and Parquet files; hostile archives are refused or read without harm."""

from __future__ import annotations

import gzip
import io
import os
import tarfile
from collections import Counter
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace.storage.compression import Limits
from respace.storage.errors import BadFile
from respace.storage.files import InputFile, describe
from respace.storage.inputs import list_inputs
from transforms.arxiv.documents import (
    SOURCE_SUFFIXES,
    LatexDocument,
    SourceDocument,
    SourceLimits,
    group_documents,
    read_document,
)
from transforms.arxiv.shards import parquet_sizes, plan_documents, plan_parquet, read_parquet_documents

TEX = rb"\documentclass{article}\begin{document}Text.\end{document}"


def listed(name: str, size: int = 1) -> InputFile:
    return InputFile(url=name, name=name, size=size, version="1")


def grouped(*names: str) -> dict[str, tuple[list[str], str | None]]:
    documents = group_documents(listed(name) for name in names)
    return {d.id: ([file.name for file in d.sources], d.pdf.name if d.pdf else None) for d in documents}


def test_a_directory_with_a_pdf_is_a_document() -> None:
    assert grouped("a/source.tex", "a/parts/x.tex", "a/paper.pdf", "b/main.tex", "b/b.pdf") == {
        "a": (["a/source.tex", "a/parts/x.tex"], "a/paper.pdf"),
        "b": (["b/main.tex"], "b/b.pdf"),
    }


def test_archives_have_pdfs_of_their_names() -> None:
    assert grouped("2101.00001.tar.gz", "2101.00001v2.pdf", "2101.00002.gz", "x.tex.gz", "x.pdf") == {
        "2101.00001": (["2101.00001.tar.gz"], "2101.00001v2.pdf"),
        "2101.00002": (["2101.00002.gz"], None),
        "x": (["x.tex.gz"], "x.pdf"),
    }


def test_several_pdfs_in_one_directory() -> None:
    assert grouped("p/a.tex", "p/a.pdf", "p/b.tex", "p/b.pdf", "p/macros.tex") == {
        "p/a": (["p/a.tex", "p/macros.tex"], "p/a.pdf"),
        "p/b": (["p/b.tex", "p/macros.tex"], "p/b.pdf"),
    }


def test_loose_files_without_a_pdf_belong_to_their_first_directory() -> None:
    assert grouped("book/main.tex", "book/parts/one.tex", "lone.tex") == {
        ".": (["lone.tex"], None),
        "book": (["book/main.tex", "book/parts/one.tex"], None),
    }


def read(path: Path, limits: SourceLimits | None = None) -> LatexDocument:
    file = describe(str(path), path.name)
    document = SourceDocument(id="x", sources=(file,))
    return read_document(document, limits or SourceLimits(), with_pdf=False)


def make_tar(path: Path, members: dict[str, bytes], *extra: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz" if path.name.endswith("gz") else "w") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
        for info in extra:
            archive.addfile(info)
    return path


@pytest.mark.parametrize("name", ["x.tar", "x.tar.gz", "x.tgz", "x.gz"])
def test_tar_archives(tmp_path: Path, name: str) -> None:
    found = read(make_tar(tmp_path / name, {"main.tex": TEX, "parts/a.tex": b"A", "figure.png": b"\x89PNG"}))
    assert found.files == {"main.tex": TEX.decode(), "parts/a.tex": "A"}
    assert dict(found.passed_over) == {"other kind of file": 1}


def test_one_compressed_file(tmp_path: Path) -> None:
    (tmp_path / "2101.00002.gz").write_bytes(gzip.compress("\\section{Café}".encode("latin-1")))
    assert read(tmp_path / "2101.00002.gz").files == {"2101.00002.tex": "\\section{Café}"}


def test_hostile_members_are_passed_over_and_nothing_is_written(tmp_path: Path) -> None:
    link = tarfile.TarInfo("link.tex")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    hard = tarfile.TarInfo("hard.tex")
    hard.type, hard.linkname = tarfile.LNKTYPE, "main.tex"
    device = tarfile.TarInfo("device.tex")
    device.type = tarfile.CHRTYPE
    fifo = tarfile.TarInfo("fifo.tex")
    fifo.type = tarfile.FIFOTYPE
    members = {"main.tex": TEX, "/absolute.tex": TEX, "../up.tex": TEX, "a/../../b.tex": TEX}
    path = make_tar(tmp_path / "x.tar.gz", members, link, hard, device, fifo)
    before = sorted(os.listdir(tmp_path.parent)), sorted(os.listdir(tmp_path))
    found = read(path)
    assert list(found.files) == ["main.tex"]
    assert dict(found.passed_over) == {"path outside the archive": 3, "link": 2, "device": 2}
    assert (sorted(os.listdir(tmp_path.parent)), sorted(os.listdir(tmp_path))) == before


def test_a_bomb(tmp_path: Path) -> None:
    make_tar(tmp_path / "x.tar.gz", {"main.tex": bytes(50 << 20)})
    limits = SourceLimits(archive=Limits(max_bytes=1 << 30, max_ratio=100, ratio_matters_from=1 << 20))
    with pytest.raises(BadFile, match=rf"{tmp_path}/x.tar.gz: grows more than 100-fold"):
        read(tmp_path / "x.tar.gz", limits)
    with pytest.raises(BadFile, match=r"x.tar.gz: more than 1000000 bytes when decompressed"):
        read(tmp_path / "x.tar.gz", SourceLimits(archive=Limits(max_bytes=1_000_000)))


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        (SourceLimits(members=2), "more than 2 members"),
        (SourceLimits(text_bytes=100), "more than 100 bytes of LaTeX"),
        (SourceLimits(file_bytes=10), "no LaTeX in it"),
    ],
)
def test_limits(tmp_path: Path, limits: SourceLimits, message: str) -> None:
    make_tar(tmp_path / "x.tar", {f"{number}.tex": TEX for number in range(5)})
    with pytest.raises(BadFile, match=message):
        read(tmp_path / "x.tar", limits)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("x.tar.gz", gzip.compress(b"no tar at all" * 100, mtime=0), "no tar archive"),
        ("x.gz", gzip.compress(b"just words", mtime=0), "no LaTeX in it"),
        ("x.tar.gz", b"garbage", "cannot be decompressed"),
        ("x.tar", b"", "no LaTeX in it"),
    ],
)
def test_what_is_no_source(tmp_path: Path, name: str, content: bytes, message: str) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(BadFile, match=message):
        read(tmp_path / name)


def test_a_truncated_archive(tmp_path: Path) -> None:
    path = make_tar(tmp_path / "x.tar.gz", {"main.tex": TEX, "noise.tex": os.urandom(100_000)})
    path.write_bytes(path.read_bytes()[:50_000])
    with pytest.raises(BadFile, match=r"x\.tar\.gz"):
        read(path)


def sources(path: Path) -> InputFile:
    rows = [
        {"repo": "b", "doc_id": "b:1", "path": "main.tex", "tex": r"\input{macros} $\RR$"},
        {"repo": "b", "doc_id": "b:2", "path": "macros.tex", "tex": r"\def\RR{R}"},
        {"repo": "a", "doc_id": "a:1", "path": "main.tex", "tex": "A."},
        {"repo": "c", "doc_id": "c:1", "path": "main.tex", "tex": None},
    ]
    pq.write_table(pa.Table.from_pylist(rows), path / "sources.parquet", row_group_size=2)
    return describe(str(path / "sources.parquet"), "sources.parquet")


def test_parquet_documents(tmp_path: Path) -> None:
    file = sources(tmp_path)
    assert sorted(parquet_sizes(file)) == ["a", "b", "c"]
    counts: Counter[str] = Counter()
    found = list(read_parquet_documents(file, ["b", "c"], counts))
    assert counts == {"passed over: row without LaTeX": 1}
    assert [(d.id, d.source, list(d.files), sorted(d.library)) for d in found] == [
        ("b:1", "b", ["main.tex"], ["macros.tex", "main.tex"]),
        ("b:2", "b", ["macros.tex"], ["macros.tex", "main.tex"]),
    ]


def test_parquet_is_cut_by_source(tmp_path: Path) -> None:
    shards = plan_parquet(sources(tmp_path), most_bytes=1)
    assert sorted(source for shard in shards for source in shard.sources) == ["a", "b", "c"]
    assert [shard.name for shard in shards] == ["sources-00000", "sources-00001", "sources-00002"]
    assert len(plan_parquet(sources(tmp_path), most_bytes=1 << 30)) == 1


def test_parquet_of_other_columns(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "x.parquet")
    with pytest.raises(BadFile, match=r"no column doc_id. Expected doc_id, path, tex .* Available columns: text"):
        parquet_sizes(describe(str(tmp_path / "x.parquet")))
    pq.write_table(pa.table({"doc_id": ["a"], "path": ["a.tex"], "tex": [1]}), tmp_path / "x.parquet")
    with pytest.raises(BadFile, match="the column tex is int64, expected a string"):
        parquet_sizes(describe(str(tmp_path / "x.parquet")))


def test_parquet_of_bytes(tmp_path: Path) -> None:
    pq.write_table(pa.table({"doc_id": ["a"], "path": [None], "tex": [b"caf\xe9"]}), tmp_path / "x.parquet")
    (found,) = read_parquet_documents(describe(str(tmp_path / "x.parquet")), ["a"], Counter())
    assert found.files == {"0.tex": "café"}


def test_shards_of_documents() -> None:
    documents = [SourceDocument(id=str(n), sources=(listed(f"{n}.gz", size=10),)) for n in range(5)]
    assert [len(shard.documents) for shard in plan_documents(documents, 2, 1000)] == [2, 2, 1]
    assert [len(shard.documents) for shard in plan_documents(documents, 9, 20)] == [2, 2, 1]
    shards = plan_documents(documents, 2, 1000)
    assert len({shard.fingerprint for shard in shards}) == 3


def test_listing_a_directory(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    for name in ("a/main.tex", "a/main.pdf", "a/notes.txt", "b.tar.gz"):
        (tmp_path / name).write_bytes(b"x")
    documents = group_documents(list_inputs([str(tmp_path)], SOURCE_SUFFIXES))
    assert [(d.id, d.pdf is not None) for d in documents] == [("a", True), ("b", False)]
