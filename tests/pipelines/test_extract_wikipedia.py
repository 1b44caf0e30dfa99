"""The whole job on real runners and real files: parallel readers, resume, bad dumps, bad options."""

from __future__ import annotations

import bz2
import re
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines.extract_wikipedia import main
from tests.shared_data import SHARED
from transforms.shards.manifests import read_manifests

DUMPS = SHARED / "dumps"


def made_pages(count: int) -> list[str]:
    return [
        f"<page><title>Article {number}</title><ns>0</ns><id>{number}</id><revision><id>1</id><model>wikitext</model>"
        f"<text>'''Article {number}''' is about [[number]]s. It has the number {number} in it.&lt;ref&gt;x&lt;/ref&gt; "
        f"It is {{{{convert|{number}|km}}}} long.\n* a stub\n</text></revision></page>\n"
        for number in range(1, count + 1)
    ]


def multistream(pages: list[str], per_stream: int) -> tuple[bytes, bytes]:
    """A multistream dump and its index, as Wikimedia publishes them."""
    streams = [bz2.compress(b'<mediawiki version="0.10">\n<siteinfo></siteinfo>\n')]
    index = []
    for start in range(0, len(pages), per_stream):
        offset = sum(map(len, streams))
        group = pages[start : start + per_stream]
        index += [f"{offset}:{start + place + 1}:Article" for place in range(len(group))]
        streams.append(bz2.compress("".join(group).encode()))
    streams.append(bz2.compress(b"</mediawiki>"))
    return b"".join(streams), bz2.compress("\n".join(index).encode())


def sentences(output: Path, part: str = "*") -> list[tuple[int, str, str]]:
    tables = [pq.read_table(path) for path in sorted(output.glob(f"{part}/*.parquet")) if path.parent.name[0] != "_"]
    rows = pa.concat_tables(tables).to_pylist() if tables else []
    return sorted((row["article_id"], row["title"], row["sentence"]) for row in rows)


def files(output: Path) -> dict[str, bytes]:
    return {str(path.relative_to(output)): path.read_bytes() for path in sorted(output.glob("[a-z]*/*.parquet"))}


def test_one_and_four_readers_with_and_without_index(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump, index = multistream(made_pages(60), per_stream=5)
    (tmp_path / "d.xml.bz2").write_bytes(dump)
    (tmp_path / "d-index.txt.bz2").write_bytes(index)
    common = ["--input", str(tmp_path / "d.xml.bz2"), "--development_articles", "7", "--test_articles", "3"]
    assert main([*common, "--output", str(tmp_path / "one"), "--local_workers", "1"]) == 0
    ranges = ["--range_bytes", str(len(dump) // 4 + 1)]
    assert main([*common, *ranges, "--output", str(tmp_path / "four"), "--local_workers", "4"]) == 0
    by_index = ["--index", str(tmp_path / "d-index.txt.bz2"), "--range_bytes", "900"]
    assert main([*common, *by_index, "--output", str(tmp_path / "index"), "--local_workers", "1"]) == 0
    assert "60" in capsys.readouterr().out
    expected = sorted(
        (number, f"Article {number}", text)
        for number in range(1, 61)
        for text in (f"Article {number} is about numbers.", f"It has the number {number} in it.")
    )
    for output in ("one", "four", "index"):
        assert sentences(tmp_path / output) == expected
        for part, articles in {"development": 7, "test": 3, "penalties": 6, "train": 44}.items():
            assert len({row[0] for row in sentences(tmp_path / output, part)}) == articles
            assert sentences(tmp_path / output, part) == sentences(tmp_path / "one", part)
    assert len(list((tmp_path / "four" / "train").iterdir())) == 4


@pytest.mark.skipif(not DUMPS.is_dir(), reason="$RESPACE_DATA/dumps is not there")
@pytest.mark.slow
def test_real_pages_as_multistream(tmp_path: Path) -> None:
    xml = bz2.decompress((DUMPS / "enwiki-shortened.xml.bz2").read_bytes()).decode()
    pages = re.findall(r"  <page>.*?</page>\n", xml, re.DOTALL)
    assert len(pages) == 206
    (tmp_path / "d.xml.bz2").write_bytes(multistream(pages, per_stream=10)[0])
    (tmp_path / "plain.xml").write_text(xml)
    size = (tmp_path / "d.xml.bz2").stat().st_size
    for output, dump, more in (
        ("one", "d.xml.bz2", ["--local_workers", "1"]),
        ("four", "d.xml.bz2", ["--local_workers", "4", "--range_bytes", str(size // 16)]),
        ("four_by_one", "d.xml.bz2", ["--local_workers", "1", "--range_bytes", str(size // 16)]),
        ("plain", "plain.xml", ["--local_workers", "2", "--range_bytes", "1000000"]),
    ):
        assert main(["--input", str(tmp_path / dump), "--output", str(tmp_path / output), *more]) == 0
    assert len(sentences(tmp_path / "one")) > 15_000
    assert sentences(tmp_path / "four") == sentences(tmp_path / "one")
    assert files(tmp_path / "four") == files(tmp_path / "four_by_one")
    assert sentences(tmp_path / "plain") == sentences(tmp_path / "one")


def write_dump(path: Path, pages: int = 4) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(multistream(made_pages(pages), per_stream=2)[0])
    return path


def test_resume_overwrite_and_other_options(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write_dump(tmp_path / "in" / "d.xml.bz2", 20)
    run = ["--input", str(dump.parent), "--output", str(tmp_path / "out"), "--local_workers", "1"]
    assert main([*run, "--dry_run"]) == 0
    assert "do           census/d-00000" in capsys.readouterr().out
    assert not (tmp_path / "out").exists()
    assert main(run) == 0
    before = files(tmp_path / "out")
    assert "to do" in capsys.readouterr().err
    assert main(run) == 0
    assert "to do" not in capsys.readouterr().err
    assert main([*run, "--seed", "5"]) == 1
    assert "seed was 0 and is now 5" in capsys.readouterr().err
    assert main([*run, "--seed", "5", "--overwrite"]) == 0
    after = files(tmp_path / "out")
    assert sorted(before) == sorted(after)
    assert before != after
    assert main([*run, "--overwrite"]) == 0
    assert files(tmp_path / "out") == before


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE x [<!ENTITY a 'b'>]><mediawiki><page></page></mediawiki>", "document type definition"),
        (bz2.compress(b"<mediawiki>" + b"x" * 100_000)[:-30], "ends inside the bz2 stream"),
        (b"", "it is empty"),
        (b"hello, I am a text", "expected a pages-articles dump"),
    ],
)
def test_bad_dumps_follow_on_bad_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes, message: str
) -> None:
    write_dump(tmp_path / "in" / "good.xml.bz2")
    (tmp_path / "in" / "bad.xml").write_bytes(content)
    run = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--local_workers", "1"]
    assert main(run) == 1
    assert message in capsys.readouterr().err
    assert main([*run, "--on_bad_file", "warn"]) == 0
    printed = capsys.readouterr()
    assert re.search(rf"warning: left out: .*bad\.xml: .*{message}", printed.err)
    assert re.search(r"unreadable files +1\n", printed.out)
    assert len(sentences(tmp_path / "out")) == 8


def test_truncated_in_the_middle_leaves_the_other_ranges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write_dump(tmp_path / "in" / "d.xml.bz2", 40)
    content = dump.read_bytes()
    dump.write_bytes(content[: len(content) * 3 // 4])
    edges = [match.start() for match in re.finditer(rb"BZh91AY", dump.read_bytes())]
    run = ["--input", str(dump), "--output", str(tmp_path / "out"), "--local_workers", "1", "--range_bytes", "600"]
    assert main(run) == 1
    assert f"ends inside the bz2 stream that starts at byte {edges[-1]}" in capsys.readouterr().err
    assert main([*run, "--on_bad_file", "skip"]) == 0
    out = capsys.readouterr().out
    assert "unreadable ranges" in out
    found = {row[0] for row in sentences(tmp_path / "out")}
    assert found
    assert found == set(range(1, max(found) + 1))
    manifests = read_manifests(str(tmp_path / "out"), [f"extract/d-{number:05}" for number in range(99)])
    assert len(manifests) == len(list(pairwise(range(0, dump.stat().st_size + 600, 600)))) - 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--range_bytes", "0"], "--range_bytes 0: expected at least 1"),
        (["--test_articles", "-1"], "--test_articles -1: expected at least 0"),
        (["--test_article", "5"], "Did you mean --test_articles?"),
        (["--index", "i", "--input", "another"], "expected the one dump it belongs to"),
    ],
)
def test_bad_options(tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str) -> None:
    assert main(["--input", str(tmp_path / "d.xml"), "--output", str(tmp_path / "out"), *arguments]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "No such file"),
        (b"", "it names no stream"),
        (b"0:1:A\n999999:2:B\n", "is it this dump's index?"),
        (b"hello\n", "line 1 of the index is b'hello\\n': expected offset:page id:title"),
    ],
)
def test_bad_indexes(tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes | None, message: str) -> None:
    dump = write_dump(tmp_path / "in" / "d.xml.bz2")
    index = tmp_path / "index.txt"
    if content is not None:
        index.write_bytes(content)
    run = ["--input", str(dump), "--output", str(tmp_path / "out"), "--index", str(index), "--on_bad_file", "skip"]
    assert main(run) == 2
    error = capsys.readouterr().err
    assert error.startswith(f"error: --index {index}: ")
    assert message in error
    assert "on_bad_file" not in error


def test_a_limited_run_says_that_the_parts_are_those_of_its_ranges(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dump = write_dump(tmp_path / "in" / "d.xml.bz2", 40)
    run = ["--input", str(dump), "--output", str(tmp_path / "out"), "--local_workers", "1", "--range_bytes", "600"]
    assert main([*run, "--limit", "2"]) == 0
    assert re.search(r"2 of \d+ ranges: the held-out parts are chosen among these", capsys.readouterr().err)
    assert main([*run, "--overwrite"]) == 0
    assert "ranges: the held-out" not in capsys.readouterr().err


def test_more_held_out_than_there_is(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dump = write_dump(tmp_path / "in" / "d.xml.bz2")
    run = ["--input", str(dump), "--output", str(tmp_path / "out"), "--local_workers", "1", "--test_articles", "5"]
    assert main(run) == 1
    assert "5 articles are to be held out of 4: give smaller parts" in capsys.readouterr().err
