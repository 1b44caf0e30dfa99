"""A random sample of a corpus, repaired to be looked at: nothing but the report is written.

Large files give more documents than small ones, and only those that give some are opened. The same corpus gives the
same sample in every run.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from respace.batching import by_size
from respace.storage.errors import BadFile
from respace.storage.files import InputFile
from transforms.formats.contract import Document, Slice
from transforms.formats.registry import format_of
from transforms.repair.work import RepairShard, RepairWork
from transforms.shards.dead_letters import DeadLetter
from transforms.shards.manifests import Manifest

_SEED = 20_210_819
# About how much text is read to choose documents from.
_STRETCH_BYTES = 1 << 18
# For the speed: from how many files, and how much at once.
_TIMED_FILES = 8
_TIMED_BYTES = 1 << 15


@dataclass
class Sample:
    """What became of some documents: as manifests of the files that they are from, which are not written."""

    manifests: dict[str, Manifest] = field(default_factory=dict)
    unreadable: dict[str, str] = field(default_factory=dict)
    dead_letters: list[DeadLetter] = field(default_factory=list)
    seconds: float = 0.0


def repair_sample(work: RepairWork, files: Sequence[InputFile], number: int) -> Sample:
    """Repairs about so many documents."""
    sample, chosen = Sample(), random.Random(_SEED)
    started = time.monotonic()
    left, bytes_left = number, sum(max(1, file.size) for file in files)
    # Files in random order, large ones rather first.
    for file in sorted(files, key=lambda file: chosen.random() ** (1 / max(1, file.size)), reverse=True):
        if left <= 0:
            break
        share = -(-left * max(1, file.size) // bytes_left)
        bytes_left -= max(1, file.size)
        try:
            documents = list(_documents(work, file, share, chosen))
        except BadFile as error:
            sample.unreadable[file.name] = str(error)
            continue
        left -= len(documents)
        if documents:
            _repair(work, file, documents, sample)
    sample.seconds = time.monotonic() - started
    return sample


def bytes_per_second(work: RepairWork, files: Sequence[InputFile], seconds: float = 3.0) -> float | None:
    """How fast one process is, from the beginning of some files; None if there is no text in them.

    The first texts do not count: for them the model is read, and perhaps compiled.
    """
    done, started = 0, None
    chosen = random.Random(_SEED)
    for file in chosen.sample(list(files), min(len(files), _TIMED_FILES)):
        try:
            stretch = format_of(file.name, work.formats).cut(file, _STRETCH_BYTES)[0]
            documents = [one for one in _beginning(work, file, stretch) if one.text]
        except BadFile:
            continue
        repair = work.documents(RepairShard(file=file))
        for some in by_size(documents, lambda one: len(one.text or ""), _TIMED_BYTES):
            repair(some)
            if started is None:
                started = time.monotonic()
                continue
            done += sum(len(one.text.encode("utf-8", "surrogatepass")) for one in some if one.text)
            if time.monotonic() - started > seconds:
                return done / (time.monotonic() - started)
    return done / (time.monotonic() - started) if started is not None and done else None


def _repair(work: RepairWork, file: InputFile, documents: Sequence[Document], sample: Sample) -> None:
    repair, started = work.documents(RepairShard(file=file)), time.monotonic()
    outcomes = repair(documents)
    sample.dead_letters += [one.dead_letter for one in outcomes if one.dead_letter is not None]
    statistics = repair.statistics
    details = {**statistics.to_json(), "seconds": round(time.monotonic() - started, 3)}
    sample.manifests[file.name] = Manifest(
        name=file.name, fingerprint={}, outputs={}, counts=dict(statistics.counts), details=details, run=work.run
    )


def _documents(work: RepairWork, file: InputFile, number: int, chosen: random.Random) -> Iterator[Document]:
    """Some documents of a file, from stretches all over it."""
    slices = format_of(file.name, work.formats).cut(file, _STRETCH_BYTES)
    stretches = chosen.sample(slices, min(number, len(slices)))
    for place, stretch in enumerate(stretches):
        wanted = number * (place + 1) // len(stretches) - number * place // len(stretches)
        found = _beginning(work, file, stretch)
        yield from chosen.sample(found, min(wanted, len(found)))


def _beginning(work: RepairWork, file: InputFile, stretch: Slice) -> list[Document]:
    """The documents with which a stretch begins: one that cannot be cut may be the whole file."""
    found: list[Document] = []
    size = 0
    for _, documents in format_of(file.name, work.formats).read(file, stretch.span):
        found += [one for one in documents if one.text or one.problem is not None]
        size += sum(len(one.text or "") for one in documents)
        if size > _STRETCH_BYTES:
            break
    return found
