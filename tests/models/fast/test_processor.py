"""The network by NumPy is the network by TensorFlow, with less work."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.fast.inputs import Inputs
from models.fast.model import FastModel, Layout
from models.fast.network import logits
from models.fast.on_tensorflow import TensorFlowNetwork
from models.fast.processor import CERTAIN, ProcessorNetwork
from models.fast.shape import FastConfig
from models.files import Weights
from respace import gaps
from respace.method import GivenSequence
from tests.models.tiny import TINY, tiny_weights

ALL_LAYERS = [(float("inf"), float("inf"))] * 2


def sequence(text: str) -> GivenSequence:
    characters, bits = gaps.split(text)
    return GivenSequence(gaps.code_points(characters), bits)


def both(config: FastConfig, weights: Weights) -> tuple[FastModel, FastModel]:
    return (
        FastModel(config, weights, network=ProcessorNetwork(config, weights, ALL_LAYERS)),
        FastModel(config, weights, network=TensorFlowNetwork(config, weights)),
    )


PROCESSOR, TENSORFLOW = both(TINY, tiny_weights())


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(exclude_categories=["Cs", "Zs", "Cc"]) | st.just(" "), max_size=120), max_size=6))
def test_both_find_the_same(texts: list[str]) -> None:
    sequences = [sequence(text) for text in texts]
    for mine, reference in zip(PROCESSOR.network_logits(sequences), TENSORFLOW.network_logits(sequences), strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-4)


def test_a_network_without_an_exit() -> None:
    config = replace(TINY, exits=())
    weights = {name: weight for name, weight in tiny_weights().items() if not name.startswith("exit")}
    processor = FastModel(config, weights, network=ProcessorNetwork(config, weights))
    reference = FastModel(config, weights, network=TensorFlowNetwork(config, weights))
    given_text = [sequence("the quick brown fox " * 30)]
    np.testing.assert_allclose(
        processor.network_logits(given_text)[0], reference.network_logits(given_text)[0], atol=1e-4
    )


def test_inputs_without_weights_are_not_read() -> None:
    weights = tiny_weights()
    front = weights["front/kernel"].copy()
    front[np.random.default_rng(2).permutation(len(front))[: len(front) // 2]] = 0.0
    processor, reference = both(TINY, weights | {"front/kernel": front})
    assert isinstance(processor.network, ProcessorNetwork)
    assert len(processor.network._front) == len(front) - len(front) // 2
    given_text = [sequence("the quick brown fox, a lazy dog; " * 30)]
    np.testing.assert_allclose(
        processor.network_logits(given_text)[0], reference.network_logits(given_text)[0], atol=1e-4
    )


def logits_of_heads(inputs: Inputs) -> list[np.ndarray]:
    """Those of the exits and of the last layer, by TensorFlow."""
    network = TensorFlowNetwork(TINY, tiny_weights())
    length = -(-len(inputs.characters) // 32) * 32 - len(inputs.characters)
    rows, characters, bits, evidence = (
        np.pad(array, [(0, length)] + [(0, 0)] * (array.ndim - 1))[None]
        for array in (inputs.rows, inputs.characters, inputs.bits.astype(np.float32), inputs.evidence)
    )
    looked_up = network._table.numpy()[rows].astype(np.float32) * network._scales.numpy()
    found = logits(TINY, network._dense, looked_up, characters, bits, evidence)
    return [one.numpy()[0, : len(inputs.bits)] for one in found]


@pytest.mark.parametrize(("keeps", "edits"), [(0.0, 0.0), (0.1, 0.4), (0.3, 1.0), (CERTAIN, CERTAIN)])
def test_certain_gaps_leave_at_the_exits(keeps: float, edits: float) -> None:
    network = ProcessorNetwork(TINY, tiny_weights(), [(keeps, edits)] * 2)
    model = FastModel(TINY, tiny_weights(), network=network)
    text = sequence("the quick brown fox, a lazy dog; " * 60)
    inputs = model._inputs([text], Layout([text], network.apart, network.aligned))
    wanted, *others = logits_of_heads(inputs)
    for deeper in others:
        needed = np.where((wanted > 0) == inputs.bits, keeps, edits)
        final = np.sign(wanted) * np.maximum(np.abs(wanted), CERTAIN)
        wanted = np.where(np.abs(wanted) < needed, deeper, final)
    wanted = wanted[: len(text.bits)]
    np.testing.assert_allclose(model.network_logits([text])[0], wanted, atol=1e-4)


def test_what_is_no_character_has_no_opinion() -> None:
    found = PROCESSOR.network_logits(
        [GivenSequence(np.array([97, 0, 0, 98], dtype=np.uint32), np.zeros(4, dtype=bool))]
    )
    assert found[0][[1, 2]].tolist() == [0.0, 0.0]
