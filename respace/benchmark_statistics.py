"""What a benchmark is made of, counted: the statistics of the paper's two tables, beside the paper's own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.benchmarks import (
    ACL,
    ARXIV_OCR,
    ARXIV_PDF,
    NAMES,
    WIKI,
    WIKI_PLUS,
    WIKI_PLUS_NO_SPACES,
    Sequences,
)
from respace.spelling import token_errors


@dataclass(frozen=True)
class BenchmarkStatistics:
    """The columns of the paper's two tables. Counts of many sequences add up.

    Attributes:
        sequences: how many.
        erroneous: sequences with a wrong space.
        spurious: spaces too many.
        missing: spaces too few.
        tokens: words of the correct text.
        tokenization_errors: tokens with a wrong space in them or beside them, correctly spelled (TE).
        spelling_errors: misspelled tokens with correct spaces (SE).
        mixed_errors: tokens with both (ME).
    """

    sequences: int = 0
    erroneous: int = 0
    spurious: int = 0
    missing: int = 0
    tokens: int = 0
    tokenization_errors: int = 0
    spelling_errors: int = 0
    mixed_errors: int = 0

    def __add__(self, other: BenchmarkStatistics) -> BenchmarkStatistics:
        return BenchmarkStatistics(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def errors_per_token(self) -> float:
        """The paper's p_t, as it came out."""
        return (self.spurious + self.missing) / self.tokens if self.tokens else 0.0


# Counted by `count` on the development halves of the public benchmarks.
DEVELOPMENT: Mapping[str, BenchmarkStatistics] = {
    ACL: BenchmarkStatistics(500, 203, 1274, 286, 16220, 976, 492, 115),
    ARXIV_OCR: BenchmarkStatistics(10000, 3528, 12894, 3486, 202691, 9902, 4974, 1031),
    ARXIV_PDF: BenchmarkStatistics(10000, 1399, 2720, 474, 202700, 2878, 0, 0),
    WIKI: BenchmarkStatistics(10000, 6539, 7630, 7152, 150822, 20639, 0, 0),
    WIKI_PLUS: BenchmarkStatistics(10000, 1346, 772, 723, 150822, 2076, 8972, 128),
    WIKI_PLUS_NO_SPACES: BenchmarkStatistics(10000, 9583, 0, 140822, 150822, 141306, 1, 9099),
}
# 100 - the sequence accuracy of doing nothing, as published for the test halves.
PUBLISHED_ERRONEOUS_PERCENT: Mapping[str, float] = {
    ACL: 38.0,
    ARXIV_OCR: 35.7,
    ARXIV_PDF: 12.7,
    WIKI: 65.0,
    WIKI_PLUS: 13.1,
    WIKI_PLUS_NO_SPACES: 95.9,
}


def count(sequences: Sequences) -> BenchmarkStatistics:
    """The statistics of a benchmark."""
    spelled = sequences.spelling if sequences.spelling is not None else sequences.correct
    total = np.zeros(len(fields(BenchmarkStatistics)), dtype=np.int64)
    for texts in zip(sequences.corrupt, sequences.correct, spelled, strict=True):
        total += _count_one(*texts)
    return BenchmarkStatistics(*total.tolist())


def _count_one(corrupt_text: str, correct_text: str, spelled: str) -> NDArray[np.int64]:
    given, correct = gaps.split(corrupt_text)[1], gaps.split(correct_text)[1]
    wrong = given != correct
    touched, misspelled = token_errors(corrupt_text, correct_text, spelled)
    return np.array(
        [
            1,
            wrong.any(),
            np.sum(wrong & given),
            np.sum(wrong & correct),
            len(touched),
            np.sum(touched & ~misspelled),
            np.sum(~touched & misspelled),
            np.sum(touched & misspelled),
        ],
        dtype=np.int64,
    )


def statistics_table(made: Mapping[str, BenchmarkStatistics]) -> str:
    """What was made beside the paper's: counts, and in brackets what can be compared whatever the size.

    The paper's benchmarks are public, so the development halves can be counted; of the test halves only what the paper
    says is known.
    """
    rows: list[tuple[str, ...]] = [("", "sequences", "erroneous", "spurious", "missing", "tokens", "TE", "SE", "ME")]
    for name in NAMES:
        rows.append((name, *(_cells(made[name]) if name in made else ["not made", *[""] * 7])))
        rows.append(("  public, dev half", *_cells(DEVELOPMENT[name])))
        rows.append(("  paper, test half", "", f"({PUBLISHED_ERRONEOUS_PERCENT[name]:.1f}%)", *[""] * 6))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    lines = [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]
    remarks = [
        "In brackets: erroneous sequences of all; all others per 100 tokens.",
        "TE, SE, ME: tokens with wrong spaces, wrong spelling, both.",
        "public, dev half: the paper's published development benchmark, counted by the same code.",
        "paper, test half: 100 - the sequence accuracy that the paper gives for doing nothing.",
    ]
    return "\n".join([*lines, *remarks])


def _cells(found: BenchmarkStatistics) -> list[str]:
    def share(part: int, whole: int) -> str:
        return f"{part:,} ({100 * part / whole if whole else 0:.1f}%)"

    values = asdict(found)
    per_token = [
        share(values[one.name], found.tokens) for one in fields(BenchmarkStatistics)[2:] if one.name != "tokens"
    ]
    return [
        f"{found.sequences:,}",
        share(found.erroneous, found.sequences),
        *per_token[:2],
        f"{found.tokens:,}",
        *per_token[2:],
    ]
