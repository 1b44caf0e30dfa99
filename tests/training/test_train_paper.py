"""Training of the paper's networks, from the command to the model directory."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.files import ModelFiles, load_model
from models.methods import load_method
from models.paper.lstm import NetworkSize
from models.paper.search import SearchMethod
from models.paper.vocabulary import Vocabulary
from training.data.text_stream import TextBatch, pad
from training.fit_search import main as fit_main
from training.fit_search import the_one
from training.paper.trainer import PaperTrainer
from training.penalties import Penalties
from training.train_paper import main

VOCABULARY = Vocabulary(" abcdef")
SIZE = NetworkSize(units=12, dense=8)


def batch(seed: int = 1) -> TextBatch:
    random = np.random.default_rng(seed)
    made = []
    for length in (5, 9, 7):
        ids = np.resize(np.array([1, 2, 3, 1, 4], dtype=np.int32), length)  # the same five letters again and again
        made.append((ids, random.random(length) < 0))
    return pad(made, 0, True)


@pytest.mark.parametrize("kind", ["uni", "bid"])
def test_it_learns_and_a_checkpoint_goes_on_exactly(tmp_path: Path, kind: str) -> None:
    def trainer() -> PaperTrainer:
        return PaperTrainer(kind, VOCABULARY, SIZE, learning_rate=0.01)  # type: ignore[arg-type]

    one = trainer()
    before = float(one.train(batch()))
    for _ in range(10):
        one.train(batch())
    one.save(tmp_path / "checkpoint.npz")
    other = trainer()
    other.restore(tmp_path / "checkpoint.npz")
    assert (other.step, other.block, other.characters) == (11, 1, 11 * 21)
    losses = [float(one.train(batch())) for _ in range(10)]
    assert losses == [float(other.train(batch())) for _ in range(10)]
    assert losses[-1] < before


@pytest.mark.parametrize("kind", ["uni", "bid"])
def test_it_goes_on_from_a_finished_model(kind: str) -> None:
    def trainer(size: NetworkSize = SIZE) -> PaperTrainer:
        return PaperTrainer(kind, VOCABULARY, size)  # type: ignore[arg-type]

    one = trainer()
    for _ in range(3):
        one.train(batch())
    config = {"training": {"characters": one.characters, "hours": 0.5}}
    files = ModelFiles(name="first", config=config, weights=one.weights(), sha256="0" * 64)
    other = trainer()
    other.start_from(files)
    assert (other.characters, other.seconds, other.step) == (3 * 21, 1800, 0)
    assert float(other.train(batch())) == pytest.approx(float(one.train(batch())), abs=1e-3)
    with pytest.raises(ValueError, match=r"the model first holds .*, the configuration expects .*another --start_from"):
        trainer(NetworkSize(units=16, dense=8)).start_from(files)


def test_padding_teaches_nothing() -> None:
    made = [(np.array([1, 2, 3], dtype=np.int32), np.zeros(3, dtype=bool))]
    wide = pad(made, 0, True)
    wider = TextBatch(
        ids=np.pad(wide.ids, ((0, 0), (0, 6)), constant_values=4),
        bits=np.pad(wide.bits, ((0, 0), (0, 6)), constant_values=True),
        lengths=wide.lengths,
        block=0,
        last_of_block=True,
    )
    for kind in ("uni", "bid"):
        losses = [float(PaperTrainer(kind, VOCABULARY, SIZE).train(one)) for one in (wide, wider)]  # type: ignore[arg-type]
        assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def test_measures() -> None:
    trainer = PaperTrainer("uni", VOCABULARY, SIZE)
    pieces = [(np.array([1, 2, 3, 4], dtype=np.int32), np.zeros(4, dtype=bool))]
    # All logits but one are equal: character 1 is always expected, and of the rest the top 5 hold the first four.
    for variable in trainer.variables.values():
        variable.assign(np.zeros(variable.shape, dtype=np.float32))
    trainer.variables["uni/out/bias"].assign([0, 3.0, 2, 1, 1, 0, 0, 0, 0, 0])
    found = trainer.measure(pieces)
    total = np.exp([0, 3.0, 2, 1, 1, 0, 0, 0, 0, 0]).sum()
    assert found["cross_entropy"] == pytest.approx(np.log(total) - (3 + 2 + 1 + 1) / 4, abs=1e-5)
    assert (found["accuracy"], found["top_5_accuracy"]) == (0.25, 1.0)


def test_the_one_is_the_mean() -> None:
    pairs = [Penalties(insertion=1.0, deletion=2.0), Penalties(insertion=2.0, deletion=5.0)]
    assert the_one(pairs) == Penalties(insertion=1.5, deletion=3.5)
    assert the_one([]) == Penalties(insertion=0, deletion=0)


@pytest.fixture
def world(tmp_path: Path) -> Path:
    """A corpus, a benchmark and configurations."""
    random = np.random.default_rng(2)
    words = ["the", "cat", "sat", "on", "a", "mat."]
    rows = [" ".join(random.choice(words, 12)) for _ in range(2000)]
    pq.write_table(pa.table({"text": rows}), tmp_path / "text.parquet")
    (tmp_path / "dev" / "Wiki").mkdir(parents=True)
    (tmp_path / "dev" / "Wiki" / "correct.txt").write_text("".join(row + "\n" for row in rows[:20]))
    (tmp_path / "dev" / "Wiki" / "corrupt.txt").write_text("".join(row.replace(" ", "", 1) + "\n" for row in rows[:20]))
    for kind in ("uni", "bid"):
        config = {
            "kind": kind,
            "sources": [{"path": str(tmp_path / "text.parquet")}],
            "size": {"units": 8, "dense": 8},
            "batch": 32,
            "length": 48,
        }
        (tmp_path / f"{kind}.json").write_text(json.dumps(config))
    return tmp_path


def command(world: Path, kind: str, *more: str) -> list[str]:
    paths = ["--config", str(world / f"{kind}.json"), "--run_dir", str(world / kind)]
    return [*paths, "--minutes", "0.03", "--benchmarks", str(world / "dev"), *more]


def test_from_text_to_methods(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(world, "uni")) == 0
    printed = capsys.readouterr().out
    assert "cross-entropy" in printed
    assert "top 5" in printed
    uni = load_model(str(world / "uni" / "model"))
    assert uni.config["vocabulary"][0] == " "
    assert uni.config["training"]["characters"] > 0
    assert set(uni.config["fitted_penalties"]) == {"Wiki"}
    assert "# uni" in (world / "uni" / "model" / "README.md").read_text()
    further = ["--run_dir", str(world / "further"), "--start_from", str(world / "uni" / "model")]
    assert main(command(world, "uni", *further)) == 0
    assert "going on from uni" in capsys.readouterr().out
    seen = load_model(str(world / "further" / "model")).config["training"]["characters"]
    assert seen > uni.config["training"]["characters"]
    assert main(command(world, "bid", "--language_model", str(world / "uni" / "model"))) == 0
    method = load_method(str(world / "bid" / "model"))
    assert isinstance(method, SearchMethod)
    assert method.labeller is not None
    assert {name: uni.weights[name].tolist() for name in uni.weights} == {
        name: value.tolist()
        for name, value in load_model(str(world / "bid" / "model")).weights.items()
        if name in uni.weights
    }
    assert (
        fit_main(["--model", str(world / "bid" / "model"), "--benchmarks", str(world / "dev"), "--sequences", "5"]) == 0
    )
    assert "The One" in capsys.readouterr().out


def test_mistakes_are_explained(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(world, "bid")) == 2
    assert "--language_model is missing" in capsys.readouterr().err
    config = json.loads((world / "uni.json").read_text())
    for change, message in (
        ({"kind": "tri"}, "kind 'tri': expected one of uni, bid"),
        ({"size": "huge"}, "unknown size 'huge'"),
        ({"colour": 1}, "unknown entries colour"),
        ({"batch": 0}, "batch 0: expected at least 1"),
    ):
        (world / "uni.json").write_text(json.dumps(config | change))
        assert main(command(world, "uni")) == 2
        assert message in capsys.readouterr().err


def test_a_checkpoint_of_another_size(world: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (world / "uni").mkdir()
    (world / "uni" / "vocabulary.json").write_text(json.dumps(VOCABULARY.characters))
    PaperTrainer("uni", VOCABULARY, SIZE).save(world / "uni" / "checkpoint.npz")
    assert main(command(world, "uni")) == 2
    assert "expects [10, 32]" in capsys.readouterr().err
