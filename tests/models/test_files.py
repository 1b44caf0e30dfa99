from __future__ import annotations

from pathlib import Path

import fsspec
import numpy as np
import pytest

from models.fast.method import FastMethod
from models.files import CONFIG, SUMS, WEIGHTS, ModelError, load_model, save_model
from tests.models.tiny import TINY, tiny_weights

SETTINGS = {"kind": "fast", "name": "tiny", "network": TINY.to_json(), "penalties": {"insertion": 1.0, "deletion": 2.5}}


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    save_model(tmp_path / "model", SETTINGS, tiny_weights())
    return tmp_path / "model"


def test_what_is_saved_is_loaded(directory: Path) -> None:
    files = load_model(str(directory))
    assert files.name == "tiny"
    assert files.config["penalties"] == {"insertion": 1.0, "deletion": 2.5}
    weights = tiny_weights()
    assert set(files.weights) == set(weights)
    assert all(np.array_equal(files.weights[name], weights[name]) for name in weights)
    method = FastMethod.from_files(files)
    assert method.model.config == TINY
    assert method.identity == f"tiny@{files.sha256[:16]} insertion_penalty=1 deletion_penalty=2.5"


def test_remote_directories_load_too(directory: Path) -> None:
    memory = fsspec.filesystem("memory")
    for file in directory.iterdir():
        memory.pipe(f"/models/tiny/{file.name}", file.read_bytes())
    assert load_model("memory://models/tiny").sha256 == load_model(str(directory)).sha256


@pytest.mark.parametrize("file", [CONFIG, WEIGHTS])
def test_missing_truncated_and_altered_files_are_named(directory: Path, file: str) -> None:
    content = (directory / file).read_bytes()
    expected = next(line.split()[0] for line in (directory / SUMS).read_text().splitlines() if line.endswith(file))
    for broken in (content[:-1], bytes([content[0] ^ 1]) + content[1:]):
        (directory / file).write_bytes(broken)
        with pytest.raises(ModelError, match=f"{file} is truncated or altered: sha256 .*, expected {expected}"):
            load_model(str(directory))
    (directory / file).unlink()
    with pytest.raises(ModelError, match=rf"{file} is missing \(expected sha256 {expected}\)"):
        load_model(str(directory))


def test_a_directory_without_sums_is_not_finished(directory: Path) -> None:
    (directory / SUMS).unlink()
    with pytest.raises(ModelError, match=f"{SUMS} is missing: a model directory holds"):
        load_model(str(directory))


def test_unknown_names_list_the_known_ones() -> None:
    with pytest.raises(ModelError, match=r"unknown model 'defualt': expected one of .*default"):
        load_model("defualt")


def test_other_formats_are_refused(tmp_path: Path) -> None:
    save_model(tmp_path, SETTINGS | {"format": 99}, tiny_weights())
    with pytest.raises(ModelError, match="has format 99; this version reads 1"):
        load_model(str(tmp_path))
