"""Turns a training run into a model that ships.

    python -m training.ship --run_dir runs/fast --config training/configs/fast.json \\
        --language_model runs/ngrams/model --benchmarks $RESPACE_DATA/benchmarks/dev --name default

The network of the run and the counted language model become one model. From which logits on the exits of the network
are certain, and how much the language model counts, is fitted on rows that neither has seen, the penalties on the
benchmarks. Then the card is written (`python -m training.model_card`).
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from pathlib import Path
from typing import Any

from models.files import ModelError, Weights, load_model, save_model, shipped_directory
from models.lines import load_line_judge
from models.tensorflow import import_tensorflow
from respace.benchmarks import read_benchmarks


def counted_weights(model: str) -> Weights:
    """The language model of what `training.count_ngrams` wrote, or of a model that has one."""
    from models.fast.language_model import PREFIX

    return {name: weight for name, weight in load_model(model).weights.items() if name.startswith(PREFIX)}


def main(arguments: list[str] | None = None) -> int:
    description, _, more = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        description=description, epilog=more, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--run_dir", required=True, type=Path, help="of training.train_fast; its model is taken")
    parser.add_argument("--config", required=True, help="of the run: where its text is, and its noise")
    parser.add_argument(
        "--language_model", help="model directory written by training.count_ngrams, or a shipped model that has one"
    )
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks to fit the penalties on")
    parser.add_argument("--sequences", type=int, help="fit on the first so many of each")
    parser.add_argument("--rows", type=int, default=12000, help="unseen rows to fit exits and joint decision on")
    parser.add_argument("--name", default="default", help="of the shipped model (default: %(default)s)")
    options = parser.parse_args(arguments)
    import_tensorflow()
    from models.fast.model import FastModel
    from models.fast.shape import FastConfig
    from training.fast.fit_exits import fit_exits
    from training.fast.fit_joint import fit_joint, sequences_of, unseen_rows
    from training.score import format_table, score_fast
    from training.train_fast import TrainConfig

    try:
        files = load_model(str(options.run_dir / "model"))
        counted = counted_weights(options.language_model) if options.language_model else {}
        config = TrainConfig.read(options.config)
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
    except (OSError, ValueError, ModelError) as error:
        print(f"training.ship: {error}", file=sys.stderr)
        return 2
    weights = files.weights | counted
    network = FastConfig.from_json(files.config["network"])
    given, true = sequences_of(unseen_rows(config.sources, options.rows, config.recipe, config.seed))
    settings: dict[str, Any] = {"name": options.name, "certain": fit_exits(network, weights, given)}
    model = FastModel(network, weights, certain=settings["certain"])
    if counted:
        model.joint = fit_joint(model, given, true)
        settings["joint"] = dataclasses.asdict(model.joint)
    scores = score_fast(model, benchmarks, judge=load_line_judge())
    print(format_table(scores))
    settings["penalties"] = dataclasses.asdict(scores.penalties)
    sha256 = save_model(shipped_directory(options.name), files.config | settings, weights)
    print(f"wrote {shipped_directory(options.name)}, sha256 {sha256}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
