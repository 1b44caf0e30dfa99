"""What penalties are fitted on: for every gap of a correct text, how much better a space scores there than none.

The search is simulated at one gap at a time (paper, section 3.2): all before the gap is as it should be, and the gap
and the next two characters of the correct text are scored with a space and without. The difference decides as a logit
does: a space is inserted if it is above the insertion penalty, a given one deleted if it is below minus the deletion
penalty. Labels add their logit to it.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.batches import cut_into_batches
from models.paper import lstm, uni
from models.paper.uni import UniModel
from respace.gaps import Bits, Codes

_WINDOW, _CONTEXT, _ROWS = 2048, 128, 64


class LookAhead:
    """Scores gaps of correct texts with one language model."""

    def __init__(self, model: UniModel):
        self.model = model
        one, flag = tf.TensorSpec([None], tf.int32), tf.TensorSpec([None], tf.bool)
        self._compiled = tf.function(
            self._differences, input_signature=[tf.TensorSpec([None, None], tf.int32), one, one, one, one, flag]
        )

    def __call__(self, characters: Sequence[Codes], true: Sequence[Bits]) -> list[NDArray[np.float32]]:
        """One difference per gap; 0 before the first character."""
        out = [np.zeros(len(bits), dtype=np.float32) for bits in true]
        encoded = [self.model.vocabulary.encode(codes) for codes in characters]
        for batch in cut_into_batches([len(bits) for bits in true], window=_WINDOW, context=_CONTEXT, rows=_ROWS):
            ids = batch.gather([encoded[number] for number in batch.numbers])
            bits = batch.gather([true[number] for number in batch.numbers])
            batch.put_back(self._batch(ids, bits, batch.lengths), out)
        return out

    def _batch(
        self, ids: NDArray[np.int32], bits: NDArray[np.bool_], lengths: NDArray[np.int32]
    ) -> NDArray[np.float32]:
        vocabulary = self.model.vocabulary
        bits = bits.copy()
        bits[:, 0] = False
        columns = np.arange(ids.shape[1])
        inside = columns < lengths[:, None]
        # Where each character stands in the text with its spaces, SOS being at 0.
        places = columns + 1 + np.cumsum(bits, 1)
        text = np.full((len(ids), int(places[inside].max()) + 2), vocabulary.space, dtype=np.int32)
        text[:, 0] = vocabulary.start
        rows = np.broadcast_to(np.arange(len(ids))[:, None], ids.shape)
        text[rows[inside], places[inside]] = ids[inside]
        last = places[np.arange(len(ids)), lengths - 1]
        text[np.arange(len(ids)), last + 1] = vocabulary.end
        decided = inside & (columns > 0)
        at = (rows[decided], places[decided])
        spaced = bits[decided]
        out = np.zeros(ids.shape, dtype=np.float32)
        if len(spaced):
            before = (at[1] - 1 - spaced).astype(np.int32)
            after = text[at[0], at[1] + 1]
            out[decided] = self._compiled(text, at[0].astype(np.int32), before, ids[decided], after, spaced).numpy()
        return out

    def _differences(self, text, rows, before, character, after, spaced):  # type: ignore[no-untyped-def]
        """For gaps after place ``before`` of the text: its score with a space minus its score without."""
        weights, space = self.model.weights, self.model.vocabulary.space
        hs, cs = lstm.scan(weights, uni.LSTM, text)
        here = tf.stack([rows, before], -1)
        h, c = tf.gather_nd(hs, here), tf.gather_nd(cs, here)
        at_gap = uni.next_log_probabilities(weights, h)
        h_space, c_space = lstm.cell(weights, uni.LSTM, tf.fill(tf.shape(rows), space), h, c)
        # The way the text really goes is in `hs`; the other one must be gone.
        other_h = tf.where(spaced[:, None], h, h_space)
        other_c = tf.where(spaced[:, None], c, c_space)
        other_h, _ = lstm.cell(weights, uni.LSTM, character, other_h, other_c)
        real_h = tf.gather_nd(hs, tf.stack([rows, before + 1 + tf.cast(spaced, tf.int32)], -1))
        real_end, other_end = (_column(uni.next_log_probabilities(weights, one), after) for one in (real_h, other_h))
        after_space = _column(uni.next_log_probabilities(weights, h_space), character)
        with_space = at_gap[:, space] + after_space + tf.where(spaced, real_end, other_end)
        without = _column(at_gap, character) + tf.where(spaced, other_end, real_end)
        return with_space - without


def _column(table: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    return tf.gather(table, columns, batch_dims=1)
