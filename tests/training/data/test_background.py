from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import count

import numpy as np

from training.data.background import InBackground

# A trainer that takes one item, tells who makes them, and waits to be killed.
TRAINER = """
import multiprocessing, time
from training.data.background import InBackground
from tests.training.data.test_background import large_items
if __name__ == "__main__":
    stream = InBackground(large_items, ahead=2)
    next(iter(stream))
    print(multiprocessing.active_children()[0].pid, flush=True)
    time.sleep(600)
"""


def large_items() -> Iterator[np.ndarray]:
    """Each is larger than what a pipe holds."""
    return (np.full(1 << 18, number) for number in count())


def test_items_come_in_order() -> None:
    stream = InBackground(large_items)
    assert [int(item[0]) for _, item in zip(range(5), stream, strict=False)] == [0, 1, 2, 3, 4]
    stream.close()


def test_nothing_is_left_behind_when_the_trainer_is_killed() -> None:
    trainer = subprocess.Popen([sys.executable, "-c", TRAINER], stdout=subprocess.PIPE, text=True)
    assert trainer.stdout is not None
    maker = int(trainer.stdout.readline())
    trainer.send_signal(signal.SIGKILL)
    trainer.wait()
    deadline = time.monotonic() + 60
    while _runs(maker) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not _runs(maker)


def _runs(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    with open(f"/proc/{process}/stat") as status:
        return status.read().rpartition(")")[2].split()[0] != "Z"
