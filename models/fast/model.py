"""FAST's network with its weights, ready for inference."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.inputs import LOOKS_AHEAD, Inputs, inputs_of, quotes_told_apart
from models.fast.joint import LONGEST_STRETCH, JointWeights, joint_logits
from models.fast.language_model import LanguageModel
from models.fast.network import LENGTH_STEP, FastConfig, dense_shapes, logits
from models.files import ModelError, Weights
from respace.batching import by_size
from respace.method import GivenSequence
from respace.windows import Window, windows

# Shapes of inference: long windows waste little on context, and batches of this size stay in the processor's cache.
WINDOW = 1024
BATCH_CHARACTERS = 4096
# Inputs are found for so many characters at once.
_INPUT_CHARACTERS = 1 << 17


def quantise_table(config: FastConfig, table: NDArray[np.float32]) -> Weights:
    """The table in 8 bits, with one scale for each dimension of each feature's part."""
    starts = [*config.features.table_starts().values(), config.features.rows]
    scales = np.stack([np.abs(table[a:b]).max(0) / 127 + 1e-8 for a, b in pairwise(starts)])
    quantised = np.concatenate(
        [np.round(table[a:b] / s).astype(np.int8) for (a, b), s in zip(pairwise(starts), scales, strict=True)]
    )
    return {"table": quantised, "table_scales": scales.astype(np.float32)}


class FastModel:
    """Gives logits for sequences of any length."""

    def __init__(self, config: FastConfig, weights: Weights, joint: JointWeights | None = None):
        """
        Args:
            config: the shape of the network.
            weights: of the network, and the dictionary; the language model, if there is one.
            joint: how much the language model counts.
        """
        wanted = {name: list(shape) for name, shape in dense_shapes(config).items()}
        wanted["table"] = [config.features.rows, config.row_width]
        for name, shape in wanted.items():
            found = list(weights[name].shape) if name in weights else "nothing"
            if found != shape:
                raise ModelError(f"weights hold {found} for {name!r}, the configuration expects {shape}")
        self.config = config
        self.dictionary = Dictionary.from_weights(weights)
        self.language_model = LanguageModel.from_weights(weights)
        self.joint = joint or JointWeights()
        self._table = tf.constant(weights["table"])
        features = config.features
        tables = [*range(len(features.ngrams) + len(features.straddles) + 1)] + [
            len(features.ngrams) + len(features.straddles)
        ] * 2
        self._scales = tf.constant(weights["table_scales"][tables])
        self._dense = {name: tf.constant(weights[name].astype(np.float32)) for name in dense_shapes(config)}
        self._compiled = tf.function(
            self._forward,
            input_signature=[
                tf.TensorSpec([None, None, features.columns], tf.int32),
                tf.TensorSpec([None, None], tf.int32),
                tf.TensorSpec([None, None], tf.float32),
                tf.TensorSpec([None, None, config.evidence_kinds], tf.float32),
            ],
        )

    def _forward(self, rows: tf.Tensor, characters: tf.Tensor, bits: tf.Tensor, evidence: tf.Tensor) -> tf.Tensor:
        looked_up = tf.cast(tf.gather(self._table, rows), tf.float32) * self._scales
        return logits(self.config, self._dense, looked_up, characters, bits, evidence)[-1]

    @property
    def context(self) -> int:
        """How far a decision looks to either side."""
        return self.config.context + LOOKS_AHEAD + (LONGEST_STRETCH if self.language_model else 0)

    def sequence_logits(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]:
        """Logits of sequences, after the language model was heard."""
        logits = self.network_logits(sequences)
        return logits if self.language_model is None else self.hear_language_model(sequences, logits)

    def hear_language_model(
        self, sequences: Sequence[GivenSequence], logits: Sequence[NDArray[np.float32]]
    ) -> list[NDArray[np.float32]]:
        if self.language_model is None:
            raise ValueError("this model has no language model: expected one that was counted (training.count_ngrams)")
        if not sequences:
            return []
        characters = np.concatenate([np.append(one.characters.astype(np.int32), 0) for one in sequences])
        starts = np.concatenate([np.append(_line_starts(one), False) for one in sequences])
        together = joint_logits(
            self.language_model,
            self.joint,
            quotes_told_apart(characters, starts),
            np.concatenate([np.append(one, np.float32(0)) for one in logits]),
        )
        ends = np.cumsum([len(one) + 1 for one in logits])
        return [together[end - len(one) - 1 : end - 1] for one, end in zip(logits, ends, strict=True)]

    def network_logits(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]:
        """Logits of sequences of any length: cut into windows, sorted by length, run in full batches, put back."""
        out = [np.zeros(len(sequence.bits), dtype=np.float32) for sequence in sequences]
        inputs = self.inputs(sequences)
        places = [
            (number, window)
            for number, sequence in enumerate(sequences)
            for window in windows(len(sequence.bits), WINDOW, self.config.context)
        ]
        places.sort(key=lambda place: place[1].stop - place[1].start)
        for batch in _batches(places):
            result = self._run([(inputs[number], window) for number, window in batch])
            for row, (number, window) in enumerate(batch):
                middle = result[row, window.keep_start - window.start : window.keep_stop - window.start]
                out[number][window.keep_start : window.keep_stop] = middle
        return out

    def _run(self, batch: Sequence[tuple[Inputs, Window]]) -> NDArray[np.float32]:
        """Logits of a padded batch of windows."""
        length = -(-max(window.stop - window.start for _, window in batch) // LENGTH_STEP) * LENGTH_STEP
        characters = np.zeros((len(batch), length), dtype=np.int32)
        bits = np.zeros((len(batch), length), dtype=np.float32)
        rows = np.zeros((len(batch), length, self.config.features.columns), dtype=np.int32)
        evidence = np.zeros((len(batch), length, self.config.evidence_kinds), dtype=np.float32)
        for row, (inputs, window) in enumerate(batch):
            read, here = slice(window.start, window.stop), slice(0, window.stop - window.start)
            characters[row, here] = inputs.characters[read]
            bits[row, here] = inputs.bits[read]
            rows[row, here] = inputs.rows[read]
            evidence[row, here] = inputs.evidence[read]
        return self._compiled(rows, characters, bits, evidence).numpy()

    def inputs(self, sequences: Sequence[GivenSequence]) -> list[Inputs]:
        """What is read of whole sequences: windows would cut words, and runs of letters."""
        found: list[Inputs] = []
        for group in by_size(sequences, lambda one: len(one.bits) + 1, _INPUT_CHARACTERS):
            together = inputs_of(
                self.config.features,
                self.dictionary,
                self.config.evidence_kinds,
                np.concatenate([np.append(one.characters.astype(np.int32), 0) for one in group]),
                np.concatenate([np.append(_without_first(one.bits), False) for one in group]),
                np.concatenate([np.append(_line_starts(one), False) for one in group]),
            )
            stop = 0
            for one in group:
                start, stop = stop, stop + len(one.bits) + 1
                part = slice(start, stop - 1)
                found.append(
                    Inputs(
                        rows=together.rows[part],
                        characters=together.characters[part],
                        bits=together.bits[part],
                        evidence=together.evidence[part],
                    )
                )
        return found


def _without_first(bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    out = bits.copy()
    out[:1] = False
    return out


def _line_starts(sequence: GivenSequence) -> NDArray[np.bool_]:
    return np.zeros(len(sequence.bits), dtype=bool) if sequence.line_starts is None else sequence.line_starts


def _batches(places: list[tuple[int, Window]]) -> Iterator[list[tuple[int, Window]]]:
    """Batches of places sorted by length, each of about `BATCH_CHARACTERS` padded characters."""
    batch: list[tuple[int, Window]] = []
    for place in places:
        if batch and (len(batch) + 1) * (place[1].stop - place[1].start) > BATCH_CHARACTERS:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
