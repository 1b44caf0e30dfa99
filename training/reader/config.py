"""Everything that decides what a training of the reader gives."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from models.reader.config import ReaderConfig
from respace.noise import Recipe
from training.data.corpora import Source
from training.data.settings import read_settings


@dataclass(frozen=True, kw_only=True)
class ReaderTrainConfig:
    """Everything that decides what comes out."""

    sources: tuple[Source, ...] = ()
    reader: ReaderConfig = dataclasses.field(default_factory=ReaderConfig)
    recipe: Recipe = dataclasses.field(default_factory=Recipe.training)
    layout_share: float = 0.1  # rows of tables, references, headings and the like, made up
    blocks_per_shard: int = 4
    tokens: int = 4096  # of a step
    seed: int = 1
    learning_rate: float = 1e-3  # of weights that are new
    pretrained_rate: float = 0.2  # that of the others, as a share of it
    warmup_steps: int = 300
    weight_decay: float = 0.01
    ema_decay: float = 0.999  # of the weights; the average is scored and written
    practice_weight: float = 0.5  # of the loss of certain gaps that are asked, see training.reader.practice
    bfloat16: bool = True  # products; the weights that are written compute in 32 bits

    @classmethod
    def read(cls, path: str) -> ReaderTrainConfig:
        values = read_settings(path)
        unknown = sorted(set(values) - {field.name for field in dataclasses.fields(cls)})
        if unknown:
            known = ", ".join(field.name for field in dataclasses.fields(cls))
            raise ValueError(f"{path}: unknown entries {', '.join(unknown)}: expected some of {known}")
        values["sources"] = tuple(Source.from_json(source) for source in values.get("sources", ()))
        values["recipe"] = Recipe.from_json(json.dumps(values.get("recipe", {})))
        values["reader"] = ReaderConfig(**values.get("reader", {}))
        return cls(**values)
