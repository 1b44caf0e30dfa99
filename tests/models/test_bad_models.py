"""Model directories of strangers: whatever is wrong with one is one line, and never a crash."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.files import ModelError, save_model
from models.methods import load_method, method_identity
from tests.models.tiny import TINY, tiny_weights

CONFIG: dict[str, Any] = {
    "kind": "fast",
    "name": "tiny",
    "network": TINY.to_json(),
    "penalties": {"insertion": 2.0, "deletion": 5.0},
}


def changed(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda config, weights: config.update(values)


def network(**values: Any) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    return lambda config, weights: config.update(network={**config["network"], **values})


def weight(name: str, make: Callable[[Any], Any]) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(config: dict[str, Any], weights: dict[str, Any]) -> None:
        found = name if name in weights else next(key for key in weights if key.endswith(name))
        weights[found] = make(weights[found])

    return change


def language_model(config: dict[str, Any], weights: dict[str, Any]) -> None:
    kinds = {"alphabet": np.uint32, "fingerprints": np.uint16, "context_fingerprints": np.uint16}
    for name in ("alphabet", "fingerprints", "costs", "context_fingerprints", "context_costs"):
        weights[f"language_model/{name}"] = np.zeros(0, dtype=kinds.get(name, np.uint8))


@pytest.mark.parametrize(
    "change",
    [
        changed(network={}),
        changed(network=None),
        changed(network=5),
        changed(joint={"penguins": 5}),
        changed(joint=[]),
        changed(penalties={"insertion": "2", "deletion": 5.0}),
        changed(penalties={"insertion": float("nan"), "deletion": 5.0}),
        changed(penalties={"insertion": -1, "deletion": 5.0}),
        changed(penalties={}),
        changed(penalties=None),
        network(hidden=10**9),
        network(hidden="eight"),
        network(hidden=-8),
        network(row_width=0),
        network(dilations=5),
        network(features={"ngrams": [[3, 10**12]], "straddles": [], "word_rows": 5}),
        network(features={}),
        network(penguins=1),
        weight("table", lambda table: table[:-1]),
        weight("table_scales", lambda scales: scales[:1]),
        weight("table_scales", lambda scales: scales * np.nan),
        language_model,
    ],
)
def test_one_line(tmp_path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    config, weights = dict(CONFIG), dict(tiny_weights())
    change(config, weights)
    save_model(tmp_path / "model", config, weights)
    with pytest.raises(ModelError) as caught:
        load_method(str(tmp_path / "model"))
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_a_good_one_keeps_its_penalties_apart(tmp_path: Path) -> None:
    save_model(tmp_path / "model", CONFIG, tiny_weights())
    method: Any = load_method(str(tmp_path / "model"))
    assert (method.insertion_penalty, method.deletion_penalty) == (2.0, 5.0)
    assert method.identity == method_identity(str(tmp_path / "model"))
    assert "insertion_penalty=2 deletion_penalty=5" in method.identity
    other: Any = load_method(str(tmp_path / "model"), 7.0, None)
    assert (other.insertion_penalty, other.deletion_penalty) == (7.0, 5.0)
    other = load_method(str(tmp_path / "model"), None, 7.0)
    assert (other.insertion_penalty, other.deletion_penalty) == (2.0, 7.0)
