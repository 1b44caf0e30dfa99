"""FAST on graphics cards: every operation between the inputs and the logits can run there."""

from __future__ import annotations

import pytest
from tensorflow.python.framework.kernels import get_registered_kernels_for_op

from models.fast.on_tensorflow import TensorFlowNetwork
from tests.models.tiny import TINY, tiny_weights

# Places where values come in and go out; they compute nothing.
NO_WORK = {"Placeholder", "Const", "Identity", "NoOp"}


def devices_of(operation: str) -> set[str]:
    return {kernel.device_type for kernel in get_registered_kernels_for_op(operation).kernel}


@pytest.mark.skipif("GPU" not in devices_of("MatMul"), reason="this build of TensorFlow knows no graphics cards")
def test_no_operation_is_for_processors_only() -> None:
    graph = TensorFlowNetwork(TINY, tiny_weights())._compiled.get_concrete_function().graph
    used = {operation.type for operation in graph.get_operations()} - NO_WORK
    assert "Conv2D" in used
    assert {operation for operation in used if "GPU" not in devices_of(operation)} == set()
