from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.windows import windows


@given(st.integers(0, 500), st.integers(1, 60), st.integers(0, 29))
def test_middles_tile_and_have_their_context(length: int, extra: int, context: int) -> None:
    size = 2 * context + extra
    cut = windows(length, size, context)
    decided = [gap for window in cut for gap in range(window.keep_start, window.keep_stop)]
    assert decided == list(range(length))
    for window in cut:
        assert window.stop - window.start <= size
        assert window.start <= max(0, window.keep_start - context)
        assert window.stop >= min(length, window.keep_stop + context)


def test_one_window_if_it_fits() -> None:
    assert [(w.start, w.stop, w.keep_start, w.keep_stop) for w in windows(6, 6, 2)] == [(0, 6, 0, 6)]


def test_context_must_leave_a_middle() -> None:
    with pytest.raises(ValueError, match="window size 6 with context 3"):
        windows(10, 6, 3)
