from __future__ import annotations

import hashlib
from pathlib import Path

import fsspec
import numpy as np
import pytest

from models.fast.method import FastMethod
from models.files import CONFIG, SUMS, WEIGHTS, ModelError, load_model, load_referred, save_model
from models.methods import method_identity
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


@pytest.mark.parametrize("named", ["both", "../elsewhere", "deep/er", "other", 7])
def test_a_combination_names_shipped_models_or_folders_beside_it(tmp_path: Path, named: object) -> None:
    """Never itself, another combination, or whatever else is on this machine."""
    config = {"kind": "combination", "name": "both", "penalties": {"insertion": 0, "deletion": 0}, "labels": "default"}
    save_model(tmp_path / "models/other", config | {"language_model": "both"}, {})
    save_model(tmp_path / "elsewhere", SETTINGS, tiny_weights())
    save_model(tmp_path / "models/deep/er", SETTINGS, tiny_weights())
    save_model(tmp_path / "models/both", config | {"language_model": named}, {})
    with pytest.raises(ModelError, match=r"expected a (shipped model or a (folder beside|model directory)|model$)"):
        method_identity(str(tmp_path / "models/both"))


def test_a_folder_beside_it_by_its_name_or_path(tmp_path: Path) -> None:
    save_model(tmp_path / "tiny", SETTINGS, tiny_weights())
    for named in ("tiny", str(tmp_path / "tiny")):
        save_model(tmp_path / "both", {"kind": "combination", "labels": named}, {})
        assert load_referred(load_model(str(tmp_path / "both")), "labels").name == "tiny"


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        (CONFIG, b"[" * 100_000, "config.json is no JSON"),
        (CONFIG, b"[]", "config.json is list, expected an object"),
        (WEIGHTS, b"\xff" * 64, "weights.safetensors cannot be read as safetensors"),
        (WEIGHTS, b"", "weights.safetensors cannot be read as safetensors"),
    ],
)
def test_malformed_files_with_sums_that_fit(directory: Path, file: str, content: bytes, message: str) -> None:
    sums = (directory / SUMS).read_text()
    old = hashlib.sha256((directory / file).read_bytes()).hexdigest()
    (directory / file).write_bytes(content)
    (directory / SUMS).write_text(sums.replace(old, hashlib.sha256(content).hexdigest()))
    with pytest.raises(ModelError, match=message):
        load_model(str(directory))
