"""The loops of `models.fast.processor`: all that is computed between the products of matrices.

Places are those of a chunk; ``chosen`` lists some of them, in the order of the rows of a product, with `EMPTY` for rows
that belong to none.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from models.fast.shape import CHARACTER_ROWS, FREQUENT_CODES
from respace.loops import compiled, compiled_sum

EMPTY = -1


@compiled
def in_slots(wanted: Any, rounding: Any, out: Any) -> int:
    """The wanted places in an order in which each of them is rounded as it is where it stands; some rows stay empty.

    >>> out, wanted = np.zeros(15, dtype=np.int64), np.isin(np.arange(15), [1, 2, 4, 9, 12])
    >>> rows = in_slots(wanted, np.array([0, 0, 1]), out)
    >>> out[:rows].tolist()
    [1, 4, 2, 9, 12, -1]
    """
    period = len(rounding)
    # Loops in place of `max` and of slices, which take longer to compile than all the rest.
    kinds = 0
    for place in range(period):
        kinds = max(kinds, rounding[place] + 1)
    free = np.zeros(kinds, dtype=np.int64)  # the next row for each way of rounding
    for kind in range(kinds):
        while rounding[free[kind]] != kind:
            free[kind] += 1
    rows = 0
    for place in range(len(wanted)):
        if not wanted[place]:
            continue
        kind = rounding[place % period]
        row = free[kind]
        while rows <= row:
            for empty in range(rows, rows + period):
                out[empty] = EMPTY
            rows += period
        out[row] = place
        row += 1
        while rounding[row % period] != kind:
            row += 1
        free[kind] = row
    return rows


@compiled
def look_up(characters: Any, rows: Any, table: Any, start: int, out: Any) -> None:
    """The table's rows of each place from ``start`` on, side by side; nothing where there is no character."""
    width = table.shape[1]
    for place in range(len(out)):
        at = start + place
        if at < 0 or characters[at] == 0:
            out[place] = 0
            continue
        for column in range(rows.shape[1]):
            row, target = table[rows[at, column]], out[place, column * width : (column + 1) * width]
            for i in range(width):
                target[i] = row[i]


@compiled
def read_near(characters: Any, bits: Any, evidence: Any, embeddings: Any, start: int, out: Any) -> None:
    """Character, bit and evidence of each place from ``start`` on."""
    letters, kinds = embeddings.shape[1], evidence.shape[1]
    for place in range(len(out)):
        at = start + place
        if at < 0 or at >= len(characters) or characters[at] == 0:
            out[place] = 0.0
            continue
        code = characters[at]
        if code >= FREQUENT_CODES:
            code = FREQUENT_CODES + code % (CHARACTER_ROWS - FREQUENT_CODES)
        for i in range(letters):
            out[place, i] = embeddings[code, i]
        out[place, letters] = bits[at]
        for i in range(kinds):
            out[place, letters + 1 + i] = evidence[at, i]


@compiled
def copy_inputs(looked_up: Any, near: Any, chosen: Any, from_table: Any, from_near: Any, out: Any) -> None:
    """The inputs of the first product at the chosen places."""
    rows, values = looked_up.reshape(-1), near.reshape(-1)
    of_table = len(from_table)
    for number in range(len(chosen)):
        if chosen[number] == EMPTY:
            continue
        # Slices first: the compiler then sees that nothing but a copy happens.
        source, target = rows[chosen[number] * looked_up.shape[1] :], out[number, :of_table]
        for i in range(of_table):
            target[i] = source[from_table[i]]
        values_here, near_here = values[chosen[number] * near.shape[1] :], out[number, of_table:]
        for i in range(len(from_near)):
            near_here[i] = values_here[from_near[i]]


@compiled
def put_front(product: Any, bias: Any, chosen: Any, x: Any) -> None:
    """What comes out of the first product, with the bias, put where it belongs."""
    for number in range(len(chosen)):
        if chosen[number] == EMPTY:
            continue
        target, source = x[chosen[number]], product[number]
        for i in range(len(bias)):
            target[i] = source[i] + bias[i]


@compiled
def gather(x: Any, filled: Any, chosen: Any, dilation: int, out: Any) -> None:
    """What a convolution reads at the chosen places, its three parts side by side."""
    count, width = len(filled), x.shape[1]
    for number in range(len(chosen)):
        for part in range(3):
            at = chosen[number] + (part - 1) * dilation
            target = out[number, part * width : (part + 1) * width]
            if 0 <= at < count and chosen[number] != EMPTY and filled[at]:
                source = x[at]
                for i in range(width):
                    target[i] = source[i]
            else:
                for i in range(width):
                    target[i] = 0.0


@compiled
def put_layer(before: Any, product: Any, bias: Any, chosen: Any, after: Any) -> None:
    """The rectified products added to what was there before, at the chosen places."""
    zero = np.float32(0)
    for number in range(len(chosen)):
        if chosen[number] == EMPTY:
            continue
        old, sums, new = before[chosen[number]], after[chosen[number]], product[number]
        for i in range(len(bias)):
            sums[i] = old[i] + max(zero, new[i] + bias[i])


@compiled_sum
def last_layer(hidden: Any, bias: Any, kernel: Any, offset: float, chosen: Any, logits: Any) -> None:
    """One logit for each chosen place."""
    zero = np.float32(0)
    for number in range(len(chosen)):
        if chosen[number] == EMPTY:
            continue
        total = zero
        for i in range(len(bias)):
            total += max(zero, hidden[number, i] + bias[i]) * kernel[i]
        logits[chosen[number]] = total + offset


@compiled
def still_uncertain(wanted: Any, bits: Any, keeps: float, edits: float, certain: float, logits: Any) -> Any:
    """The wanted places whose logits are not final.

    A logit is final if it is at least ``keeps`` for the given bit or ``edits`` against it. Nobody is to doubt it any
    more, so it then becomes at least ``certain``.

    >>> logits = np.array([-6.0, -6.0, 6.0, 9.0], dtype=np.float32)
    >>> still_uncertain(np.ones(4, dtype=bool), np.array([False, True, True, False]), 5.0, 7.0, 8.0, logits).tolist()
    [False, True, False, False]
    >>> logits.tolist()
    [-8.0, -6.0, 8.0, 9.0]
    """
    out = np.zeros_like(wanted)
    for place in range(len(wanted)):
        if not wanted[place]:
            continue
        value = logits[place]
        if abs(value) < (keeps if (value > 0) == bits[place] else edits):
            out[place] = True
        elif abs(value) < certain:
            logits[place] = certain if value > 0 else -certain
    return out
