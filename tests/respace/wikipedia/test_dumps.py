"""Pages from byte ranges: every page exactly once, whatever the cuts; hostile files refused."""

from __future__ import annotations

import bz2
import io
import random
import tracemalloc
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.wikipedia.dumps import (
    BadDump,
    BadPage,
    DumpLimits,
    DumpRange,
    Page,
    check_head,
    pages,
    parse_page,
    plan_ranges,
    read_index,
)


def page_xml(number: int, text: str = "Some text.", extra: str = "") -> bytes:
    return (
        f"  <page>\n    <title>Title {number}</title>\n    <ns>0</ns>\n    <id>{number}</id>{extra}\n"
        f"    <revision><id>{number * 7}</id><model>wikitext</model><text>{text}</text></revision>\n  </page>\n"
    ).encode()


HEAD = b'<mediawiki version="0.10">\n  <siteinfo></siteinfo>\n'
TAIL = b"</mediawiki>\n"


def ids(data: bytes, parts: list[DumpRange]) -> list[int]:
    found = [page for part in parts for page in pages(io.BytesIO(data), part)]
    assert all(isinstance(page, Page) for page in found)
    return [page.id for page in found if isinstance(page, Page)]


def parts_at(cuts: list[int], size: int) -> list[DumpRange]:
    edges = sorted({0, size, *(cut % size for cut in cuts)})
    return [DumpRange(start, stop) for start, stop in pairwise(edges)]


def test_page_fields() -> None:
    page = parse_page(page_xml(12, "A &amp; &lt;b&gt; ü\n", '<redirect title="X" />'))
    assert page == Page(12, "Title 12", 0, True, "wikitext", "A & <b> ü\n")


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=6))
def test_plain_xml_cut_anywhere(cuts: list[int]) -> None:
    data = HEAD + b"".join(page_xml(n, "word " * (n % 5)) for n in range(1, 20)) + TAIL
    assert ids(data, parts_at(cuts, len(data))) == list(range(1, 20))


@settings(max_examples=30, deadline=None)
@given(cuts=st.lists(st.integers(0, 10**6), max_size=6), stream_seed=st.integers(0, 1000))
def test_bz2_streams_cut_anywhere_even_inside_pages(cuts: list[int], stream_seed: int) -> None:
    """Parallel compressors cut streams without regard to pages; each page is still read exactly once."""
    xml = HEAD + b"".join(page_xml(n, "word " * (n % 5)) for n in range(1, 20)) + TAIL
    edges = sorted({0, len(xml), *random.Random(stream_seed).sample(range(1, len(xml)), 7)})
    data = b"".join(bz2.compress(xml[start:stop]) for start, stop in pairwise(edges))
    assert ids(data, parts_at(cuts, len(data))) == list(range(1, 20))


def test_a_page_tag_cut_by_a_stream_boundary() -> None:
    xml = HEAD + page_xml(1) + page_xml(2) + TAIL
    cut = xml.rindex(b"<page>") + 3
    first, second = bz2.compress(xml[:cut]), bz2.compress(xml[cut:])
    size = len(first) + len(second)
    assert ids(first + second, [DumpRange(0, len(first))]) == [1, 2]
    assert ids(first + second, [DumpRange(len(first), size)]) == []


def test_multistream_by_index() -> None:
    streams = [bz2.compress(HEAD), *(bz2.compress(page_xml(2 * n) + page_xml(2 * n + 1)) for n in range(1, 6))]
    streams.append(bz2.compress(TAIL))
    data = b"".join(streams)
    offsets = [sum(map(len, streams[:n])) for n in range(1, 6)]
    index = [b"%d:%d:Title: with colon" % (offset, n) for n, offset in enumerate(offsets) for _ in range(2)]
    assert read_index(index) == offsets
    parts = plan_ranges(len(data), 1, offsets)
    assert [part.start for part in parts] == [0, *offsets]
    assert [ids(data, [part]) for part in parts] == [[], [2, 3], [4, 5], [6, 7], [8, 9], [10, 11]]
    with pytest.raises(BadDump, match="starts no bz2 stream"):
        ids(data, plan_ranges(len(data), 1, [offsets[0] + 1]))
    with pytest.raises(BadDump, match="is it this dump's index"):
        plan_ranges(10, 1, [10])


def test_index_that_is_none() -> None:
    with pytest.raises(BadDump, match="line 2 of the index"):
        read_index([b"10:1:A", b"hello"])


@pytest.mark.parametrize("declaration", [b"<!DOCTYPE lolz [<!ENTITY a 'b'>]>", b"<!ENTITY a 'b'>"])
def test_definitions_are_refused(declaration: bytes) -> None:
    data = b'<?xml version="1.0"?>\n' + declaration + HEAD + page_xml(1) + TAIL
    with pytest.raises(BadDump, match="document type definition"):
        check_head(io.BytesIO(data))
    with pytest.raises(BadDump, match="document type definition"):
        ids(data, [DumpRange(0, len(data))])
    with pytest.raises(BadDump, match="document type definition"):
        ids(bz2.compress(data), [DumpRange(0, len(data))])


def test_undefined_entity_is_a_bad_page() -> None:
    data = HEAD + page_xml(1) + page_xml(2, "&bomb;") + page_xml(3) + TAIL
    one, two, three = pages(io.BytesIO(data), DumpRange(0, len(data)))
    assert isinstance(one, Page)
    assert isinstance(three, Page)
    assert isinstance(two, BadPage)
    assert "undefined entity" in two.reason
    assert "<title>Title 2</title>" in two.beginning


def test_truncated_bz2() -> None:
    data = bz2.compress(HEAD + page_xml(1)) + bz2.compress(page_xml(2) + page_xml(3) + TAIL)
    with pytest.raises(BadDump, match="ends inside the bz2 stream that starts at byte"):
        ids(data[:-20], [DumpRange(0, len(data))])


def test_truncated_xml() -> None:
    data = HEAD + page_xml(1) + page_xml(2)[:60]
    with pytest.raises(BadDump, match="ends inside a page"):
        ids(data, [DumpRange(0, len(data))])


def test_damaged_bz2() -> None:
    data = bytearray(bz2.compress(HEAD + page_xml(1) * 50))
    data[len(data) // 2] ^= 0xFF
    with pytest.raises(BadDump, match="damaged"):
        ids(bytes(data), [DumpRange(0, len(data))])


def test_bomb_is_stopped() -> None:
    bomb = bz2.compress(b"\0" * (80 << 20))
    with pytest.raises(BadDump, match="grows more than 250 times"):
        ids(bomb, [DumpRange(0, len(bomb))])


def test_bomb_inside_a_page_is_stopped() -> None:
    bomb = bz2.compress(HEAD + page_xml(1, "a" * (80 << 20)) + TAIL)
    with pytest.raises(BadDump, match="grows more than 250 times"):
        list(pages(io.BytesIO(bomb), DumpRange(0, len(bomb)), DumpLimits(page_bytes=1 << 20)))


@pytest.mark.parametrize("compress", [bytes, bz2.compress])
def test_oversized_page_is_skipped_and_named(compress) -> None:  # type: ignore[no-untyped-def]
    noise = random.Random(0).randbytes(3 << 20).hex()
    data = compress(HEAD + page_xml(1) + page_xml(2, noise) + page_xml(3) + TAIL)
    one, two, three = pages(io.BytesIO(data), DumpRange(0, len(data)), DumpLimits(page_bytes=1 << 20))
    assert isinstance(one, Page)
    assert isinstance(two, BadPage)
    assert "the limit is 1048576" in two.reason
    assert "Title 2" in two.beginning
    assert isinstance(three, Page)
    assert three.id == 3


def test_oversized_page_that_ends_beyond_the_range() -> None:
    noise = random.Random(0).randbytes(3 << 20).hex()
    data = HEAD + page_xml(1) + page_xml(2, noise) + page_xml(3) + TAIL
    cut = len(data) // 2
    first = list(pages(io.BytesIO(data), DumpRange(0, cut), DumpLimits(page_bytes=1 << 20)))
    assert [type(page) for page in first] == [Page, BadPage]
    second = list(pages(io.BytesIO(data), DumpRange(cut, len(data)), DumpLimits(page_bytes=1 << 20)))
    assert [page.id for page in second if isinstance(page, Page)] == [3]


def test_head_of_what_is_no_dump() -> None:
    with pytest.raises(BadDump, match="expected a pages-articles dump"):
        check_head(io.BytesIO(b"PAR1...."))
    with pytest.raises(BadDump, match="it is empty"):
        check_head(io.BytesIO(b""))


@pytest.mark.parametrize("inside", [b"<page>" * 200_000, b"".join(b"<a%d/>" % number for number in range(200_000))])
def test_pages_in_pages_and_a_host_of_elements_are_bounded(inside: bytes) -> None:
    element = b"<page><title>T</title><id>1</id>" + inside + b"</page>"
    tracemalloc.start()
    try:
        page = parse_page(element)
        assert tracemalloc.get_traced_memory()[1] < 20 * len(element)
    finally:
        tracemalloc.stop()
    if inside.startswith(b"<page>"):
        assert isinstance(page, BadPage)
        assert page.reason == "elements inside of each other, more than 16 levels deep"
    else:
        assert isinstance(page, Page)
