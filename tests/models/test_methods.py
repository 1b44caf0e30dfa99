"""One registry of methods: their names, and one identity for each."""

from __future__ import annotations

from pathlib import Path

import pytest

from models.files import ModelError, load_config, save_model
from models.methods import KINDS, load_method, method_identity, method_names
from tests.models.tiny import TINY, tiny_weights


@pytest.fixture
def model(tmp_path: Path) -> str:
    config = {"kind": "fast", "network": TINY.to_json(), "penalties": {"insertion": 2.5, "deletion": 3.0}}
    save_model(tmp_path / "tiny", config, tiny_weights())
    return str(tmp_path / "tiny")


@pytest.mark.parametrize("penalties", [(), (2.5, None), (2.5, 3.0), (None, 7.0)])
def test_the_identity_is_that_of_the_loaded_method(model: str, penalties: tuple[float | None, ...]) -> None:
    assert method_identity(model, *penalties) == load_method(model, *penalties).identity


@pytest.mark.parametrize("name", ["uni", "fast_search", "dynamic_programming"])
def test_shipped_methods_too(name: str) -> None:
    assert method_identity(name) == load_method(name).identity


def test_naming_the_models_own_penalty_changes_nothing(model: str) -> None:
    assert method_identity(model, 2.5, 3.0) == method_identity(model)
    assert method_identity(model, 2.5, 3.1) != method_identity(model)


def test_every_shipped_model_that_repairs_is_of_a_known_kind() -> None:
    shipped = [name for name in method_names() if name in ("default", "uni", "bid", "fast_search")]
    assert {load_config(name)["kind"] for name in shipped} == set(KINDS)
    with pytest.raises(ModelError, match="words is a model of kind 'words', which repairs nothing by itself"):
        load_method("words")
