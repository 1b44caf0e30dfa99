from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from itertools import islice
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.fast.method import FastMethod
from models.fast.shape import dense_shapes
from models.files import load_model
from respace.metrics import Counts, Score
from tests.models.tiny import TINY, TINY_DICTIONARY, TINY_FEATURES, tiny_weights
from training.data.corpora import Corpus, Source, block
from training.data.stream import batches
from training.fast.config import TrainConfig
from training.fast.count_table import count_table
from training.fast.held_out import held_out_benchmarks, too_weak
from training.fast.pruning import prune_front
from training.fast.trainer import FastTrainer, grow_weights
from training.penalties import Penalties
from training.score import Scores
from training.tensorboard import ScalarLog
from training.train_fast import main

ROOT = Path(__file__).parents[2]
WORDS = "the quick brown fox jumps over a lazy dog while seven wizards quietly brew bitter coffee".split()


@pytest.fixture
def texts(tmp_path: Path) -> list[str]:
    random = np.random.default_rng(1)
    texts = [" ".join(random.choice(WORDS, 12)) for _ in range(2000)]
    pq.write_table(pa.table({"text": texts}), tmp_path / "text.parquet")
    return texts


@pytest.fixture
def config(tmp_path: Path, texts: list[str]) -> TrainConfig:
    source = Source(path=str(tmp_path / "text.parquet"))
    return TrainConfig(sources=(source,), network=TINY, windows=8, length=96, warmup_steps=5)


@pytest.mark.parametrize("look_at", [1, 3])
def test_it_learns_and_goes_on_where_it_stopped(
    config: TrainConfig, texts: list[str], tmp_path: Path, look_at: int
) -> None:
    config = replace(config, look_at=look_at)
    table = count_table(TINY_FEATURES, TINY.row_width, texts)
    stream = list(islice(batches(config.stream(TINY_DICTIONARY)), 60))
    straight = FastTrainer(config, table, TINY_DICTIONARY)
    losses = [float(straight.train(batch, 1.0)) for batch in stream[:-1]]
    assert np.mean(losses[-10:]) < 0.6 * np.mean(losses[:5])

    straight.save(tmp_path / "checkpoint.npz")
    resumed = FastTrainer(config, np.zeros_like(table), TINY_DICTIONARY)
    resumed.restore(tmp_path / "checkpoint.npz")
    assert (resumed.step, resumed.block, resumed.characters) == (straight.step, straight.block, straight.characters)
    for kind in ("dense", "averaged", "first", "second"):
        for name, variable in getattr(straight, kind).items():
            assert np.array_equal(getattr(resumed, kind)[name].numpy(), variable.numpy())
    assert np.array_equal(resumed.table.numpy(), straight.table.numpy())
    assert np.array_equal(resumed.accumulator.numpy(), straight.accumulator.numpy())
    # Threads add up in no fixed order, so the next losses are only almost the same.
    assert float(resumed.train(stream[-1], 1.0)) == pytest.approx(float(straight.train(stream[-1], 1.0)), rel=0.02)


def test_a_grown_network_begins_as_the_one_it_grew_from() -> None:
    weights = tiny_weights()
    larger = replace(TINY, dilations=(*TINY.dilations, 2), dense=TINY.dense + 1)
    shapes = dense_shapes(larger)
    more = grow_weights(shapes, weights, seed=1)
    assert {name: array.shape for name, array in more.items()} == shapes
    assert np.abs(more["layer3/kernel"]).max() < 0.2
    assert not more["out/dense"][:, -1].any()
    assert np.array_equal(more["out/kernel"][:-1], weights["out/kernel"])
    for other in (replace(TINY, hidden=4), replace(TINY, character_width=TINY.character_width + 1)):
        with pytest.raises(ValueError, match=r"is \(.*\) in the model to start from: expected \("):
            grow_weights(dense_shapes(other), weights, seed=1)


def test_inputs_that_were_left_out_stay_out(config: TrainConfig, texts: list[str]) -> None:
    table = count_table(TINY_FEATURES, TINY.row_width, texts)
    trainer = FastTrainer(config, table, TINY_DICTIONARY)
    stream = batches(config.stream(TINY_DICTIONARY))
    for _ in range(20):
        trainer.train(next(stream), 1.0)
    inputs = trainer.dense["front/kernel"].shape[0]
    weights = trainer.dense["front/kernel"].numpy()
    prune_front(trainer, stream, inputs - 10)
    left_out = np.flatnonzero(trainer.read.numpy() == 0)
    assert len(left_out) == 10
    before = np.linalg.norm(weights, axis=1)
    assert before[left_out].mean() < before.mean()
    for _ in range(3):
        trainer.train(next(stream), 1.0)
    for kind in (trainer.dense, trainer.averaged):
        assert not kind["front/kernel"].numpy()[left_out].any()
    assert np.count_nonzero(np.any(trainer.weights()["front/kernel"] != 0, axis=1)) == inputs - 10


def test_help_does_not_wait_for_tensorflow() -> None:
    script = (
        "import sys; from training.train_fast import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    print('tensorflow' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.endswith("\nFalse\n"), done.stderr


def test_rows_are_held_out_and_a_model_that_is_none_yet_is_told(config: TrainConfig, texts: list[str]) -> None:
    [benchmark] = held_out_benchmarks(config)
    assert len(benchmark.given) == len(texts) // 100
    trained_on = set(Corpus(config.sources[0]).texts.to_pylist())
    assert not trained_on & set(texts[99::100]) - set(texts[:99])
    assert any(np.any(given.bits != true) for given, true in zip(benchmark.given, benchmark.true, strict=True))

    def scores(f_score: float, harm: float) -> Scores:
        right = round(1000 * f_score)
        score = Score(insertions=Counts(right, 1000 - right, 1000 - right), characters=10_000)
        clean = Score(insertions=Counts(0, round(harm), 0), characters=10_000)
        penalties = Penalties(insertion=1.0, deletion=1.0)
        return Scores(penalties=penalties, rows={"text": score}, harm={"text": clean}, fitted={})

    assert too_weak(scores(0.9, 2)) is None
    assert str(too_weak(scores(0.3, 2))).startswith("not a usable model yet: F-score 30.0 (expected at least 50)")
    assert "500.0 false edits per 10,000 characters of correct text" in str(too_weak(scores(0.9, 500)))
    assert held_out_benchmarks(replace(config, sources=(replace(config.sources[0], right_as_it_is=True),))) == []


def test_the_configuration_for_ones_own_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = (ROOT / "examples" / "own_text.json").read_text()
    assert f"```\n{shown}```" in (ROOT / "docs" / "fast.md").read_text()
    assert shown.count("\n") == 3
    monkeypatch.chdir(ROOT)
    config = TrainConfig.read("examples/own_text.json")
    lines = [line for line in (ROOT / "examples" / "clean" / "notes.txt").read_text().split("\n") if line.strip()]
    assert Corpus(config.sources[0]).texts.to_pylist() == lines
    # Of a few lines, a block has several epochs, each with noise of its own.
    config = replace(config, network=TINY, windows=8, length=96)
    batch = next(batches(config.stream(TINY_DICTIONARY)))
    assert batch.characters.shape == (8, 96)
    rows = block([Corpus(config.sources[0])], [1.0], 40, seed=1, number=2)
    assert len({row.key for row in rows}) == len(rows) >= 40
    (tmp_path / "empty.txt").write_text("\n")
    empty = replace(config, sources=(Source(path=str(tmp_path / "empty.txt")),))
    with pytest.raises(ValueError, match="empty: no text to train on"):
        next(batches(empty.stream(TINY_DICTIONARY)))
    with pytest.raises(ValueError, match="windows of text in a block: expected at least 100000"):
        next(batches(replace(config, windows=100_000).stream(TINY_DICTIONARY)))


def test_without_tensorboard_numbers_are_only_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda package: None)
    ScalarLog(tmp_path / "log").write(1, {"loss": 0.5})
    assert not (tmp_path / "log").exists()
    assert (
        "TensorBoard is not installed, so numbers are only printed. To have it: pip install" in capsys.readouterr().out
    )


@pytest.mark.slow
def test_the_command_warns_of_a_model_that_is_none_yet(config: TrainConfig, tmp_path: Path) -> None:
    settings = {"sources": [{"path": config.sources[0].path}], "network": TINY.to_json(), "windows": 4, "length": 96}
    (tmp_path / "config.json").write_text(json.dumps(settings))
    command = [sys.executable, "-m", "training.train_fast", "--config", str(tmp_path / "config.json")]
    command += ["--run_dir", str(tmp_path / "run"), "--million_characters", "0.001"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "held-out text" in done.stdout
    [warning] = done.stderr.splitlines()  # nothing of CUDA either
    assert warning.startswith(f"warning: {tmp_path / 'run' / 'model'}: not a usable model yet: F-score ")


@pytest.mark.slow
def test_the_command_trains_scores_and_writes_a_model(config: TrainConfig, tmp_path: Path) -> None:
    settings = {"sources": [{"path": config.sources[0].path}], "network": TINY.to_json(), "windows": 4, "length": 96}
    settings["look_at"] = 2
    (tmp_path / "config.json").write_text(json.dumps(settings))
    benchmark = tmp_path / "benchmarks" / "Foxes"
    benchmark.mkdir(parents=True)
    (benchmark / "corrupt.txt").write_text("the quickbrown fox\na la zy dog\n")
    (benchmark / "correct.txt").write_text("the quick brown fox\na lazy dog\n")
    command = [sys.executable, "-m", "training.train_fast", "--config", str(tmp_path / "config.json")]
    command += ["--run_dir", str(tmp_path / "run"), "--minutes", "0.4", "--decay_share", "0.25", "--name", "foxes"]
    command += ["--benchmarks", str(tmp_path / "benchmarks")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "wrote " in done.stdout
    files = load_model(str(tmp_path / "run" / "model"))
    assert files.config["training"]["history"][-1]["scores"].keys() == {"Foxes"}
    assert files.name == "foxes"
    assert FastMethod.from_files(files).model.config == TINY


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ("{", "is not valid JSON"),
        ('{"sources": [], "learning_speed": 1}', "unknown entries learning_speed"),
        ('{"seed": 1}', "no sources"),
        ('{"sources": [{"path": "nowhere.parquet"}]}', "nowhere.parquet"),
    ],
)
def test_a_bad_configuration_is_one_line(
    settings: str, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "config.json").write_text(settings)
    assert main(["--config", str(tmp_path / "config.json"), "--run_dir", str(tmp_path / "run")]) == 2
    error = capsys.readouterr().err.splitlines()
    assert len(error) == 1
    assert message in error[0]


def test_a_checkpoint_of_another_network_is_refused(config: TrainConfig, tmp_path: Path) -> None:
    table = np.zeros((TINY_FEATURES.rows, TINY.row_width), dtype=np.float32)
    FastTrainer(config, table, TINY_DICTIONARY).save(tmp_path / "checkpoint.npz")
    wider = replace(config, network=replace(TINY, hidden=16))
    with pytest.raises(ValueError, match=r"'dense:front/kernel', the configuration expects .* another --run_dir"):
        FastTrainer(wider, table, TINY_DICTIONARY).restore(tmp_path / "checkpoint.npz")
