"""The loop that trains: batches, a learning rate that falls in the end, lines about it, checkpoints, measurements."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol

import numpy as np

_PRINT_SECONDS = 30
_LEAST_RATE = 0.02


class Batch(Protocol):
    """Checkpoints are taken between blocks, so that the stream can be taken up exactly there."""

    @property
    def last_of_block(self) -> bool: ...


class Trainer(Protocol):
    """A network in training, and how far it is."""

    step: int
    block: int
    characters: int
    seconds: float

    def train(self, batch: Any, rate: float) -> Any:
        """One step; returns the loss."""

    def save(self, path: Path) -> None: ...


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """When training ends, and what happens on the way.

    Attributes:
        minutes: it ends after so many.
        million_characters: or after so many in all, if given: comparable on a machine with other work.
        decay_share: the learning rate falls to nothing over this last part.
        checkpoint_minutes, measure_minutes: so long from one to the next.
    """

    minutes: float
    million_characters: float | None = None
    decay_share: float = 0.0
    checkpoint_minutes: float = 5.0
    measure_minutes: float = 15.0

    def left(self, minutes: float, characters: int) -> float:
        """The share of the training that is still to come."""
        if self.million_characters:
            return 1 - characters / (1e6 * self.million_characters)
        return 1 - minutes / self.minutes

    def rate(self, left: float) -> float:
        return min(1.0, max(_LEAST_RATE, left / self.decay_share)) if self.decay_share else 1.0


def add_schedule_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=60, help="train for this long, then write the model")
    parser.add_argument("--million_characters", type=float, help="train on so many in all, in place of --minutes")
    parser.add_argument("--decay_share", type=float, default=0.3, help="the learning rate falls over this last part")
    parser.add_argument("--checkpoint_minutes", type=float, default=5)
    parser.add_argument("--measure_minutes", type=float, default=15, help="measure that often (default 15)")


def schedule_of(options: argparse.Namespace) -> Schedule:
    return Schedule(
        minutes=options.minutes,
        million_characters=options.million_characters,
        decay_share=options.decay_share,
        checkpoint_minutes=options.checkpoint_minutes,
        measure_minutes=options.measure_minutes,
    )


def train(
    trainer: Trainer,
    batches: Iterable[Batch],
    schedule: Schedule,
    checkpoint: Path,
    measure: Callable[[], None] | None = None,
    log: Callable[[float, float], None] | None = None,
) -> None:
    """Trains until the schedule ends.

    Args:
        trainer: what is trained.
        batches: without end.
        schedule: when it ends.
        checkpoint: where its state is kept; not while the rate falls, so that one can go on at the full rate.
        measure: called every now and then.
        log: called with the loss and the speed whenever a line is printed.
    """
    endless = iter(batches)
    first = next(endless)  # the clock runs from the first batch on
    began = last_print = last_checkpoint = last_measured = time.monotonic()
    seconds_before, characters_then = trainer.seconds, trainer.characters
    losses: list[Any] = []
    for batch in chain([first], endless):
        now = time.monotonic()
        left = schedule.left((now - began) / 60, trainer.characters)
        if left <= 0:
            return
        rate = schedule.rate(left)
        losses.append(trainer.train(batch, rate))
        trainer.seconds = seconds_before + now - began
        if now - last_print > _PRINT_SECONDS:
            speed = (trainer.characters - characters_then) / (now - last_print) / 1e3
            loss = float(np.mean([float(value) for value in losses]))
            print(
                f"step {trainer.step}  {trainer.characters / 1e6:.2f} M characters  loss {loss:.4f}  "
                f"{speed:.2f} thousand characters/s  {(now - began) / 60:.1f} min  rate {rate:.2f}",
                flush=True,
            )
            if log is not None:
                log(loss, speed)
            losses, last_print, characters_then = [], now, trainer.characters
        if batch.last_of_block and rate == 1 and now - last_checkpoint > 60 * schedule.checkpoint_minutes:
            trainer.save(checkpoint)
            last_checkpoint = time.monotonic()
        if measure is not None and now - last_measured > 60 * schedule.measure_minutes:
            measure()
            last_measured = last_print = time.monotonic()
            characters_then = trainer.characters
