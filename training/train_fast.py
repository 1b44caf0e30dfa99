"""Trains FAST: ``python -m training.train_fast --config training/configs/fast.json --run_dir runs/fast``.

Run it again and it goes on where it stopped. The learning rate is constant, so that one can go on for as long as it
pays, and falls to nothing over the last stretch (``--decay_minutes``) before the model is written.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.model import FastModel, quantise_table
from models.fast.network import MIXED, PLAIN, FastConfig, dense_shapes, has_bfloat16, logits
from models.files import ModelFiles, Weights, load_model, save_model
from respace.benchmarks import Benchmark, read_benchmarks
from respace.noise import Recipe
from respace.noise.typos import codespell_typos, in_half, read_typos
from training.data.background import InBackground
from training.data.corpora import Corpus, Source
from training.data.stream import Batch, StreamConfig, batches
from training.fast.count_dictionary import count_dictionary
from training.fast.count_table import count_table
from training.penalties import Penalties
from training.score import format_table, score_fast


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Everything that decides what comes out."""

    sources: tuple[Source, ...]
    network: FastConfig = dataclasses.field(default_factory=FastConfig)
    recipe: Recipe = dataclasses.field(default_factory=Recipe.training)
    layout_share: float = 0.04
    windows: int = 48
    length: int = 256
    seed: int = 1
    learning_rate: float = 1.5e-3
    warmup_steps: int = 200
    table_learning_rate: float = 0.03
    table_first_accumulator: float = 0.01
    dictionary_words: int = 2_000_000
    # Words that were counted elsewhere, and text whose words are counted beside them; without either, all sources are.
    word_lists: tuple[str, ...] = ()
    dictionary_sources: tuple[Source, ...] = ()
    exit_loss: float = 0.3  # weight of the exit's loss
    error_weight: float = 1.0  # of gaps that are wrong as given
    planned_characters: float = 1e9  # the learning rate falls over so many
    last_rate: float = 0.1  # to this share of what it was
    # Adagrad's steps die out; forgetting old gradients keeps them alive.
    table_forgetting: float = 0.92  # every 100 steps
    average: float = 0.998  # of the dense weights, what is scored and written

    @classmethod
    def read(cls, path: str) -> TrainConfig:
        values = json.loads(Path(path).read_text())
        values["sources"] = tuple(Source.from_json(source) for source in values["sources"])
        values["dictionary_sources"] = tuple(
            Source.from_json(source) for source in values.get("dictionary_sources", ())
        )
        values["word_lists"] = tuple(values.get("word_lists", ()))
        if "network" in values:
            values["network"] = FastConfig.from_json(FastConfig().to_json() | values["network"])
        if "recipe" in values:
            values["recipe"] = Recipe.from_json(json.dumps(values["recipe"]))
        return cls(**values)

    def stream(self, dictionary: Dictionary) -> StreamConfig:
        return StreamConfig(
            sources=self.sources,
            recipe=self.recipe,
            features=self.network.features,
            dictionary=dictionary,
            evidence_kinds=self.network.evidence_kinds,
            layout_share=self.layout_share,
            windows=self.windows,
            length=self.length,
            seed=self.seed,
        )


class Trainer:
    """The network, its optimisers and its place in the stream of batches."""

    def __init__(
        self, config: TrainConfig, table: NDArray[np.float32], dictionary: Dictionary, dense: Weights | None = None
    ):
        self.config, self.dictionary = config, dictionary
        shapes = dense_shapes(config.network)
        random = np.random.default_rng(config.seed)
        start = dense or {name: _first_weight(name, shape, random) for name, shape in shapes.items()}
        self.table = tf.Variable(table, trainable=False)
        self.accumulator = tf.Variable(tf.fill(table.shape, np.float32(config.table_first_accumulator)))
        self.dense = {name: tf.Variable(start[name]) for name in shapes}
        self.averaged = {name: tf.Variable(start[name]) for name in shapes}
        self.first = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.second = {name: tf.Variable(tf.zeros(shape)) for name, shape in shapes.items()}
        self.step, self.block, self.characters, self.seconds = 0, 0, 0, 0.0
        self.history: list[dict[str, Any]] = []
        self._arithmetic = MIXED if has_bfloat16() else PLAIN
        # Where XLA fuses what lies between the convolutions, it cannot compile the whole.
        self._dense_step = tf.function(self._step_dense_weights, jit_compile=self._arithmetic is PLAIN)

    def train(self, batch: Batch, rate: float) -> tf.Tensor:
        """One step; ``rate`` scales both learning rates. Returns the mean loss per gap."""
        self.step += 1
        self.characters += int(batch.counts.sum())
        if batch.last_of_block:
            self.block = batch.block + 1
        if self.step % 100 == 0:
            self.accumulator.assign(self.accumulator * self.config.table_forgetting)
        rate *= self.planned_rate()
        warm = min(1.0, self.step / self.config.warmup_steps)
        return self._train(
            tf.constant(batch.rows),
            tf.constant(batch.characters),
            tf.constant(batch.given.astype(np.float32)),
            tf.constant(batch.evidence),
            tf.constant(batch.true.astype(np.float32)),
            tf.constant(batch.counts.astype(np.float32)),
            tf.constant(self.step, tf.float32),
            tf.constant(rate * warm * self.config.learning_rate, tf.float32),
            tf.constant(rate * self.config.table_learning_rate, tf.float32),
        )

    def planned_rate(self) -> float:
        """The share of the learning rate that the plan leaves at this point."""
        done = min(1.0, self.characters / self.config.planned_characters)
        return 1 - (1 - self.config.last_rate) * done

    @tf.function
    def _train(self, rows, characters, given, evidence, true, counts, step, rate, table_rate):  # type: ignore[no-untyped-def]
        looked_up = tf.gather(self.table, rows)
        loss, table_gradient = self._dense_step(looked_up, characters, given, evidence, true, counts, step, rate)
        tf.raw_ops.ResourceSparseApplyAdagradV2(
            var=self.table.handle,
            accum=self.accumulator.handle,
            lr=table_rate,
            epsilon=1e-7,
            grad=tf.reshape(table_gradient, [-1, self.config.network.row_width]),
            indices=tf.reshape(rows, [-1]),
        )
        return loss

    def _step_dense_weights(self, looked_up, characters, given, evidence, true, counts, step, rate):  # type: ignore[no-untyped-def]
        names = list(self.dense)
        with tf.GradientTape() as tape:
            tape.watch(looked_up)
            values = logits(self.config.network, self.dense, looked_up, characters, given, evidence, self._arithmetic)
            weights = counts * (1 + (self.config.error_weight - 1) * tf.abs(given - true))
            *exits, loss = [
                tf.reduce_sum(tf.nn.sigmoid_cross_entropy_with_logits(labels=true, logits=one) * weights)
                for one in values
            ]
            total = tf.add_n([loss, *(self.config.exit_loss * one for one in exits)])
        *gradients, table_gradient = tape.gradient(total, [*(self.dense[name] for name in names), looked_up])
        gaps = tf.reduce_sum(counts)
        self._update(dict(zip(names, gradients, strict=True)), gaps, step, rate)
        return loss / gaps, table_gradient

    @tf.function(jit_compile=True)
    def _update(self, gradients, gaps, step, rate):  # type: ignore[no-untyped-def]
        """Adam, with gradients clipped by their norm, and the running average of the weights."""
        gradients = {name: tf.convert_to_tensor(gradient) / gaps for name, gradient in gradients.items()}
        norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(gradient)) for gradient in gradients.values()]))
        clip = tf.minimum(1.0, 0.5 / (norm + 1e-9))
        scale = tf.sqrt(1 - tf.pow(0.99, step)) / (1 - tf.pow(0.9, step))
        average = tf.minimum(self.config.average, step / (step + 10))
        for name, gradient in gradients.items():
            first = self.first[name].assign(0.9 * self.first[name] + 0.1 * clip * gradient)
            second = self.second[name].assign(0.99 * self.second[name] + 0.01 * tf.square(clip * gradient))
            weight = self.dense[name].assign_sub(rate * scale * first / (tf.sqrt(second) + 1e-8))
            self.averaged[name].assign(average * self.averaged[name] + (1 - average) * weight)

    def weights(self) -> Weights:
        """The model as it would be written: averaged dense weights, the table in 8 bits."""
        dense = {name: variable.numpy() for name, variable in self.averaged.items()}
        return dense | quantise_table(self.config.network, self.table.numpy()) | self.dictionary.to_weights()

    def save(self, path: Path) -> None:
        arrays = {"table": self.table.numpy(), "accumulator": self.accumulator.numpy()}
        for kind in ("dense", "averaged", "first", "second"):
            arrays |= {f"{kind}:{name}": variable.numpy() for name, variable in getattr(self, kind).items()}
        state = np.array([self.step, self.block, self.characters, self.seconds])
        temporary = path.with_suffix(".writing.npz")
        with temporary.open("wb") as stream:
            np.savez(stream, state=state, history=np.array(json.dumps(self.history)), **arrays)
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)

    def restore(self, path: Path) -> None:
        with np.load(path) as saved:
            self.table.assign(saved["table"])
            self.accumulator.assign(saved["accumulator"])
            for kind in ("dense", "averaged", "first", "second"):
                for name, variable in getattr(self, kind).items():
                    variable.assign(saved[f"{kind}:{name}"])
            step, block, characters, self.seconds = saved["state"].tolist()
            self.step, self.block, self.characters = int(step), int(block), int(characters)
            self.history = json.loads(str(saved["history"]))


def _first_weight(name: str, shape: tuple[int, ...], random: np.random.Generator) -> NDArray[np.float32]:
    if name.endswith(("bias", "offset")):
        return np.zeros(shape, dtype=np.float32)
    if name.endswith("scale"):
        return np.ones(shape, dtype=np.float32)
    if name == "characters":
        return random.normal(0, 0.3, shape).astype(np.float32)
    return random.normal(0, np.sqrt(1.0 / np.prod(shape[:-1])), shape).astype(np.float32)


def first_table(config: TrainConfig, run_dir: Path) -> NDArray[np.float32]:
    """Counted once for a run."""
    path = run_dir / "counted.npy"
    if not path.exists():
        print("counting n-grams of the clean text", flush=True)
        table = count_table(config.network.features, config.network.row_width, _all_texts(config.sources))
        temporary = path.with_suffix(".writing.npy")
        np.save(temporary, table)
        os.replace(temporary, path)
    return np.load(path)


def first_dictionary(config: TrainConfig, run_dir: Path, files: ModelFiles | None) -> Dictionary:
    """That of the model the run started from, or counted; once for a run."""
    path = run_dir / "dictionary.npz"
    if not path.exists():
        if files:
            dictionary = Dictionary.from_weights(files.weights)
        else:
            print("counting words of the clean text", flush=True)
            dictionary = count_words_of(config)
        temporary = path.with_suffix(".writing.npz")
        np.savez(temporary, allow_pickle=False, **dictionary.to_weights())
        os.replace(temporary, path)
    with np.load(path) as saved:
        return Dictionary.from_weights(dict(saved))


def count_words_of(config: TrainConfig) -> Dictionary:
    sources = config.dictionary_sources or (() if config.word_lists else config.sources)
    typos = read_typos(config.recipe.typos) if config.recipe.typos else codespell_typos()
    misspelled = [typo.misspelled for typo in in_half(typos, config.recipe.typo_half) if typo.misspelled.isalpha()]
    texts = [Corpus(source).texts for source in sources]
    return count_dictionary(texts, config.dictionary_words, config.word_lists, misspelled)


def _all_texts(sources: tuple[Source, ...]) -> Iterator[str]:
    for source in sources:
        if source.right_as_it_is:
            continue
        corpus = Corpus(source)
        for start in range(0, len(corpus), 1000):
            yield from corpus.texts[start : start + 1000].to_pylist()


def grown(shapes: Mapping[str, tuple[int, ...]], weights: Weights, seed: int) -> Weights:
    """Weights for a network that has more than the written one: what is new changes almost nothing at first.

    New layers start near nothing (not at nothing, where a rectifier learns nothing); new inputs start at nothing.
    """
    random = np.random.default_rng(seed)
    out = {}
    for name, shape in shapes.items():
        if name not in weights:
            faint = 0.1 if name.endswith("kernel") else 1.0
            out[name] = faint * _first_weight(name, shape, random)
            continue
        missing = [(0, wanted - found) for wanted, found in zip(shape, weights[name].shape, strict=True)]
        if min(more for _, more in missing) < 0:
            raise ValueError(f"{name!r} is {weights[name].shape} in the model to start from: expected at most {shape}")
        out[name] = np.pad(weights[name].astype(np.float32), missing)
    return out


def start_from(config: TrainConfig, files: ModelFiles, dictionary: Dictionary) -> Trainer:
    """A trainer that goes on from a written model."""
    starts = [*config.network.features.table_starts().values(), config.network.features.rows]
    table = files.weights["table"].astype(np.float32)
    for part, (start, stop) in enumerate(pairwise(starts)):
        table[start:stop] *= files.weights["table_scales"][part]
    trainer = Trainer(config, table, dictionary, grown(dense_shapes(config.network), files.weights, config.seed))
    before = files.config["training"]
    trainer.characters, trainer.seconds = before["characters"], 3600 * before["hours"]
    trainer.history = before.get("history", [])
    return trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True, help="JSON file, see TrainConfig")
    parser.add_argument("--run_dir", required=True, type=Path, help="checkpoints, logs and the model go here")
    parser.add_argument("--minutes", type=float, default=60, help="train for this long, then write the model")
    parser.add_argument("--decay_minutes", type=float, default=10, help="the learning rate falls over the last minutes")
    parser.add_argument("--checkpoint_minutes", type=float, default=5)
    parser.add_argument("--score_minutes", type=float, default=15)
    parser.add_argument("--start_from", help="a model to go on from, where there is no checkpoint")
    parser.add_argument("--benchmarks", help="directory of benchmarks to score on while training")
    parser.add_argument("--benchmark_sequences", type=int, default=500)
    options = parser.parse_args()
    config = TrainConfig.read(options.config)
    options.run_dir.mkdir(parents=True, exist_ok=True)
    checkpoint = options.run_dir / "checkpoint.npz"
    files = load_model(options.start_from) if options.start_from else None
    dictionary = first_dictionary(config, options.run_dir, files)
    if checkpoint.exists():
        shape = (config.network.features.rows, config.network.row_width)
        trainer = Trainer(config, np.zeros(shape, np.float32), dictionary)
        trainer.restore(checkpoint)
        print(f"going on from step {trainer.step}, {trainer.characters / 1e6:.1f} M characters", flush=True)
    elif files:
        trainer = start_from(config, files, dictionary)
    else:
        trainer = Trainer(config, first_table(config, options.run_dir), dictionary)
    run(trainer, options)


def run(trainer: Trainer, options: argparse.Namespace) -> None:
    config = trainer.config
    benchmarks = read_benchmarks(options.benchmarks, options.benchmark_sequences) if options.benchmarks else []
    parameters = sum(int(np.prod(shape)) for shape in dense_shapes(config.network).values())
    table = trainer.table.shape
    print(f"{parameters:,} dense weights, table {table[0]:,} x {table[1]}", flush=True)
    print(f"{config.windows * config.length:,} positions per step", flush=True)
    writer = tf.summary.create_file_writer(str(options.run_dir / "tensorboard"))
    stream = InBackground(batches, config.stream(trainer.dictionary), trainer.block)
    began = last_print = last_checkpoint = last_score = time.monotonic()
    losses: list[Any] = []
    characters_then, seconds_before = trainer.characters, trainer.seconds
    for batch in stream:
        now = time.monotonic()
        minutes = (now - began) / 60
        if minutes >= options.minutes:
            break
        rate = min(1.0, max(0.02, (options.minutes - minutes) / max(1e-9, options.decay_minutes)))
        losses.append(trainer.train(batch, rate))
        trainer.seconds = seconds_before + now - began
        if now - last_print > 30:
            loss = float(np.mean([float(value) for value in losses]))
            speed = (trainer.characters - characters_then) / (now - last_print) / 1e3
            print(
                f"step {trainer.step}  {trainer.characters / 1e6:.1f} M characters  loss {loss:.4f}  "
                f"{speed:.1f} KB/s  {minutes:.1f} min  rate {rate:.2f}",
                flush=True,
            )
            with writer.as_default(step=trainer.step):
                tf.summary.scalar("loss", loss)
                tf.summary.scalar("KB_per_second", speed)
            losses, last_print, characters_then = [], now, trainer.characters
        # A checkpoint is taken between blocks, so that the stream can be taken up exactly there.
        if batch.last_of_block and now - last_checkpoint > 60 * options.checkpoint_minutes and rate == 1:
            trainer.save(options.run_dir / "checkpoint.npz")
            last_checkpoint = time.monotonic()
        if benchmarks and now - last_score > 60 * options.score_minutes:
            write_model(trainer, options.run_dir / "model", benchmarks, writer)
            last_score = last_print = time.monotonic()
            characters_then = trainer.characters
    stream.close()
    write_model(trainer, options.run_dir / "model", benchmarks, writer)


def write_model(trainer: Trainer, directory: Path, benchmarks: list[Benchmark], writer: Any) -> None:
    """Scores the model as it is, fits its penalties and writes it."""
    weights = trainer.weights()
    penalties = Penalties(insertion=2.0, deletion=2.0)
    if benchmarks:
        scores = score_fast(FastModel(trainer.config.network, weights), benchmarks)
        penalties = scores.penalties
        print(f"after {trainer.characters / 1e6:.1f} M characters, {trainer.seconds / 3600:.2f} h")
        print(format_table(scores), flush=True)
        percent = {
            name: [round(100 * score.f_score, 2), round(100 * score.sequence_accuracy, 2)]
            for name, score in scores.rows.items()
        }
        trainer.history.append(
            {"characters": trainer.characters, "hours": round(trainer.seconds / 3600, 2), "scores": percent}
        )
        with writer.as_default(step=trainer.step):
            for name, (f_score, accuracy) in percent.items():
                tf.summary.scalar(f"f_score/{name}", f_score)
                tf.summary.scalar(f"sequence_accuracy/{name}", accuracy)
    config = {
        "kind": "fast",
        "name": directory.name,
        "network": trainer.config.network.to_json(),
        "penalties": dataclasses.asdict(penalties),
        "training": {
            "characters": trainer.characters,
            "hours": round(trainer.seconds / 3600, 2),
            "sources": [Path(source.path).name for source in trainer.config.sources],
            "settings": {
                field.name: getattr(trainer.config, field.name)
                for field in dataclasses.fields(trainer.config)
                if field.name not in ("sources", "dictionary_sources", "word_lists", "network", "recipe")
            },
            "recipe": json.loads(trainer.config.recipe.to_json()),
            "history": trainer.history,
        },
    }
    sha256 = save_model(directory, config, weights)
    print(f"wrote {directory}, sha256 {sha256}", flush=True)


if __name__ == "__main__":
    main()
