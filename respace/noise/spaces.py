"""Errors in the spaces: gap bits as a user's text would give them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits
from respace.noise import draws, parameters
from respace.noise.characters import Misread
from respace.noise.recipe import NOISE_KINDS, Recipe
from respace.noise.rows import Indices, Rows, ragged_ranges

CLEAN, LIGHT, SPANS, BURSTS, PDF, EVERY, NONE = range(len(NOISE_KINDS))


def given_bits(text: Misread, kinds: NDArray[np.uint8], recipe: Recipe) -> Bits:
    """The spacing that the model is given, where each row has its kind of space noise."""
    rows = text.rows
    given = rows.bits.copy()
    kind = kinds[rows.row]
    given[kind == EVERY] = True
    given[kind == NONE] = False
    light = np.flatnonzero(kind == LIGHT)
    given[light] ^= _happens(rows, light, _light_rates(rows, light, recipe))
    spans = np.flatnonzero((kind == SPANS) & (text.spans.of_character >= 0))
    given[spans] ^= _happens(rows, spans, _span_rates(text, spans, recipe))
    _add_bursts(given, rows, kinds == BURSTS, recipe)
    _add_pdf_errors(given, rows, kinds == PDF, recipe)
    hyphen_kind = kind[text.hyphen_spaces]
    given[text.hyphen_spaces[(hyphen_kind != CLEAN) & (hyphen_kind != NONE) & (hyphen_kind != PDF)]] = True
    given[rows.offsets[:-1][rows.lengths > 0]] = False
    return given


def _happens(rows: Rows, characters: Indices, rates: NDArray[np.float64]) -> Bits:
    """Is the bit of these gaps wrong, if it is with this probability?"""
    return rows.uniform("space", characters) < rates


def _between(rows: Rows, stream: str, low: float, high: float) -> NDArray[np.float64]:
    """One number for each row, evenly drawn."""
    return low + (high - low) * draws.uniform(rows.hashes, stream)


def _light_rates(rows: Rows, characters: Indices, recipe: Recipe) -> NDArray[np.float64]:
    errors = _between(rows, "light errors", recipe.light_low, recipe.light_high)
    deletions = errors * _between(rows, "light share", recipe.light_deletions_low, recipe.light_deletions_high)
    inner_gaps = np.maximum(rows.lengths - rows.tokens_per_row, 1)
    insertions = (errors - deletions) * rows.tokens_per_row / inner_gaps
    row = rows.row[characters]
    return np.where(rows.bits[characters], deletions[row], insertions[row])


def _span_rates(text: Misread, characters: Indices, recipe: Recipe) -> NDArray[np.float64]:
    measured = parameters.ocr_parameters(recipe.parameters)
    lost = text.spans.rates(measured.span_deletion_rates, characters)
    # The space before the first word of a span is not inside it.
    first = text.spans.of_character[characters] != text.spans.of_character[np.maximum(characters - 1, 0)]
    lost = np.where(first, 0.0, lost)
    inserted = text.spans.rates(measured.span_insertion_rates, characters)
    by_letter = draws.uniform(text.rows.hashes, "spans by letter") < recipe.spans_by_letter
    if by_letter.any():
        codes = text.rows.characters
        factor = measured.insertion_factor(codes[np.maximum(characters - 1, 0)], codes[characters])
        factor = np.where(by_letter[text.rows.row[characters]], factor, 1.0)
        # On the odds, so that a word that is spaced out altogether stays so.
        inserted = inserted * factor / (1.0 - inserted + inserted * factor)
    return np.where(text.rows.bits[characters], lost, inserted)


def _add_bursts(given: Bits, rows: Rows, wanted: Bits, recipe: Recipe) -> None:
    """A few words in a row come apart letter by letter, or lose all spaces between them."""
    tokens = np.flatnonzero(wanted[rows.token_row])
    starts = tokens[rows.uniform_by_token("burst", tokens) < recipe.burst_rate]
    length = 1 + (rows.uniform_by_token("burst length", starts) * recipe.burst_tokens).astype(np.int64)
    row_end = np.cumsum(rows.tokens_per_row)[rows.token_row[starts]]
    ends = np.minimum(starts + length, row_end)
    first = rows.token_start[starts]
    count = rows.token_end[ends - 1] - first
    comes_apart = rows.uniform_by_token("burst kind", starts) < 0.6
    # Mostly every gap of such a word opens; the rest keeps some letters together.
    density = np.where(rows.uniform_by_token("burst density", starts) < 0.6, 1.0, 0.5)
    gaps_of = ragged_ranges(first + 1, count - 1)
    apart, dense = np.repeat(comes_apart, count - 1), np.repeat(density, count - 1)
    opened = gaps_of[apart][rows.uniform("burst gap", gaps_of[apart]) < dense[apart]]
    given[gaps_of[~apart]] = False
    given[opened] = True


def _add_pdf_errors(given: Bits, rows: Rows, wanted: Bits, recipe: Recipe) -> None:
    chosen = np.flatnonzero(wanted)
    if not len(chosen):
        return
    places = ragged_ranges(rows.offsets[chosen], rows.lengths[chosen])
    part = Rows(
        characters=rows.characters[places],
        bits=rows.bits[places],
        offsets=np.append(0, np.cumsum(rows.lengths[chosen])),
        hashes=rows.hashes[chosen],
    )
    rates = parameters.gap_model(recipe.parameters).error_probabilities(part)
    low, high = np.log(recipe.pdf_intensity_low), np.log(recipe.pdf_intensity_high)
    intensity = np.exp(_between(rows, "pdf intensity", low, high))[rows.row[places]]
    given[places] ^= _happens(rows, places, rates * intensity)
