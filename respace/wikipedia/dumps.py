"""Pages out of MediaWiki dumps, from any byte range of a file, so that many readers can share one dump.

A dump is cut into byte ranges (`plan_ranges`); each range is read on its own (`pages`). A bz2 *stream* belongs to the
range in which its header lies, and a page to the range of the stream in which it begins, so that every page is read
exactly once, wherever the cuts are. In a multistream dump each hundred pages are a stream of their own, which is what
makes this parallel; a dump of one stream works too, by one reader. Plain XML is cut anywhere.

The input is hostile until read: what is held is bounded by the page limit, decompression by a ratio, and a document
type definition (the way to entity bombs) is refused.
"""

from __future__ import annotations

import bz2
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import BinaryIO
from xml.parsers import expat

_READ_BYTES = 1 << 20
_STREAM_HEADER = re.compile(rb"BZh[1-9]1AY&SY")
_HEADER_BYTES = 10
_PAGE_START, _PAGE_END = b"<page>", b"</page>"
_DEFINITIONS = re.compile(rb"<!(?:DOCTYPE|ENTITY)")
# Decompressed bytes that may come out before the ratio is looked at: small files compress as they like.
_FREE_BYTES = 1 << 26


class BadDump(ValueError):
    """A dump, or a range of it, that cannot be read to its end. The message says where and what to do."""


@dataclass(frozen=True, kw_only=True, slots=True)
class DumpLimits:
    """What a dump may ask of us. The longest real article has about 2 MB; dumps compress 4 to 30 times."""

    page_bytes: int = 32 << 20
    ratio: float = 250.0


@dataclass(frozen=True, slots=True)
class DumpRange:
    """Bytes ``start:stop`` of a dump; ``exact`` if an index says that a stream starts at ``start``."""

    start: int
    stop: int
    exact: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A page as the dump has it. Namespace 0 holds the articles."""

    id: int
    title: str
    namespace: int
    is_redirect: bool
    model: str
    wikitext: str


@dataclass(frozen=True, slots=True)
class BadPage:
    """A page that could not be read: why, and how it begins."""

    reason: str
    beginning: str


def plan_ranges(size: int, range_bytes: int, stream_offsets: Iterable[int] | None = None) -> list[DumpRange]:
    """Cuts a dump of ``size`` bytes into ranges of about ``range_bytes``, at stream offsets if they are known.

    >>> [(r.start, r.stop) for r in plan_ranges(10, 4)]
    [(0, 4), (4, 8), (8, 10)]
    >>> [(r.start, r.stop) for r in plan_ranges(10, 4, [3, 5, 9])]
    [(0, 5), (5, 9), (9, 10)]
    """
    if range_bytes < 1:
        raise ValueError(f"range_bytes is {range_bytes}: expected a positive number of bytes")
    if stream_offsets is None:
        starts = list(range(0, size, range_bytes))
    else:
        offsets = sorted(set(stream_offsets))
        if offsets and offsets[-1] >= size:
            raise BadDump(
                f"the index names a stream at byte {offsets[-1]}, the dump has {size}: is it this dump's index?"
            )
        starts = [0] if size else []
        while starts and (next_one := bisect_left(offsets, starts[-1] + range_bytes)) < len(offsets):
            starts.append(offsets[next_one])
    exact = stream_offsets is not None
    return [DumpRange(start, stop, exact and start > 0) for start, stop in pairwise([*starts, size])]


def read_index(lines: Iterable[bytes]) -> list[int]:
    """The stream offsets of a multistream index, whose lines are ``offset:page id:title``."""
    offsets: list[int] = []
    for number, line in enumerate(lines, start=1):
        offset, _, rest = line.partition(b":")
        if not offset.isdigit() or b":" not in rest:
            raise BadDump(f"line {number} of the index is {line[:60]!r}: expected offset:page id:title")
        if not offsets or offsets[-1] != int(offset):
            offsets.append(int(offset))
    if not offsets:
        raise BadDump("it names no stream: expected lines of offset:page id:title")
    return offsets


def check_head(file: BinaryIO) -> None:
    """Refuses early what is not a dump: reads only its beginning.

    Raises:
        BadDump: not a MediaWiki export, or one with a document type definition.
    """
    for chunk, _ in _chunks(file, DumpRange(0, 1 << 62), DumpLimits()):
        if _DEFINITIONS.search(chunk):
            raise BadDump("it has a document type definition (<!DOCTYPE or <!ENTITY), which a MediaWiki dump never has")
        if b"<mediawiki" not in chunk and _PAGE_START not in chunk:
            raise BadDump(f"it begins with {chunk[:40]!r}: expected a pages-articles dump, XML or bz2 of it")
        return
    raise BadDump("it is empty: expected a pages-articles dump, XML or bz2 of it")


def pages(file: BinaryIO, part: DumpRange, limits: DumpLimits | None = None) -> Iterator[Page | BadPage]:
    """The pages that begin in a range of a dump, in order.

    Args:
        file: the whole dump, seekable.
        part: the range to read. Pages that begin in it are read to their end, even beyond it.
        limits: see `DumpLimits`.

    Raises:
        BadDump: the file ends inside a stream or a page, is not a dump, or breaks the limits.
    """
    limits = limits or DumpLimits()
    for element in _page_elements(_chunks(file, part, limits), limits.page_bytes):
        yield element if isinstance(element, BadPage) else parse_page(element)


def _chunks(file: BinaryIO, part: DumpRange, limits: DumpLimits) -> Iterator[tuple[bytes, bool]]:
    """Decompressed bytes from the beginning of a range on, and for each chunk whether the range owns it."""
    file.seek(0)
    compressed = file.read(3) == b"BZh"
    yield from _bz2_chunks(file, part, limits) if compressed else _plain_chunks(file, part)


def _plain_chunks(file: BinaryIO, part: DumpRange) -> Iterator[tuple[bytes, bool]]:
    file.seek(part.start)
    position = part.start
    while True:
        # Chunks are cut at the end of the range, so that each is owned whole or not at all.
        wanted = min(_READ_BYTES, part.stop - position) if position < part.stop else _READ_BYTES
        data = file.read(wanted)
        if not data:
            return
        yield data, position < part.stop
        position += len(data)


def _bz2_chunks(file: BinaryIO, part: DumpRange, limits: DumpLimits) -> Iterator[tuple[bytes, bool]]:
    stream_start = _find_stream(file, part)
    if stream_start is None:
        return
    file.seek(stream_start)
    first_byte, position, produced = stream_start, stream_start, 0
    data = b""
    while True:
        # One stream after the other; those beyond the range are read only if the caller still wants bytes.
        decompressor = bz2.BZ2Decompressor()
        while not decompressor.eof:
            if decompressor.needs_input and not data:
                data = file.read(_READ_BYTES)
                position += len(data)
                if not data:
                    raise BadDump(
                        f"it ends inside the bz2 stream that starts at byte {stream_start}: was it cut short?"
                    )
            try:
                chunk = decompressor.decompress(data, _READ_BYTES)
            except OSError as error:
                raise BadDump(f"the bz2 stream that starts at byte {stream_start} is damaged ({error})") from None
            data = b""
            produced += len(chunk)
            if produced > _FREE_BYTES and produced > limits.ratio * (position - first_byte):
                raise BadDump(
                    f"the bz2 data at byte {stream_start} grows more than {limits.ratio:g} times when decompressed:"
                    " this is not a dump, or one made to fill the memory"
                )
            if chunk:
                yield chunk, stream_start < part.stop
        data = decompressor.unused_data or file.read(_READ_BYTES)
        position += 0 if decompressor.unused_data else len(data)
        if not data:
            return
        stream_start = position - len(data)
        if not data.startswith(b"BZh"[: len(data)]):
            raise BadDump(f"byte {stream_start} starts no bz2 stream ({data[:8]!r}): is it still being written?")


def _find_stream(file: BinaryIO, part: DumpRange) -> int | None:
    """Where the first stream of a range starts. Ten bytes identify a header: chance alone needs 2^77 bytes for one."""
    file.seek(part.start)
    if part.exact or part.start == 0:
        if not _STREAM_HEADER.match(file.read(_HEADER_BYTES)):
            raise BadDump(f"byte {part.start} starts no bz2 stream: is the index another dump's, or the file damaged?")
        return part.start
    window, window_start = file.read(_READ_BYTES), part.start
    while window_start < part.stop:
        header = _STREAM_HEADER.search(window)
        if header is not None:
            found = window_start + header.start()
            return found if found < part.stop else None
        more = file.read(_READ_BYTES)
        if not more:
            return None
        tail = window[-(_HEADER_BYTES - 1) :]
        window_start += len(window) - len(tail)
        window = tail + more
    return None


def _page_elements(chunks: Iterable[tuple[bytes, bool]], page_bytes: int) -> Iterator[bytes | BadPage]:
    """The ``<page>`` elements that begin in owned bytes. In XML a `<` is always markup, so the tags can be searched."""
    buffer = bytearray()
    owned = 0  # this many bytes at the front of the buffer are owned
    searched = 0  # up to here the buffer holds no end of the page that begins at its front
    inside = False
    source = iter(chunks)
    while True:
        if inside:
            end = buffer.find(_PAGE_END, max(0, searched - len(_PAGE_END)))
            searched = len(buffer)
            if end >= 0:
                size = end + len(_PAGE_END)
                yield bytes(buffer[:size]) if size <= page_bytes else _too_large(buffer, size, page_bytes)
                del buffer[:size]
                owned, inside = max(0, owned - size), False
                continue
            if len(buffer) > page_bytes:
                yield _too_large(buffer, len(buffer), page_bytes)
                owned, inside = len(buffer) if _skip_page(buffer, source) else 0, False
                continue
        else:
            start = buffer.find(_PAGE_START)
            if _DEFINITIONS.search(buffer, 0, start if start >= 0 else len(buffer)):
                raise BadDump("it has a document type definition (<!DOCTYPE or <!ENTITY), which a dump never has")
            if start >= 0:
                if start >= owned:
                    return
                del buffer[:start]
                owned, searched, inside = owned - start, 0, True
                continue
            # Keep what may be the beginning of a tag; if not even that is ours, the range is done.
            keep = min(len(buffer), len(b"<!DOCTYPE") - 1)
            gone = len(buffer) - keep
            del buffer[:gone]
            owned = max(0, owned - gone)
        chunk, is_owned = next(source, (b"", False))
        if not chunk:
            if inside:
                raise BadDump("it ends inside a page: was it cut short?")
            return
        if not is_owned and not inside and not _may_begin_page(bytes(buffer[:owned])):
            return
        if is_owned:
            owned = len(buffer) + len(chunk)
        buffer += chunk


def _may_begin_page(tail: bytes) -> bool:
    return any(tail.endswith(_PAGE_START[:length]) for length in range(1, len(_PAGE_START)))


def _too_large(buffer: bytearray, size: int, page_bytes: int) -> BadPage:
    more = " at least" if size == len(buffer) else ""
    return BadPage(f"page of{more} {size} bytes: the limit is {page_bytes}", _beginning(buffer))


def _skip_page(buffer: bytearray, source: Iterator[tuple[bytes, bool]]) -> bool:
    """Drops the rest of a page without holding it. True if the range owns what is left in the buffer."""
    for chunk, is_owned in source:
        del buffer[: max(0, len(buffer) - len(_PAGE_END))]
        buffer += chunk
        end = buffer.find(_PAGE_END)
        if end >= 0:
            del buffer[: end + len(_PAGE_END)]
            return is_owned
    raise BadDump("it ends inside a page: was it cut short?")


def _beginning(element: bytes | bytearray) -> str:
    return bytes(element[:200]).decode("utf-8", "replace")


class _Refused(Exception):
    """Why a page is not read on."""


# What is read of a page, and how deep a page goes: a contributor's name is the deepest, at 4.
_READ = {("page", "id"), ("page", "title"), ("page", "ns"), ("page", "revision", "model"), ("page", "revision", "text")}
_MOST_LEVELS = 16


def parse_page(element: bytes) -> Page | BadPage:
    """Reads one ``<page>`` element."""
    fields: dict[tuple[str, ...], list[str]] = {}
    path: list[str] = []
    redirect = False

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal redirect
        path.append(name)
        if len(path) > _MOST_LEVELS:
            raise _Refused(f"elements inside of each other, more than {_MOST_LEVELS} levels deep")
        redirect = redirect or (name == "redirect" and len(path) == 2)
        if tuple(path) in _READ:
            fields[tuple(path)] = []  # of several revisions the last one counts

    def end(_: str) -> None:
        path.pop()

    def text(data: str) -> None:
        if tuple(path) in _READ:
            fields[tuple(path)].append(data)

    def refuse(*_: object) -> None:
        raise _Refused("a document type or entity definition inside the page")

    parser = expat.ParserCreate("UTF-8")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, text
    parser.StartDoctypeDeclHandler = parser.EntityDeclHandler = refuse
    try:
        parser.Parse(element, True)
        return Page(
            id=int("".join(fields["page", "id"])),
            title="".join(fields["page", "title"]),
            namespace=int("".join(fields.get(("page", "ns"), ["0"]))),
            is_redirect=redirect,
            model="".join(fields.get(("page", "revision", "model"), ["wikitext"])),
            wikitext="".join(fields.get(("page", "revision", "text"), [])),
        )
    except _Refused as error:
        return BadPage(str(error), _beginning(element))
    except expat.ExpatError as error:
        return BadPage(f"not well-formed XML: {error}", _beginning(element))
    except (KeyError, ValueError) as error:
        return BadPage(f"no usable page id or title: {error!r}", _beginning(element))
