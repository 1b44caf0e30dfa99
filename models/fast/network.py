"""FAST: one pass, one logit per gap, with the given spaces as input.

Hashed n-grams, straddles and words (`models.fast.features`) index one large table; cheap to look up, they hold what a
larger network would have to compute. Their rows are projected together with character and bit embeddings and what a
dictionary says of each gap (`models.fast.dictionary`), and pass through dilated residual convolutions to one logit
per gap.
A given space is deleted below ``-deletion_penalty``, a space is inserted above ``insertion_penalty``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.dictionary import KINDS, LONGEST_RUN, Dictionary
from models.fast.features import Features
from models.files import ModelError, ModelFiles, Weights, load_model
from respace.gaps import Bits
from respace.repairer import Decision, GivenSequence, check_penalties
from respace.windows import Window, windows

# Shapes of inference: long windows waste little on context, and batches of this size stay in the processor's cache.
WINDOW = 1024
BATCH_CHARACTERS = 4096
# Lengths are rounded up to this, which the dilations must divide.
LENGTH_STEP = 32
_FREQUENT_CODES = 1536
_CHARACTER_ROWS = 2048
_NEAR = 2  # characters, bits and the dictionary's evidence are read directly up to this distance
# Errors come in company: where others are evident, in logits and within so many characters, each of up to two of them
# takes the place of so much evidence for one more.
EVIDENT, COMPANY_REACH, MOST_COMPANY, COMPANY_EVIDENCE = 5.0, 256, 2, 1.0
# Evidence is found for so many characters at once.
_EVIDENCE_CHARACTERS = 1 << 17


@dataclass(frozen=True, kw_only=True)
class FastConfig:
    """The shape of the network."""

    features: Features = field(default_factory=Features)
    row_width: int = 16
    character_width: int = 24
    hidden: int = 192
    dilations: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 1)
    dense: int = 128

    @property
    def context(self) -> int:
        """How far the network looks to either side."""
        return self.features.reach + sum(self.dilations)

    def to_json(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> FastConfig:
        pairs = {key: tuple(map(tuple, values["features"][key])) for key in ("ngrams", "straddles")}
        features = Features(**pairs, word_rows=values["features"]["word_rows"])
        return cls(**dict(values) | {"features": features, "dilations": tuple(values["dilations"])})


def dense_shapes(config: FastConfig) -> dict[str, tuple[int, ...]]:
    """All weights but the table, by name."""
    width, hidden = config.row_width, config.hidden
    gap_features = (len(config.features.straddles) + 3) * width
    shapes: dict[str, tuple[int, ...]] = {
        "characters": (_CHARACTER_ROWS, config.character_width),
        "near/kernel": (2 * _NEAR + 1, config.character_width + 1 + KINDS, hidden),
        "gap/kernel": (gap_features, hidden),
        "front/bias": (hidden,),
    }
    for n, _ in config.features.ngrams:
        shapes[f"ngram{n}/kernel"] = (n + 1, width, hidden)
    for layer in range(len(config.dilations)):
        shapes[f"layer{layer}/scale"] = shapes[f"layer{layer}/offset"] = shapes[f"layer{layer}/bias"] = (hidden,)
        shapes[f"layer{layer}/kernel"] = (3, hidden, hidden)
    return shapes | {
        "out/scale": (hidden,),
        "out/offset": (hidden,),
        "out/dense": (hidden, config.dense),
        "out/dense_bias": (config.dense,),
        "out/kernel": (config.dense, 1),
        "out/bias": (1,),
    }


@dataclass(frozen=True)
class Arithmetic:
    """How the network is computed: the numbers of its convolutions, and what is done with the code between them."""

    convolutions: tf.DType
    fuse: Callable[[Callable[..., Any]], Callable[..., Any]]


PLAIN = Arithmetic(tf.float32, lambda function: function)
# For training: on processors with bfloat16 a step takes less than half the time. Only convolutions outside XLA use it,
# and all that lies between them is fused by XLA.
MIXED = Arithmetic(tf.bfloat16, partial(tf.function, jit_compile=True))


def logits(
    config: FastConfig,
    weights: Mapping[str, tf.Tensor],
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    arithmetic: Arithmetic = PLAIN,
) -> tf.Tensor:
    """One logit per gap.

    Args:
        config: the shape of the network.
        weights: the dense weights.
        rows: looked-up table rows, ``[batch, length, columns, row_width]``.
        characters: code points ``[batch, length]``, 0 where there is none; the length is a multiple of `LENGTH_STEP`.
        bits: given gap bits, 0.0 or 1.0.
        evidence: what the dictionary says of each gap, ``[batch, length, KINDS]``.
        arithmetic: how it is computed.
    """
    kind, fuse = arithmetic.convolutions, arithmetic.fuse

    def convolve(x: tf.Tensor, kernel: str, padding: str = "SAME") -> tf.Tensor:
        return tf.nn.conv1d(x, tf.cast(weights[kernel], kind), 1, padding)

    mask = tf.cast(characters > 0, tf.float32)[..., None]
    near, around_gap, *ngrams = fuse(partial(_front_inputs, config, kind))(
        rows, characters, bits, evidence, mask, weights["characters"]
    )
    parts = [convolve(near, "near/kernel"), tf.matmul(around_gap, tf.cast(weights["gap/kernel"], kind))]
    for (n, _), padded in zip(config.features.ngrams, ngrams, strict=True):
        parts.append(convolve(padded, f"ngram{n}/kernel", "VALID"))
    x = fuse(_front)(parts, weights["front/bias"], mask)
    for layer, dilation in enumerate(config.dilations):
        scale, offset = weights[f"layer{layer}/scale"], weights[f"layer{layer}/offset"]
        y = fuse(partial(_before_convolution, dilation, kind))(x, scale, offset, mask)
        # Right behind the convolution, where TensorFlow makes one operation of the three.
        bias = tf.cast(weights[f"layer{layer}/bias"], kind)
        y = tf.nn.relu(tf.nn.bias_add(convolve(y, f"layer{layer}/kernel"), bias))
        x = fuse(partial(_after_convolution, dilation))(x, y)
    y = fuse(_normalise)(x, weights["out/scale"], weights["out/offset"])
    y = tf.matmul(tf.cast(y, kind), tf.cast(weights["out/dense"], kind))
    y = tf.nn.relu(tf.cast(y, tf.float32) + weights["out/dense_bias"])
    return tf.squeeze(tf.matmul(y, weights["out/kernel"]) + weights["out/bias"], -1)


def _front_inputs(
    config: FastConfig,
    kind: tf.DType,
    rows: tf.Tensor,
    characters: tf.Tensor,
    bits: tf.Tensor,
    evidence: tf.Tensor,
    mask: tf.Tensor,
    embeddings: tf.Tensor,
) -> list[tf.Tensor]:
    """What is near, what is around the gap, and the n-grams of each length."""
    frequent = tf.where(
        characters < _FREQUENT_CODES, characters, _FREQUENT_CODES + characters % (_CHARACTER_ROWS - _FREQUENT_CODES)
    )
    near = tf.concat([tf.gather(embeddings, frequent), bits[..., None], evidence], -1) * mask
    shape, count = tf.shape(characters), len(config.features.ngrams)
    around_gap = tf.reshape(rows[:, :, count:], [shape[0], shape[1], (rows.shape[2] - count) * config.row_width])
    # Position g of a convolution reads the n-grams that start at g - n, …, g: those that touch the gap before g.
    ngrams = [
        tf.pad(rows[:, :, column] * mask, [[0, 0], [n, 0], [0, 0]])
        for column, (n, _) in enumerate(config.features.ngrams)
    ]
    return [tf.cast(one, kind) for one in (near, around_gap, *ngrams)]


def _front(parts: Sequence[tf.Tensor], bias: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    return (tf.add_n([tf.cast(part, tf.float32) for part in parts]) + bias) * mask


def _before_convolution(
    dilation: int, kind: tf.DType, x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor, mask: tf.Tensor
) -> tf.Tensor:
    """Normalised, with the dilation folded into the batch: faster, and the CPU has no gradient for dilated ones."""
    y = tf.cast(_normalise(x, scale, offset) * mask, kind)
    if dilation == 1:
        return y
    shape, width = tf.shape(x), x.shape[-1]
    y = tf.transpose(tf.reshape(y, [shape[0], shape[1] // dilation, dilation, width]), [0, 2, 1, 3])
    return tf.reshape(y, [shape[0] * dilation, shape[1] // dilation, width])


def _after_convolution(dilation: int, x: tf.Tensor, y: tf.Tensor) -> tf.Tensor:
    """Unfolds the dilation and adds the result to the layer's input."""
    if dilation > 1:
        shape, width = tf.shape(x), x.shape[-1]
        y = tf.transpose(tf.reshape(y, [shape[0], dilation, shape[1] // dilation, width]), [0, 2, 1, 3])
        y = tf.reshape(y, shape)
    return x + tf.cast(y, tf.float32)


def _normalise(x: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor) -> tf.Tensor:
    mean = tf.reduce_mean(x, -1, keepdims=True)
    centred = x - mean
    variance = tf.reduce_mean(tf.square(centred), -1, keepdims=True)
    return centred * tf.math.rsqrt(variance + 1e-5) * scale + offset


def quantise_table(config: FastConfig, table: NDArray[np.float32]) -> Weights:
    """The table in 8 bits, with one scale for each dimension of each feature's part."""
    starts = [*config.features.table_starts().values(), config.features.rows]
    scales = np.stack([np.abs(table[a:b]).max(0) / 127 + 1e-8 for a, b in pairwise(starts)])
    quantised = np.concatenate(
        [np.round(table[a:b] / s).astype(np.int8) for (a, b), s in zip(pairwise(starts), scales, strict=True)]
    )
    return {"table": quantised, "table_scales": scales.astype(np.float32)}


class FastModel:
    """The network with its weights, ready for inference."""

    def __init__(self, config: FastConfig, weights: Weights):
        wanted = {name: list(shape) for name, shape in dense_shapes(config).items()}
        wanted["table"] = [config.features.rows, config.row_width]
        for name, shape in wanted.items():
            found = list(weights[name].shape) if name in weights else "nothing"
            if found != shape:
                raise ModelError(f"weights hold {found} for {name!r}, the configuration expects {shape}")
        self.config = config
        self.dictionary = Dictionary.from_weights(weights)
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
                tf.TensorSpec([None, None, KINDS], tf.float32),
            ],
        )

    def _forward(self, rows: tf.Tensor, characters: tf.Tensor, bits: tf.Tensor, evidence: tf.Tensor) -> tf.Tensor:
        looked_up = tf.cast(tf.gather(self._table, rows), tf.float32) * self._scales
        return logits(self.config, self._dense, looked_up, characters, bits, evidence)

    def __call__(
        self, characters: NDArray[np.int32], bits: NDArray[np.bool_], evidence: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """Logits of a padded batch."""
        rows = self.config.features(characters, bits)
        return self._compiled(rows, characters, bits.astype(np.float32), evidence).numpy()

    def sequence_logits(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]:
        """Logits of sequences of any length: cut into windows, sorted by length, run in full batches, put back."""
        out = [np.zeros(len(sequence.bits), dtype=np.float32) for sequence in sequences]
        evidence = self._evidence(sequences)
        places = [
            (number, window)
            for number, sequence in enumerate(sequences)
            for window in windows(len(sequence.bits), WINDOW, self.config.context)
        ]
        places.sort(key=lambda place: place[1].stop - place[1].start)
        for batch in _batches(places):
            length = -(-max(window.stop - window.start for _, window in batch) // LENGTH_STEP) * LENGTH_STEP
            characters = np.zeros((len(batch), length), dtype=np.int32)
            bits = np.zeros((len(batch), length), dtype=bool)
            its_evidence = np.zeros((len(batch), length, KINDS), dtype=np.float32)
            for row, (number, window) in enumerate(batch):
                read = slice(window.start, window.stop)
                characters[row, : window.stop - window.start] = sequences[number].characters[read]
                bits[row, : window.stop - window.start] = sequences[number].bits[read]
                its_evidence[row, : window.stop - window.start] = evidence[number][read]
            bits[:, 0] = False
            result = self(characters, bits, its_evidence)
            for row, (number, window) in enumerate(batch):
                middle = result[row, window.keep_start - window.start : window.keep_stop - window.start]
                out[number][window.keep_start : window.keep_stop] = middle
        return out

    def _evidence(self, sequences: Sequence[GivenSequence]) -> list[NDArray[np.float32]]:
        """What the dictionary says of whole sequences: it reads runs of letters, which windows would cut."""
        found: list[NDArray[np.float32]] = []
        while len(found) < len(sequences):
            group: list[GivenSequence] = []
            size = 0
            for sequence in sequences[len(found) :]:
                if group and size + len(sequence.bits) > _EVIDENCE_CHARACTERS:
                    break
                group.append(sequence)
                size += len(sequence.bits) + 1
            characters = np.concatenate([np.append(one.characters.astype(np.int32), 0) for one in group])
            together = self.dictionary.evidence(
                characters, np.concatenate([np.append(one.bits, False) for one in group])
            )
            ends = np.cumsum([len(one.bits) + 1 for one in group])
            found += [together[end - len(one.bits) - 1 : end - 1] for one, end in zip(group, ends, strict=True)]
        return found


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


def in_company(bits: Bits, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits as penalties are to judge them: near evident errors, less evidence is needed for another one.

    What already speaks for the given bit still does; so clean text, where no error is evident, is left alone as before.
    """
    for_edit = np.where(bits, -values, values)
    evident = for_edit > EVIDENT
    evident[:1] = False
    so_far = np.concatenate([[0], np.cumsum(evident)])
    here = np.arange(len(values))
    near = so_far[np.minimum(here + COMPANY_REACH + 1, len(values))] - so_far[np.maximum(here - COMPANY_REACH, 0)]
    more = COMPANY_EVIDENCE * np.minimum(near - evident, MOST_COMPANY) * (for_edit > 0)
    return (values + np.where(bits, -more, more)).astype(np.float32)


def judged_logits(sequence: GivenSequence, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Logits as penalties are to judge them: in company, and with the caution that was asked for taken off."""
    judged = in_company(sequence.bits, values)
    if sequence.caution is None:
        return judged
    return (judged + np.where(sequence.bits, sequence.caution, -sequence.caution)).astype(np.float32)


class FastMethod:
    """FAST with its two penalties, as a way to repair spaces."""

    def __init__(self, model: FastModel, name: str, sha256: str, insertion_penalty: float, deletion_penalty: float):
        check_penalties(insertion_penalty, deletion_penalty)
        self.model = model
        self.name, self.sha256 = name, sha256
        self.insertion_penalty, self.deletion_penalty = insertion_penalty, deletion_penalty

    @classmethod
    def load(
        cls, model: str = "default", insertion_penalty: float | None = None, deletion_penalty: float | None = None
    ) -> FastMethod:
        return cls.from_files(load_model(model), insertion_penalty, deletion_penalty)

    @classmethod
    def from_files(
        cls, files: ModelFiles, insertion_penalty: float | None = None, deletion_penalty: float | None = None
    ) -> FastMethod:
        fitted = files.config["penalties"]
        return cls(
            FastModel(FastConfig.from_json(files.config["network"]), files.weights),
            files.name,
            files.sha256,
            fitted["insertion"] if insertion_penalty is None else insertion_penalty,
            fitted["deletion"] if deletion_penalty is None else deletion_penalty,
        )

    @property
    def identity(self) -> str:
        return (
            f"{self.name}@{self.sha256[:16]} "
            f"insertion_penalty={self.insertion_penalty:g} deletion_penalty={self.deletion_penalty:g}"
        )

    @property
    def context(self) -> int:
        return self.model.config.context + LONGEST_RUN + COMPANY_REACH

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        return [
            self._decide(sequence, values)
            for sequence, values in zip(sequences, self.model.sequence_logits(sequences), strict=True)
        ]

    def _decide(self, sequence: GivenSequence, values: NDArray[np.float32]) -> Decision:
        charged = 1.0 if sequence.lost is None else (~sequence.lost).astype(np.float32)
        judged = judged_logits(sequence, values)
        bits = np.where(
            sequence.bits, judged >= -self.deletion_penalty * charged, judged > self.insertion_penalty * charged
        )
        confidence = 1 / (1 + np.exp(np.where(bits, -values, values)))
        return Decision(bits, confidence.astype(np.float32))
