from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from respace.noise import Recipe, corrupt
from respace.noise.parameters import GAP_MODEL_FILE, gap_model, ocr_parameters


def test_the_defaults() -> None:
    default = ocr_parameters(None)
    assert default.hyphen_forms == (161, 21, 4)
    assert default.span_start_rate == pytest.approx(0.058, abs=0.0005)
    assert default.confusions[0] == ("", "?", 17626)
    assert len(default.confusions) == 4000
    narrow, wide = default.insertion_factor(*_codes("ti")), default.insertion_factor(*_codes("mu"))
    assert narrow / wide > 10


def _codes(pair: str) -> tuple[np.ndarray, np.ndarray]:
    return np.array([ord(pair[0])], dtype=np.uint32), np.array([ord(pair[1])], dtype=np.uint32)


def test_a_missing_directory_is_named_with_what_to_do(tmp_path: Path) -> None:
    recipe = Recipe.pdf(parameters=str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match=r"nowhere.*training\.estimate_noise"):
        corrupt(["a b"], ["key"], recipe, seed=1)


def test_a_broken_file_is_named(tmp_path: Path) -> None:
    (tmp_path / GAP_MODEL_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(ValueError, match=r"gap_model\.json: not a file of noise parameters"):
        gap_model(str(tmp_path))
