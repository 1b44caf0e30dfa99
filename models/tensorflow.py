"""TensorFlow without its greetings."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def import_tensorflow() -> None:
    """Imports TensorFlow, which otherwise tells every user of a machine without a GPU so, several times over.

    The lines come from native code before any log level is read, so the stream itself is turned away meanwhile;
    a failing import still raises.
    """
    if "tensorflow" in sys.modules:
        return
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    sys.stderr.flush()
    kept = os.dup(2)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        import tensorflow

        tensorflow.config.list_physical_devices()
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)


def has_bfloat16() -> bool:
    """Whether the processor multiplies bfloat16 numbers itself; elsewhere they are far slower than 32-bit ones."""
    return "avx512_bf16" in _processor()


def has_matrix_units() -> bool:
    """Whether the processor has AMX: TensorFlow then computes products in bfloat16 as `models.products` does, or not
    at all."""
    return "amx_bf16" in _processor()


def _processor() -> str:
    try:
        return Path("/proc/cpuinfo").read_text()
    except OSError:
        return ""


def has_gpu() -> bool:
    """Whether there is a graphics card for TensorFlow; asked without importing it."""
    return any(Path("/dev").glob("nvidia[0-9]*"))
