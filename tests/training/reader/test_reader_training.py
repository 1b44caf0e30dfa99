"""From clean text to a trained reader, on a tiny encoder in the form of a pretrained one."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import safetensors.numpy

from models.reader.pieces import PieceTable
from models.reader.tokens import tokens_of
from respace.noise import Recipe
from tests.models.reader.test_reader import passages
from tests.models.reader.tiny import PIECES, TABLE
from training.import_encoder import imported, main
from training.reader.batches import batches_of
from training.reader.passage_shards import PassageShard
from training.reader.practice import APART, with_practice

SIZES = {
    "hidden_size": 32,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "intermediate_size": 48,
    "max_position_embeddings": 512,
}
SENTENCES = [
    f"the quick brown fox and the lazy dog met {number} other foxes near the old house" for number in range(90)
]


@pytest.fixture
def encoder(tmp_path: Path) -> Path:
    """Weights under the names that BERT has."""
    random = np.random.default_rng(1)
    width, inner = SIZES["hidden_size"], SIZES["intermediate_size"]
    shapes = {
        "embeddings.word_embeddings.weight": (len(PIECES), width),
        "embeddings.position_embeddings.weight": (SIZES["max_position_embeddings"], width),
        "embeddings.token_type_embeddings.weight": (2, width),
        "embeddings.LayerNorm.weight": (width,),
        "embeddings.LayerNorm.bias": (width,),
    }
    for layer in range(SIZES["num_hidden_layers"]):
        for name, shape in (
            *((f"attention.self.{part}", (width, width)) for part in ("query", "key", "value")),
            ("attention.output.dense", (width, width)),
            ("intermediate.dense", (inner, width)),
            ("output.dense", (width, inner)),
            ("attention.output.LayerNorm", (width,)),
            ("output.LayerNorm", (width,)),
        ):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = shape
            shapes[f"encoder.layer.{layer}.{name}.bias"] = shape[:1]
    directory = tmp_path / "encoder"
    directory.mkdir()
    weights = {name: random.normal(0, 0.2, shape).astype(np.float32) for name, shape in shapes.items()}
    safetensors.numpy.save_file(weights, directory / "model.safetensors")
    (directory / "vocab.txt").write_text("\n".join(PIECES) + "\n", encoding="utf-8")
    (directory / "config.json").write_text(json.dumps(SIZES), encoding="utf-8")
    return directory


def test_an_encoder_is_imported(encoder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config, pieces, weights = imported(encoder)
    assert (config.width, config.layers, pieces) == (32, 2, PIECES)
    assert weights["layer1/qkv"].shape == (32, 96)
    raw = safetensors.numpy.load_file(encoder / "model.safetensors")
    assert np.array_equal(weights["layer1/qkv"][:, 32:64].T, raw["encoder.layer.1.attention.self.key.weight"])
    assert main(["--encoder", str(encoder), "--output", str(tmp_path / "out")]) == 0
    assert (tmp_path / "out" / "reader.safetensors").exists()
    (encoder / "vocab.txt").write_text("a\nb\n", encoding="utf-8")
    assert main(["--encoder", str(encoder), "--output", str(tmp_path / "out")]) == 2
    assert "has no [UNK]" in capsys.readouterr().err


def test_practice_hides_what_fast_says_and_shows_wrong_readings_too() -> None:
    of = passages(["the quick brown fox and the lazy dog met other foxes near the old house"] * 20)
    few = slice(None, None, 6)
    sure = np.where(of.given, 15, -15).astype(np.float32)
    sure[of.gaps[few]] = 1
    of = dataclasses.replace(
        of,
        logits=sure,
        gaps=of.gaps[few],
        layer=of.layer[few],
        evidence=of.evidence[few],
        network_logits=of.network_logits[few],
    )
    shard = PassageShard(passages=of, true=np.ones(len(of.gaps), dtype=bool))
    practised, is_practice = with_practice(shard, np.random.default_rng(1))
    gaps = practised.passages.gaps
    assert np.array_equal(practised.true[~is_practice], shard.true)
    asked = gaps[is_practice]
    assert len(asked) > 20
    assert np.abs(asked[:, None] - of.gaps).min() > APART
    assert np.array_equal(practised.true[is_practice], of.given[asked])
    shown = practised.passages.logits[asked] > 0
    wrong = shown != of.given[asked]
    assert 0.2 < wrong.mean() < 0.8
    assert np.array_equal(practised.passages.given[asked], shown)
    assert not practised.passages.layer[is_practice].any()
    tokens = tokens_of(practised.passages, TABLE, 128)
    (batch,) = batches_of(practised, tokens, 1 << 20, practice=is_practice)
    assert not batch.logits[batch.practice].any()
    assert not batch.gap_numbers[batch.practice].any()


@pytest.mark.slow
def test_from_text_to_a_reader(encoder: Path, tmp_path: Path) -> None:
    from training.make_passages import main as make
    from training.train_reader import main as train

    pq.write_table(pa.table({"text": SENTENCES * 3}), tmp_path / "clean.parquet")
    recipe = json.loads(Recipe.training().to_json()) | {"spaces_none": 0.5, "spaces_clean": 0.0}
    sizes = {"width": 32, "layers": 2, "heads": 4, "feed_forward": 48, "pieces": len(PIECES)}
    settings = {
        "sources": [{"path": str(tmp_path / "clean.parquet")}],
        "recipe": recipe,
        "reader": sizes,
        "tokens": 256,
        "blocks_per_shard": 1,
    }
    config = tmp_path / "reader.json"
    config.write_text(json.dumps(settings), encoding="utf-8")
    for name, *more in (("passages",), ("unseen", "--unseen")):
        output = ["--config", str(config), "--output", str(tmp_path / name), "--shards", "1", *more]
        assert make(output) == 0
        assert make(output) == 0  # nothing is missing
    assert main(["--encoder", str(encoder), "--output", str(tmp_path / "start")]) == 0
    run = ["--config", str(config), "--encoder", str(tmp_path / "start"), "--run_dir", str(tmp_path / "run")]
    run += ["--passages", str(tmp_path / "passages"), "--unseen", str(tmp_path / "unseen")]
    assert train([*run, "--minutes", "0.05", "--checkpoint_minutes", "0"]) == 0
    history = json.loads((tmp_path / "run" / "reader.json").read_text())["history"]
    assert history[-1]["characters"] > 0
    weights = safetensors.numpy.load_file(tmp_path / "run" / "reader.safetensors")
    begun = safetensors.numpy.load_file(tmp_path / "start" / "reader.safetensors")
    assert np.array_equal(weights["pieces"], begun["pieces"])
    assert not np.array_equal(weights["layer0/qkv"], begun["layer0/qkv"])
    assert PieceTable.of((tmp_path / "run" / "pieces.txt").read_text().split("\n")).gap == PIECES.index("[MASK]")
