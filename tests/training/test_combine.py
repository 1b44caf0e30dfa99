"""FAST+search, from two models to a method."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from models.fast.model import FastModel
from models.files import load_model, save_model
from models.methods import load_method, method_identity
from models.paper.lstm import NetworkSize, initial_weights
from models.paper.search import SearchMethod
from models.paper.uni import uni_shapes
from models.paper.vocabulary import Vocabulary
from tests.models.tiny import TINY, tiny_weights
from training.combine import LANGUAGE_WEIGHTS, main

VOCABULARY = Vocabulary(" abcdefghijklmnopqrstuvwxyz.")


@pytest.fixture
def world(tmp_path: Path) -> Path:
    size = NetworkSize(units=6, dense=5)
    config = {"kind": "uni", "vocabulary": VOCABULARY.characters, "uni": {"units": 6, "dense": 5}}
    penalties = {"penalties": {"insertion": 1.0, "deletion": 1.0}}
    save_model(tmp_path / "uni", config | penalties, initial_weights(uni_shapes(len(VOCABULARY), size), 1))
    save_model(tmp_path / "fast", {"kind": "fast", "network": TINY.to_json()} | penalties, tiny_weights())
    (tmp_path / "dev" / "Wiki").mkdir(parents=True)
    (tmp_path / "dev" / "Wiki" / "corrupt.txt").write_text("thec at sat\na b\nxy z\n")
    (tmp_path / "dev" / "Wiki" / "correct.txt").write_text("the cat sat\na b\nx yz\n")
    return tmp_path


def arguments(world: Path, labels: str = "fast") -> list[str]:
    paths = {"language_model": "uni", "labels": labels, "benchmarks": "dev", "output": "both"}
    return [part for name, path in paths.items() for part in (f"--{name}", str(world / path))]


def test_combination(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(world)) == 0
    assert capsys.readouterr().out.count("language weight") == len(LANGUAGE_WEIGHTS) + 1
    method = load_method(str(world / "both"))
    assert isinstance(method, SearchMethod)
    assert isinstance(method.labeller, FastModel)
    assert method.search.language_weight in LANGUAGE_WEIGHTS
    before = method_identity(str(world / "both"))
    files = load_model(str(world / "fast"))
    save_model(world / "fast", files.config, files.weights | {"out/bias": np.ones(1, dtype=np.float32)})
    assert method_identity(str(world / "both")) != before  # another FAST is another method


def test_labels_must_come_from_fast(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments(world, labels="uni")) == 2
    assert "expected FAST" in capsys.readouterr().err
