"""The work of the repair job on one shard: read, repair, write, verify, publish, and the manifest last.

A large file is several shards, its *parts*. They are published under ``_parts/``, and whoever finishes the last one
puts the file together. All of this may happen twice, or twice at once: every published file is whole, and the same.
"""

from __future__ import annotations

import itertools
import os
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import ClassVar

from respace.storage.files import InputFile, join_url, remove_folder
from respace.storage.listing import walk_files
from transforms.formats.contract import WHOLE, Document, FormatOptions, Outcome, Range, ShardFormat
from transforms.formats.registry import format_of
from transforms.formats.sidecar import PROVENANCE, assemble_sidecars
from transforms.repair.documents import DocumentRepair
from transforms.repair.edit_statistics import EditStatistics, with_rows_from
from transforms.repair.model import ModelOptions, repairer_with_limit
from transforms.repair.outputs import OutputFiles, local_copy
from transforms.repair.review import Rejected, digest_of, reviewed
from transforms.shards import progress
from transforms.shards.contract import Fingerprint, ShardResult, fingerprint_of
from transforms.shards.dead_letters import DEAD_LETTERS, DeadLetterWriter, copy_dead_letters
from transforms.shards.manifests import (
    MANIFESTS,
    REVIEW,
    Manifest,
    done_manifest,
    finish_shard,
    input_fingerprint,
    read_manifest,
)

PARTS = "_parts"
# What a manifest calls the options that say how documents lie in files.
TAKEN_FOR, TEXT_COLUMN, TEXT_UNIT = "taken for", "text column", "text unit"
REJECTED_EDITS = "rejected_edits"  # a count that only a reviewed shard has


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairShard:
    """What to do: a file, or a part of one.

    Args:
        file: the input.
        span: rows or bytes, see `transforms.formats.contract`.
        size: about how much text is in it.
        part: which part this is, counted from 0.
        spans: those of all parts; none where nobody has looked at the file yet.
        first_row: how many rows are before it, where its own are counted from 0 and a review needs to know.
    """

    file: InputFile
    span: Range = WHOLE
    size: int = 0
    part: int = 0
    spans: tuple[Range, ...] = ()
    first_row: int = 0

    @property
    def is_part(self) -> bool:
        return len(self.spans) > 1

    @property
    def name(self) -> str:
        return part_name(self.file.name, self.part, len(self.spans)) if self.is_part else self.file.name

    @property
    def whole(self) -> RepairShard:
        return RepairShard(file=self.file)

    def parts(self) -> list[RepairShard]:
        return [replace(self, span=span, part=part) for part, span in enumerate(self.spans)]


@dataclass(frozen=True, kw_only=True)
class RepairWork:
    """Repairs one shard.

    Args:
        output: output directory.
        model: which model.
        formats: how documents lie in the files.
        settings: what every output of the job depends on, beside its input.
        batch_characters: how much text to give to the model at once.
        run: identifies this run.
        rejected: edits that people rejected, by file.
        document_seconds: that the repair of a document may take; 0 sets no limit.
    """

    output: str
    model: ModelOptions
    formats: FormatOptions
    settings: Fingerprint
    batch_characters: int
    run: str
    rejected: Mapping[str, Rejected] = field(default_factory=dict)
    document_seconds: float = 0.0

    rules: ClassVar[int] = 8

    def fingerprint(self, shard: RepairShard) -> Fingerprint:
        part = {"part": f"{shard.span[0]}-{shard.span[1]}"} if shard.is_part else {}
        taken_for = {TAKEN_FOR: self.format(shard).title}
        rejected = self.rejected.get(shard.file.name)
        review = {REVIEW: digest_of(rejected)} if rejected else {}
        return {**self.settings, **taken_for, **input_fingerprint(shard.file), **part, **review}

    def __call__(self, shard: RepairShard) -> ShardResult:
        if self._is_done(shard.whole):
            return ShardResult(shard.name)
        if not shard.is_part:
            return self._repair(shard)
        on_parts = replace(self, output=join_url(self.output, PARTS))
        result = ShardResult(shard.name) if on_parts._is_done(shard) else on_parts._repair(shard)
        # From the last to the first: mostly the next one to ask is not done, and one question answers it.
        if all(on_parts._is_done(part) for part in reversed(shard.parts())):
            self._assemble(shard.parts())
        return result

    def documents(self, shard: RepairShard, letters: DeadLetterWriter | None = None) -> CountedRepair:
        """How the documents of a shard are repaired and counted; dead letters are written if it is known where to."""
        limit = self.formats.max_document_bytes
        repairer = repairer_with_limit(self.model, self.document_seconds)
        repair = DocumentRepair(repairer, shard.file.name, self.batch_characters, limit)
        return CountedRepair(repair, self.rejected.get(shard.file.name, {}), shard.first_row, letters)

    def format(self, shard: RepairShard) -> ShardFormat:
        return format_of(shard.file.name, self.formats)

    def files(self, shard: RepairShard) -> OutputFiles:
        return OutputFiles(self.output, shard.name, self.format(shard).has_sidecar)

    def _is_done(self, shard: RepairShard) -> bool:
        return done_manifest(self.output, shard.name, fingerprint_of(self, shard)) is not None

    def _repair(self, shard: RepairShard) -> ShardResult:
        started = time.monotonic()
        replaced = self.files(shard).replaced()
        repair, form = self.documents(shard, replaced.letters), self.format(shard)
        span = shard.span if shard.spans else form.cut(shard.file, 1 << 62)[0].span
        with replaced as (path, sidecar):
            rows = form.repair(shard.file, span, path, sidecar, repair, repair.model)
            _reconcile(shard, read=rows, counted=repair.statistics.counts["documents"])
            _reconcile(shard, read=rows, counted=form.verify(shard.file, span, path))
        return self.finish(shard, repair.statistics, time.monotonic() - started)

    def _assemble(self, parts: Sequence[RepairShard]) -> None:
        """Puts a file together from its parts. Another process may be doing the same."""
        whole = parts[0].whole
        try:
            merged, seconds = self._join(whole, parts)
        except FileNotFoundError:
            if self._is_done(whole):
                return  # the other process was faster, and has removed the parts already
            raise
        self.finish(whole, merged, seconds)
        remove_parts(self.output, whole.name)

    def _join(self, whole: RepairShard, parts: Sequence[RepairShard]) -> tuple[EditStatistics, float]:
        on_parts = replace(self, output=join_url(self.output, PARTS))
        known = [on_parts._manifest(part) for part in parts]
        files, part_files = self.files(whole), [on_parts.files(part) for part in parts]
        form = self.format(whole)
        replaced = files.replaced()
        with replaced as (path, sidecar), tempfile.TemporaryDirectory(prefix="respace-") as folder:
            form.assemble(whole.file, [local_copy(one.target, folder) for one in part_files], path)
            if sidecar is not None:
                assemble_sidecars(self.formats, [local_copy(one.sidecar, folder) for one in part_files], sidecar)
            rows = sum(manifest.counts["documents"] for manifest in known)
            _reconcile(whole, read=rows, counted=form.verify(whole.file, (parts[0].span[0], parts[-1].span[1]), path))
            numbers = [0, *itertools.accumulate(one.counts["documents"] for one in known)]
            first_rows = [0 if form.rows_are_absolute else number for number in numbers[:-1]]
            for one, manifest, first_row in zip(part_files, known, first_rows, strict=True):
                if manifest.counts["dead_letters"]:
                    copy_dead_letters(one.dead_letters, replaced.letters, first_row)
        details = (with_rows_from(first_row, one.details) for first_row, one in zip(first_rows, known, strict=True))
        merged = EditStatistics.merge(zip((one.counts for one in known), details, strict=True))
        return merged, sum(one.details["seconds"] for one in known)

    def _manifest(self, shard: RepairShard) -> Manifest:
        manifest = read_manifest(self.output, shard.name)
        if manifest is None:
            raise FileNotFoundError(f"the manifest of {shard.name}")
        return manifest

    def finish(self, shard: RepairShard, statistics: EditStatistics, seconds: float) -> ShardResult:
        """The manifest, when all files of a shard are published."""
        urls = self.files(shard).published(with_dead_letters=bool(statistics.counts["dead_letters"]))
        details = {**statistics.to_json(), "seconds": round(seconds, 3)}
        source = None if shard.is_part else shard.file
        return finish_shard(self, shard, urls, statistics.counts, details, self.run, source)


class CountedRepair:
    """Repairs the documents of one shard and keeps account of them."""

    def __init__(self, repair: DocumentRepair, rejected: Rejected, first_row: int, letters: DeadLetterWriter | None):
        self._repair, self._rejected, self._first_row, self._letters = repair, rejected, first_row, letters
        self.model = repair.repairer.method.identity
        self.statistics = EditStatistics()
        self._told = 0  # bytes of the batch at hand that were reported before it is done

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for batch in self._repair.batches(documents):
            before = Counter(self.statistics.counts)
            pairs = zip(batch, self._repair.repair(batch, self._tell), strict=True)
            repaired = [self._reviewed(document, outcome) for document, outcome in pairs]
            for document, outcome in zip(batch, repaired, strict=True):
                dead = outcome.dead_letter is not None
                self.statistics.add(
                    self._repair.shard, document.row, document.text, outcome.edits, dead, outcome.left_alone
                )
            if self._letters is not None:
                self._letters.write(out.dead_letter for out in repaired if out.dead_letter is not None)
            outcomes += repaired
            new = self.statistics.counts - before
            progress.report(
                documents=new["documents"],
                bytes=new["bytes"] - self._told,
                edits=new["insertions"] + new["deletions"],
                dead_letters=new["dead_letters"],
            )
            self._told = 0
        return outcomes

    def _reviewed(self, document: Document, outcome: Outcome) -> Outcome:
        decisions = self._rejected.get(self._first_row + document.row)
        if not decisions:
            return outcome
        kept = reviewed(document, outcome, decisions)
        self.statistics.counts[REJECTED_EDITS] += len(outcome.edits) - len(kept.edits)
        return kept

    def _tell(self, piece: str) -> None:
        """Progress within a huge document."""
        size = len(piece.encode("utf-8", "surrogatepass"))
        self._told += size
        progress.report(bytes=size)


def part_name(name: str, part: int, parts: int) -> str:
    """The suffix stays last: it tells the kind of the file.

    >>> part_name("a/b.jsonl", 2, 12)
    'a/b.jsonl/00002-of-00012.jsonl'
    """
    return f"{name}/{part:05}-of-{parts:05}{os.path.splitext(name)[1]}"


def remove_parts(output: str, name: str) -> None:
    """Removes the parts of a file that is done."""
    root = join_url(output, PARTS)
    for folder in ((), (MANIFESTS,), (DEAD_LETTERS,), (PROVENANCE,)):
        remove_folder(join_url(root, *folder, name))


def remove_left_parts(output: str, is_done: Callable[[str], bool]) -> None:
    """Removes the parts of files that are done: a run that was killed while it removed them left some."""
    left = set()
    for file in walk_files(join_url(output, PARTS)):
        name = file.name
        for folder in (MANIFESTS, DEAD_LETTERS, PROVENANCE):
            name = name.removeprefix(f"{folder}/")
        left.add(name.rpartition("/")[0])  # as `part_name` and `OutputFiles` have it
    for name in left:
        if is_done(name):
            remove_parts(output, name)


def _reconcile(shard: RepairShard, *, read: int, counted: int) -> None:
    if read != counted:
        raise AssertionError(f"{shard.name}: {read} documents went in and {counted} came out; nothing was published")
