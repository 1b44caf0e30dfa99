"""A review: what a person said of single edits, in a file that the next run of a repair applies.

One JSON object a line: ``{"shard": "a.parquet", "row": 3, "gap": 17, "kind": "insertion", "decision": "reject"}``. The
last line about an edit counts, so that a reviewer can change her mind by adding a line.

>>> review = parse_review(['{"shard": "a", "row": 0, "gap": 2, "kind": "deletion", "decision": "reject"}'])
>>> [edit.gap for edit in apply_review([Edit(1, "insertion"), Edit(2, "deletion")], review.get(("a", 0), {}))]
[1]

Only rejections change an output. They are an input of the shard like its file: a shard whose rejections changed is done
again, and all others are left as they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from respace import gaps
from respace.gaps import Edit
from respace.storage.errors import UserError
from respace.storage.files import read_bytes
from transforms.formats.contract import Document, Outcome
from transforms.formats.provenance import KINDS

ACCEPT, REJECT = "accept", "reject"
DECISIONS = (ACCEPT, REJECT)
_MEMBERS = {"shard": str, "row": int, "gap": int, "kind": str, "decision": str}
EditKey = tuple[int, str]  # gap and kind
Decisions = dict[EditKey, str]
Review = dict[tuple[str, int], Decisions]  # by shard and row
Rejected = Mapping[int, Decisions]  # of one shard, by row


class BadReview(UserError):
    """A review file that cannot be understood."""


def read_review(url: str) -> Review:
    """
    Raises:
        BadReview: the file is missing or one of its lines is wrong; with its number.
    """
    try:
        lines = read_bytes(url).decode("utf-8").split("\n")
    except (FileNotFoundError, IsADirectoryError) as error:
        raise BadReview(f"--review {url}: not found. Expected a file that the review page wrote") from error
    except UnicodeDecodeError as error:
        raise BadReview(f"--review {url}: not valid UTF-8. Expected a file that the review page wrote") from error
    return parse_review(lines, url)


def parse_review(lines: Iterable[str], name: str = "review") -> Review:
    review: Review = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            entry = check_entry(json.loads(line))
        except (ValueError, RecursionError) as error:
            raise BadReview(f"{name}, line {number}: {error}. Correct or remove the line") from error
        decisions = review.setdefault((entry["shard"], entry["row"]), {})
        decisions[entry["gap"], entry["kind"]] = entry["decision"]
    return review


def check_entry(entry: Any) -> dict[str, Any]:
    """One line of a review, or ValueError."""
    if not isinstance(entry, dict) or set(entry) != set(_MEMBERS):
        raise ValueError(f"expected an object with {', '.join(_MEMBERS)}")
    for member, kind in _MEMBERS.items():
        value = entry[member]
        if type(value) is not kind or (kind is int and entry[member] < 0):
            raise ValueError(
                f"{member} {str(value)[:60]!r}: expected {'a whole number' if kind is int else 'a string'}"
            )
    for member, allowed in (("kind", KINDS), ("decision", DECISIONS)):
        if entry[member] not in allowed:
            raise ValueError(f"{member} {entry[member][:60]!r}: expected {' or '.join(allowed)}")
    return entry


def format_entry(entry: Mapping[str, object]) -> str:
    return json.dumps({member: entry[member] for member in _MEMBERS}) + "\n"


def apply_review(edits: Sequence[Edit], decisions: Mapping[EditKey, str]) -> list[Edit]:
    """The edits of one document without those that were rejected. What was not reviewed stays as it is."""
    return [edit for edit in edits if decisions.get((edit.gap, edit.kind)) != REJECT]


def rejections(review: Review) -> dict[str, Rejected]:
    """What was rejected, by shard."""
    found: dict[str, dict[int, Decisions]] = {}
    for (shard, row), decisions in review.items():
        rejected = {key: decision for key, decision in decisions.items() if decision == REJECT}
        if rejected:
            found.setdefault(shard, {})[row] = rejected
    return dict(found)


def digest_of(rejected: Rejected) -> str:
    """Names what was rejected in a shard, in whatever order it was said.

    >>> digest_of({1: {(2, "deletion"): REJECT}, 0: {}}) == digest_of({0: {}, 1: {(2, "deletion"): REJECT}})
    True
    """
    content = sorted((row, *key) for row, decisions in rejected.items() for key in decisions)
    return hashlib.sha256(json.dumps(content).encode()).hexdigest()[:16]


def reviewed(document: Document, outcome: Outcome, decisions: Mapping[EditKey, str]) -> Outcome:
    """The outcome of a document without the edits that were rejected."""
    kept = apply_review(outcome.edits, decisions)
    if document.text is None or len(kept) == len(outcome.edits):
        return outcome
    bits = gaps.apply_edits(gaps.split(document.text)[1], kept)
    return replace(outcome, text=gaps.apply(document.text, bits), edits=kept)
