"""Ranges of Wikipedia dumps to sentences: what the two stages of `pipelines.extract_wikipedia` do with one range.

The *census* only finds the articles, so that the held-out parts can be cut to exact sizes; the *extraction* writes the
sentences of each article into the part that its hash belongs to. Nothing here imports Beam: worker processes are cheap.
"""

from __future__ import annotations

import io
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import BinaryIO, ClassVar

import numpy as np
import pyarrow as pa

from respace.hashing import row_hashes
from respace.splits import Splits, lowest
from respace.storage.compression import open_decompressed
from respace.storage.errors import BadFile, BadOption
from respace.storage.files import InputFile, describe, join_url, open_input, read_bytes
from respace.storage.publish import publish, publish_table
from respace.wikipedia.dumps import (
    BadDump,
    BadPage,
    DumpLimits,
    DumpRange,
    Page,
    check_head,
    pages,
    plan_ranges,
    read_index,
)
from respace.wikipedia.sentences import clean_sentences
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.dead_letters import DeadLetter, publish_dead_letters
from transforms.shards.killable import KillableFunction, Stopped
from transforms.shards.manifests import finish_shard, input_fingerprint

DUMP_SUFFIXES = (".xml", ".xml.bz2")
CENSUS, EXTRACT = "census", "extract"
SCHEMA = pa.schema([("article_id", pa.int64()), ("title", pa.string()), ("sentence", pa.string())])
_ROW_GROUP_SENTENCES = 50_000
_SECONDS_PER_ARTICLE = 60.0


@dataclass(frozen=True, kw_only=True)
class DumpShard:
    """One range of one dump."""

    name: str
    file: InputFile
    part: DumpRange

    @property
    def size(self) -> int:
        return self.part.stop - self.part.start


def plan_dump(file: InputFile, range_bytes: int, index: str | None = None) -> list[tuple[str, DumpRange]]:
    """Cuts a dump into named ranges, after a look at its head and, if given, its index.

    Raises:
        BadFile: no dump.
        BadOption: no index, or not this dump's.
    """
    try:
        with open_input(file) as stream:
            check_head(stream)
    except BadDump as error:
        raise BadFile(f"{file.url}: {error}") from error
    try:
        parts = plan_ranges(file.size, range_bytes, _stream_offsets(index) if index is not None else None)
    except (OSError, BadDump, BadFile) as error:
        raise BadOption(f"--index {index}: {error}") from error
    stem = file.name.removesuffix(".bz2").removesuffix(".xml")
    return [(f"{stem}-{number:05}", part) for number, part in enumerate(parts)]


def _stream_offsets(index: str) -> list[int]:
    listing = describe(index)
    with open_input(listing) as raw, open_decompressed(raw, listing.url) as lines:
        return read_index(lines)


def range_fingerprint(shard: DumpShard) -> dict[str, str | int | float | bool | None]:
    return {**input_fingerprint(shard.file), "range start": shard.part.start, "range stop": shard.part.stop}


def articles(stream: BinaryIO, part: DumpRange, limits: DumpLimits, counts: Counter[str]) -> Iterator[Page | BadPage]:
    """The articles of a range; redirects, other namespaces and pages that are not wikitext are counted and skipped."""
    for page in pages(stream, part, limits):
        counts["pages"] += 1
        if isinstance(page, BadPage):
            counts["bad_pages"] += 1
            yield page
        elif page.namespace != 0:
            counts["other_namespaces"] += 1
        elif page.is_redirect or page.wikitext.lstrip()[:9].lower() == "#redirect":
            counts["redirects"] += 1
        elif page.model != "wikitext":
            counts["other_models"] += 1
        else:
            counts["articles"] += 1
            yield page


def article_hash(article_id: int, seed: int) -> int:
    return int(row_hashes([f"article {article_id}"], seed)[0])


@dataclass(frozen=True, kw_only=True)
class TakeCensus:
    """Finds the articles of a range, and keeps the lowest of their hashes: no others can be held out."""

    output: str
    seed: int
    held_out: int
    limits: DumpLimits = field(default_factory=DumpLimits)

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: DumpShard) -> Fingerprint:
        return {**range_fingerprint(shard), "seed": self.seed, "held-out articles": self.held_out}

    def __call__(self, shard: DumpShard) -> ShardResult:
        counts: Counter[str] = Counter()
        keys = []
        with _readable(shard) as stream:
            for page in articles(stream, shard.part, self.limits, counts):
                if isinstance(page, Page):
                    keys.append(f"article {page.id}")
        hashes = lowest(row_hashes(keys, self.seed), self.held_out)
        url = census_url(self.output, shard.name)
        with publish(url) as path, open(path, "wb") as target:
            np.save(target, hashes)
        progress.report(documents=counts["articles"], bytes=shard.size)
        return finish_shard(self, shard, [url], counts)


def census_url(output: str, name: str) -> str:
    return join_url(output, "_census", f"{name}.npy")


def read_census(output: str, names: Sequence[str]) -> np.ndarray:
    """The lowest article hashes of all ranges."""
    parts = [np.load(io.BytesIO(read_bytes(census_url(output, name)))) for name in names]
    return np.unique(np.concatenate(parts)) if parts else np.zeros(0, dtype=np.uint64)


@dataclass(frozen=True, kw_only=True)
class ExtractSentences:
    """Writes the sentences of a range, one Parquet file for each part of the collection that has any."""

    output: str
    seed: int
    splits: Splits
    limits: DumpLimits = field(default_factory=DumpLimits)
    seconds_per_article: float = _SECONDS_PER_ARTICLE

    rules: ClassVar[int] = 1

    def fingerprint(self, shard: DumpShard) -> Fingerprint:
        cuts = ", ".join(
            f"{name} < {bound:x}" for name, bound in zip(self.splits.names, self.splits.bounds, strict=True)
        )
        return {**range_fingerprint(shard), "seed": self.seed, "splits": cuts}

    def __call__(self, shard: DumpShard) -> ShardResult:
        counts: Counter[str] = Counter()
        letters: list[DeadLetter] = []
        tables: dict[str, list[pa.Table]] = {}
        sentences_of = _killable_parser(self.seconds_per_article)
        with _readable(shard) as stream:
            for row, page in enumerate(articles(stream, shard.part, self.limits, counts)):
                if isinstance(page, BadPage):
                    letters.append(_bad_page(shard, row, page))
                    continue
                try:
                    sentences, dropped = sentences_of(page.wikitext)
                except (Stopped, RecursionError, MemoryError, RuntimeError, ValueError) as error:
                    letters.append(
                        DeadLetter.from_error(
                            error,
                            shard=shard.name,
                            row=row,
                            stage="wikitext",
                            original=page.wikitext,
                            id=str(page.id),
                        )
                    )
                    continue
                counts.update({"dropped:" + name: count for name, count in dropped.items()})
                counts["sentences"] += len(sentences)
                if not sentences:
                    counts["articles_without_sentences"] += 1
                    continue
                part = self.splits.name(article_hash(page.id, self.seed))
                counts[f"{part}_articles"] += 1
                counts[f"{part}_sentences"] += len(sentences)
                tables.setdefault(part, []).append(_table(page, sentences))
                progress.report(documents=1)
        counts["dead_letters"] = len(letters)
        urls = [self._write(part, shard.name, pa.concat_tables(found)) for part, found in sorted(tables.items())]
        urls += publish_dead_letters(self.output, shard.name, letters)
        progress.report(bytes=shard.size, dead_letters=len(letters))
        return finish_shard(self, shard, urls, counts)

    def _write(self, part: str, name: str, table: pa.Table) -> str:
        url = join_url(self.output, part, f"{name.removeprefix(EXTRACT + '/')}.parquet")
        publish_table(url, table, _ROW_GROUP_SENTENCES)
        return url


@lru_cache(maxsize=1)
def _killable_parser(seconds: float) -> KillableFunction[str, tuple[list[str], Counter[str]]]:
    """One parser process for all shards of this process; it ends with it."""
    return KillableFunction(clean_sentences, seconds=seconds)


def _table(page: Page, sentences: list[str]) -> pa.Table:
    size = len(sentences)
    columns = [
        pa.array(np.full(size, page.id), pa.int64()),
        pa.array([page.title] * size, pa.string()),
        pa.array(sentences, pa.string()),
    ]
    return pa.Table.from_arrays(columns, schema=SCHEMA)


def _bad_page(shard: DumpShard, row: int, page: BadPage) -> DeadLetter:
    return DeadLetter(
        shard=shard.name, row=row, stage="xml", error="BadPage", message=page.reason, original=page.beginning
    )


@contextmanager
def _readable(shard: DumpShard) -> Iterator[BinaryIO]:
    """Opens the dump of a shard; what is wrong with it is a bad file that names the dump."""
    with open_input(shard.file) as stream:
        try:
            yield stream
        except BadDump as error:
            raise BadFile(f"{shard.file.url}: {error}") from error
