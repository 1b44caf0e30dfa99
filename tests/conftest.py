"""Settings and data that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

# A busy machine is no reason to fail; the same examples every time are.
settings.register_profile("respace", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("respace")

SHARED = Path(__file__).resolve().parent.parent.parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    """Corpora and benchmarks, which are not part of the project."""
    if not SHARED.is_dir():
        pytest.skip("needs the corpora and benchmarks in ../shared")
    return SHARED
