from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from respace.extras import EXTRAS, require
from respace.storage.errors import BadOption


def test_what_is_missing_and_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    require("tensorboard", "training")
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    with pytest.raises(BadOption, match=r"training needs the package tensorboard. Run: pip install 'tensorboard"):
        require("tensorboard", "training")


def test_every_extra_is_one_of_ours() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]")[2]
    for extra in EXTRAS.values():
        assert f"\n{extra} = [" in section
