"""Everything that decides what a training of FAST gives."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from models.fast.dictionary import Dictionary
from models.fast.shape import FastConfig
from respace.noise import Recipe
from training.data.corpora import Source
from training.data.settings import read_settings
from training.data.stream import StreamConfig


@dataclass(frozen=True, kw_only=True)
class TrainConfig:
    """Everything that decides what comes out."""

    sources: tuple[Source, ...]
    network: FastConfig = dataclasses.field(default_factory=FastConfig)
    recipe: Recipe = dataclasses.field(default_factory=Recipe.training)
    layout_share: float = 0.04
    windows: int = 48  # of a step
    look_at: int = 1  # so many are looked at for each that is trained on, see `training.fast.choice`
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
    exit_loss: float = 0.3  # weight of the exits' losses
    front_inputs: int = 0  # the first product reads so many of its inputs, see `training.fast.pruning`; 0: all
    error_weight: float = 1.0  # of gaps that are wrong as given
    planned_characters: float = 1e9  # the learning rate falls over so many
    last_rate: float = 0.1  # to this share of what it was
    # Adagrad's steps die out; forgetting old gradients keeps them alive.
    table_forgetting: float = 0.92  # every 100 steps
    average: float = 0.998  # of the dense weights, what is scored and written

    @classmethod
    def read(cls, path: str) -> TrainConfig:
        values = read_settings(path)
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown or "sources" not in values:
            known = ", ".join(field.name for field in dataclasses.fields(cls))
            what = f"unknown entries {', '.join(unknown)}" if unknown else "no sources"
            raise ValueError(f"{path}: {what}: expected some of {known}")
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

    def stream(self, dictionary: Dictionary, shards: str | None = None) -> StreamConfig:
        return StreamConfig(
            sources=self.sources,
            recipe=self.recipe,
            features=self.network.features,
            dictionary=dictionary,
            layout_share=self.layout_share,
            windows=self.windows * self.look_at,
            length=self.length,
            seed=self.seed,
            shards=shards,
        )
