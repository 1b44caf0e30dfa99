"""Makes FAST+search: FAST's logits as the labels of the paper's search.

    python -m training.combine --language_model uni_plus --labels default --output models/pretrained/fast_search \\
        --benchmarks $RESPACE_DATA/benchmarks/dev

FAST reads more than a small language model does, so that the language model may count for less than in the paper: of
the weights tried, the one with the best mean simulated sequence accuracy is taken, with its penalties. The directory
holds no weights, only the names of the two models.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from respace.benchmarks import read_benchmarks
from respace.storage.publish import publish_bytes
from training.fit_search import FittedPenalties, fit, measure
from training.paper.card import penalty_table

LANGUAGE_WEIGHTS = (0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)


def card(config: Mapping[str, str], weight: float, found: FittedPenalties) -> str:
    """What the combination is made of, and its penalties."""
    lines = [
        f"# {config['name']}",
        "",
        f"The paper's search with the language model `{config['language_model']}`, weighted {weight:g}, and the gap "
        f"probabilities of `{config['labels']}`. Written by `python -m training.combine`.",
        "",
        *penalty_table({"The One (default)": found.the_one} | found.fitted),
    ]
    return "\n".join(lines) + "\n"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--language_model", required=True, help="a UNI: a shipped name or a model directory")
    parser.add_argument("--labels", required=True, help="a FAST model: a shipped name or a model directory")
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--output", required=True, type=Path, help="model directory to write")
    parser.add_argument("--sequences", type=int, help="fit on the first so many of each")
    options = parser.parse_args(arguments)
    from models.files import ModelFiles, save_model
    from models.paper.search import load_networks

    config = {
        "kind": "combination",
        "name": options.output.name,
        "language_model": options.language_model,
        "labels": options.labels,
    }
    try:
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
        model, labeller, _ = load_networks(
            ModelFiles(name=options.output.name, config=config, weights={}, sha256="not yet written")
        )
    except (OSError, ValueError) as error:
        print(f"training.combine: {error}", file=sys.stderr)
        return 2
    measured = measure(model, labeller, benchmarks)
    tried = {}
    for weight in LANGUAGE_WEIGHTS:
        found = fit(measured, weight)
        mean = float(np.mean(list(found.accuracies.values())))
        tried[weight] = (mean, found)
        print(f"language weight {weight:g}: mean simulated sequence accuracy {100 * mean:.2f}", flush=True)
    weight = max(tried, key=lambda one: tried[one][0])
    sha256 = save_model(options.output, config | {"language_weight": weight} | tried[weight][1].to_json(), {})
    publish_bytes(str(options.output / "README.md"), card(config, weight, tried[weight][1]).encode())
    print(f"wrote {options.output} with language weight {weight:g}, sha256 {sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
