"""Errors in the characters: hyphens and confusions of OCR, misspellings of people."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace import gaps
from respace.gaps import Bits
from respace.noise import parameters
from respace.noise.recipe import Recipe
from respace.noise.rows import Indices, Replacements, Rows, merge, ragged_ranges, splice
from respace.noise.typos import LETTER_FREQUENCIES, slip, typo_table

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)*")
_LETTERS = gaps.code_points("".join(LETTER_FREQUENCIES))
_LETTER_LIMITS = np.cumsum(list(LETTER_FREQUENCIES.values()))
_SLIP_DRAWS = ("kind", "place", "letter", "near")
# Marks of a spurious hyphen: the indices into `parameters.HYPHEN_FORMS` of the forms that bring spaces along.
SPACE_AFTER, SPACES_AROUND = 1, 2
_IS_LETTER = np.array([chr(code).isalpha() for code in range(0x10000)])


@dataclass(frozen=True, kw_only=True)
class Spans:
    """The erroneous span of every character: an index into the measured spans, or -1."""

    of_character: NDArray[np.int32]

    def rates(self, measured: NDArray[np.float64], characters: Indices) -> NDArray[np.float64]:
        return measured[self.of_character[characters]]


@dataclass(frozen=True, kw_only=True)
class Misread:
    """Rows with wrong characters, what is known of them, and the spaces that came with spurious hyphens."""

    rows: Rows
    spans: Spans
    hyphen_spaces: Indices


def corrupt_characters(rows: Rows, ocr: Bits, human: Bits, spans: Spans, recipe: Recipe) -> Misread:
    """Injects the errors of OCR into the rows with ``ocr``, those of people into the rows with ``human``."""
    by_ocr = [_hyphens(rows, ocr, recipe), _confusions(rows, ocr, spans, recipe)]
    by_people = [_misspellings(rows, human, recipe), _random_letters(rows, human, recipe)]
    changes = merge(by_ocr + by_people)
    changed, source, place = splice(rows, changes)
    return Misread(
        rows=changed,
        spans=Spans(of_character=spans.of_character[source]),
        hyphen_spaces=np.concatenate([place[changes.mark >= SPACE_AFTER] + 1, place[changes.mark >= SPACES_AROUND]]),
    )


def find_spans(rows: Rows, wanted: Bits, recipe: Recipe) -> Spans:
    """Places erroneous spans over the tokens of the wanted rows; each is one of the measured spans, drawn at random."""
    measured = parameters.ocr_parameters(recipe.parameters)
    rate = measured.span_start_rate if recipe.span_start_rate is None else recipe.span_start_rate
    of_character = np.full(len(rows.characters), -1, dtype=np.int32)
    tokens = np.flatnonzero(wanted[rows.token_row])
    starts = tokens[rows.uniform_by_token("span start", tokens) < rate]
    kind = (rows.uniform_by_token("span kind", starts) * len(measured.span_lengths)).astype(np.int64)
    row_end = np.cumsum(rows.tokens_per_row)[rows.token_row[starts]]
    ends = np.minimum(starts + measured.span_lengths[kind], row_end)
    kept = []
    free_from = 0
    for number, (start, end) in enumerate(zip(starts.tolist(), ends.tolist(), strict=True)):
        if start >= free_from:
            kept.append(number)
            free_from = end
    starts, ends, kind = starts[kept], ends[kept], kind[kept]
    first = rows.token_start[starts]
    length = rows.token_end[ends - 1] - first
    of_character[ragged_ranges(first, length)] = np.repeat(kind, length)
    return Spans(of_character=of_character)


def _hyphens(rows: Rows, ocr: Bits, recipe: Recipe) -> Replacements:
    measured = parameters.ocr_parameters(recipe.parameters)
    rate = measured.hyphenation_rate if recipe.hyphenation_rate is None else recipe.hyphenation_rate
    tokens = np.flatnonzero(ocr[rows.token_row])
    tokens = tokens[rows.uniform_by_token("hyphen", tokens) < rate]
    draws = rows.uniform_by_token("hyphen place", tokens).tolist()
    chosen, places = [], []
    for token, draw, word, start in zip(tokens.tolist(), draws, *words_of(rows, tokens), strict=True):
        points = hyphenation_points(word)
        if points:
            chosen.append(token)
            places.append(start + points[int(draw * len(points))])
    counts = np.cumsum(measured.hyphen_forms)
    form = rows.uniform_by_token("hyphen form", np.array(chosen, dtype=np.int64)) * counts[-1]
    ones = np.ones(len(places), dtype=np.int64)
    return Replacements(
        start=np.array(places, dtype=np.int64),
        removed=0 * ones,
        length=ones,
        added=np.full(len(places), ord("-"), dtype=np.uint32),
        mark=np.searchsorted(counts, form, side="right").astype(np.uint8),
    )


@lru_cache(maxsize=200_000)
def hyphenation_points(word: str) -> tuple[int, ...]:
    """Where a word may be hyphenated.

    >>> hyphenation_points("computer")
    (3, 6)
    """
    return tuple(int(point) for point in _hyphenator().positions(word)) if len(word) >= 4 else ()


@lru_cache(maxsize=1)
def _hyphenator() -> Any:
    import pyphen

    return pyphen.Pyphen(lang="en_US")


def words_of(rows: Rows, tokens: Indices) -> tuple[list[str], list[int]]:
    """The longest word in each token (without quotes, brackets and full stops), and where it starts."""
    lengths = rows.token_end[tokens] - rows.token_start[tokens]
    text = gaps.from_code_points(rows.characters[ragged_ranges(rows.token_start[tokens], lengths)])
    words, starts = [], []
    at = 0
    for start, length in zip(rows.token_start[tokens].tolist(), lengths.tolist(), strict=True):
        token = text[at : at + length]
        at += length
        if token.isalpha():
            words.append(token)
            starts.append(start)
            continue
        found = max(_WORD.finditer(token), key=lambda match: match.end() - match.start(), default=None)
        words.append(found.group() if found else "")
        starts.append(start + found.start() if found else start)
    return words, starts


def _confusions(rows: Rows, ocr: Bits, spans: Spans, recipe: Recipe) -> Replacements:
    measured = parameters.ocr_parameters(recipe.parameters)
    table = parameters.confusion_table(recipe.confusions, recipe.parameters)
    places = np.flatnonzero((spans.of_character >= 0) & ocr[rows.row])
    rates = spans.rates(measured.span_replacement_rates, places)
    return table.replacements(rows, places[rates > 0], rates[rates > 0])


def _misspellings(rows: Rows, human: Bits, recipe: Recipe) -> Replacements:
    table = typo_table(recipe.typos, recipe.typo_half)
    tokens = np.flatnonzero(human[rows.token_row])
    tokens = tokens[rows.uniform_by_token("misspelling", tokens) < recipe.misspelling_rate]
    draws = rows.uniform_by_token("which misspelling", tokens).tolist()
    made_up = rows.uniform_by_token("misspelling made up", tokens) < recipe.slip_share
    slips = zip(*(rows.uniform_by_token(f"slip {what}", tokens).tolist() for what in _SLIP_DRAWS), strict=True)
    changes = []
    for draw, slips_here, made_up_here, word, start in zip(
        draws, slips, made_up.tolist(), *words_of(rows, tokens), strict=True
    ):
        misspelled = slip(word, *slips_here) if made_up_here and word else table.misspell(word, draw)
        if misspelled is not None:
            changes.append((start, len(word), misspelled))
    return Replacements.from_strings(changes)


def _random_letters(rows: Rows, human: Bits, recipe: Recipe) -> Replacements:
    places = np.flatnonzero(human[rows.row])
    places = places[rows.uniform("letter error", places) < recipe.random_letter_rate]
    places = places[_IS_LETTER[np.minimum(rows.characters[places], 0xFFFF)]]
    kind = (rows.uniform("letter error kind", places) * 4).astype(np.int64)
    drawn = rows.uniform("letter", places) * _LETTER_LIMITS[-1]
    letters = _LETTERS[np.searchsorted(_LETTER_LIMITS, drawn, side="right")]
    following = np.minimum(places + 1, max(len(rows.characters) - 1, 0))
    swappable = (following > places) & ~rows.starts_token[following]
    insertions, deletions, replacements = places[kind == 0], places[kind == 1], places[kind == 2]
    swaps = places[(kind == 3) & swappable]
    swapped = rows.characters[np.stack([swaps + 1, swaps], axis=1).ravel()] if len(swaps) else letters[:0]
    starts = np.concatenate([insertions, deletions, replacements, swaps])
    removed = np.repeat([0, 1, 1, 2], [len(insertions), len(deletions), len(replacements), len(swaps)])
    length = np.repeat([1, 0, 1, 2], [len(insertions), len(deletions), len(replacements), len(swaps)])
    added = np.concatenate([letters[kind == 0], letters[kind == 2], swapped])
    return Replacements.of(starts, removed, length, added)
