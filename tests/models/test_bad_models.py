"""Model directories of strangers: whatever is wrong with one is one line, and never a crash."""

from __future__ import annotations

import hashlib
import json
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from models.fast.language_model import LONGEST_PROBE, look_up
from models.files import SUMS, WEIGHTS, ModelError, load_model, save_model
from models.methods import load_method, method_identity
from models.words.counts import pack
from respace.loops import interpreted
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


def language_model(
    slots: int = 0, taken: int = 0, alphabet: int = 0
) -> Callable[[dict[str, Any], dict[str, Any]], None]:
    def change(config: dict[str, Any], weights: dict[str, Any]) -> None:
        for name in ("fingerprints", "context_fingerprints"):
            weights[f"language_model/{name}"] = (np.arange(slots) < taken).astype(np.uint16) * np.uint16(3)
        for name in ("costs", "context_costs"):
            weights[f"language_model/{name}"] = np.zeros(slots, dtype=np.uint8)
        weights["language_model/alphabet"] = np.arange(97, 97 + alphabet, dtype=np.uint32)

    return change


def bomb(numbers: int) -> Callable[[Any], Any]:
    """So many bytes that are alike, in a few packed ones."""
    return lambda _: pack(np.zeros(numbers, dtype=np.uint8))


def cut_off(packed: Any) -> Any:
    return packed[: len(packed) // 2].copy()


def all_zero(config: dict[str, Any], weights: dict[str, Any]) -> None:
    weights.update({name: np.zeros_like(array) for name, array in weights.items()})


def to_dtype(kind: type[Any]) -> Callable[[Any], Any]:
    return lambda array: array.astype(kind)


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
        language_model(),
        language_model(slots=4096, taken=4096, alphabet=26),
        language_model(slots=4096, taken=4000, alphabet=26),
        language_model(slots=4096, taken=100, alphabet=300),
        changed(kind=[]),
        changed(kind={"fast": 1}),
        changed(name=5),
        changed(name="two\nlines"),
        changed(certain="x"),
        changed(certain=5),
        changed(certain=[[1.0, 2.0]]),
        changed(certain=[[1.0, "x"], [1.0, 2.0]]),
        changed(certain=[[1.0, None], [1.0, 2.0]]),
        changed(certain=[[float("inf"), 2.0], [1.0, 2.0]]),
        changed(joint={"letters": "x"}),
        changed(joint={"letters": None}),
        changed(joint={"certain": 1e300}),
        changed(joint={"others": float("-inf")}),
        changed(penalties={"insertion": float("inf"), "deletion": 5.0}),
        network(dilations=[1, 2, 10**9]),
        network(dilations=[1, 2, 0]),
        network(dilations=[1, 2, "x"]),
        network(evidence_kinds=1),
        network(evidence_kinds=2),
        network(exits=["x"]),
        network(features={"ngrams": [[3, 256], [3, 512]], "straddles": [[2, 256]], "word_rows": 512}),
        network(features={"ngrams": [[3, 256], [4, 512]], "straddles": [[2, 768]], "word_rows": 0}),
        network(features={"ngrams": [[3, 256], [4, 512]], "straddles": [[2, 1280]], "word_rows": -512}),
        network(features={"ngrams": [], "straddles": [[2, 1024]], "word_rows": 512}),
        weight("table_scales", lambda scales: scales + np.float32(np.inf)),
        weight("table_scales", lambda scales: scales - np.float32(np.inf)),
        weight("table", to_dtype(np.float32)),
        weight("front/kernel", to_dtype(np.float64)),
        weight("front/kernel", to_dtype(np.int64)),
        weight("dictionary/keys", bomb(1 << 28)),
        weight("dictionary/counts", bomb(1 << 25)),
        weight("dictionary/four_letters", bomb(1 << 25)),
        weight("dictionary/fifth_letter", bomb(1 << 25)),
        weight("dictionary/counts", cut_off),
        weight("dictionary/counts", lambda _: np.zeros(0, dtype=np.uint8)),
        weight("dictionary/total", lambda total: total * 0),
        weight("dictionary/total", lambda total: -total),
        weight("dictionary/total", lambda total: total[:0]),
        weight("dictionary/settings", lambda settings: settings * 0),
        weight("dictionary/settings", lambda settings: settings * 1e9),
        weight("dictionary/settings", lambda settings: settings[:2]),
        all_zero,
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


def test_little_memory_for_a_bomb(tmp_path: Path) -> None:
    """An eighth of a megabyte that would become an eighth of a gigabyte."""
    weights = {**tiny_weights(), "dictionary/fifth_letter": pack(np.zeros(1 << 27, dtype=np.uint8))}
    save_model(tmp_path / "model", CONFIG, weights)
    tracemalloc.start()
    try:
        with pytest.raises(ModelError, match="packed weights hold more than 20,511,149 numbers"):
            load_method(str(tmp_path / "model"))
        assert tracemalloc.get_traced_memory()[1] < 1 << 26
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("header", "content", "said"),
    [
        ({f"empty{one}": ("F32", [0], [0, 0]) for one in range(10_000)}, b"", "10,000 arrays, expected at most 4,096"),
        ({"a" * (1 << 20): ("F32", [0], [0, 0])}, b"", "a header of 1,048,6.. bytes, expected at most 1,048,576"),
        ({f"same{one}": ("F32", [64], [0, 256]) for one in range(100)}, bytes(256), "arrays that overlap"),
        ({"a": ("F32", [-1], [0, 4])}, bytes(4), None),
        ({"a": ("F32", ["x"], [0, 4])}, bytes(4), ""),
        ({"a": ("F32", [1], [0, 4.0])}, bytes(4), ""),
        ({"a": ("F99", [1], [0, 4])}, bytes(4), ""),
        ({"a": ("F32", [2**70, 0], [0, 0])}, b"", ""),
    ],
)
def test_odd_files_of_arrays(tmp_path: Path, header: dict[str, Any], content: bytes, said: str | None) -> None:
    save_model(tmp_path, CONFIG, tiny_weights())
    entries = {name: {"dtype": k, "shape": s, "data_offsets": o} for name, (k, s, o) in header.items()}
    written = json.dumps(entries).encode()
    whole = len(written).to_bytes(8, "little") + written + content
    old = (tmp_path / WEIGHTS).read_bytes()
    (tmp_path / WEIGHTS).write_bytes(whole)
    sums = (tmp_path / SUMS).read_text()
    (tmp_path / SUMS).write_text(sums.replace(hashlib.sha256(old).hexdigest(), hashlib.sha256(whole).hexdigest()))
    expected = "cannot be read as safetensors" if said is not None else "weights hold nothing"
    with pytest.raises(ModelError, match=f"{expected}.*{said or ''}") as caught:
        load_method(str(tmp_path))
    assert len(str(caught.value)) < 500


def test_every_look_up_ends() -> None:
    """Also in a table in which nothing is free, which is not loaded."""
    full = np.full(100_000, 3, dtype=np.uint16)
    with interpreted():
        assert look_up(full, np.uint64(0x1234_5678_0000_0005)) == -1
        assert look_up(full, np.uint64(0x1234_5678_0000_0003)) >= 0
    assert look_up(full, np.uint64(0x1234_5678_0000_0005)) == -1


def test_what_ships_is_found_within_the_bound() -> None:
    """No stretch of taken slots is as long as what a look-up looks at."""
    weights = load_model("default").weights
    for name in ("language_model/fingerprints", "language_model/context_fingerprints"):
        assert np.diff(np.flatnonzero(weights[name] == 0)).max() < LONGEST_PROBE
