"""The paper's beam search (section 3.2) as one compiled graph, batched over sequences, in linear time.

A state is a spacing of the characters so far: its score, and the language model after reading it. Each state is
extended by the next character without a space before it,

    score + log p(c | state) + log(1 - q) - (deletion_penalty if a space was given there),

and with one,

    score + log p(blank | state) + log p(c | state, blank) + log q - (insertion_penalty if none was given there),

where q is the labels' probability of a space there (BID; UNI has none, and both terms are 0). Of all extended states
the best ``beams`` survive. In the end each state pays for the end of the sequence, and the best one is the answer.

The graph holds the language model's memory of living states only, without gaps: what is pruned costs nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.paper import lstm, uni
from models.paper.pruning import DEFAULT_BEAMS, FULL_SEARCH, Pruning
from models.paper.uni import UniModel

_DEAD = -1e30
_ALIVE = -1e29


@dataclass(frozen=True, kw_only=True)
class Found:
    """What a search found, for a padded batch.

    Attributes:
        bits: the best spacing, ``[batch, length]``.
        advantage: how much better the chosen bit was than the other one when it was decided, penalties left out.
        scores: score of the best state of each sequence.
        language_steps: how many characters the language model has read, over all states.
    """

    bits: NDArray[np.bool_]
    advantage: NDArray[np.float32]
    scores: NDArray[np.float64]
    language_steps: int


class BeamSearch:
    """Searches with one language model."""

    def __init__(
        self,
        model: UniModel,
        beams: int = DEFAULT_BEAMS,
        pruning: Pruning = FULL_SEARCH,
        language_weight: float = 1.0,
    ):
        """
        Args:
            model: the language model.
            beams: how many states survive each character.
            pruning: what to leave out.
            language_weight: factor on the language model's log-probabilities; 1 in the paper.
        """
        if not (isinstance(beams, int) and beams >= 1):
            raise ValueError(f"beams {beams!r}: expected a whole number of at least 1")
        if not language_weight > 0:
            raise ValueError(f"language_weight {language_weight}: expected a number above 0")
        self.model, self.beams, self.pruning, self.language_weight = model, beams, pruning, language_weight
        table, flags = (lambda kind: tf.TensorSpec([None, None], kind)), tf.TensorSpec([None], tf.float64)
        self._compiled = tf.function(
            self._search,
            input_signature=[
                table(tf.int32),
                tf.TensorSpec([None], tf.int32),
                table(tf.bool),
                table(tf.float32),
                flags,
                flags,
            ],
        )

    def __call__(
        self,
        ids: NDArray[np.int32],
        lengths: NDArray[np.int32],
        given: NDArray[np.bool_],
        labels: NDArray[np.float32] | None,
        insertion_penalty: NDArray[np.float64],
        deletion_penalty: NDArray[np.float64],
    ) -> Found:
        """Repairs a padded batch.

        Args:
            ids: characters without spaces, ``[batch, length]``.
            lengths: how many of them each sequence has.
            given: given gap bits.
            labels: logits of a space in each gap, or None.
            insertion_penalty: for each sequence.
            deletion_penalty: for each sequence.
        """
        # The end of the sequence is read like a character, which never has a space before it.
        with_end = np.pad(ids, ((0, 0), (0, 1)))
        with_end[np.arange(len(ids)), lengths] = self.model.vocabulary.end
        # Not a number stands for "no label": everywhere in UNI, and at the end of the sequence.
        logits = np.full(with_end.shape, np.nan, dtype=np.float32)
        if labels is not None:
            logits[:, :-1] = labels
            logits[np.arange(len(ids)), lengths] = np.nan
        inside = np.arange(with_end.shape[1]) < lengths[:, None]
        given = np.pad(given, ((0, 0), (0, 1))) & inside
        bits, advantage, scores, steps = self._compiled(
            with_end, lengths, given, logits, insertion_penalty, deletion_penalty
        )
        return Found(
            bits=bits.numpy()[:, :-1],
            advantage=advantage.numpy()[:, :-1],
            scores=scores.numpy(),
            language_steps=int(steps),
        )

    def _search(self, ids, lengths, given, labels, insertion_penalty, deletion_penalty):  # type: ignore[no-untyped-def]
        batch, positions, beams = tf.shape(ids)[0], tf.shape(ids)[1], self.beams
        label_terms = _label_terms(labels)
        penalties = (
            tf.where(given, tf.cast(0, tf.float64), insertion_penalty[:, None]),
            tf.where(given, deletion_penalty[:, None], tf.cast(0, tf.float64)),
        )
        units = self.model.size.units
        zeros = tf.zeros([batch, units])
        h, c = lstm.cell(self.model.weights, uni.LSTM, tf.fill([batch], self.model.vocabulary.start), zeros, zeros)
        only_first = tf.one_hot(tf.zeros([batch], tf.int32), beams, True, False, dtype=tf.bool)
        scores = tf.where(only_first, tf.cast(0, tf.float64), tf.cast(_DEAD, tf.float64))
        # Where the memory of each state is; that of dead ones is nowhere in particular.
        rows = tf.where(only_first, tf.range(batch)[:, None], 0)
        history = tf.zeros([batch, beams], tf.int64)
        trail = tuple(tf.TensorArray(kind, positions) for kind in (tf.int32, tf.bool, tf.float32))

        def step(time, scores, rows, history, h, c, read, trail):  # type: ignore[no-untyped-def]
            at = lambda table: table[:, time]  # noqa: E731
            chosen, h, c, read_now = self._extend(
                character=at(ids),
                active=time <= lengths,
                may_have_space=tf.logical_and(time > 0, time < lengths),
                label_space=at(label_terms[0]),
                label_none=at(label_terms[1]),
                insertion=at(penalties[0]),
                deletion=at(penalties[1]),
                states=(scores, rows, history, h, c),
            )
            scores, rows, history, parent, bit, advantage = chosen
            trail = tuple(
                array.write(time, value) for array, value in zip(trail, (parent, bit, advantage), strict=True)
            )
            return time + 1, scores, rows, history, h, c, read + read_now, trail

        memory = tf.TensorShape([None, units])
        table = tf.TensorShape([None, beams])
        _, scores, _, _, _, _, read, trail = tf.while_loop(
            lambda time, *_: time < positions,
            step,
            (0, scores, rows, history, h, c, batch, trail),
            shape_invariants=(
                tf.TensorShape([]),
                table,
                table,
                table,
                memory,
                memory,
                tf.TensorShape([]),
                tuple(tf.TensorShape(None) for _ in trail),
            ),
        )
        bits, advantage = _follow_back(trail, positions, batch)
        return bits, advantage, scores[:, 0], read

    def _extend(  # type: ignore[no-untyped-def]
        self, *, character, active, may_have_space, label_space, label_none, insertion, deletion, states
    ):
        """All states by one character. States of sequences that have ended stay as they are."""
        scores, rows, history, h, c = states
        weights, space = self.model.weights, self.model.vocabulary.space
        batch, beams = tf.shape(scores)[0], self.beams
        every_state = lambda values: tf.repeat(values[:, None], beams, 1)  # noqa: E731
        alive = tf.logical_and(scores > _ALIVE, active[:, None])
        dead = tf.fill([batch, beams], tf.cast(_DEAD, tf.float64))

        after_state = self._next(weights, h)
        log_space = tf.gather(after_state[:, space], rows)
        log_character = _pick(after_state, rows, every_state(character))
        plain = scores + log_character + label_none[:, None]
        without = tf.where(alive, plain - deletion[:, None], dead)

        tried = tf.logical_and(alive, may_have_space[:, None])
        at_best = scores + log_space + label_space[:, None]
        if self.pruning.skip_hopeless:
            # Without spaces there are already as many states as survive: what is worse than all of them is lost.
            needed = tf.reduce_min(without, 1, keepdims=True)
            if self.pruning.margin is not None:
                needed = tf.maximum(needed, tf.reduce_max(without, 1, keepdims=True) - self.pruning.margin)
            tried = tf.logical_and(tried, at_best - insertion[:, None] >= needed)
        tried_rows = tf.boolean_mask(rows, tried)
        h_space, c_space = lstm.cell(
            weights, uni.LSTM, tf.fill(tf.shape(tried_rows), space), tf.gather(h, tried_rows), tf.gather(c, tried_rows)
        )
        place = _places(tried)
        after_space = tf.concat(
            [self._next(weights, h_space), tf.zeros([1, len(self.model.vocabulary)], tf.float64)], 0
        )
        spaced = at_best + _pick(after_space, place, every_state(character))
        with_space = tf.where(tried, spaced - insertion[:, None], dead)

        survivors, index = tf.math.top_k(tf.concat([without, with_space], 1), beams)
        parent, bit = index % beams, index >= beams
        # Where no space was tried, the bound stands in for its score.
        lead = plain - tf.where(tried, spaced, at_best)
        parent_lead = tf.gather(lead, parent, batch_dims=1)
        advantage = tf.cast(tf.where(bit, -parent_lead, parent_lead), tf.float32)
        history = tf.gather(history, parent, batch_dims=1) * 2 + tf.cast(bit, tf.int64)
        survivors = self._prune(survivors, history)

        ended = tf.logical_not(active)[:, None]
        survivors = tf.where(ended, scores, survivors)
        parent = tf.where(ended, tf.range(beams)[None, :], parent)
        bit = tf.logical_and(bit, active[:, None])

        # The memories of those that live on, and they read the character.
        going_on = tf.logical_and(survivors > _ALIVE, active[:, None])
        source = tf.where(
            bit,
            tf.shape(h)[0] + tf.gather(place, parent, batch_dims=1),
            tf.gather(rows, parent, batch_dims=1),
        )
        sources = tf.boolean_mask(source, going_on)
        h_new, c_new = lstm.cell(
            weights,
            uni.LSTM,
            tf.boolean_mask(every_state(character), going_on),
            tf.gather(tf.concat([h, h_space], 0), sources),
            tf.gather(tf.concat([c, c_space], 0), sources),
        )
        rows = tf.where(going_on, _places(going_on), 0)
        read = tf.shape(tried_rows)[0] + tf.shape(sources)[0]
        return (survivors, rows, history, parent, bit, advantage), h_new, c_new, read

    def _next(self, weights: Any, h: tf.Tensor) -> tf.Tensor:
        log_probabilities = uni.next_log_probabilities(weights, h)
        # Scores of long sequences are large and their differences small: they are added in 64 bits.
        return tf.cast(log_probabilities, tf.float64) * tf.cast(self.language_weight, tf.float64)

    def _prune(self, scores: tf.Tensor, history: tf.Tensor) -> tf.Tensor:
        """Scores, sorted, in which the states that are given up are dead."""
        dead = tf.cast(_DEAD, tf.float64)
        if self.pruning.margin is not None:
            scores = tf.where(scores < scores[:, :1] - self.pruning.margin, dead, scores)
        if self.pruning.same_bits is not None and self.beams > 1:
            recent = tf.bitwise.bitwise_and(history, (1 << self.pruning.same_bits) - 1)
            alike = tf.equal(recent[:, :, None], recent[:, None, :])
            better = tf.linalg.band_part(tf.ones([self.beams, self.beams]), -1, 0) - tf.eye(self.beams)
            scores = tf.where(tf.reduce_any(tf.logical_and(alike, better > 0), 2), dead, scores)
        return scores


def _label_terms(labels: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """log q and log(1 - q); both 0 where there are no labels, which are then not numbers."""
    wide = tf.cast(labels, tf.float64)
    nothing = tf.math.is_nan(wide)
    safe = tf.where(nothing, tf.zeros_like(wide), wide)
    return tuple(tf.where(nothing, tf.zeros_like(wide), tf.math.log_sigmoid(sign * safe)) for sign in (1.0, -1.0))


def _pick(table: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    return tf.gather_nd(table, tf.stack([rows, columns], -1))


def _places(mask: tf.Tensor) -> tf.Tensor:
    """For each true entry its number among them; for the others, the number of all."""
    flat = tf.reshape(tf.cast(mask, tf.int32), [-1])
    numbers = tf.where(flat > 0, tf.cumsum(flat) - 1, tf.reduce_sum(flat))
    return tf.reshape(numbers, tf.shape(mask))


def _follow_back(trail: Any, positions: tf.Tensor, batch: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """From the best state at the end, back through its parents: its bits and their advantages."""
    parents, bits, advantages = (array.stack() for array in trail)
    found = (tf.TensorArray(tf.bool, positions), tf.TensorArray(tf.float32, positions))

    def back(time, state, bit_array, advantage_array):  # type: ignore[no-untyped-def]
        at = lambda table: tf.gather(table[time], state, batch_dims=1)  # noqa: E731
        return time - 1, at(parents), bit_array.write(time, at(bits)), advantage_array.write(time, at(advantages))

    _, _, bit_array, advantage_array = tf.while_loop(
        lambda time, *_: time >= 0, back, (positions - 1, tf.zeros([batch], tf.int32), *found)
    )
    return tf.transpose(bit_array.stack()), tf.transpose(advantage_array.stack())
