"""Counts n-grams of symbols in bounded memory, keeps those that change the prediction, and makes a language model.

An n-gram and its context are counted in hash tables of fixed size; what does not fit at once is counted in several
passes over the symbols, each for one part of the contexts. Then, from short to long, an n-gram is kept if it changes
the prediction of its last symbol, over all the places where it stands, by more than a threshold (in nats).
"""

from __future__ import annotations

import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.features import FOLD_DIGITS
from models.fast.inputs import quotes_told_apart
from models.fast.language_model import (
    BASE,
    BOUNDARY,
    FIRST_SYMBOL,
    LOG_STEP,
    NEUTRAL,
    ORDERS,
    SPACE,
    LanguageModel,
    Symbols,
    costs_of,
    extend,
    fill,
    finish,
)
from respace.gaps import Codes
from respace.loops import compiled
from respace.noise.rows import Rows

_MOST_SYMBOLS = 256 - FIRST_SYMBOL
# Taken from every count and given to n-grams that were not seen.
_DISCOUNT = 0.8
_SLOT_BYTES = 8 + 4 + 4
_FULL = 0.7
_LOAD = 0.82
# The shortest n-grams are few and all of them are kept.
_KEPT_WHOLE = 2


@dataclass(frozen=True, kw_only=True)
class Counted:
    """N-grams of one length: where one of them stands, how often there are, and of what their context has.

    Attributes:
        ends: position of the last symbol of one occurrence.
        counts: of the n-gram.
        totals: of its context.
        types: how many different symbols follow its context.
    """

    ends: NDArray[np.uint32]
    counts: NDArray[np.uint32]
    totals: NDArray[np.uint32]
    types: NDArray[np.uint32]


def find_alphabet(characters: Iterable[Codes]) -> NDArray[np.uint32]:
    """The most frequent characters."""
    seen = np.zeros(0x3000, dtype=np.int64)
    for codes in characters:
        folded = FOLD_DIGITS(codes.astype(np.int32))
        seen += np.bincount(folded[folded < len(seen)], minlength=len(seen))
    chosen = np.argsort(-seen, kind="stable")[:_MOST_SYMBOLS]
    return np.sort(chosen[seen[chosen] > 0]).astype(np.uint32)


def empty_model(alphabet: NDArray[np.uint32]) -> LanguageModel:
    """A model that knows its alphabet and has counted nothing."""
    return LanguageModel(
        alphabet=alphabet,
        fingerprints=np.zeros(1, dtype=np.uint16),
        costs=np.zeros(1, dtype=np.uint8),
        context_fingerprints=np.zeros(1, dtype=np.uint16),
        context_costs=np.zeros(1, dtype=np.uint8),
    )


def symbols_of(model: LanguageModel, rows: Rows) -> Symbols:
    """Rows as symbols with spaces: before each a boundary and a space, behind it a space."""
    row_of = rows.row
    laid_out = np.zeros(len(rows.characters) + len(rows), dtype=np.int32)
    laid_out[np.arange(len(row_of)) + row_of] = rows.characters
    told_apart = quotes_told_apart(laid_out, np.zeros(len(laid_out), dtype=bool))
    symbols = model.symbols(told_apart)[np.arange(len(row_of)) + row_of]
    out = np.full(len(symbols) + int(rows.bits.sum()) + 3 * len(rows), SPACE, dtype=np.uint8)
    out[np.arange(len(symbols)) + np.cumsum(rows.bits) + 3 * row_of + 2] = symbols
    spaces_before = np.concatenate([[0], np.cumsum(rows.bits)])[rows.offsets[:-1]]
    out[rows.offsets[:-1] + spaces_before + 3 * np.arange(len(rows))] = BOUNDARY
    return out


def count_order(symbols: Symbols, order: int, fewest: int, memory: int) -> Counted:
    """Counts the n-grams of one length that occur at least ``fewest`` times, in tables of ``memory`` bytes."""
    slots = 1 << ((memory // (2 * _SLOT_BYTES)).bit_length() - 1)
    parts = 1
    while True:
        found = []
        for part in range(parts):
            counted = _count_part(symbols, order, fewest, part, parts, slots)
            if counted is None:
                break
            found.append(counted)
        else:
            return Counted(
                **{
                    name: np.concatenate([getattr(one, name) for one in found])
                    for name in ("ends", "counts", "totals", "types")
                }
            )
        parts *= 2


def _count_part(symbols: Symbols, order: int, fewest: int, part: int, parts: int, slots: int) -> Counted | None:
    """One part of the contexts; None if the tables are too small for it."""
    keys, counts = np.zeros(slots, dtype=np.uint64), np.zeros(slots, dtype=np.uint32)
    ends = np.zeros(slots, dtype=np.uint32)
    contexts = np.zeros(slots, dtype=np.uint64)
    totals, types = np.zeros(slots, dtype=np.uint32), np.zeros(slots, dtype=np.uint32)
    if not _count(symbols, order, part, parts, keys, counts, ends, contexts, totals, types, int(_FULL * slots)):
        return None
    frequent = np.flatnonzero(counts >= fewest)
    its_totals, its_types = np.zeros(len(frequent), np.uint32), np.zeros(len(frequent), np.uint32)
    _of_contexts(symbols, order, ends[frequent], contexts, totals, types, its_totals, its_types)
    return Counted(ends=ends[frequent], counts=counts[frequent], totals=its_totals, types=its_types)


@compiled
def _slot(keys: Any, key: np.uint64) -> np.uint64:
    """Where a key is, or would be put."""
    last = np.uint64(len(keys) - 1)
    place = (key >> np.uint64(20)) & last
    while keys[place] != 0 and keys[place] != key:
        place = (place + np.uint64(1)) & last
    return place


@compiled
def _count(
    symbols: Any,
    order: int,
    part: int,
    parts: int,
    keys: Any,
    counts: Any,
    ends: Any,
    contexts: Any,
    totals: Any,
    types: Any,
    most: int,
) -> bool:
    length = order - 1
    used = 0
    run = 0  # symbols since the last boundary
    hashed = np.uint64(0)  # of the last `length` symbols
    power = np.uint64(1)
    for _ in range(length):
        power *= BASE
    for at in range(len(symbols)):
        symbol = symbols[at]
        if symbol == BOUNDARY:
            run = 0
            hashed = np.uint64(0)
            continue
        if run >= length:
            context = finish(hashed, length) | np.uint64(1)
            if (context >> np.uint64(8)) % np.uint64(parts) == np.uint64(part):
                place = _slot(contexts, context)
                contexts[place] = context
                totals[place] += np.uint32(1)
                key = finish(extend(hashed, symbol), order) | np.uint64(1)
                slot = _slot(keys, key)
                if keys[slot] == 0:
                    keys[slot] = key
                    ends[slot] = at
                    types[place] += np.uint32(1)
                    used += 1
                    if used > most:
                        return False
                counts[slot] += np.uint32(1)
        hashed = extend(hashed, symbol)
        if run >= length:
            hashed -= power * np.uint64(symbols[at - length] + 1)
        run += 1
    return True


@compiled
def _of_contexts(
    symbols: Any, order: int, ends: Any, contexts: Any, totals: Any, types: Any, its_totals: Any, its_types: Any
) -> None:
    for number in range(len(ends)):
        hashed = np.uint64(0)
        for back in range(order - 1, 0, -1):
            hashed = extend(hashed, symbols[ends[number] - back])
        place = _slot(contexts, finish(hashed, order - 1) | np.uint64(1))
        its_totals[number], its_types[number] = totals[place], types[place]


def estimate(
    symbols: Symbols, alphabet: NDArray[np.uint32], counted: dict[int, Counted], threshold: float
) -> LanguageModel:
    """The language model of the n-grams that change a prediction by more than the threshold."""
    hashes: list[NDArray[np.uint64]] = []
    costs: list[NDArray[np.float32]] = []
    context_hashes: list[NDArray[np.uint64]] = []
    context_costs: list[NDArray[np.float32]] = []
    model = empty_model(alphabet)
    for order in reversed(ORDERS):
        one = counted[order]
        shorter = np.zeros(len(one.ends), dtype=np.float32)
        if order > 1:
            costs_of(symbols, one.ends, order - 1, *model.tables, shorter)
            shorter = np.exp(-shorter)
        else:
            shorter[:] = 1 / 256
        totals = one.totals.astype(np.float64)
        probability = (one.counts - _DISCOUNT + _DISCOUNT * one.types * shorter) / totals
        change = one.counts * np.abs(np.log(probability / np.maximum(shorter, 1e-12)))
        kept = np.flatnonzero(change > threshold) if order > _KEPT_WHOLE else np.arange(len(change))
        ends = one.ends[kept]
        hashes.append(_hashes(symbols, ends, order, 0))
        costs.append(-np.log(probability[kept]).astype(np.float32))
        if order > 1:
            its_contexts, its_costs = _left_over(
                _hashes(symbols, ends, order, 1), probability[kept], shorter[kept].astype(np.float64)
            )
            context_hashes.append(its_contexts)
            context_costs.append(its_costs)
        model = _tables(alphabet, hashes, costs, context_hashes, context_costs)
        print(f"n-grams of {order}: {len(change):,} counted, {len(kept):,} kept", flush=True)
    return model


def _left_over(
    contexts: NDArray[np.uint64], probability: NDArray[np.float64], shorter: NDArray[np.float64]
) -> tuple[NDArray[np.uint64], NDArray[np.float32]]:
    """For each context, -log of what its kept n-grams leave, against what shorter ones would have left."""
    order = np.argsort(contexts)
    unique, starts = np.unique(contexts[order], return_index=True)
    if not len(unique):
        return unique, np.zeros(0, dtype=np.float32)
    left = 1 - np.add.reduceat(probability[order], starts)
    shorter_left = 1 - np.add.reduceat(shorter[order], starts)
    return unique, -np.log(np.maximum(left, 1e-4) / np.maximum(shorter_left, 1e-4)).astype(np.float32)


def _hashes(symbols: Symbols, ends: NDArray[np.uint32], order: int, without_last: int) -> NDArray[np.uint64]:
    out = np.zeros(len(ends), dtype=np.uint64)
    _hash_all(symbols, ends, order, without_last, out)
    return out


@compiled
def _hash_all(symbols: Any, ends: Any, order: int, without_last: int, out: Any) -> None:
    for number in range(len(ends)):
        hashed = np.uint64(0)
        for back in range(order - 1, without_last - 1, -1):
            hashed = extend(hashed, symbols[ends[number] - back])
        out[number] = finish(hashed, order - without_last)


def _tables(
    alphabet: NDArray[np.uint32],
    hashes: list[NDArray[np.uint64]],
    costs: list[NDArray[np.float32]],
    context_hashes: list[NDArray[np.uint64]],
    context_costs: list[NDArray[np.float32]],
) -> LanguageModel:
    tables: dict[str, NDArray[Any]] = {}
    for name, its_hashes, its_costs, middle in (
        ("", hashes, costs, 0),
        ("context_", context_hashes, context_costs, NEUTRAL),
    ):
        keys = np.concatenate(its_hashes) if its_hashes else np.zeros(0, dtype=np.uint64)
        values = np.concatenate(its_costs) if its_costs else np.zeros(0, dtype=np.float32)
        size = int(len(keys) / _LOAD) + 2
        fingerprints, slots = np.zeros(size, dtype=np.uint16), np.zeros(size, dtype=np.uint8)
        fill(fingerprints, slots, keys, np.clip(np.round(values * LOG_STEP) + middle, 0, 255).astype(np.uint8))
        tables |= {f"{name}fingerprints": fingerprints, f"{name}costs": slots}
    return LanguageModel(alphabet=alphabet, **tables)


def count_all(symbols: Symbols, fewest: dict[int, int], memory: int, directory: Path) -> dict[int, Counted]:
    """Counts all lengths; what is in the directory already is not counted again."""
    counted = {}
    for order in reversed(ORDERS):
        path = directory / f"ngrams{order}.npz"
        began = time.monotonic()
        if not path.exists():
            one = count_order(symbols, order, fewest[order], memory)
            temporary = path.with_suffix(".writing.npz")
            np.savez(temporary, ends=one.ends, counts=one.counts, totals=one.totals, types=one.types)
            temporary.rename(path)
        with np.load(path) as saved:
            counted[order] = Counted(**dict(saved))
        seconds = time.monotonic() - began
        print(f"n-grams of {order}: {len(counted[order].ends):,} that occur often, {seconds:.0f} s", flush=True)
    return counted
