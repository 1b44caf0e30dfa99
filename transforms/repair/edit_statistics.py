"""What a report tells about a repair: counts, a histogram, the words that changed, a few passages.

Everything here is small, whole and adds up: statistics of shards are merged into those of the corpus. Of the words
only the most frequent of each shard are kept, so that counts of rare words are lower bounds.
"""

from __future__ import annotations

import zlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from respace import gaps
from respace.gaps import Bits, Edit
from respace.judgement import LeftAlone
from transforms.repair.certainty import KEPT_LEAST, Certainty
from transforms.repair.passages import passage_around

# Upper edges of the histogram of edits per 1,000 characters; a document without any edit is counted apart.
HISTOGRAM_EDGES = (1, 2, 5, 10, 20, 50, 100)
COUNTS = ("documents", "edited_documents", "bytes", "insertions", "deletions", "dead_letters")
WORD_KINDS = ("merged", "split", "moved")
KEPT_WORDS = 60
KEPT_SAMPLES = 12
_PRUNE_WORDS = 20_000
_LONGEST_CHANGE = 40


@dataclass
class EditStatistics:
    """Statistics of one shard, or of many."""

    counts: Counter[str] = field(default_factory=lambda: Counter(dict.fromkeys(COUNTS, 0)))
    histogram: list[int] = field(default_factory=lambda: [0] * (len(HISTOGRAM_EDGES) + 2))
    merged: Counter[str] = field(default_factory=Counter)
    split: Counter[str] = field(default_factory=Counter)
    moved: Counter[str] = field(default_factory=Counter)
    samples: list[dict[str, Any]] = field(default_factory=list)
    left_alone: Counter[str] = field(default_factory=Counter)  # characters by reason
    certainty: Certainty = field(default_factory=Certainty)

    def add(
        self,
        shard: str,
        row: int,
        before: str | None,
        edits: Sequence[Edit],
        dead: bool,
        left_alone: Sequence[LeftAlone] = (),
    ) -> None:
        """Counts one document, and the characters of it before which nothing was changed, by reason."""
        for one in left_alone:
            self.left_alone[one.reason] += one.stop - one.start
        before = before or ""
        insertions = sum(edit.kind == "insertion" for edit in edits)
        self.counts.update(
            documents=1,
            edited_documents=bool(edits),
            dead_letters=dead,
            bytes=len(before) if before.isascii() else len(before.encode("utf-8", "surrogatepass")),
            insertions=insertions,
            deletions=len(edits) - insertions,
        )
        if not edits:
            self.histogram[0] += bool(before) and not dead
            return
        per_1000 = 1000 * len(edits) / len(before)
        self.histogram[1 + int(np.searchsorted(HISTOGRAM_EDGES, per_1000))] += 1
        for kind, words in changed_words(before, edits):
            getattr(self, kind)[words] += 1
        self._prune_words()
        self._maybe_keep_sample(shard, row, before, edits)
        self.certainty.add(shard, row, before, edits)

    def to_json(self, words: int = KEPT_WORDS) -> dict[str, Any]:
        """Without the counts, which a manifest holds by itself; with so many words of each kind."""
        return {
            "histogram": self.histogram,
            **{kind: dict(_most_common(getattr(self, kind), words)) for kind in WORD_KINDS},
            "samples": self.samples,
            "left_alone": dict(_most_common(self.left_alone, len(self.left_alone))),
            **self.certainty.to_json(),
        }

    @classmethod
    def merge(
        cls,
        parts: Iterable[tuple[Mapping[str, int], Mapping[str, Any]]],
        samples: int = KEPT_SAMPLES,
        least_certain: int = KEPT_LEAST,
    ) -> EditStatistics:
        """Statistics of many shards from the counts and details of their manifests."""
        total = cls()
        for counts, details in parts:
            total.counts.update(counts)
            total.histogram = [a + b for a, b in zip(total.histogram, details["histogram"], strict=True)]
            for kind in WORD_KINDS:
                getattr(total, kind).update(details[kind])
            total._prune_words()
            total.left_alone.update(details.get("left_alone", {}))
            total.certainty.merge(details, least_certain)
            total.samples = sorted(total.samples + details["samples"], key=lambda sample: sample["rank"])[:samples]
        return total

    def _prune_words(self) -> None:
        for words_of_kind in (self.merged, self.split, self.moved):
            if len(words_of_kind) > _PRUNE_WORDS:
                self._keep_most_frequent(words_of_kind, _PRUNE_WORDS // 2)

    def _maybe_keep_sample(self, shard: str, row: int, before: str, edits: Sequence[Edit]) -> None:
        """Keeps an edit of each of the documents with the lowest hashes: a random sample, the same in every run."""
        rank = zlib.crc32(f"{shard}\0{row}".encode("utf-8", "surrogatepass"))
        if len(self.samples) == KEPT_SAMPLES and rank >= self.samples[-1]["rank"]:
            return
        # Not always the first edit: the beginning of a document is not like the rest of it.
        passage, _ = passage_around(before, edits, rank % len(edits))
        sample = {"rank": rank, "shard": shard, "row": row, "passage": passage}
        self.samples = sorted([*self.samples, sample], key=lambda one: one["rank"])[:KEPT_SAMPLES]

    @staticmethod
    def _keep_most_frequent(words: Counter[str], number: int) -> None:
        kept = dict(_most_common(words, number))
        words.clear()
        words.update(kept)


def with_rows_from(first_row: int, details: Mapping[str, Any]) -> dict[str, Any]:
    """Details of a part whose rows were counted from its beginning, with those of the whole file."""
    moved = {
        name: [{**one, "row": first_row + one["row"]} for one in details[name]]
        for name in ("samples", "least_certain")
        if name in details
    }
    return {**details, **moved}


def changed_words(before: str, edits: Sequence[Edit]) -> list[tuple[str, str]]:
    """The stretches between unchanged spaces in which something changed, before and after, and what kind it was.

    >>> changed_words("token ization ofthe text", [Edit(5, "deletion"), Edit(14, "insertion")])
    [('merged', 'token ization → tokenization'), ('split', 'ofthe → of the')]
    """
    characters, given = gaps.split(before)
    wanted = gaps.apply_edits(given, list(edits))
    unchanged = np.flatnonzero(given & wanted)
    changed = np.array([edit.gap for edit in edits])
    order = np.searchsorted(unchanged, changed)
    found = []
    for place in np.unique(order):
        start = int(unchanged[place - 1]) if place else 0
        stop = int(unchanged[place]) if place < len(unchanged) else len(characters)
        if stop - start > _LONGEST_CHANGE:
            continue
        old, new = given[start:stop], wanted[start:stop]
        kind = _kind_of(old[1:], new[1:])
        found.append((kind, f"{gaps.join(characters[start:stop], old)} → {gaps.join(characters[start:stop], new)}"))
    return found


def _kind_of(old: Bits, new: Bits) -> str:
    inserted, deleted = bool(np.any(new & ~old)), bool(np.any(old & ~new))
    return "moved" if inserted and deleted else "split" if inserted else "merged"


def _most_common(words: Counter[str], number: int) -> list[tuple[str, int]]:
    """As `Counter.most_common`, with ties in alphabetical order, so that every run gives the same."""
    return sorted(words.items(), key=lambda item: (-item[1], item[0]))[:number]
