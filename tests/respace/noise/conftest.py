from __future__ import annotations

from pathlib import Path

import pytest

_SHARED = Path(__file__).parents[3].parent / "shared"


@pytest.fixture(scope="session")
def shared() -> Path:
    if not _SHARED.is_dir():
        pytest.skip("the data in ../shared is not here")
    return _SHARED
