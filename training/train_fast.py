"""Trains FAST: ``python -m training.train_fast --config training/configs/fast.json --run_dir runs/fast``.

An interrupted run resumes when you run the same command again. The learning rate falls over the characters that the
configuration plans, and to nothing over the last part of this run (``--decay_share``), before the model is written.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from models.fast.dictionary import Dictionary
from models.fast.model import FastModel
from models.fast.shape import dense_shapes
from models.files import ModelFiles, load_model, save_model
from models.tensorflow import import_tensorflow
from respace.benchmarks import Benchmark, read_benchmarks
from respace.noise.typos import codespell_typos, in_half, read_typos
from respace.storage.errors import UserError
from respace.storage.publish import publish
from training.data.background import InBackground
from training.data.corpora import Corpus, Source
from training.data.stream import batches
from training.fast.config import TrainConfig
from training.fast.count_dictionary import count_dictionary
from training.fast.count_table import count_table
from training.fast.held_out import held_out_benchmarks, too_weak
from training.loop import add_schedule_options, schedule_of, train
from training.penalties import Penalties
from training.score import format_table, score_fast
from training.tensorboard import ScalarLog

if TYPE_CHECKING:  # it imports TensorFlow, for which --help need not wait
    from training.fast.trainer import FastTrainer


def first_table(config: TrainConfig, run_dir: Path) -> NDArray[np.float32]:
    """Counted once for a run."""
    path = run_dir / "counted.npy"
    if not path.exists():
        print("counting n-grams of the clean text", flush=True)
        table = count_table(config.network.features, config.network.row_width, _all_texts(config.sources))
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.save(stream, table)
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
        with publish(str(path)) as temporary, open(temporary, "wb") as stream:
            np.savez(stream, allow_pickle=False, **dictionary.to_weights())
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


def start(config: TrainConfig, options: argparse.Namespace) -> FastTrainer:
    """A trainer, taken up where it stopped, grown from a model, or new."""
    from training.fast.pruning import prune_front
    from training.fast.trainer import FastTrainer, start_from

    checkpoint = options.run_dir / "checkpoint.npz"
    files = load_model(options.start_from) if options.start_from else None
    dictionary = first_dictionary(config, options.run_dir, files)
    if checkpoint.exists():
        shape = (config.network.features.rows, config.network.row_width)
        trainer = FastTrainer(config, np.zeros(shape, np.float32), dictionary)
        trainer.restore(checkpoint)
        print(f"resuming at step {trainer.step}, {trainer.characters / 1e6:.1f} M characters", flush=True)
        return trainer
    if files:
        trainer = start_from(config, files, dictionary)
        if 0 < config.front_inputs < int(trainer.read.numpy().sum()):
            prune_front(trainer, batches(config.stream(dictionary, options.shards)), config.front_inputs)
        return trainer
    return FastTrainer(config, first_table(config, options.run_dir), dictionary)


def run(trainer: FastTrainer, benchmarks: list[Benchmark], options: argparse.Namespace) -> None:
    config = trainer.config
    parameters = sum(int(np.prod(shape)) for shape in dense_shapes(config.network).values())
    table = trainer.table.shape
    print(f"{parameters:,} dense weights, table {table[0]:,} x {table[1]}", flush=True)
    print(f"{config.windows * config.length:,} positions per step", flush=True)
    scalars = ScalarLog(options.run_dir / "tensorboard")
    name = options.name or options.run_dir.name

    def log(loss: float, speed: float) -> None:
        scalars.write(trainer.step, {"loss": loss, "thousand_characters_per_second": speed})

    def measure() -> None:
        write_model(trainer, options.run_dir / "model", name, benchmarks, scalars)

    stream = InBackground(batches, config.stream(trainer.dictionary, options.shards), trainer.block)
    try:
        checkpoint = options.run_dir / "checkpoint.npz"
        train(trainer, stream, schedule_of(options), checkpoint, measure if benchmarks else None, log)
    finally:
        stream.close()
    measure()


def write_model(
    trainer: FastTrainer, directory: Path, model_name: str, benchmarks: list[Benchmark], scalars: ScalarLog
) -> None:
    """Scores the model as it is, fits its penalties and writes it."""
    weights = trainer.weights()
    penalties = Penalties(insertion=2.0, deletion=2.0)
    warning: str | None = "not scored: no rows are held out (every 100th is). Give --benchmarks, or more rows"
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
        for name, (f_score, accuracy) in percent.items():
            scalars.write(trainer.step, {f"f_score/{name}": f_score, f"sequence_accuracy/{name}": accuracy})
        warning = too_weak(scores)
    config = {
        "kind": "fast",
        "name": model_name,
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
            "recipe": _without_folders(json.loads(trainer.config.recipe.to_json())),
            "history": trainer.history,
        },
    }
    sha256 = save_model(directory, config, weights)
    print(f"wrote {directory}, sha256 {sha256}", flush=True)
    if warning is not None:
        print(f"warning: {directory}: {warning}", file=sys.stderr, flush=True)


def _without_folders(recipe: dict[str, Any]) -> dict[str, Any]:
    """Where files lay on the machine that trained is nobody's business."""
    return {
        key: Path(value).name if isinstance(value, str) and "/" in value else value for key, value in recipe.items()
    }


def _benchmarks(config: TrainConfig, options: argparse.Namespace) -> list[Benchmark]:
    """Those that are given, or one of text that is held out."""
    if options.benchmarks:
        return read_benchmarks(options.benchmarks, options.benchmark_sequences)
    # What shards are made of is not known here, so nothing of it is held out.
    return [] if options.shards else held_out_benchmarks(config)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True, help="JSON file, see TrainConfig")
    parser.add_argument("--run_dir", required=True, type=Path, help="checkpoints, logs and the model go here")
    parser.add_argument("--name", help="the model's name (default: that of run_dir)")
    parser.add_argument("--shards", help="shards of pipelines.make_training_shards, in place of the configured text")
    parser.add_argument("--start_from", help="a model to go on from, where there is no checkpoint")
    parser.add_argument("--benchmarks", help="benchmarks to score on (default: rows that are held out)")
    parser.add_argument("--benchmark_sequences", type=int, default=500)
    add_schedule_options(parser)
    options = parser.parse_args(arguments)
    try:
        config = TrainConfig.read(options.config)
        benchmarks = _benchmarks(config, options)
        options.run_dir.mkdir(parents=True, exist_ok=True)
        import_tensorflow()
        trainer = start(config, options)
    except (OSError, ValueError, UserError) as error:
        print(f"training.train_fast: {error}", file=sys.stderr)
        return 2
    run(trainer, benchmarks, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
