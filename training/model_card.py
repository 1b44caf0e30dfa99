"""The model card: ``python -m training.model_card --model default --benchmarks $RESPACE_DATA/benchmarks/dev``.

Writes ``README.md`` into the model directory: what the model is, what it was trained on, what each stretch of training
bought, and how it scores now; every number comes from the model's own files or is measured by this command. With
``--fit`` the penalties are fitted first and become the model's own.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from typing import Any

from models.files import ModelFiles, load_model, locate, save_model
from models.lines import load_line_judge
from respace.benchmarks import read_benchmarks
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from training.penalties import Penalties
from training.score import Scores, score_fast


def model_card(files: ModelFiles, scores: Scores, sequences: str) -> str:
    """The card as Markdown."""
    training = files.config["training"]
    pair = scores.penalties
    size = sum(array.nbytes for array in files.weights.values()) / 1e6
    lines = [
        f"# {files.name}",
        "",
        "FAST: one logit per gap from hashed n-grams, straddles, given words and a dictionary, and dilated residual "
        "convolutions (`models/fast/network.py`, `docs/fast.md`).",
        "",
        f"- sha256 `{files.sha256}`, {size:.0f} MB, table in 8 bits",
        f"- penalties: insertion {pair.insertion:g}, deletion {pair.deletion:g}; zero for texts that lost all spaces",
        f"- trained on {training['characters'] / 1e6:.0f} M characters in {training['hours']:.1f} hours on two CPU "
        f"cores, from a table and a dictionary of {len(files.weights['dictionary/keys']):,} words counted over all of "
        "the text",
        f"- text: {', '.join(training['sources'])}; noise injected on the fly",
        "- settings: " + ", ".join(f"{name} {value}" for name, value in training["settings"].items()),
        "",
        f"## Development scores ({sequences})",
        "",
        "Harm: false edits per 10,000 characters when the correct text is the input.",
        "Penalties are fitted on the benchmarks they are scored on.",
        "",
        "| benchmark | F-score | sequence accuracy | harm | with its own penalties |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, score in scores.rows.items():
        own, own_score = scores.fitted[name]
        harm = f"{scores.harm[name].false_edits_per_10000_characters:.2f}" if name in scores.harm else ""
        lines.append(
            f"| {name} | {100 * score.f_score:.1f} | {100 * score.sequence_accuracy:.1f} | {harm} | "
            f"{100 * own_score.f_score:.1f} / {100 * own_score.sequence_accuracy:.1f} "
            f"({own.insertion:g}, {own.deletion:g}) |"
        )
    if training.get("history"):
        lines += ["", *_history_table(training["history"])]
    return "\n".join(lines) + "\n"


def _history_table(history: list[dict[str, Any]]) -> list[str]:
    names = list(history[0]["scores"])
    return [
        "## What each stretch of training bought",
        "",
        "F-score / sequence accuracy on the first sequences of each benchmark, with the penalties of that moment; "
        "settings, noise and the number of sequences may have changed between rows.",
        "",
        "| characters | hours | " + " | ".join(names) + " |",
        "| --- " * (len(names) + 2) + "|",
        *(
            f"| {entry['characters'] / 1e6:.0f} M | {entry['hours']:.1f} | "
            + " | ".join("{:.1f} / {:.1f}".format(*entry["scores"][name]) for name in names)
            + " |"
            for entry in history
        ),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--benchmarks", required=True, help="directory of benchmarks in the public layout")
    parser.add_argument("--model", default="default", help="a shipped model or a model directory")
    parser.add_argument("--sequences", type=int, help="score only the first so many of each")
    parser.add_argument("--fit", action="store_true", help="fit the penalties and write them into the model")
    options = parser.parse_args()
    from models.tensorflow import import_tensorflow

    import_tensorflow()
    from models.fast.method import FastMethod

    try:
        files = load_model(options.model)
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
    except (OSError, ValueError) as error:
        sys.exit(f"training.model_card: {error}")
    method = FastMethod.from_files(files)
    own = Penalties(insertion=method.insertion_penalty, deletion=method.deletion_penalty)
    scores = score_fast(method.model, benchmarks, None if options.fit else own, load_line_judge())
    if options.fit:
        fitted = files.config | {"penalties": dataclasses.asdict(scores.penalties)}
        save_model(locate(options.model), fitted, files.weights)
        files = load_model(options.model)
    sequences = f"first {options.sequences} sequences of each" if options.sequences else "all sequences"
    card = model_card(files, scores, sequences)
    publish_bytes(join_url(locate(options.model), "README.md"), card.encode())
    print(card)


if __name__ == "__main__":
    main()
