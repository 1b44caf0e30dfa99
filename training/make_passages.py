"""Writes passages around gaps of which FAST is uncertain, to train the reader on.

    python -m training.make_passages --config training/configs/reader.json --output runs/passages --shards 200

Text and noise are those of the configuration. A shard depends on its number and the seed alone; shards that are there
are left alone, so an interrupted run resumes when you run the same command again, and more shards can be added later.
With --unseen, passages are made from the rows that are kept for fitting, for measuring.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from models.files import load_model
from respace.noise import Corrupted
from respace.storage.errors import UserError
from training.data.stream import StreamConfig, blocks
from training.reader.config import ReaderTrainConfig
from training.reader.passage_shards import PassageShard, find_passages

if TYPE_CHECKING:
    from models.fast.model import FastModel

UNSEEN_ROWS = 6000


@dataclass(frozen=True)
class Work:
    """What a shard is made of."""

    config: str
    model: str
    output: Path
    unseen: bool
    seed: int

    def path(self, number: int) -> Path:
        return self.output / f"passages-{self.seed}-{number:05d}.npz"


@lru_cache(maxsize=1)
def _prepared(work: Work) -> tuple[ReaderTrainConfig, FastModel, Callable[[int], Corrupted]]:
    from models.fast.model import FastModel
    from models.fast.processor import ProcessorNetwork
    from models.fast.shape import FastConfig

    config = ReaderTrainConfig.read(work.config)
    files = load_model(work.model)
    network = FastConfig.from_json(files.config["network"])
    on_cpu = ProcessorNetwork(network, files.weights, files.config.get("certain"))
    model = FastModel.from_files(files, network=on_cpu)
    stream = StreamConfig(
        sources=config.sources,
        recipe=config.recipe,
        features=network.features,
        dictionary=model.dictionary,
        layout_share=config.layout_share,
        seed=work.seed,
    )
    return config, model, blocks(stream)


def make_shard(work: Work, number: int) -> tuple[int, int]:
    """Writes one shard, and returns how many passages and characters it has."""
    from training.fast.fit_joint import unseen_rows

    config, model, noisy_block = _prepared(work)
    random = np.random.default_rng([work.seed, number])
    if work.unseen:
        noisy = unseen_rows(config.sources, UNSEEN_ROWS, config.recipe, work.seed + number)
        parts = [find_passages(model, noisy, None, random)]
    else:
        first = number * config.blocks_per_shard
        parts = [
            find_passages(model, noisy_block(block), block, random)
            for block in range(first, first + config.blocks_per_shard)
        ]
    shard = PassageShard.concat(parts)
    shard.save(work.path(number))
    return len(shard.passages), len(shard.passages.characters)


def _numbered(task: tuple[Work, int]) -> tuple[int, int, int]:
    work, number = task
    return number, *make_shard(work, number)


def main(arguments: Sequence[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--config", required=True, help="JSON file, see ReaderTrainConfig")
    parser.add_argument("--output", required=True, type=Path, help="directory for the shards")
    parser.add_argument("--model", default="default", help="FAST: a shipped model or a model directory")
    parser.add_argument("--shards", type=int, default=100, help="number of shards in all (default 100)")
    parser.add_argument("--first", type=int, default=0, help="number of the first shard (default 0)")
    parser.add_argument("--processes", type=int, default=1, help="number of worker processes (default 1)")
    parser.add_argument("--seed", type=int, default=1, help="another seed gives other rows and other noise")
    parser.add_argument("--unseen", action="store_true", help="use the rows that are kept for fitting")
    options = parser.parse_args(arguments)
    try:
        ReaderTrainConfig.read(options.config)
        options.output.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError, UserError) as error:
        print(f"training.make_passages: {error}", file=sys.stderr)
        return 2
    work = Work(options.config, options.model, options.output, options.unseen, options.seed)
    missing = [number for number in range(options.first, options.shards) if not work.path(number).exists()]
    print(f"{options.shards - options.first - len(missing)} shards are there, {len(missing)} are missing", flush=True)
    began, characters = time.monotonic(), 0
    with multiprocessing.get_context("spawn").Pool(options.processes) as pool:
        done = pool.imap_unordered(_numbered, [(work, number) for number in missing])
        for number, passages, its_characters in done:
            characters += its_characters
            speed = characters / (time.monotonic() - began)
            print(f"shard {number}: {passages} passages, {its_characters:,} characters, {speed:,.0f}/s", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
