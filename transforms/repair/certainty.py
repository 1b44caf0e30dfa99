"""How far the edits of a repair can be trusted: how sure the model was of them, of which least, and in what text.

Like all statistics it is small, whole and adds up over shards.
"""

from __future__ import annotations

import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from respace import gaps
from respace.gaps import Edit
from transforms.repair.passages import passage_around

# Upper edges of the histogram of confidence.
CONFIDENCE_EDGES = (0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 0.999)
KEPT_LEAST = 12
PROSE = "English prose"


@dataclass
class Certainty:
    """
    Attributes:
        histogram: edits by confidence, see `CONFIDENCE_EDGES`.
        least: the edits that the model was least sure of, with what stands around them.
        kinds: edits by kind of text, and kind of edit.
    """

    histogram: list[int] = field(default_factory=lambda: [0] * (len(CONFIDENCE_EDGES) + 1))
    least: list[dict[str, Any]] = field(default_factory=list)
    kinds: Counter[tuple[str, str]] = field(default_factory=Counter)

    def add(self, shard: str, row: int, text: str, edits: Sequence[Edit]) -> None:
        """Counts the edits of one document."""
        characters, _ = gaps.split(text)
        for edit in edits:
            self.histogram[bisect.bisect_left(CONFIDENCE_EDGES, edit.confidence)] += 1
            self.kinds[f"{edit.doubt or PROSE}, {_beside(characters[edit.gap - 1 : edit.gap + 1])}", edit.kind] += 1
        for order in sorted(range(len(edits)), key=lambda order: edits[order].confidence)[:KEPT_LEAST]:
            edit = edits[order]
            if len(self.least) == KEPT_LEAST and edit.confidence >= self.least[-1]["confidence"]:
                break
            passage, where = passage_around(text, edits, order)
            entry = {
                "confidence": round(edit.confidence, 4),
                "shard": shard,
                "row": row,
                "gap": edit.gap,
                "kind": edit.kind,
                "passage": passage,
                "where": where,
            }
            self.least = _first([*self.least, entry], KEPT_LEAST)

    def to_json(self) -> dict[str, Any]:
        kinds = [[*kind, number] for kind, number in sorted(self.kinds.items())]
        return {"confidence": self.histogram, "least_certain": self.least, "kinds": kinds}

    def merge(self, details: Mapping[str, Any], most: int) -> None:
        """Adds what `to_json` gave for a shard. So many of the least certain edits are kept."""
        if "confidence" in details:
            self.histogram = [a + b for a, b in zip(self.histogram, details["confidence"], strict=True)]
            self.least = _first([*self.least, *details["least_certain"]], most)
            self.kinds.update({(what, kind): number for what, kind, number in details["kinds"]})


def _first(entries: list[dict[str, Any]], number: int) -> list[dict[str, Any]]:
    return sorted(entries, key=lambda one: (one["confidence"], one["shard"], one["row"], one["gap"]))[:number]


def _beside(pair: str) -> str:
    """What kind of gap there is between two characters.

    >>> _beside("ab"), _beside("a1"), _beside("a.")
    ('between letters', 'beside a digit', 'beside punctuation')
    """
    if pair.isalpha():
        return "between letters"
    return "beside a digit" if any(map(str.isdigit, pair)) else "beside punctuation"
