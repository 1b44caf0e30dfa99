"""BID's bidirectional part (paper, section 3.1): the probability of a space before each of the characters.

It never sees a space: the characters alone are read, from both ends, with SOS before and EOS after them. Before
character ``i``, the forward LSTM has read all to the left of the gap and the backward LSTM all to the right of it.

The paper prints 12,158,980 parameters; the layers it describes have 12,158,977. No layer of these widths has three
weights. Three numbers that are no weights stand beside them in a checkpoint of the authors' framework trained with
Adam (the step, and the two decays of the optimiser): presumably they were counted.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.batches import cut_into_batches
from models.files import Weights
from models.paper import lstm
from models.paper.lstm import NetworkSize, Shapes, Tensors
from models.paper.vocabulary import Vocabulary
from respace.method import GivenSequence

FORWARD, BACKWARD, DENSE, OUT = "bid/forward_lstm", "bid/backward_lstm", "bid/dense", "bid/out"

# An LSTM has no bound on what it remembers; beyond this distance nothing has been seen to change a decision.
CONTEXT = 128
WINDOW = 2048
BATCH_SEQUENCES = 64


def bid_shapes(vocabulary: int, size: NetworkSize) -> Shapes:
    """All weights by name: an LSTM for each direction, a dense layer, one sigmoid."""
    return (
        lstm.lstm_shapes(FORWARD, vocabulary, size.units)
        | lstm.lstm_shapes(BACKWARD, vocabulary, size.units)
        | lstm.dense_shapes(DENSE, 2 * size.units, size.dense)
        | lstm.dense_shapes(OUT, size.dense, 1)
    )


def gap_logits(
    weights: Tensors, start: int, end: int, ids: tf.Tensor, lengths: tf.Tensor, products: tf.DType = tf.float32
) -> tf.Tensor:
    """One logit per gap, for ``ids`` ``[batch, length]`` without SOS and EOS, padded behind their ``lengths``."""
    batch, length = tf.shape(ids)[0], tf.shape(ids)[1]
    starts = tf.fill([batch, 1], start)
    forward = lstm.scan(weights, FORWARD, tf.concat([starts, ids[:, :-1]], 1), products)[0]
    # Backwards: EOS, then the characters from the last to the first; the padding stays behind.
    backwards = tf.reverse_sequence(ids, lengths, 1, 0)
    read = lstm.scan(weights, BACKWARD, tf.concat([tf.fill([batch, 1], end), backwards], 1), products)[0][:, 1:]
    backward = tf.reverse_sequence(read, lengths, 1, 0)
    x = tf.nn.relu(lstm.dense(weights, DENSE, tf.concat([forward, backward], -1)))
    return tf.reshape(lstm.dense(weights, OUT, x), [batch, length])


class BidModel:
    """The bidirectional network with its weights and its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, size: NetworkSize, weights: Weights):
        self.vocabulary, self.size = vocabulary, size
        self.weights = lstm.check_weights(weights, bid_shapes(len(vocabulary), size))
        self._compiled = tf.function(
            lambda ids, lengths: gap_logits(self.weights, vocabulary.start, vocabulary.end, ids, lengths),
            input_signature=[tf.TensorSpec([None, None], tf.int32), tf.TensorSpec([None], tf.int32)],
        )

    def sequence_logits(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]:
        """One logit per gap, for sequences of any length. Their given spaces are not looked at."""
        out = [np.zeros(len(sequence.bits), dtype=np.float32) for sequence in sequences]
        lengths = [len(sequence.bits) for sequence in sequences]
        for batch in cut_into_batches(lengths, window=WINDOW, context=CONTEXT, rows=BATCH_SEQUENCES):
            ids = batch.gather([self.vocabulary.encode(sequences[number].characters) for number in batch.numbers])
            batch.put_back(self._compiled(ids, batch.lengths).numpy(), out)
        return out
