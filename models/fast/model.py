"""FAST's network with its weights, ready for inference."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.inputs import LOOKS_AHEAD, Inputs, inputs_of, quotes_told_apart
from models.fast.joint import LONGEST_STRETCH, UNSPACED, JointWeights, far_from_spaces, joint_logits
from models.fast.language_model import LanguageModel
from models.fast.processor import LastLayer, ProcessorNetwork
from models.fast.shape import FastConfig, dense_shapes
from models.files import ModelError, ModelFiles, Weights, is_number
from models.processors import one_thread_per_product, threads_to_use
from models.reader.model import Reader
from models.tensorflow import has_gpu, import_tensorflow
from respace.batching import by_size
from respace.method import GivenSequence

Logits = list[NDArray[np.float32]]


class Network(Protocol):
    """Computes logits of texts that lie at least ``apart`` places apart and begin at multiples of ``aligned``, with 0
    for characters in between; so many at once."""

    @property
    def apart(self) -> int: ...

    @property
    def aligned(self) -> int: ...

    @property
    def at_once(self) -> int: ...

    def __call__(self, inputs: Inputs) -> NDArray[np.float32]:
        """One logit for each place."""

    def with_last_layer(self, inputs: Inputs) -> tuple[NDArray[np.float32], LastLayer]:
        """The logits, and what gives the last layer at some places, ``[places, hidden]``."""


def network_of(config: FastConfig, weights: Weights, certain: Sequence[Sequence[float]] | None = None) -> Network:
    """What computes a network fastest on this machine."""
    if has_gpu():
        import_tensorflow()
        from models.fast.on_tensorflow import Batches, TensorFlowNetwork

        return TensorFlowNetwork(config, weights, Batches.wanted())
    return ProcessorNetwork(config, weights, certain)


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

    def __init__(
        self,
        config: FastConfig,
        weights: Weights,
        joint: JointWeights | None = None,
        certain: Sequence[Sequence[float]] | None = None,
        network: Network | None = None,
        reader: Reader | None = None,
    ):
        """
        Args:
            config: the shape of the network.
            weights: of the network, and the dictionary; the language model, if there is one.
            joint: how much the language model counts.
            certain: which logits are final at the exits of the network, see `models.fast.processor`.
            network: what computes it, if not what suits this machine.
            reader: reads the passages around gaps that are uncertain after rescoring, if there is one.
        """
        wanted = {name: list(shape) for name, shape in dense_shapes(config).items()}
        wanted["table"] = [config.features.rows, config.row_width]
        wanted["table_scales"] = [len(config.features.table_starts()), config.row_width]
        for name, shape in wanted.items():
            found = list(weights[name].shape) if name in weights else "nothing"
            if found != shape:
                raise ModelError(f"weights hold {found} for {name!r}, the configuration expects {shape}")
            kinds = ("int8",) if name == "table" else ("float16", "float32")
            if weights[name].dtype.name not in kinds:  # compiled loops check nothing
                raise ModelError(f"weights hold {weights[name].dtype} for {name!r}: expected {' or '.join(kinds)}")
        if certain is not None:
            _check_exits(certain, len(config.exits))
        self.config = config
        self.dictionary = Dictionary.from_weights(weights)
        self.language_model = LanguageModel.from_weights(weights)
        self.joint = joint or JointWeights()
        self.network = network or network_of(config, weights, certain)
        self.reader = reader

    @classmethod
    def from_files(cls, files: ModelFiles, network: Network | None = None, effort: str = "default") -> FastModel:
        return cls(
            FastConfig.from_json(files.config["network"]),
            files.weights,
            JointWeights(**files.config.get("joint", {})),
            files.config.get("certain"),
            network,
            Reader.from_files(files, effort),
        )

    @property
    def context(self) -> int:
        """How far a decision looks to either side."""
        rescored = self.config.context + LOOKS_AHEAD + (LONGEST_STRETCH if self.language_model else 0)
        return rescored + (self.reader.context if self.reader else 0)

    def sequence_logits(self, sequences: Sequence[GivenSequence]) -> Logits:
        """Logits of sequences of any length, after the language model was heard and uncertain passages were read."""
        return self._in_groups(self._final_logits, sequences)

    def network_logits(self, sequences: Sequence[GivenSequence]) -> Logits:
        """Logits of sequences of any length, as the network alone finds them."""
        return self._in_groups(self._group_logits, sequences)

    def hear_language_model(self, sequences: Sequence[GivenSequence], logits: Sequence[NDArray[np.float32]]) -> Logits:
        """What becomes of the network's logits when the language model is heard."""
        if self.language_model is None:
            raise ValueError("this model has no language model: expected one that was counted (training.count_ngrams)")
        if not sequences:
            return []
        layout = Layout(sequences, apart=1)
        return layout.taken_up(self._rescored(layout, sequences, layout.laid(logits, np.float32)))

    def _rescored(
        self, layout: Layout, sequences: Sequence[GivenSequence], logits: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """After the language model was heard, if there is one."""
        if self.language_model is None:
            return logits
        return joint_logits(
            self.language_model,
            self.joint,
            quotes_told_apart(
                layout.laid([one.characters for one in sequences], np.int32),
                layout.laid([_line_starts(one) for one in sequences], np.bool_),
            ),
            logits,
            layout.laid(_far_from_spaces(sequences), np.bool_),
        )

    def _in_groups(self, work: Callable[[list[GivenSequence]], Logits], sequences: Sequence[GivenSequence]) -> Logits:
        """Work on groups of sequences, one thread each; the compiled loops and the products let others run."""
        groups = list(by_size(sequences, lambda one: len(one.bits) + self.network.apart, self.network.at_once))
        threads = min(len(groups), threads_to_use())
        with one_thread_per_product():
            if threads <= 1:
                return [one for group in groups for one in work(group)]
            with ThreadPoolExecutor(threads) as executor:
                return [one for found in executor.map(work, groups) for one in found]

    def _final_logits(self, group: list[GivenSequence]) -> Logits:
        layout = Layout(group, self.network.apart, self.network.aligned)
        inputs = self._inputs(group, layout)
        if self.reader is None:
            return layout.taken_up(self._rescored(layout, group, self.network(inputs)))
        network_logits, last_layer = self.network.with_last_layer(inputs)
        logits = self._rescored(layout, group, network_logits)
        return layout.taken_up(self.reader.read(inputs, layout.stretches, network_logits, logits, last_layer))

    def _group_logits(self, group: list[GivenSequence]) -> Logits:
        """Whole sequences, laid as far apart as the network wants them."""
        layout = Layout(group, self.network.apart, self.network.aligned)
        return layout.taken_up(self.network(self._inputs(group, layout)))

    def _inputs(self, group: Sequence[GivenSequence], layout: Layout) -> Inputs:
        return inputs_of(
            self.config.features,
            self.dictionary,
            layout.laid([one.characters for one in group], np.int32),
            layout.laid([_without_first(one.bits) for one in group], np.bool_),
            layout.laid([_line_starts(one) for one in group], np.bool_),
            margin=_margin(layout, group),
        )


def _check_exits(certain: object, exits: int) -> None:
    pairs = certain if isinstance(certain, list | tuple) else [certain]
    fits = all(isinstance(pair, list | tuple) and len(pair) == 2 and all(map(is_number, pair)) for pair in pairs)
    if not fits or len(pairs) not in (0, exits):
        raise ModelError(f"'certain' is {str(certain)[:100]!r}: expected two numbers for each of {exits} exits")


class Layout:
    """Sequences one after the other, with at least so many places behind each, beginning at multiples of a number."""

    def __init__(self, sequences: Sequence[GivenSequence], apart: int, aligned: int = 1):
        self._lengths = [len(one.bits) for one in sequences]
        rooms = [-(-(length + apart) // aligned) * aligned for length in self._lengths]
        *self.starts, self._size = np.cumsum([0, *rooms]).tolist()

    def laid(self, arrays: Sequence[NDArray[Any]], kind: type[Any]) -> NDArray[Any]:
        """Arrays of the sequences' lengths, with 0 in between."""
        out = np.zeros(self._size, dtype=kind)
        for start, array in zip(self.starts, arrays, strict=True):
            out[start : start + len(array)] = array
        return out

    @property
    def stretches(self) -> list[slice]:
        """Where the sequences lie."""
        return [slice(start, start + length) for start, length in zip(self.starts, self._lengths, strict=True)]

    def taken_up(self, laid: NDArray[Any]) -> list[NDArray[Any]]:
        """The sequences' parts of an array that was laid so."""
        return [laid[stretch] for stretch in self.stretches]


def _far_from_spaces(sequences: Sequence[GivenSequence]) -> list[NDArray[np.bool_]]:
    """`far_from_spaces` of each sequence: so far apart, none reaches another one."""
    layout = Layout(sequences, apart=UNSPACED)
    return layout.taken_up(far_from_spaces(layout.laid([one.bits for one in sequences], np.bool_)))


def _without_first(bits: NDArray[np.bool_]) -> NDArray[np.bool_]:
    out = bits.copy()
    out[:1] = False
    return out


def _margin(layout: Layout, sequences: Sequence[GivenSequence]) -> NDArray[np.float32] | None:
    """Evidence that edits need beyond the penalties; None where none of the sequences says so."""
    if all(one.caution is None for one in sequences):
        return None
    return layout.laid(
        [np.zeros(len(one.bits), np.float32) if one.caution is None else one.caution for one in sequences], np.float32
    )


def _line_starts(sequence: GivenSequence) -> NDArray[np.bool_]:
    return np.zeros(len(sequence.bits), dtype=bool) if sequence.line_starts is None else sequence.line_starts
