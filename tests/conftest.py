"""Settings and data that all tests share."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest
from hypothesis import settings

from tests.shared_data import SHARED

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# Shells start commands in the background deaf to Ctrl-C, and what those start is deaf, too; some tests press it.
signal.signal(signal.SIGINT, signal.default_int_handler)

# A busy machine is no reason to fail; the same examples every time are.
settings.register_profile("respace", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("respace")


@pytest.fixture(scope="session")
def shared() -> Path:
    """Corpora and benchmarks, which are not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("needs the corpora and benchmarks in $RESPACE_DATA or ../shared")
    return SHARED
