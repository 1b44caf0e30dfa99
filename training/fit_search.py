"""Fits the penalties of the paper's search: ``python -m training.fit_search --model runs/uni/model --benchmarks DIR``.

For each benchmark, the pair of the grid with the best simulated sequence accuracy; and one pair for all, "The One",
the mean of these over the benchmarks with spaces. Text that lost all spaces is always repaired without penalties. The
pairs are written into the model's config.json and its card.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from respace.benchmarks import Benchmark, read_benchmarks
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from training.paper.card import card
from training.penalties import Penalties, accuracy_grid, least_of_best

if TYPE_CHECKING:
    from models.paper.search import Labeller
    from models.paper.uni import UniModel


@dataclasses.dataclass(frozen=True, kw_only=True)
class FittedPenalties:
    """The best pair of each benchmark with spaces and its simulated sequence accuracy; the mean of the pairs."""

    fitted: dict[str, Penalties]
    accuracies: dict[str, float]
    the_one: Penalties

    def to_json(self) -> dict[str, Any]:
        return {
            "penalties": dataclasses.asdict(self.the_one),
            "fitted_penalties": {name: dataclasses.asdict(pair) for name, pair in self.fitted.items()},
        }


@dataclasses.dataclass(frozen=True, kw_only=True)
class Measured:
    """A benchmark, and for each gap what the language model and the labels say for a space there."""

    benchmark: Benchmark
    language: list[NDArray[np.float32]]
    labels: list[NDArray[np.float32]] | None


def measure(model: UniModel, labeller: Labeller | None, benchmarks: Sequence[Benchmark]) -> list[Measured]:
    """Runs the networks; benchmarks without any space are passed over."""
    from models.paper.look_ahead_penalties import LookAhead

    look_ahead = LookAhead(model)
    out = []
    for one in benchmarks:
        if any(given.bits.any() for given in one.given):
            began = time.monotonic()
            language = look_ahead([given.characters for given in one.given], one.true)
            labels = labeller.sequence_logits(one.given) if labeller is not None else None
            out.append(Measured(benchmark=one, language=language, labels=labels))
            print(f"{one.name}: probabilities in {time.monotonic() - began:.1f} s", flush=True)
    return out


def fit(measured: Sequence[Measured], language_weight: float = 1.0) -> FittedPenalties:
    """The best pairs of the whole grid, by simulated sequence accuracy."""
    fitted, accuracies = {}, {}
    for one in measured:
        began = time.monotonic()
        differences = [language_weight * values for values in one.language]
        if one.labels is not None:
            differences = [values + logits for values, logits in zip(differences, one.labels, strict=True)]
        name = one.benchmark.name
        grid = accuracy_grid(differences, [given.bits for given in one.benchmark.given], one.benchmark.true)
        fitted[name], accuracies[name] = least_of_best(grid), float(grid.max())
        print(
            f"{name}: insertion {fitted[name].insertion:g}, deletion {fitted[name].deletion:g}, simulated "
            f"sequence accuracy {100 * accuracies[name]:.2f} (grid in {time.monotonic() - began:.1f} s)",
            flush=True,
        )
    return FittedPenalties(fitted=fitted, accuracies=accuracies, the_one=the_one(list(fitted.values())))


def the_one(pairs: Sequence[Penalties]) -> Penalties:
    """The mean of several pairs; without any, none is charged."""
    if not pairs:
        return Penalties(insertion=0.0, deletion=0.0)
    return Penalties(
        insertion=round(float(np.mean([pair.insertion for pair in pairs])), 2),
        deletion=round(float(np.mean([pair.deletion for pair in pairs])), 2),
    )


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, help="a local directory of a UNI, BID or combination model")
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--sequences", type=int, help="fit on the first so many of each")
    options = parser.parse_args(arguments)
    from models.files import load_model, locate, save_model
    from models.paper.search import load_networks

    try:
        files = load_model(options.model)
        model, labeller, _ = load_networks(files)
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
    except (OSError, ValueError) as error:
        print(f"training.fit_search: {error}", file=sys.stderr)
        return 2
    found = fit(measure(model, labeller, benchmarks), files.config.get("language_weight", 1.0))
    config = files.config | found.to_json()
    sha256 = save_model(locate(options.model), config, files.weights)
    if "training" in config:
        publish_bytes(join_url(locate(options.model), "README.md"), card(config).encode())
    print(f"The One: insertion {found.the_one.insertion:g}, deletion {found.the_one.deletion:g}")
    print(f"wrote {options.model}, sha256 {sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
