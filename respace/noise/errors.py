"""Counts the errors of real text: spans, hyphens, confusions, from (corrupt text, correct text) pairs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits, Codes
from respace.noise.alignment import Difference, differences
from respace.noise.characters import hyphenation_points, words_of
from respace.noise.confusions import MAX_LENGTH
from respace.noise.rows import Rows

# From this share of its gaps on, a word is spaced out letter by letter.
_SPACED_OUT = 0.7


@dataclass
class Span:
    """Neighbouring tokens that all have errors."""

    tokens: int = 0
    characters: int = 0
    insertions: int = 0
    deletions: int = 0
    replacements: int = 0

    def add(self, other: Span) -> None:
        for name in vars(self):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def insertion_rate(self) -> float:
        """Spaces inserted per gap inside the words."""
        return min(1.0, self.insertions / max(1, self.characters - self.tokens))

    @property
    def deletion_rate(self) -> float:
        """Spaces lost per space inside the span."""
        return min(1.0, self.deletions / max(1, self.tokens - 1))

    @property
    def replacement_rate(self) -> float:
        """Replacements per character."""
        return min(1.0, self.replacements / max(1, self.characters))


@dataclass
class ErrorCounts:
    """What was counted over all pairs."""

    sequences: int = 0
    tokens: int = 0
    hyphenable_tokens: int = 0
    spans: list[Span] = field(default_factory=list)
    hyphens: Counter[str] = field(default_factory=Counter)
    confusions: Counter[tuple[str, str]] = field(default_factory=Counter)
    gaps_inside_words: Counter[tuple[str, str]] = field(default_factory=Counter)
    insertions_inside_words: Counter[tuple[str, str]] = field(default_factory=Counter)

    @property
    def span_start_rate(self) -> float:
        """Spans per token at which one could start: those inside a span cannot."""
        inside = sum(span.tokens for span in self.spans)
        return len(self.spans) / max(1, self.tokens - inside + len(self.spans))

    @property
    def hyphenation_rate(self) -> float:
        return sum(self.hyphens.values()) / max(1, self.hyphenable_tokens)

    def total(self) -> Span:
        total = Span()
        for span in self.spans:
            total.add(span)
        return total


def count_errors(pairs: Iterable[tuple[str, str]]) -> ErrorCounts:
    """Counts the errors of (corrupt text, text with correct spaces and characters) pairs."""
    counts = ErrorCounts()
    for corrupt, correct in pairs:
        _count_row(counts, corrupt, correct)
    return counts


def _count_row(counts: ErrorCounts, corrupt: str, correct: str) -> None:
    rows = Rows.of([correct], [""], seed=0)
    wrong_text, given = gaps.split(corrupt)
    wrong = gaps.code_points(wrong_text)
    counts.sequences += 1
    if not len(rows.characters):
        return
    words, _ = words_of(rows, np.arange(len(rows.token_start)))
    counts.tokens += len(words)
    counts.hyphenable_tokens += sum(bool(hyphenation_points(word)) for word in words)

    token_of = np.cumsum(rows.starts_token) - 1
    errors = [Span(tokens=1, characters=int(size)) for size in rows.token_end - rows.token_start]
    erroneous = np.zeros(len(errors), dtype=bool)
    found = differences(rows.characters, wrong)
    hyphens = [difference for difference in found if _is_hyphen(difference, rows, wrong)]
    given = given.copy()
    for hyphen in hyphens:
        _count_hyphen(counts, errors, erroneous, hyphen, given, token_of)
    for difference in found:
        if _stands_alone(difference, rows, given):
            # It is set off by a space on either side; one of them is the space that belongs there.
            given[difference.wrong_end : difference.wrong_end + 1] = False
        elif difference not in hyphens:
            _count_replacement(counts, errors, erroneous, difference, rows, wrong, token_of)
    anchors = _anchors(found, len(rows.characters))
    _count_spaces(errors, erroneous, anchors, rows, given, token_of)
    _count_letters(counts, errors, anchors, rows, given, token_of)
    counts.spans.extend(_runs(errors, erroneous))


def _is_hyphen(difference: Difference, rows: Rows, wrong: Codes) -> bool:
    """A hyphen between two letters of one word is hyphenation, not a misread character."""
    place = difference.correct_start
    if difference.correct_end > place or not 0 < place < len(rows.characters) or rows.bits[place]:
        return False
    around = [chr(int(code)) for code in rows.characters[place - 1 : place + 1]]
    return wrong[difference.wrong_start : difference.wrong_end].tolist() == [ord("-")] and all(map(str.isalpha, around))


def _stands_alone(difference: Difference, rows: Rows, given: Bits) -> bool:
    """Something read where there is nothing, apart from all words: no word's error."""
    place, start, end = difference.correct_start, difference.wrong_start, difference.wrong_end
    if difference.correct_end > place:
        return False
    begins = start == 0 or bool(given[start])
    ends = end >= len(given) or bool(given[end])
    return begins and ends and (place in (0, len(rows.bits)) or bool(rows.bits[place]))


def _count_hyphen(
    counts: ErrorCounts,
    errors: list[Span],
    erroneous: Bits,
    hyphen: Difference,
    given: Bits,
    token_of: NDArray[np.intp],
) -> None:
    before, after = bool(given[hyphen.wrong_start]), bool(given[hyphen.wrong_end])
    form = " - " if before and after else "- " if before or after else "-"
    counts.hyphens[form] += 1
    if before or after:
        token = token_of[hyphen.correct_start]
        errors[token].insertions += before + after
        erroneous[token] = True
        given[[hyphen.wrong_start, hyphen.wrong_end]] = False


def _count_replacement(
    counts: ErrorCounts,
    errors: list[Span],
    erroneous: Bits,
    difference: Difference,
    rows: Rows,
    wrong: Codes,
    token_of: NDArray[np.intp],
) -> None:
    correct_part = rows.characters[difference.correct_start : difference.correct_end]
    wrong_part = wrong[difference.wrong_start : difference.wrong_end]
    longer = max(len(correct_part), len(wrong_part))
    first = token_of[min(difference.correct_start, len(token_of) - 1)]
    last = token_of[max(difference.correct_end - 1, difference.correct_start) if len(correct_part) else -1]
    last = max(first, last) if len(correct_part) else first
    erroneous[first : last + 1] = True
    # What is longer than a confusion can be is several of them.
    errors[first].replacements += -(-longer // MAX_LENGTH)
    if longer <= MAX_LENGTH and first == last:
        counts.confusions[gaps.from_code_points(correct_part), gaps.from_code_points(wrong_part)] += 1


def _anchors(found: Sequence[Difference], length: int) -> NDArray[np.int64]:
    """For every correct character the wrong character it is equal to by the alignment, or -1."""
    anchors = np.full(length, -1, dtype=np.int64)
    correct, wrong = 0, 0
    for difference in [*found, Difference(length, length, 0, 0)]:
        count = difference.correct_start - correct
        anchors[correct : difference.correct_start] = np.arange(wrong, wrong + count)
        correct, wrong = difference.correct_end, difference.wrong_end
    return anchors


def _count_spaces(
    errors: list[Span],
    erroneous: Bits,
    anchors: NDArray[np.int64],
    rows: Rows,
    given: Bits,
    token_of: NDArray[np.intp],
) -> None:
    """Compares the number of spaces between every two characters that are known to correspond."""
    known = np.flatnonzero(anchors >= 0)
    correct_before = np.cumsum(rows.bits)[known]
    given_before = np.cumsum(given)[anchors[known]]
    excess = np.diff(given_before) - np.diff(correct_before)
    for number in np.flatnonzero(excess).tolist():
        first, last = token_of[known[number]], token_of[known[number + 1]]
        erroneous[first : last + 1] = True
        if excess[number] > 0:
            errors[first].insertions += int(excess[number])
        else:
            errors[first].deletions -= int(excess[number])


def _count_letters(
    counts: ErrorCounts,
    errors: Sequence[Span],
    anchors: NDArray[np.int64],
    rows: Rows,
    given: Bits,
    token_of: NDArray[np.intp],
) -> None:
    """Counts between which letters spaces come. Words that are spaced out altogether say nothing about that."""
    spaced_out = np.array([error.insertion_rate > _SPACED_OUT for error in errors])
    inside = ~rows.starts_token & ~spaced_out[token_of] & (anchors >= 0)
    inside[1:] &= np.diff(anchors) == 1
    places = np.flatnonzero(inside)
    text = gaps.from_code_points(rows.characters)
    counts.gaps_inside_words.update((text[place - 1], text[place]) for place in places)
    places = places[given[anchors[places]]]
    counts.insertions_inside_words.update((text[place - 1], text[place]) for place in places)


def _runs(errors: Sequence[Span], erroneous: Bits) -> Iterable[Span]:
    """Neighbouring erroneous tokens are one span."""
    current: Span | None = None
    for error, wrong in zip(errors, erroneous, strict=True):
        if not wrong:
            if current:
                yield current
            current = None
            continue
        current = current or Span()
        current.add(error)
    if current:
        yield current
