"""FAST's network on processors: matrix products of NumPy, and compiled loops for all that lies between them.

The same numbers as `models.fast.network`, up to rounding, without TensorFlow and with less work:

- Texts lie one after the other, with nothing between them for as far as a convolution reaches, so nothing is padded
  and nothing is sorted. They pass in chunks that stay in the processor's cache.
- Where an exit is certain, that is the answer: nineteen of twenty gaps leave at the first one. A layer is computed only
  at the places that are asked for: those of gaps that are still uncertain, and of what they read.
- Inputs that the first product has no weights for are not read. The table's scales are part of its weights.
- What comes out for a text is the same to the last bit in whatever company it is: texts, chunks and places that are
  computed apart stand where products round alike (`models.processors.rounding_of_rows`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import numpy as np
from numpy.typing import NDArray

from models.fast import processor_loops as loops
from models.fast.inputs import Inputs
from models.fast.shape import NEAR, FastConfig, front_parts
from models.files import Weights
from models.processors import rounding_of_rows
from respace.gaps import Bits
from respace.windows import Window, windows

Floats = NDArray[np.float32]
LastLayer = Callable[[NDArray[np.int64]], Floats]

# Characters that are computed at once, about.
CHUNK = 4096
# Logits as large as this are not doubted any more, neither by further layers nor by the language model.
CERTAIN = 8.0
# Where more than this share of the places is asked for, all of them are computed: copying them together costs more.
_MOST = 0.6


_HEAD = ("dense", "dense_bias", "kernel", "bias")


class ProcessorNetwork:
    """The network with its weights."""

    # So many characters are one thread's work.
    at_once = 1 << 16

    def __init__(self, config: FastConfig, weights: Weights, certain: Sequence[Sequence[float]] | None = None):
        """
        Args:
            config: the shape of the network.
            weights: of the network.
            certain: two logits for each exit: what is as large as the first is final where it speaks for the given
                bit, what is as large as the second where it speaks against it.
        """
        self.config = config
        self.certain = [tuple(pair) for pair in certain] if certain else [(CERTAIN, CERTAIN)] * len(config.exits)
        self._rooms: list[_Room] = []  # one for each thread that computes
        self._table = np.ascontiguousarray(weights["table"])
        self._embeddings = weights["characters"].astype(np.float32)
        scales = _input_scales(config, weights)
        front = weights["front/kernel"].astype(np.float32) * scales[:, None]
        read = np.flatnonzero(np.any(front != 0, axis=1))
        self._front, self._front_bias = np.ascontiguousarray(front[read]), weights["front/bias"].astype(np.float32)
        self._from_table, self._from_near = _where_inputs_stand(config, read)
        layers = range(len(config.dilations))
        self._kernels = [weights[f"layer{one}/kernel"].astype(np.float32).reshape(-1, config.hidden) for one in layers]
        self._biases = [weights[f"layer{one}/bias"].astype(np.float32) for one in layers]
        self._heads = [
            (depth, [weights[f"{head}/{part}"].astype(np.float32) for part in _HEAD])
            for depth, head in [*((one, f"exit{one}") for one in config.exits), (len(layers), "out")]
        ]

    @property
    def apart(self) -> int:
        """So many places must lie between two texts that one does not see the other."""
        return max(self.config.dilations, default=1)

    @property
    def aligned(self) -> int:
        """Texts begin at multiples of it."""
        return len(rounding_of_rows())

    def __call__(self, inputs: Inputs) -> Floats:
        """One logit for each place of texts that lie so far apart; how many places there are is a multiple, too."""
        return self._all_logits(inputs, None)

    def with_last_layer(self, inputs: Inputs) -> tuple[Floats, LastLayer]:
        """As when called; and what gives the last layer at some places, ``[places, hidden]``."""
        computed = _Computed(len(inputs.characters))
        return self._all_logits(inputs, computed), lambda places: self._layer_at(inputs, places, computed)

    def last_layer(self, inputs: Inputs, places: NDArray[np.int64]) -> Floats:
        """What comes out of the last layer at some places, ``[places, hidden]``."""
        return self._layer_at(inputs, places, _Computed(len(inputs.characters)))

    def _all_logits(self, inputs: Inputs, last_layer: _Computed | None) -> Floats:
        out = np.zeros(len(inputs.characters), dtype=np.float32)
        for room, window in self._chunks(inputs):
            wanted = _inside(window, room.filled)
            kept = slice(window.keep_start - window.start, window.keep_stop - window.start)
            out[window.keep_start : window.keep_stop] = self._logits(room, wanted)[kept]
            if last_layer is not None:
                last_layer.keep(window.start, _inside(window, room.done[-1]), room.x[-1])
        return out

    def _layer_at(self, inputs: Inputs, places: NDArray[np.int64], last_layer: _Computed) -> Floats:
        """The last layer at these places; where an exit was certain, it is computed now."""
        missing = np.zeros(len(inputs.characters), dtype=bool)
        missing[places] = True
        missing &= ~last_layer.places
        if missing.any():
            for room, window in self._chunks(inputs, missing):
                here = _inside(window, missing[window.start : window.stop])
                self._compute(room, len(self.config.dilations), here)
                last_layer.keep(window.start, here, room.x[-1])
        return last_layer.at(places)

    def _chunks(self, inputs: Inputs, wanted: Bits | None = None) -> Iterator[tuple[_Room, Window]]:
        """What stands at the places of each chunk; chunks without a wanted place are left out."""
        size = len(inputs.characters)
        halo, chunk = (-(-count // self.aligned) * self.aligned for count in (sum(self.config.dilations), CHUNK))
        with self._room(min(size, chunk + 2 * halo)) as room:
            for window in windows(size, chunk + 2 * halo, halo):
                if wanted is None or wanted[window.keep_start : window.keep_stop].any():
                    self._read(room, inputs, window.start, window.stop)
                    yield room, window

    @contextmanager
    def _room(self, places: int) -> Iterator[_Room]:
        """One that was used before, if there is: memory that nobody has touched yet is slow."""
        try:
            room = self._rooms.pop()
        except IndexError:
            room = None
        if room is None or len(room.patches) < places:
            room = _Room(self.config, places, len(self._front))
        yield room
        self._rooms.append(room)

    def _read(self, room: _Room, inputs: Inputs, start: int, stop: int) -> None:
        """What stands at each place of a chunk; nothing is computed yet."""
        room.bits = inputs.bits[start:stop]
        room.filled = inputs.characters[start:stop] > 0
        room.done = [np.zeros_like(room.filled) for _ in range(len(self.config.dilations) + 1)]
        room.looked_up = room.all_looked_up[: stop - start + room.before]
        room.near = room.all_near[: stop - start + 2 * NEAR]
        loops.look_up(inputs.characters, inputs.rows, self._table, start - room.before, room.looked_up)
        loops.read_near(inputs.characters, inputs.bits, inputs.evidence, self._embeddings, start - NEAR, room.near)

    def _logits(self, room: _Room, wanted: Bits) -> Floats:
        """Of the wanted places: from the first exit that is certain, or from the last layer."""
        logits = np.zeros(len(wanted), dtype=np.float32)
        for number, (depth, head) in enumerate(self._heads):
            if not wanted.any():
                break
            self._compute(room, depth, wanted)
            _head(room, room.x[depth, : len(wanted)], wanted, head, logits)
            if number < len(self.certain):
                keeps, edits = self.certain[number]
                wanted = loops.still_uncertain(wanted, room.bits, keeps, edits, CERTAIN, logits)
        return logits

    def _compute(self, room: _Room, depth: int, wanted: Bits) -> None:
        """Sees to it that so many layers are computed at the wanted places, and before that at those they read."""
        missing = wanted & ~room.done[depth]
        if not missing.any():
            return
        if depth == 0:
            self._compute_front(room, missing)
        else:
            self._compute(room, depth - 1, _reached(missing, self.config.dilations[depth - 1]) & room.filled)
            self._compute_layer(room, depth - 1, missing)
        room.done[depth] |= missing

    def _compute_front(self, room: _Room, missing: Bits) -> None:
        chosen = room.in_slots(missing)
        patches = room.patches[: len(chosen)]
        loops.copy_inputs(room.looked_up, room.near, chosen, self._from_table, self._from_near, patches)
        product = np.matmul(patches, self._front, out=room.rows[: len(chosen)])
        loops.put_front(product, self._front_bias, chosen, room.x[0])

    def _compute_layer(self, room: _Room, layer: int, missing: Bits) -> None:
        chosen = room.in_slots(missing)
        around, before = room.around[: len(chosen)], room.x[layer]
        loops.gather(before, room.filled, chosen, self.config.dilations[layer], around)
        product = np.matmul(around, self._kernels[layer], out=room.rows[: len(chosen)])
        loops.put_layer(before, product, self._biases[layer], chosen, room.x[layer + 1])


class _Computed:
    """What comes out of the last layer at those places of texts where it was computed."""

    def __init__(self, places: int):
        self.places = np.zeros(places, dtype=bool)
        self._parts: list[tuple[NDArray[np.intp], Floats]] = []

    def keep(self, start: int, computed: Bits, layer: Floats) -> None:
        """What was computed of a chunk."""
        self.places[start : start + len(computed)] |= computed
        places = np.flatnonzero(computed)
        self._parts.append((places + start, layer[places]))

    def at(self, places: NDArray[np.int64]) -> Floats:
        """``[places, hidden]``; they must be computed."""
        known, rows = (np.concatenate(arrays) for arrays in zip(*self._parts, strict=True))
        order = np.argsort(known)
        found: Floats = rows[order[np.searchsorted(known, places, sorter=order)]]
        return found


class _Room:
    """Where a chunk is computed; the next one takes the same place, which is in the cache by then.

    Attributes:
        filled: places of characters.
        bits: their given gap bits.
        looked_up: the table's rows of each place, from ``before`` places before the first on.
        near: what else is known of each place, from `NEAR` places before the first on.
        x: what comes out of each layer, at the places that are ``done``.
    """

    def __init__(self, config: FastConfig, places: int, inputs: int):
        self.before = _longest(config)
        self.all_looked_up = np.zeros((places + self.before, config.features.columns * config.row_width), dtype=np.int8)
        self.all_near = np.zeros((places + 2 * NEAR, _near_width(config)), dtype=np.float32)
        self.looked_up, self.near = self.all_looked_up, self.all_near
        # Rows of no place are computed, too, and must hold numbers.
        self.x = np.zeros((len(config.dilations) + 1, places, config.hidden), dtype=np.float32)
        self.patches = np.zeros((places, inputs), dtype=np.float32)
        self.around = np.empty((places, 3 * config.hidden), dtype=np.float32)
        self.rows = np.empty((places, config.hidden), dtype=np.float32)
        self.hidden = np.empty(places * max(config.dense, config.exit_dense), dtype=np.float32)
        self.filled = self.bits = np.zeros(places, dtype=bool)
        self.done: list[Bits] = []
        self._chosen = np.empty(places, dtype=np.int64)

    def in_slots(self, wanted: Bits) -> NDArray[np.int64]:
        """The wanted places, each where it is rounded as it is where it stands; valid until the next call."""
        return self._chosen[: loops.in_slots(wanted, rounding_of_rows(), self._chosen)]


def _head(room: _Room, x: Floats, wanted: Bits, head: Sequence[Floats], logits: Floats) -> None:
    """Writes the logits of the wanted places."""
    dense, dense_bias, kernel, bias = head
    if np.count_nonzero(wanted) > _MOST * len(wanted):
        chosen = np.where(wanted, np.arange(len(wanted)), loops.EMPTY)
    else:
        chosen = room.in_slots(wanted)
        x = np.take(x, chosen, axis=0, out=room.rows[: len(chosen)], mode="wrap")
    hidden = room.hidden[: len(x) * dense.shape[1]].reshape(len(x), -1)
    loops.last_layer(np.matmul(x, dense, out=hidden), dense_bias, kernel[:, 0], bias[0], chosen, logits)


def _inside(window: Window, wanted: Bits) -> Bits:
    """The wanted places of a window, without those that are read as context only."""
    out = np.zeros_like(wanted)
    kept = slice(window.keep_start - window.start, window.keep_stop - window.start)
    out[kept] = wanted[kept]
    return out


def _longest(config: FastConfig) -> int:
    return max(n for n, _ in config.features.ngrams)


def _near_width(config: FastConfig) -> int:
    return dict(front_parts(config))["near"]


def _input_scales(config: FastConfig, weights: Weights) -> Floats:
    """By which each input of the first product is to be multiplied: those from the table are kept in 8 bits."""
    of_table = dict(zip(config.features.table_starts(), weights["table_scales"].astype(np.float32), strict=True))
    return np.concatenate([of_table.get(part, np.ones(width, np.float32)) for part, width in front_parts(config)])


def _where_inputs_stand(config: FastConfig, read: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """How far behind the beginning of a place's row each input stands: in what was looked up, and in what is near."""
    width, stride, longest = config.row_width, config.features.columns * config.row_width, _longest(config)
    starts = [
        (longest - n + offset) * stride + column * width
        for column, (n, _) in enumerate(config.features.ngrams)
        for offset in range(n + 1)
    ]
    ngrams = len(config.features.ngrams)
    starts += [longest * stride + column * width for column in range(ngrams, config.features.columns)]
    of_table = (np.array(starts)[:, None] + np.arange(width)).reshape(-1)
    from_table = read[read < len(of_table)]
    return of_table[from_table], read[len(from_table) :] - len(of_table)


def _reached(needed: Bits, dilation: int) -> Bits:
    """Places that a convolution reads to find the needed ones."""
    out = needed.copy()
    out[:-dilation] |= needed[dilation:]
    out[dilation:] |= needed[:-dilation]
    return out
