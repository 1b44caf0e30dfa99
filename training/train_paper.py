"""Trains the paper's networks, UNI and BID.

    python -m training.train_paper --config training/configs/uni.json --run_dir runs/uni

UNI first; BID's bidirectional network then takes a UNI of the same text along (``--language_model runs/uni/model``),
so that its model directory is whole. An interrupted run resumes when you run the same command again;
``--start_from uni`` goes on from a finished model (with another ``seed``, or it sees the same text again). In the end
the penalties are fitted (``--benchmarks``) and the model and its card are written to ``run_dir/model``.

Training ends after ``--minutes``, or after so many characters in all (``--million_characters``), which makes runs
comparable on a machine with other work. The learning rate is constant, as in the paper, but falls to nothing over the
last part (``--decay_share``), because a short training gains by it (0: never).
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from respace.noise import Recipe
from respace.storage.publish import publish_bytes
from training.loop import add_schedule_options, schedule_of, train
from training.paper.card import card, describe

if TYPE_CHECKING:
    from models.files import ModelFiles
    from models.paper.vocabulary import Vocabulary
    from training.data.corpora import Source
    from training.data.text_stream import Piece, TextStreamConfig
    from training.paper.trainer import PaperTrainer

_KINDS = ("uni", "bid")
_COUNTED_ROWS = 40_000  # of each source, for the vocabulary


@dataclass(frozen=True, kw_only=True)
class PaperConfig:
    """Everything that decides what comes out.

    Attributes:
        kind: ``uni``, or ``bid`` for the bidirectional network.
        sources: clean text and its shares.
        noise: ``none``, or a recipe's entries for the noisy variants (no space errors in either).
        size: ``paper``, ``small``, or units and dense.
        vocabulary: how many characters are known.
        batch, length: sequences per step, and where they are cut.
    """

    kind: str
    sources: tuple[Source, ...]
    noise: dict[str, Any] | None = None
    size: Any = "small"
    vocabulary: int = 200
    batch: int = 128
    length: int = 256
    learning_rate: float = 0.001
    clip_norm: float = 5.0
    seed: int = 1

    def __post_init__(self) -> None:
        if self.kind not in _KINDS:
            raise ValueError(f"kind {self.kind!r}: expected one of {', '.join(_KINDS)}")
        for name in ("vocabulary", "batch", "length"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} {getattr(self, name)}: expected at least 1")

    @classmethod
    def read(cls, path: str) -> PaperConfig:
        from training.data.corpora import Source
        from training.data.settings import read_settings

        values = read_settings(path)
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in dataclasses.fields(cls))
            raise ValueError(f"{path}: unknown entries {', '.join(unknown)}: expected some of {known}")
        values["sources"] = tuple(Source.from_json(source) for source in values["sources"])
        return cls(**values)

    @property
    def recipe(self) -> Recipe:
        from training.data.text_stream import clean_recipe, noisy_recipe

        return clean_recipe() if self.noise is None else noisy_recipe(**self.noise)

    def stream(self, vocabulary: Vocabulary, shards: str | None = None) -> TextStreamConfig:
        from training.data.text_stream import TextStreamConfig

        return TextStreamConfig(
            sources=self.sources,
            recipe=self.recipe,
            characters=vocabulary.characters,
            with_spaces=self.kind == "uni",
            batch=self.batch,
            length=self.length,
            seed=self.seed,
            shards=shards,
        )


def count_vocabulary(sources: Sequence[Source], size: int, shards: str | None = None) -> Vocabulary:
    """The most frequent characters of rows spread evenly over the sources, or of the first rows of shards."""
    from models.paper.vocabulary import Vocabulary
    from respace.noise import true_texts
    from training.data.corpora import Corpus
    from training.data.shards import TrainingShards

    counts: Counter[str] = Counter()
    if shards is not None:
        found = TrainingShards(shards)
        counts.update("".join(true_texts(found.block(0, min(_COUNTED_ROWS, len(found))))))
        return Vocabulary.from_counts(counts, size)
    for source in sources:
        corpus = Corpus(source)
        rows = np.unique(np.linspace(0, len(corpus) - 1, _COUNTED_ROWS).astype(np.int64))
        for text in corpus.take(rows):
            counts.update(" ".join(text.split()))
    return Vocabulary.from_counts(counts, size)


def held_out_pieces(benchmarks: str | None, vocabulary: Vocabulary, with_spaces: bool, count: int) -> list[Piece]:
    """Correct text of the benchmarks, to measure the network itself on."""
    from respace.benchmarks import read_lines
    from respace.noise import corrupt
    from training.data.text_stream import clean_recipe, cut

    if benchmarks is None:
        return []
    lines: list[str] = []
    for path in sorted(Path(benchmarks).glob("*/correct.txt")):
        lines += [line for line in read_lines(str(path), count) if line.strip()]
    noisy = corrupt(lines, [str(number) for number in range(len(lines))], clean_recipe(), 0)
    return cut(noisy, vocabulary, 1 << 20, with_spaces)


def start(
    config: PaperConfig,
    run_dir: Path,
    language_model: str | None,
    shards: str | None = None,
    start_from: str | None = None,
) -> tuple[PaperTrainer, ModelFiles | None]:
    """A trainer, taken up where it or a model stopped, and the language model that BID takes along."""
    from models.files import load_model
    from models.paper.lstm import NetworkSize
    from models.paper.vocabulary import Vocabulary
    from training.paper.trainer import PaperTrainer

    files = None
    first = load_model(start_from) if start_from else None
    path = run_dir / "vocabulary.json"
    if config.kind == "bid":
        if language_model is None:
            raise ValueError("--language_model is missing: expected the model directory of a UNI of the same text")
        files = load_model(language_model)
        if files.config.get("kind") != "uni":
            raise ValueError(f"--language_model {language_model} is a {files.config.get('kind')!r}: expected a UNI")
        vocabulary = Vocabulary(files.config["vocabulary"])
    elif path.exists():
        vocabulary = Vocabulary(json.loads(path.read_text()))
    else:
        if first is None:
            print("counting characters", flush=True)
            vocabulary = count_vocabulary(config.sources, config.vocabulary, shards)
        else:
            vocabulary = Vocabulary(first.config["vocabulary"])
        publish_bytes(str(path), json.dumps(vocabulary.characters).encode())
    kind: Any = config.kind
    trainer = PaperTrainer(
        kind, vocabulary, NetworkSize.named(config.size), config.learning_rate, config.clip_norm, config.seed
    )
    checkpoint = run_dir / "checkpoint.npz"
    if checkpoint.exists():
        trainer.restore(checkpoint)
        print(f"resuming at step {trainer.step}, {trainer.characters / 1e6:.1f} M characters", flush=True)
    elif first is not None:
        if first.config["vocabulary"] != vocabulary.characters:
            raise ValueError(f"--start_from {start_from} knows other characters: expected those of --language_model")
        trainer.start_from(first)
        print(f"going on from {first.name}, {trainer.characters / 1e6:.1f} M characters", flush=True)
    return trainer, files


def run(config: PaperConfig, trainer: PaperTrainer, pieces: list[Piece], options: argparse.Namespace) -> None:
    """Trains until the end that the options set, with a line about it every half minute."""
    from models.paper.lstm import parameters
    from training.data.background import InBackground
    from training.data.text_stream import text_batches

    size = trainer.size
    print(
        f"{config.kind}: {parameters(trainer.shapes):,} weights ({size.units} units, {size.dense} dense), "
        f"{len(trainer.vocabulary)} symbols, {config.batch} sequences of at most {config.length} characters per step",
        flush=True,
    )
    stream = InBackground(text_batches, config.stream(trainer.vocabulary, options.shards), trainer.block)
    try:
        train(
            trainer,
            stream,
            schedule_of(options),
            options.run_dir / "checkpoint.npz",
            (lambda: print(f"held out: {describe(trainer.measure(pieces))}", flush=True)) if pieces else None,
        )
    finally:
        stream.close()


def write(
    config: PaperConfig,
    trainer: PaperTrainer,
    language: ModelFiles | None,
    pieces: list[Piece],
    options: argparse.Namespace,
) -> None:
    """Fits penalties and writes the model directory with its card."""
    from models.files import save_model
    from models.paper.bid import BidModel
    from models.paper.lstm import NetworkSize
    from models.paper.search import network_config
    from models.paper.uni import UniModel
    from respace.benchmarks import read_benchmarks
    from training.fit_search import fit, measure

    weights = trainer.weights()
    if language is None:
        model, labels = UniModel(trainer.vocabulary, trainer.size, weights), None
    else:
        weights = language.weights | weights
        model = UniModel(trainer.vocabulary, NetworkSize(**language.config["uni"]), weights)
        labels = BidModel(trainer.vocabulary, trainer.size, weights)
    measured = trainer.measure(pieces) if pieces else {}
    if measured:
        print(f"held out: {describe(measured)}", flush=True)
    benchmarks = read_benchmarks(options.benchmarks, options.benchmark_sequences) if options.benchmarks else []
    fitted = fit(measure(model, labels, benchmarks))
    settings = {
        field.name: getattr(config, field.name)
        for field in dataclasses.fields(config)
        if field.name not in ("sources", "noise")
    }
    training = {
        "characters": trainer.characters,
        "hours": round(trainer.seconds / 3600, 2),
        "sources": [Path(source.path).name for source in config.sources],
        "noisy": config.noise is not None,
        "settings": settings,
        "held_out": {name: round(value, 5) for name, value in measured.items()},
    }
    if language is not None:
        training["language_model"] = {"sha256": language.sha256, **language.config.get("training", {})}
    name = options.name or options.run_dir.name
    found = {"name": name} | network_config(model, labels) | fitted.to_json() | {"training": training}
    directory = options.run_dir / "model"
    sha256 = save_model(directory, found, weights)
    publish_bytes(str(directory / "README.md"), card(found).encode())
    print(f"wrote {directory}, sha256 {sha256}", flush=True)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--config", required=True, help="JSON file, see PaperConfig")
    parser.add_argument("--run_dir", required=True, type=Path, help="checkpoints and the model go here")
    parser.add_argument("--name", help="the model's name (default: that of run_dir)")
    parser.add_argument("--shards", help="shards of pipelines.make_training_shards, in place of the configured text")
    parser.add_argument("--language_model", help="for BID: the model directory of a UNI of the same text")
    parser.add_argument("--start_from", help="a model to go on from, where there is no checkpoint")
    add_schedule_options(parser)
    parser.add_argument("--benchmarks", help="directory of benchmarks to measure and to fit penalties on")
    parser.add_argument("--benchmark_sequences", type=int, default=1000, help="fit on the first so many of each")
    parser.add_argument("--measured_sequences", type=int, default=200, help="measure on the first so many of each")
    options = parser.parse_args(arguments)
    try:
        config = PaperConfig.read(options.config)
        options.run_dir.mkdir(parents=True, exist_ok=True)
        trainer, language = start(config, options.run_dir, options.language_model, options.shards, options.start_from)
        pieces = held_out_pieces(
            options.benchmarks, trainer.vocabulary, config.kind == "uni", options.measured_sequences
        )
    except (OSError, ValueError) as error:
        print(f"training.train_paper: {error}", file=sys.stderr)
        return 2
    run(config, trainer, pieces, options)
    write(config, trainer, language, pieces, options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
