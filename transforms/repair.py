"""The work of the repair job on one shard: read, repair, write, verify, publish, and the manifest last.

A large file is several shards, its *parts*. They are published under ``_parts/``, and whoever finishes the last one
puts the file together. All of this may happen twice, or twice at once: every published file is whole, and the same.
"""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from respace.repairer import Repairer
from transforms import progress
from transforms.dead_letters import DEAD_LETTERS, DeadLetter, DeadLetterWriter, read_dead_letters
from transforms.documents import Document, DocumentRepair, Outcome
from transforms.errors import UserError
from transforms.files import InputFile, filesystem, is_local, join_url
from transforms.formats import format_of
from transforms.manifests import (
    MANIFESTS,
    Fingerprint,
    Manifest,
    differences,
    input_fingerprint,
    missing_outputs,
    read_manifest,
    write_manifest,
)
from transforms.outputs import PROVENANCE, OutputFiles, local_copy
from transforms.shard_format import FormatOptions, Range
from transforms.sidecars import assemble_sidecars
from transforms.statistics import KEPT_SAMPLES, Statistics

PARTS = "_parts"


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairShard:
    """What to do: a file, or a part of one.

    Args:
        file: the input.
        span: rows or bytes, see `transforms.formats`.
        part: which part this is, counted from 0.
        spans: those of all parts.
    """

    file: InputFile
    span: Range
    part: int = 0
    spans: tuple[Range, ...] = ()

    @property
    def name(self) -> str:
        return self.file.name if len(self.spans) <= 1 else part_name(self.file.name, self.part, len(self.spans))


@dataclass(frozen=True, slots=True, kw_only=True)
class ShardResult:
    """What was done. Without counts, the shard was done already."""

    name: str
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelOptions:
    """Which model repairs, and how cautiously."""

    model: str = "default"
    insertion_penalty: float | None = None
    deletion_penalty: float | None = None
    join_hyphenated: bool = True
    all_text: bool = False


_repairers: dict[ModelOptions, Repairer] = {}
_loading = threading.Lock()


def shared_repairer(options: ModelOptions) -> Repairer:
    """The model, loaded once per process.

    Raises:
        UserError: it cannot be loaded.
    """
    with _loading:
        if options not in _repairers:
            try:
                _repairers[options] = Repairer.load(**asdict(options))
            except ValueError as error:
                raise UserError(f"--model {options.model}: {error}") from error
        return _repairers[options]


@dataclass(frozen=True, kw_only=True)
class RepairWork:
    """Repairs one shard.

    Args:
        output: output directory.
        model: which model.
        formats: how documents lie in the files.
        fingerprint: what every output of the job depends on, beside its input.
        batch_characters: how much text to give to the model at once.
        run: identifies this run.
        overwrite: do again what another run has done.
    """

    output: str
    model: ModelOptions
    formats: FormatOptions
    fingerprint: Fingerprint
    batch_characters: int
    run: str
    overwrite: bool = False

    def __call__(self, shard: RepairShard) -> ShardResult:
        if self._is_done(self.output, shard.file.name, self.fingerprint_of(shard.file)):
            return ShardResult(name=shard.name)
        if len(shard.spans) <= 1:
            return ShardResult(name=shard.name, counts=self._repair(self.output, shard).counts)
        parts = join_url(self.output, PARTS)
        counts: Mapping[str, int] = {}
        if not self._is_done(parts, shard.name, self._part_fingerprint(shard)):
            counts = self._repair(parts, shard).counts
        every = [
            RepairShard(file=shard.file, span=span, part=place, spans=shard.spans)
            for place, span in enumerate(shard.spans)
        ]
        if all(self._is_done(parts, part.name, self._part_fingerprint(part)) for part in every):
            self._assemble(every)
        return ShardResult(name=shard.name, counts=counts)

    def fingerprint_of(self, file: InputFile) -> dict[str, Any]:
        return {**self.fingerprint, **input_fingerprint(file)}

    def _part_fingerprint(self, shard: RepairShard) -> dict[str, Any]:
        return {**self.fingerprint_of(shard.file), "part": f"{shard.span[0]}-{shard.span[1]}"}

    def _is_done(self, root: str, name: str, fingerprint: Fingerprint) -> bool:
        manifest = read_manifest(root, name)
        return (
            manifest is not None
            and (manifest.run == self.run or not self.overwrite)
            and not differences(manifest.fingerprint, fingerprint)
            and not missing_outputs(root, manifest)
        )

    def _repair(self, root: str, shard: RepairShard) -> Manifest:
        started = time.monotonic()
        repairer = shared_repairer(self.model)
        kind = format_of(shard.file.name, self.formats)
        repair = CountedRepair(
            DocumentRepair(repairer, shard.file.name, self.batch_characters, self.formats.max_document_bytes)
        )
        files = OutputFiles(root, shard.name, self.formats)
        with files.replaced() as paths, DeadLetterWriter(files.dead_letters) as dead_letters:
            repair.dead_letters = dead_letters
            rows = kind.repair(
                shard.file, shard.span, paths[0], paths[1] if files.sidecar else None, repair, repairer.method.identity
            )
            _reconcile(shard, read=rows, counted=repair.statistics.counts["documents"])
            _reconcile(shard, read=rows, counted=kind.verify(shard.file, shard.span, paths[0]))
        details = {**repair.statistics.to_json(), "seconds": round(time.monotonic() - started, 3)}
        fingerprint = self.fingerprint_of(shard.file) if root == self.output else self._part_fingerprint(shard)
        return self._finish(root, shard.name, fingerprint, files, repair.statistics.counts, details)

    def _assemble(self, parts: Sequence[RepairShard]) -> None:
        """Puts a file together from its parts. Another process may be doing the same."""
        file = parts[0].file
        root = join_url(self.output, PARTS)
        manifests = [read_manifest(root, part.name) for part in parts]
        known = [manifest for manifest in manifests if manifest is not None]
        fingerprint = self.fingerprint_of(file)
        try:
            if len(known) != len(parts):
                raise FileNotFoundError(f"a part of {file.name}")
            files = OutputFiles(self.output, file.name, self.formats)
            part_files = [OutputFiles(root, part.name, self.formats) for part in parts]
            with files.replaced() as paths, tempfile.TemporaryDirectory(prefix="respace-") as folder:
                kind = format_of(file.name, self.formats)
                kind.assemble(file, [local_copy(one.target, folder) for one in part_files], paths[0])
                if files.sidecar:
                    assemble_sidecars(self.formats, [local_copy(one.sidecar, folder) for one in part_files], paths[1])
                rows = sum(manifest.counts["documents"] for manifest in known)
                verified = kind.verify(file, (parts[0].span[0], parts[-1].span[1]), paths[0])
                _reconcile(parts[0], read=rows, counted=verified)
                _merge_dead_letters(files.dead_letters, list(zip(part_files, known, strict=True)))
        except FileNotFoundError:
            if self._is_done(self.output, file.name, fingerprint):
                return  # the other process was faster, and has removed the parts already
            raise
        merged = Statistics.merge(((one.counts, one.details) for one in known), samples=KEPT_SAMPLES)
        details = {**merged.to_json(), "seconds": round(sum(one.details["seconds"] for one in known), 3)}
        self._finish(self.output, file.name, fingerprint, files, merged.counts, details)
        remove_parts(self.output, file.name)

    def _finish(
        self,
        root: str,
        name: str,
        fingerprint: Fingerprint,
        files: OutputFiles,
        counts: Counter[str],
        details: Mapping[str, Any],
    ) -> Manifest:
        manifest = Manifest(
            name=name,
            fingerprint=fingerprint,
            outputs=files.sizes(bool(counts["dead_letters"])),
            counts={key: int(value) for key, value in sorted(counts.items())},
            details=details,
            run=self.run,
        )
        write_manifest(root, manifest)
        return manifest


class CountedRepair:
    """Repairs the documents of one shard and keeps account of them."""

    def __init__(self, repair: DocumentRepair):
        self._repair = repair
        self.statistics = Statistics()
        self.dead_letters: DeadLetterWriter | None = None

    def __call__(self, documents: Sequence[Document]) -> list[Outcome]:
        outcomes: list[Outcome] = []
        for batch in self._repair.batches(documents):
            before = Counter(self.statistics.counts)
            repaired = self._repair.repair(batch)
            for document, outcome in zip(batch, repaired, strict=True):
                dead = outcome.dead_letter is not None
                self.statistics.add(self._repair.shard, document.row, document.text, outcome.edits, dead)
                self.statistics.add_left_alone(outcome.left_alone)
            if self.dead_letters is not None:
                self.dead_letters.write(out.dead_letter for out in repaired if out.dead_letter is not None)
            outcomes += repaired
            new = self.statistics.counts - before
            progress.report(
                documents=new["documents"],
                bytes=new["bytes"],
                edits=new["insertions"] + new["deletions"],
                dead_letters=new["dead_letters"],
            )
        return outcomes


def part_name(name: str, part: int, parts: int) -> str:
    """The suffix stays last: it tells the kind of the file.

    >>> part_name("a/b.jsonl", 2, 12)
    'a/b.jsonl/00002-of-00012.jsonl'
    """
    return f"{name}/{part:05}-of-{parts:05}{os.path.splitext(name)[1]}"


def remove_parts(output: str, name: str) -> None:
    """Removes the parts of a file that is done."""
    root = join_url(output, PARTS)
    for url in (
        join_url(root, name),
        join_url(root, MANIFESTS, name),
        join_url(root, DEAD_LETTERS, name),
        join_url(root, PROVENANCE, name),
    ):
        store, path = filesystem(url)
        if store.exists(path):
            if is_local(url):
                shutil.rmtree(path, ignore_errors=True)
            else:
                store.rm(path, recursive=True)


def _reconcile(shard: RepairShard, *, read: int, counted: int) -> None:
    if read != counted:
        raise AssertionError(f"{shard.name}: {read} documents went in and {counted} came out; nothing was published")


def _merge_dead_letters(url: str, parts: Sequence[tuple[OutputFiles, Manifest]]) -> None:
    """Dead letters of all parts. Rows of Parquet parts are those of the file; lines are counted from their part."""
    offset = 0
    with DeadLetterWriter(url) as writer:
        for files, manifest in parts:
            if manifest.counts["dead_letters"]:
                table = read_dead_letters(files.dead_letters)
                shift = 0 if files.name.endswith(".parquet") else offset
                for row in table.to_pylist():
                    raw, text = row.pop("raw_bytes"), row.pop("text")
                    line, row["row"] = row["row"], row["row"] + shift
                    row["message"] = row["message"].replace(f"line {line + 1}:", f"line {row['row'] + 1}:", 1)
                    writer.write([DeadLetter(**row, original=text if raw is None else raw)])
            offset += manifest.counts["documents"]
