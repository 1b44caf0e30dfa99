"""FAST's network on processors: matrix products of NumPy, and compiled loops for all that lies between them.

The same numbers as `models.fast.network`, up to rounding, without TensorFlow and with less work:

- Texts lie one after the other, with nothing between them for as far as a convolution reaches, so nothing is padded
  and nothing is sorted. They pass in chunks that stay in the processor's cache.
- A convolution over three places is one product with all three kernels side by side; the loop behind it adds what
  belongs together. The table's scales are part of the kernels.
- Where the exit is certain, the layers behind it are not computed; elsewhere only the places that the uncertain gaps
  read are.
- What comes out for a text is the same to the last bit in whatever company it is: texts, chunks and places that are
  computed apart stand where products round alike (`models.processors.rounding_of_rows`).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from models.fast.inputs import Inputs
from models.fast.shape import CHARACTER_ROWS, FREQUENT_CODES, NEAR, FastConfig
from models.files import Weights
from models.processors import rounding_of_rows
from respace.gaps import Bits
from respace.loops import compiled, compiled_sum
from respace.windows import windows

# Characters that are computed at once, about.
CHUNK = 2048
# Logits of the exit as large as this are final: 4 of 1.3 million decisions are others than those of all layers.
CERTAIN = 8.0
EMPTY = -1


class ProcessorNetwork:
    """The network with its weights."""

    # So many characters are one thread's work.
    at_once = 1 << 15

    def __init__(self, config: FastConfig, weights: Weights, certain: float = CERTAIN):
        if config.normalised:
            raise ValueError("this network normalises its layers: expected one that does not, or TensorFlow")
        self.config, self.certain = config, certain
        features = config.features
        self._lengths = np.array([n for n, _ in features.ngrams], dtype=np.int64)
        self._table = np.ascontiguousarray(weights["table"])
        self._embeddings = weights["characters"].astype(np.float32)
        scales = weights["table_scales"].astype(np.float32)
        parts = [
            (weights[f"ngram{n}/kernel"] * scales[column][None, :, None]).reshape(-1, config.hidden)
            for column, (n, _) in enumerate(features.ngrams)
        ]
        # The word's part of the table is read three times: before the gap, behind it, and both.
        columns = [*range(len(features.ngrams), len(features.ngrams) + len(features.straddles)), *[len(scales) - 1] * 3]
        parts.append(weights["gap/kernel"] * scales[columns].reshape(-1, 1))
        parts.append(weights["near/kernel"].reshape(-1, config.hidden))
        self._front = np.concatenate(parts).astype(np.float32)
        self._front_bias = weights["front/bias"].astype(np.float32)
        kernels = [weights[f"layer{layer}/kernel"].astype(np.float32) for layer in range(len(config.dilations))]
        before = config.exit_after or len(kernels)
        self._side_by_side = [np.concatenate(list(kernel), axis=1) for kernel in kernels[:before]]
        self._stacked = [kernel.reshape(-1, config.hidden) for kernel in kernels[before:]]
        self._biases = [weights[f"layer{layer}/bias"].astype(np.float32) for layer in range(len(kernels))]
        self._heads = {
            head: tuple(
                weights[f"{head}/{part}"].astype(np.float32) for part in ("dense", "dense_bias", "kernel", "bias")
            )
            for head in ("exit", "out")
            if f"{head}/dense" in weights
        }

    @property
    def apart(self) -> int:
        """So many places must lie between two texts that one does not see the other."""
        return max(self.config.dilations, default=1)

    @property
    def aligned(self) -> int:
        """Texts begin at multiples of it."""
        return len(rounding_of_rows())

    def __call__(self, inputs: Inputs) -> NDArray[np.float32]:
        """One logit for each place of texts that lie so far apart; how many places there are is a multiple, too."""
        size = len(inputs.characters)
        out = np.zeros(size, dtype=np.float32)
        halo, chunk = (-(-count // self.aligned) * self.aligned for count in (sum(self.config.dilations), CHUNK))
        room = _Room(min(size, chunk + 2 * halo), len(self._front), self.config.hidden, self.config.dense)
        for window in windows(size, chunk + 2 * halo, halo):
            kept = slice(window.keep_start - window.start, window.keep_stop - window.start)
            found = self._chunk(room, inputs, window.start, window.stop, kept)
            out[window.keep_start : window.keep_stop] = found[kept]
        out[inputs.characters == 0] = 0.0
        return out

    def _chunk(self, room: _Room, inputs: Inputs, start: int, stop: int, kept: slice) -> NDArray[np.float32]:
        filled = inputs.characters[start:stop] > 0
        x = self._read(room, inputs, start, filled)
        for kernel, bias, dilation in zip(self._side_by_side, self._biases, self.config.dilations, strict=False):
            _add_convolution(x, np.matmul(x, kernel, out=room.products[: len(x)]), bias, filled, dilation)
        if not self._stacked:
            return self._head("out", room, x)
        logits = self._head("exit", room, x)
        uncertain = np.zeros(len(filled), dtype=bool)
        uncertain[kept] = (np.abs(logits[kept]) < self.certain) & filled[kept]
        self._deepen(room, x, filled, uncertain, logits)
        return logits

    def _read(self, room: _Room, inputs: Inputs, start: int, filled: Bits) -> NDArray[np.float32]:
        patches = room.patches[: len(filled)]
        _patches(
            inputs.characters,
            inputs.bits,
            inputs.evidence,
            inputs.rows,
            self._table,
            self._embeddings,
            self._lengths,
            start,
            patches,
        )
        x = np.matmul(patches, self._front, out=room.x[: len(filled)])
        _add_bias(x, self._front_bias, filled)
        return x

    def _deepen(
        self, room: _Room, x: NDArray[np.float32], filled: Bits, uncertain: Bits, logits: NDArray[np.float32]
    ) -> None:
        """The layers behind the exit, where uncertain gaps read them; changes ``x`` and the logits of those gaps."""
        if not uncertain.any():
            return
        behind = range(self.config.exit_after, len(self.config.dilations))
        needed, places = uncertain, []
        for layer in reversed(behind):
            places.append(in_slots(np.flatnonzero(needed & filled), rounding_of_rows()))
            needed = _reached(needed, self.config.dilations[layer])
        for layer, kernel, chosen in zip(behind, self._stacked, reversed(places), strict=True):
            around = room.products[: len(chosen)]
            _gather(x, chosen, self.config.dilations[layer], around)
            _add_rows(x, np.matmul(around, kernel, out=room.rows[: len(chosen)]), self._biases[layer], chosen)
        last = in_slots(np.flatnonzero(uncertain), rounding_of_rows())
        found = self._head("out", room, x[last])
        logits[last[last != EMPTY]] = found[last != EMPTY]

    def _head(self, head: str, room: _Room, x: NDArray[np.float32]) -> NDArray[np.float32]:
        dense, dense_bias, kernel, bias = self._heads[head]
        out = np.empty(len(x), dtype=np.float32)
        _last_layer(np.matmul(x, dense, out=room.hidden[: len(x)]), dense_bias, kernel[:, 0], bias[0], out)
        return out


class _Room:
    """Where a chunk is computed; the next one takes the same place, which is in the cache by then."""

    def __init__(self, places: int, inputs: int, channels: int, dense: int):
        self.patches = np.empty((places, inputs), dtype=np.float32)
        self.x = np.empty((places, channels), dtype=np.float32)
        self.products = np.empty((places, 3 * channels), dtype=np.float32)
        self.rows = np.empty((places, channels), dtype=np.float32)
        self.hidden = np.empty((places, dense), dtype=np.float32)


def in_slots(places: NDArray[np.intp], rounding: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places in an order in which each of them is rounded as it is where it stands; some rows stay empty.

    >>> in_slots(np.array([1, 2, 4, 9, 12]), rounding=np.array([0, 0, 1])).tolist()
    [1, 4, 2, 9, 12, -1]
    """
    kinds, slots = rounding[places % len(rounding)], np.zeros(len(places), dtype=np.intp)
    for kind in range(int(rounding.max()) + 1):
        room, mine = np.flatnonzero(rounding == kind), kinds == kind
        turn, seat = np.divmod(np.arange(np.count_nonzero(mine)), len(room))
        slots[mine] = turn * len(rounding) + room[seat]
    out = np.full(-(-(int(slots.max(initial=-1)) + 1) // len(rounding)) * len(rounding), EMPTY)
    out[slots] = places
    return out


def _reached(needed: Bits, dilation: int) -> Bits:
    """Places that a convolution reads to find the needed ones."""
    out = needed.copy()
    out[:-dilation] |= needed[dilation:]
    out[dilation:] |= needed[:-dilation]
    return out


@compiled
def _patches(
    characters: Any,
    bits: Any,
    evidence: Any,
    rows: Any,
    table: Any,
    embeddings: Any,
    lengths: Any,
    start: int,
    out: Any,
) -> None:
    """What is read around each place from ``start`` on: n-grams of each length, what is around the gap and near."""
    count, size = len(out), len(characters)
    width, columns = table.shape[1], rows.shape[1]
    longest = 0
    for n in lengths:
        longest = max(longest, n)
    looked_up = np.zeros((count + longest, width), dtype=np.float32)
    offset = 0
    for column in range(len(lengths)):
        n = lengths[column]
        # The gap before place g reads the n-grams that start at g - n, …, g: those that touch it.
        for place in range(count + n):
            at = start + place - n
            found = looked_up[place]
            if at >= 0 and characters[at] > 0:
                row = table[rows[at, column]]
                for i in range(width):
                    found[i] = row[i]
            else:
                for i in range(width):
                    found[i] = 0.0
        _copy_stretches(looked_up, n + 1, out, offset)
        offset += (n + 1) * width
    for place in range(count):
        for column in range(len(lengths), columns):
            row = table[rows[start + place, column]]
            first = offset + (column - len(lengths)) * width
            found = out[place, first : first + width]
            for i in range(width):
                found[i] = row[i]
    offset += (columns - len(lengths)) * width
    letters, kinds = embeddings.shape[1], evidence.shape[1]
    near_width = letters + 1 + kinds
    near = np.zeros((count + 2 * NEAR, near_width), dtype=np.float32)
    for place in range(count + 2 * NEAR):
        at = start + place - NEAR
        if 0 <= at < size and characters[at] > 0:
            code = characters[at]
            if code >= FREQUENT_CODES:
                code = FREQUENT_CODES + code % (CHARACTER_ROWS - FREQUENT_CODES)
            for i in range(letters):
                near[place, i] = embeddings[code, i]
            near[place, letters] = bits[at]
            for i in range(kinds):
                near[place, letters + 1 + i] = evidence[at, i]
    _copy_stretches(near, 2 * NEAR + 1, out, offset)


@compiled
def _copy_stretches(values: Any, length: int, out: Any, offset: int) -> None:
    """Puts so many neighbouring rows side by side, from each row on."""
    flat, width = values.reshape(-1), values.shape[1]
    size = length * width
    for place in range(len(out)):
        # Slices first: the compiler then sees that nothing but a copy happens.
        source, target = flat[place * width : place * width + size], out[place, offset : offset + size]
        for i in range(size):
            target[i] = source[i]


@compiled
def _add_bias(x: Any, bias: Any, filled: Any) -> None:
    for at in range(len(x)):
        if filled[at]:
            for i in range(x.shape[1]):
                x[at, i] += bias[i]
        else:
            for i in range(x.shape[1]):
                x[at, i] = 0.0


@compiled
def _add_convolution(x: Any, y: Any, bias: Any, filled: Any, dilation: int) -> None:
    """Adds the rectified convolution to its input; ``y`` holds the products with its three kernels side by side."""
    count, width = x.shape
    zero = np.float32(0)
    for at in range(count):
        if not filled[at]:
            continue
        if dilation <= at < count - dilation:
            left, here = y[at - dilation, :width], y[at, width : 2 * width]
            right, sums = y[at + dilation, 2 * width :], x[at]
            for i in range(width):
                sums[i] += max(zero, left[i] + here[i] + right[i] + bias[i])
        else:
            for i in range(width):  # in the same order, so that it is rounded alike
                value = y[at - dilation, i] if at >= dilation else zero
                value += y[at, width + i]
                value += y[at + dilation, 2 * width + i] if at + dilation < count else zero
                x[at, i] += max(zero, value + bias[i])


@compiled
def _gather(x: Any, chosen: Any, dilation: int, out: Any) -> None:
    """What a convolution reads at the chosen places, its three parts side by side."""
    count, width = x.shape
    for number in range(len(chosen)):
        for part in range(3):
            at = chosen[number] + (part - 1) * dilation
            target = out[number, part * width : (part + 1) * width]
            if 0 <= at < count and chosen[number] != EMPTY:
                source = x[at]
                for i in range(width):
                    target[i] = source[i]
            else:
                for i in range(width):
                    target[i] = 0.0


@compiled
def _add_rows(x: Any, y: Any, bias: Any, chosen: Any) -> None:
    zero = np.float32(0)
    for number in range(len(chosen)):
        if chosen[number] == EMPTY:
            continue
        sums, new = x[chosen[number]], y[number]
        for i in range(x.shape[1]):
            sums[i] += max(zero, new[i] + bias[i])


@compiled_sum
def _last_layer(hidden: Any, bias: Any, kernel: Any, offset: float, out: Any) -> None:
    zero = np.float32(0)
    for at in range(len(hidden)):
        total = zero
        for i in range(hidden.shape[1]):
            total += max(zero, hidden[at, i] + bias[i]) * kernel[i]
        out[at] = total + offset
