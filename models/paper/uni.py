"""UNI (paper, section 3.1): a character language model that reads from left to right, spaces included."""

from __future__ import annotations

import tensorflow as tf

from models.files import Weights
from models.paper import lstm
from models.paper.lstm import NetworkSize, Shapes, Tensors
from models.paper.vocabulary import Vocabulary

LSTM, DENSE, OUT = "uni/lstm", "uni/dense", "uni/out"


def uni_shapes(vocabulary: int, size: NetworkSize) -> Shapes:
    """All weights by name: an LSTM on one-hot characters, a dense layer, a softmax over the vocabulary."""
    return (
        lstm.lstm_shapes(LSTM, vocabulary, size.units)
        | lstm.dense_shapes(DENSE, size.units, size.dense)
        | lstm.dense_shapes(OUT, size.dense, vocabulary)
    )


def next_logits(weights: Tensors, h: tf.Tensor) -> tf.Tensor:
    """Logits of the next character in states ``[..., units]``."""
    return lstm.dense(weights, OUT, tf.nn.relu(lstm.dense(weights, DENSE, h)))


def next_log_probabilities(weights: Tensors, h: tf.Tensor) -> tf.Tensor:
    return tf.nn.log_softmax(next_logits(weights, h))


def sequence_logits(weights: Tensors, ids: tf.Tensor, products: tf.DType = tf.float32) -> tf.Tensor:
    """Logits of what follows each of ``ids`` ``[batch, length]``, which begin with SOS."""
    return next_logits(weights, lstm.scan(weights, LSTM, ids, products)[0])


class UniModel:
    """The network with its weights and its vocabulary."""

    def __init__(self, vocabulary: Vocabulary, size: NetworkSize, weights: Weights):
        self.vocabulary, self.size = vocabulary, size
        self.weights = lstm.check_weights(weights, uni_shapes(len(vocabulary), size))
