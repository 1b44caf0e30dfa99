"""FAST on graphics cards: every operation between the inputs and the logits can run there."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tensorflow.python.framework.kernels import get_registered_kernels_for_op

from models.fast.model import FastModel
from models.fast.on_tensorflow import VARIABLE, WINDOW, Batches, TensorFlowNetwork
from respace import gaps
from respace.method import GivenSequence
from tests.models.tiny import TINY, tiny_weights

# Places where values come in and go out; they compute nothing.
NO_WORK = {"Placeholder", "Const", "Identity", "NoOp"}


def devices_of(operation: str) -> set[str]:
    return {kernel.device_type for kernel in get_registered_kernels_for_op(operation).kernel}


@pytest.mark.skipif("GPU" not in devices_of("MatMul"), reason="this build of TensorFlow knows no graphics cards")
def test_no_operation_is_for_processors_only() -> None:
    graph = TensorFlowNetwork(TINY, tiny_weights())._compiled.get_concrete_function().graph
    used = {operation.type for operation in graph.get_operations()} - NO_WORK
    assert "MatMul" in used
    assert {operation for operation in used if "GPU" not in devices_of(operation)} == set()


def sequences() -> list[GivenSequence]:
    random = np.random.default_rng(1)
    texts = ["the quick brown fox and a lazy dog " * int(count) for count in random.integers(1, 90, 25)]
    return [GivenSequence(gaps.code_points(characters), bits) for characters, bits in map(gaps.split, texts)]


def found(batches: Batches) -> tuple[list[np.ndarray], set[tuple[int, ...]]]:
    """Logits, and the shapes of the batches in which they were computed."""
    network = TensorFlowNetwork(TINY, tiny_weights(), batches)
    shapes, compiled = set(), network._compiled

    def noted(rows: Any, characters: Any, *others: Any) -> Any:
        shapes.add(characters.shape)
        return compiled(rows, characters, *others)

    network._compiled = noted
    return FastModel(TINY, tiny_weights(), network=network).network_logits(sequences()), shapes


PLAIN, _ = found(Batches())


def test_xla_decides_the_same_in_few_shapes() -> None:
    by_xla, shapes = found(Batches(xla=True))
    assert all(rows * length == 4096 for rows, length in shapes)
    assert {length for _, length in shapes} <= {32, 64, 128, 256, 512, 1024}
    for mine, reference in zip(by_xla, PLAIN, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-4)
        assert np.array_equal(mine > 0, reference > 0)


def test_large_batches_decide_the_same() -> None:
    by_large, shapes = found(Batches(characters=1 << 18))
    assert len(shapes) == 1
    for mine, reference in zip(by_large, PLAIN, strict=True):
        np.testing.assert_allclose(mine, reference, atol=1e-4)


def test_fewer_bits_in_convolutions_change_little() -> None:
    by_half, _ = found(Batches(precision="bfloat16"))
    for mine, reference in zip(by_half, PLAIN, strict=True):
        np.testing.assert_allclose(mine, reference, atol=0.05 * np.abs(reference).max())


def test_batches_for_a_graphics_card(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Batches.wanted().characters == 1 << 18
    monkeypatch.setenv(VARIABLE, "characters=65536 xla=1")
    assert Batches.wanted() == Batches(characters=65536, xla=True)


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("batch=3", "RESPACE_GPU has 'batch': expected characters=, precision= or xla="),
        ("precision=int8", "precision 'int8': expected one of float32, bfloat16, float16"),
        ("characters=10", f"batches of 10 characters: expected at least {WINDOW}"),
    ],
)
def test_what_cannot_be(told: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Batches.wanted(told)
