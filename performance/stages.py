"""Where the time of a repair goes: seconds of the stages that FAST's work passes through, in one process."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any
from unittest.mock import patch

import numpy as np

from models.processors import one_thread_per_product
from respace import Repairer

# What is timed, by the name of the stage: functions that the work calls, none of which calls another.
STAGES = {
    "reading characters and spaces": ["respace.laid_texts.LaidTexts.of"],
    "guards and judgement of lines": ["respace.judgement.Judgement.of"],
    "dictionary": ["models.fast.dictionary.Dictionary.evidence"],
    "table rows": ["models.fast.features.Features.__call__"],
    "surroundings": ["models.fast.inputs.surroundings"],
    "network": ["models.fast.processor.ProcessorNetwork._all_logits"],
    "language model": ["models.fast.model.joint_logits"],
    "reader": ["models.reader.model.Reader.read"],
    "decision": ["models.fast.method._Laid.judged", "models.fast.method._Laid.decided"],
    "writing and checking": ["respace.gaps.apply", "respace.repairer.check_characters"],
}
OTHER = "everything else"


@contextmanager
def _timed(target: str, add: Callable[[float], None]) -> Iterator[None]:
    import pkgutil

    function = pkgutil.resolve_name(target)

    def timed(*arguments: Any, **named: Any) -> Any:
        began = time.thread_time()
        try:
            return function(*arguments, **named)
        finally:
            add(time.thread_time() - began)

    with patch(target, timed):
        yield


def seconds_of_stages(repairer: Repairer, texts: Sequence[str]) -> dict[str, float]:
    """Processor seconds by stage; the rest of the whole is `OTHER`."""
    found = dict.fromkeys(STAGES, 0.0)

    with ExitStack() as stack:
        for stage, targets in STAGES.items():

            def add(seconds: float, stage: str = stage) -> None:
                found[stage] += seconds

            for target in targets:
                stack.enter_context(_timed(target, add))
        stack.enter_context(patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}))
        began = time.thread_time()
        repairer.repair_with_edits(list(texts))
        whole = time.thread_time() - began
    return found | {OTHER: whole - sum(found.values())}


@dataclass
class Computed:
    """What the network computed: at how many places its first product, at how many a layer, and the operations of both.

    The heads of the exits are left out: they are a twentieth of it.
    """

    fronts: int = 0
    layers: int = 0
    operations: int = 0

    @classmethod
    @contextmanager
    def counted(cls) -> Iterator[Computed]:
        """Counts in this block."""
        from models.fast.processor import ProcessorNetwork

        found, front, layer = cls(), ProcessorNetwork._compute_front, ProcessorNetwork._compute_layer

        def count_front(network: Any, room: Any, missing: Any) -> None:
            places = int(np.count_nonzero(missing))
            found.fronts += places
            found.operations += 2 * places * network._front.size
            front(network, room, missing)

        def count_layer(network: Any, room: Any, number: int, missing: Any) -> None:
            places = int(np.count_nonzero(missing))
            found.layers += places
            found.operations += 2 * places * network._kernels[number].size
            layer(network, room, number, missing)

        with (
            patch.object(ProcessorNetwork, "_compute_front", count_front),
            patch.object(ProcessorNetwork, "_compute_layer", count_layer),
            patch.dict(os.environ, {"OMP_NUM_THREADS": "1"}),
        ):
            yield found


def peak_operations_per_second(seconds: float = 1.0) -> float:
    """What one core does in 32-bit products of large matrices."""
    a, b = (np.random.default_rng(1).normal(size=(1024, 1024)).astype(np.float32) for _ in range(2))
    best, until = 0.0, time.thread_time() + seconds
    with one_thread_per_product():
        while time.thread_time() < until:
            began = time.thread_time()
            np.matmul(a, b)
            best = max(best, 2 * 1024**3 / (time.thread_time() - began))
    return best
