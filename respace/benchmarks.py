"""The paper's six benchmarks: how each is made from correct text, and the statistics of the paper's two tables.

A benchmark is a list of sequences, each as it is given (``corrupt``), with correct spaces (``correct``), and with
correct spelling too (``spelling``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from difflib import SequenceMatcher

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.noise import Recipe, corrupt, given_texts, true_texts
from respace.noise.typos import Typo, codespell_typos, in_half, read_typos

ACL, ARXIV_OCR, ARXIV_PDF = "ACL", "arXiv.OCR", "arXiv.pdftotext"
WIKI, WIKI_PLUS, WIKI_PLUS_NO_SPACES = "Wiki", "Wiki.typos", "Wiki.typos.no_spaces"
FROM_PAIRS = (ARXIV_OCR, ARXIV_PDF)
FROM_CLEAN_TEXT = (WIKI, WIKI_PLUS, WIKI_PLUS_NO_SPACES)
NAMES = (ACL, *FROM_PAIRS, *FROM_CLEAN_TEXT)


@dataclass(frozen=True)
class Sequences:
    """The three texts of every sequence; ``spelling`` is None where the characters are correct."""

    corrupt: Sequence[str]
    correct: Sequence[str]
    spelling: Sequence[str] | None = None


@dataclass(frozen=True)
class Statistics:
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

    def __add__(self, other: Statistics) -> Statistics:
        return Statistics(*(getattr(self, one.name) + getattr(other, one.name) for one in fields(self)))

    @property
    def errors_per_token(self) -> float:
        """The paper's p_t, as it came out."""
        return (self.spurious + self.missing) / self.tokens if self.tokens else 0.0


# Counted by `count` on the development halves of the public benchmarks.
DEVELOPMENT: Mapping[str, Statistics] = {
    ACL: Statistics(500, 203, 1274, 286, 16220, 976, 492, 115),
    ARXIV_OCR: Statistics(10000, 3528, 12894, 3486, 202691, 9902, 4974, 1031),
    ARXIV_PDF: Statistics(10000, 1399, 2720, 474, 202700, 2878, 0, 0),
    WIKI: Statistics(10000, 6539, 7630, 7152, 150822, 20639, 0, 0),
    WIKI_PLUS: Statistics(10000, 1346, 772, 723, 150822, 2076, 8972, 128),
    WIKI_PLUS_NO_SPACES: Statistics(10000, 9583, 0, 140822, 150822, 141306, 1, 9099),
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


def recipe(name: str, typos: str | None = None, confusions: str | None = None) -> Recipe:
    """The noise of a benchmark that is made from correct text."""
    if name == ARXIV_OCR:
        return Recipe.ocr(confusions=confusions)
    if name == WIKI:
        return Recipe.wiki()
    if name == WIKI_PLUS:
        return Recipe.wiki_plus(typos=typos)
    if name == WIKI_PLUS_NO_SPACES:
        return Recipe.no_spaces(typos=typos)
    raise ValueError(f"{name}: no noise is injected for it. Expected {', '.join([ARXIV_OCR, *FROM_CLEAN_TEXT])}")


def inject(texts: Sequence[str], noise: Recipe, seed: int) -> Sequences:
    """Sequences from correct text. A text is its own key: the same text gets the same errors in every collection."""
    noisy = corrupt(texts, texts, noise, seed)
    keeps_characters = noise.characters_clean == sum(noise.character_weights)
    return Sequences(given_texts(noisy), true_texts(noisy), None if keeps_characters else list(texts))


def from_pairs(extracted: Sequence[str], truth: Sequence[str]) -> Sequences:
    """Sequences from real errors.

    Raises:
        ValueError: a pair that differs in more than spaces.
    """
    if len(extracted) != len(truth):
        raise ValueError(f"{len(extracted)} corrupt and {len(truth)} correct sequences: expected as many of both")
    for number, (one, other) in enumerate(zip(extracted, truth, strict=True), start=1):
        if gaps.split(one)[0] != gaps.split(other)[0]:
            raise ValueError(f"sequence {number}: corrupt and correct text differ in more than their spaces")
    return Sequences(extracted, truth)


def check_halves(typos: str | None) -> tuple[int, int]:
    """Asserts that no misspelling of the benchmarks can have been trained on.

    Returns:
        How many misspellings there are for training, and for benchmarks.
    """
    collection: Sequence[Typo] = codespell_typos() if typos is None else read_typos(typos)
    train = {typo.misspelled.lower() for typo in in_half(collection, "train")}
    test = {typo.misspelled.lower() for typo in in_half(collection, "test")}
    assert not train & test, f"{sorted(train & test)[:3]} are in both halves of the misspellings"
    return len(train), len(test)


def count(sequences: Sequences) -> Statistics:
    """The statistics of a benchmark."""
    spelled = sequences.spelling if sequences.spelling is not None else sequences.correct
    total = np.zeros(len(fields(Statistics)), dtype=np.int64)
    for texts in zip(sequences.corrupt, sequences.correct, spelled, strict=True):
        total += _count_one(*texts)
    return Statistics(*total.tolist())


def _count_one(corrupt_text: str, correct_text: str, spelled: str) -> NDArray[np.int64]:
    given, correct = gaps.split(corrupt_text)[1], gaps.split(correct_text)[1]
    wrong = given != correct
    tokens = correct_text.split()
    starts = np.concatenate([[0], np.flatnonzero(correct)])
    # A token is touched by the gaps before, in and after it; the gap after it is the one before the next.
    before = np.concatenate([[0], np.cumsum(wrong)])
    stops = np.concatenate([starts[1:] + 1, [len(wrong)]])
    touched = before[np.minimum(stops, len(wrong))] > before[starts] if tokens else np.zeros(0, dtype=bool)
    misspelled = _misspelled(tokens, spelled.split())
    return np.array(
        [
            1,
            wrong.any(),
            np.sum(wrong & given),
            np.sum(wrong & correct),
            len(tokens),
            np.sum(touched & ~misspelled),
            np.sum(~touched & misspelled),
            np.sum(touched & misspelled),
        ],
        dtype=np.int64,
    )


def _misspelled(tokens: list[str], spelled: list[str]) -> NDArray[np.bool_]:
    if len(tokens) == len(spelled):
        return np.array([one != other for one, other in zip(tokens, spelled, strict=True)], dtype=bool)
    found = np.ones(len(tokens), dtype=bool)
    for match in SequenceMatcher(None, tokens, spelled, autojunk=False).get_matching_blocks():
        found[match.a : match.a + match.size] = False
    return found


def statistics_table(made: Mapping[str, Statistics]) -> str:
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


def _cells(found: Statistics) -> list[str]:
    def share(part: int, whole: int) -> str:
        return f"{part:,} ({100 * part / whole if whole else 0:.1f}%)"

    values = asdict(found)
    per_token = [share(values[one.name], found.tokens) for one in fields(Statistics)[2:] if one.name != "tokens"]
    return [
        f"{found.sequences:,}",
        share(found.erroneous, found.sequences),
        *per_token[:2],
        f"{found.tokens:,}",
        *per_token[2:],
    ]
