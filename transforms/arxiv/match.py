"""Shards of LaTeX documents to training text: what `pipelines.match_arxiv` does with one shard.

With PDFs: the paragraphs of each PDF, paired with their ground truth. Without: the paragraphs of the sources.
LaTeX is read, and text taken from PDFs, in processes that can be killed. Nothing here imports Beam.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any, ClassVar

import pyarrow as pa

from respace.gaps import edits, split
from respace.latex.marks import Labels, as_wildcards
from respace.latex.matching import GroundTruth, Match
from respace.latex.pdf_text import is_prose, paragraphs
from respace.latex.project import Converted, LatexProject, convert_document
from respace.latex.quality import reason_against
from respace.pdf import PdfError, PdfLimits, extract_text
from respace.storage.errors import BadFile
from respace.storage.files import join_url
from respace.storage.publish import publish_table
from transforms.arxiv.documents import LatexDocument, SourceLimits, read_document
from transforms.arxiv.shards import DocumentShard, read_parquet_documents
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult
from transforms.shards.dead_letters import DeadLetter, publish_dead_letters
from transforms.shards.killable import KillableFunction, Stopped
from transforms.shards.manifests import finish_shard

PAIR_SCHEMA = pa.schema(
    [
        ("document_id", pa.string()),
        ("position", pa.int64()),
        ("extracted", pa.string()),
        ("truth", pa.string()),
        ("labels", pa.int32()),
        ("prose", pa.bool_()),
    ]
)
TEXT_SCHEMA = pa.schema(
    [("source", pa.string()), ("document_id", pa.string()), ("kind", pa.string()), ("text", pa.string())]
)
_SAMPLES_PER_SHARD = 20
_ROW_GROUP = 20_000


@dataclass(frozen=True, kw_only=True)
class MatchDocuments:
    """The work on one shard.

    Args:
        output: output directory.
        source_only: paragraphs of the sources, without PDFs.
        pdf_backend: which extractor.
        tolerate_bad_files: a file that cannot be read is a dead letter instead of the end of the job.
        most_characters: of one source's text; a source that has more is sampled.
        pdf_limits, source_limits: see there.
        latex_seconds, latex_memory_bytes: what the conversion of one document may cost.
    """

    output: str
    source_only: bool = False
    pdf_backend: str = "poppler"
    tolerate_bad_files: bool = False
    most_characters: int | None = None
    pdf_limits: PdfLimits = field(default_factory=PdfLimits)
    source_limits: SourceLimits = field(default_factory=SourceLimits)
    latex_seconds: float = 60.0
    latex_memory_bytes: int = 2 << 30

    rules: ClassVar[int] = 3

    def fingerprint(self, shard: DocumentShard) -> Fingerprint:
        wanted: dict[str, str | int | float | bool | None] = {
            "input": shard.fingerprint,
            "source only": self.source_only,
            "characters per source": self.most_characters,
        }
        return wanted if self.source_only else {**wanted, "PDF backend": self.pdf_backend}

    def __call__(self, shard: DocumentShard) -> ShardResult:
        counts: Counter[str] = Counter()
        letters: list[DeadLetter] = []
        rows: list[dict[str, Any]] = []
        samples: list[tuple[str, str]] = []
        unreadable: list[str] = []
        for row, document in enumerate(self._documents(shard, counts, letters, unreadable)):
            counts["documents"] += 1
            try:
                converted = self._convert(document)
                if self.source_only:
                    found = _clean_paragraphs(document, converted, counts)
                else:
                    found = self._pairs(document, converted, counts, samples)
                rows += found
            except (Stopped, PdfError, ValueError, RecursionError, MemoryError, RuntimeError) as error:
                stage = "pdf" if isinstance(error, PdfError) else "latex"
                letters.append(
                    DeadLetter.from_error(error, shard=shard.name, row=row, stage=stage, original=None, id=document.id)
                )
            progress.report(documents=1)
        if self.source_only:
            rows = _without_repeats(rows, self.most_characters, counts)
        counts["dead_letters"] = len(letters)
        outputs = [self._write(shard, rows), *publish_dead_letters(self.output, shard.name, letters)]
        progress.report(bytes=shard.size, dead_letters=len(letters))
        details = {"spacing errors": samples[:_SAMPLES_PER_SHARD], "bad files": unreadable}
        return finish_shard(self, shard, outputs, counts, details)

    def _documents(
        self, shard: DocumentShard, counts: Counter[str], letters: list[DeadLetter], unreadable: list[str]
    ) -> Iterator[LatexDocument]:
        if shard.file is not None:
            yield from read_parquet_documents(shard.file, shard.sources, counts)
            return
        for row, document in enumerate(shard.documents):
            if document.pdf is None and not self.source_only:
                counts["documents_without_pdf"] += 1
                continue
            try:
                loaded = read_document(document, self.source_limits, with_pdf=not self.source_only)
            except BadFile as error:
                if not self.tolerate_bad_files:
                    raise
                counts["documents"] += 1
                counts["bad_files"] += 1
                unreadable.append(str(error))
                letters.append(
                    DeadLetter.from_error(error, shard=shard.name, row=row, stage="read", original=None, id=document.id)
                )
                continue
            counts.update({"passed over: " + reason: count for reason, count in loaded.passed_over.items()})
            yield loaded

    def _convert(self, document: LatexDocument) -> Converted:
        # The converter has its own clock, which says what went wrong; the process is killed if that does not tick.
        inner = LatexProject.gather(document.files, document.library, 0.8 * self.latex_seconds)
        return _killable_converter(self.latex_seconds, self.latex_memory_bytes)(inner)

    def _pairs(
        self, document: LatexDocument, converted: Converted, counts: Counter[str], samples: list[tuple[str, str]]
    ) -> list[dict[str, Any]]:
        assert document.pdf is not None
        text = extract_text(document.pdf, self.pdf_backend, self.pdf_limits)
        truth = GroundTruth([as_wildcards(paragraph.text) for paragraph in converted.paragraphs])
        rows = []
        for paragraph in paragraphs(text):
            prose = is_prose(paragraph)
            found = truth.find(paragraph)
            counts["paragraphs"] += 1
            counts["prose_paragraphs"] += prose
            if not isinstance(found, Match):
                counts[f"unmatched prose: {found}"] += prose
                continue
            counts["matched"] += 1
            counts["matched_prose"] += prose
            counts["matched_with_labels"] += found.labels > 0
            _count_errors(found, counts, samples)
            rows.append(
                {
                    "document_id": document.id,
                    "position": found.position,
                    "extracted": found.extracted,
                    "truth": found.truth,
                    "labels": found.labels,
                    "prose": prose,
                }
            )
        return rows

    def _write(self, shard: DocumentShard, rows: list[dict[str, Any]]) -> str:
        schema = TEXT_SCHEMA if self.source_only else PAIR_SCHEMA
        table = pa.Table.from_pylist(rows, schema=schema)
        url = join_url(self.output, f"{shard.name}.parquet")
        publish_table(url, table, _ROW_GROUP)
        return url


@lru_cache(maxsize=1)
def _killable_converter(seconds: float, memory_bytes: int) -> KillableFunction[LatexProject, Converted]:
    """One converter process for all shards of this process; it ends with it."""
    return KillableFunction(convert_document, seconds=seconds, memory_bytes=memory_bytes)


def _clean_paragraphs(document: LatexDocument, converted: Converted, counts: Counter[str]) -> list[dict[str, Any]]:
    labels = Labels()
    rows = []
    for paragraph in converted.paragraphs:
        text = labels.fill(paragraph.text)
        counts["paragraphs"] += 1
        reason = reason_against(text)
        if reason:
            counts[f"left out: {reason}"] += 1
            continue
        rows.append({"source": document.source, "document_id": document.id, "kind": paragraph.kind, "text": text})
    return rows


def _without_repeats(
    rows: list[dict[str, Any]], most_characters: int | None, counts: Counter[str]
) -> list[dict[str, Any]]:
    """Each text once for every source; of a source with too much text, as many paragraphs as fit, chosen by hash."""
    unique = list({(row["source"], row["text"]): row for row in reversed(rows)}.values())[::-1]
    counts["left out: repeated"] += len(rows) - len(unique)
    kept = unique
    if most_characters is not None:
        left: Counter[str] = Counter()
        chosen = set()
        for row in sorted(unique, key=lambda row: hashlib.sha256(row["text"].encode()).digest()):
            if left[row["source"]] + len(row["text"]) <= most_characters:
                left[row["source"]] += len(row["text"])
                chosen.add((row["source"], row["text"]))
        kept = [row for row in unique if (row["source"], row["text"]) in chosen]
        counts["left out: more than wanted of a source"] += len(unique) - len(kept)
    counts["kept"] += len(kept)
    counts["characters"] += sum(len(row["text"]) for row in kept)
    return kept


def _count_errors(match: Match, counts: Counter[str], samples: list[tuple[str, str]]) -> None:
    characters, given = split(match.extracted)
    correct = split(match.truth)[1]
    changes = edits(given, correct)
    counts["matched_with_errors"] += bool(changes)
    for change in changes:
        counts["missing_spaces" if change.kind == "insertion" else "spurious_spaces"] += 1
    if changes and len(samples) < _SAMPLES_PER_SHARD:
        start, stop = max(0, changes[0].gap - 15), changes[0].gap + 15
        samples.append((_excerpt(characters, given, start, stop), _excerpt(characters, correct, start, stop)))


def _excerpt(characters: str, bits: Any, start: int, stop: int) -> str:
    pieces = zip(characters[start:stop], bits[start:stop], strict=True)
    return "".join((" " if bit else "") + character for character, bit in pieces).strip()
