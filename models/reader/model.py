"""The reader with its weights, ready for inference."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from models.fast.inputs import Inputs
from models.files import ModelError, ModelFiles, Weights
from models.reader.config import ReaderConfig, frozen_shapes, trained_shapes
from models.reader.doubt import passages_around
from models.reader.passages import LONGEST, Passages
from models.reader.pieces import PieceTable
from models.reader.processor import ReaderOnCpu
from respace.gaps import Bits
from respace.loops import compiled

Floats = NDArray[np.float32]

PREFIX, PIECES_PREFIX = "reader/", "word_pieces/"
# Behind the name of weights that are kept in 8 bits: the scales of their columns.
SCALES = "@scales"
# How much is read: nothing, what pays in a corpus, or all that is uncertain.
EFFORTS = ("fast", "default", "thorough")


@dataclass(frozen=True, kw_only=True)
class Doubt:
    """Which gaps are read.

    Attributes:
        low, high: evidence for an edit, in logits, between which a gap is uncertain.
        most_near: a gap is not read if so many within `REACH` characters are more uncertain, which bounds the cost.
    """

    low: float
    high: float
    most_near: int


# Characters to either side within which the most uncertain gaps are chosen.
REACH = 512
# Gaps whose evidence lies in the middle of the range between a cautious and a bold decision are the most uncertain.
THOROUGH = Doubt(low=-4.0, high=4.0, most_near=128)


class Network(Protocol):
    """Computes corrections of logits."""

    def corrections(self, passages: Passages) -> Floats: ...


def uncertain_gaps(doubt: Doubt, given: Bits, logits: Floats, filled: Bits) -> Bits:
    """The gaps to read: a function of the text near them alone.

    Args:
        doubt: how uncertain a gap must be.
        given: gap bits of texts that lie one after the other.
        logits: after rescoring.
        filled: gaps between two characters.
    """
    for_edit = np.where(given, -logits, logits)
    uncertain: Bits = (for_edit > doubt.low) & (for_edit < doubt.high) & filled
    places = np.flatnonzero(uncertain)
    distance = np.abs(for_edit[places] - (doubt.low + doubt.high) / 2)
    kept = np.ones(len(places), dtype=bool)
    _keep_nearest(places, distance, doubt.most_near, kept)
    uncertain[places[~kept]] = False
    return uncertain


@compiled
def _keep_nearest(places: Any, distance: Any, most: int, kept: Any) -> None:
    """Drops the places with too many others near them that are closer to the middle."""
    first = 0
    for one in range(len(places)):
        while places[first] < places[one] - REACH:
            first += 1
        closer, other = 0, first
        while other < len(places) and places[other] <= places[one] + REACH and closer < most:
            if distance[other] < distance[one] or (distance[other] == distance[one] and other < one):
                closer += 1
            other += 1
        kept[one] = closer < most


def quantised(weights: Weights) -> Weights:
    """Weights as they are kept: products in 8 bits with a scale for each column, the others in 16."""
    out: Weights = {}
    for name, array in weights.items():
        if array.ndim == 2 and min(array.shape) >= 16:
            scales = np.abs(array).max(0) / 127 + 1e-12
            out[name] = np.round(array / scales).astype(np.int8)
            out[f"{name}{SCALES}"] = scales.astype(np.float32)
        else:
            out[name] = array.astype(np.float16)
    return out


def restored(weights: Weights) -> Weights:
    """The inverse of `quantised`, up to rounding."""
    return {
        name: (
            array.astype(np.float32) * weights[f"{name}{SCALES}"]
            if f"{name}{SCALES}" in weights
            else array.astype(np.float32)
        )
        for name, array in weights.items()
        if not name.endswith(SCALES)
    }


class Reader:
    """Reads the passages around uncertain gaps and corrects their logits."""

    def __init__(self, network: Network, doubt: Doubt):
        self.network, self.doubt = network, doubt

    @classmethod
    def from_files(cls, files: ModelFiles, effort: str = "default") -> Reader | None:
        """The reader of a model; None if it has none, or if the effort is to use none.

        Raises:
            ModelError: its weights and its configuration do not fit.
        """
        check_effort(effort)
        settings: Mapping[str, Any] | None = files.config.get("reader")
        if settings is None or effort == "fast":
            return None
        config = ReaderConfig.from_json(settings["network"])
        weights = restored(_below(files.weights, PREFIX))
        pieces = _below(files.weights, PIECES_PREFIX)
        table = PieceTable.from_weights(pieces)
        wanted = {name: list(shape) for name, shape in trained_shapes(config).items()}
        kept = {name: list(shape) for name, shape in frozen_shapes(config).items()} | {"piece_scales": [config.width]}
        for name, shape in (wanted | kept).items():
            source = pieces if name in kept else weights
            found = list(source[name].shape) if name in source else "nothing"
            if found != shape:
                raise ModelError(f"weights hold {found} for {name!r} of the reader, the configuration expects {shape}")
        doubt = THOROUGH if effort == "thorough" else Doubt(**settings["doubt"])
        return cls(ReaderOnCpu(config, weights | {name: pieces[name] for name in kept}, table), doubt)

    @property
    def context(self) -> int:
        """How far a decision looks to either side, beyond what FAST looks at."""
        return REACH + LONGEST

    def read(
        self,
        inputs: Inputs,
        texts: Sequence[slice],
        network_logits: Floats,
        logits: Floats,
        last_layer: Callable[[NDArray[np.int64]], Floats],
    ) -> Floats:
        """Logits of texts that lie one after the other, corrected where they are uncertain.

        Args:
            inputs: of FAST.
            texts: where each lies.
            network_logits, logits: before and after rescoring.
            last_layer: FAST's, at some places.
        """
        filled = inputs.characters > 0
        filled[[text.start for text in texts if text.stop > text.start]] = False
        uncertain = uncertain_gaps(self.doubt, inputs.bits, logits, filled)
        if not uncertain.any():
            return logits
        passages, gaps = passages_around(inputs, network_logits, logits, texts, uncertain)
        passages = replace(passages, layer=last_layer(gaps))
        out = logits.copy()
        out[gaps] += self.network.corrections(passages)
        return out


def check_effort(effort: str) -> None:
    if effort not in EFFORTS:
        raise ValueError(f"effort {effort!r}: expected one of {', '.join(EFFORTS)}")


def _below(weights: Weights, prefix: str) -> Weights:
    return {name.removeprefix(prefix): array for name, array in weights.items() if name.startswith(prefix)}
