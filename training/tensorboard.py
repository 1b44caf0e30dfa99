"""Numbers of a training for TensorBoard, where that is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from respace.storage.installing import install_hint


class ScalarLog:
    """Writes numbers to a directory that ``tensorboard --logdir`` shows; without the package, it does nothing."""

    def __init__(self, directory: Path):
        self._directory = directory
        self._writer: Any = None
        self._is_installed = importlib.util.find_spec("tensorboard") is not None
        if not self._is_installed:
            print(f"TensorBoard is not installed, so numbers are only printed. To have it: {install_hint('train')}")

    def write(self, step: int, numbers: Mapping[str, float]) -> None:
        if not self._is_installed:
            return
        import tensorflow as tf

        if self._writer is None:
            self._writer = tf.summary.create_file_writer(str(self._directory))
        with self._writer.as_default(step=step):
            for name, number in numbers.items():
                tf.summary.scalar(name, number)
