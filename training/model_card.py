"""The model card.

    python -m training.model_card --model default --benchmarks $RESPACE_DATA/benchmarks/dev \\
        --nonprose runs/corpora/nonprose.parquet

Writes ``README.md`` into the model directory: what the model is and what it is not for, what it was trained on, what
each stretch of training bought, how it scores now, and what it does to text that is no English prose; every number
comes from the model's own files or is measured by this command. With ``--fit`` the penalties are fitted first and
become the model's own.
"""

from __future__ import annotations

import argparse
import dataclasses
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np

from models.fast.dictionary import Dictionary
from models.fast.language_model import ORDERS, LanguageModel
from models.fast.method import FastMethod
from models.files import ModelFiles, load_model, locate, save_model
from models.lines import load_line_judge
from respace import Repairer
from respace.benchmarks import read_benchmarks
from respace.storage.files import join_url
from respace.storage.publish import publish_bytes
from training.harm import Harm, measure, read_kinds
from training.penalties import Penalties
from training.score import WIKI, Scores, score_fast

_ALL_TYPOS = (
    "All misspellings of the collection were trained with; those of the paper's development halves are among them, as "
    "they were for the paper's models."
)
_NOT_FOR = """## What it is not for

It repairs English prose. Other languages, code, tables and markup are left alone as far as they are recognised; a model
for another language must be trained. It changes spaces only: misspelled and misread words stay. Line breaks stay too.
What it inserts and deletes is a statistical guess: keep `--provenance` where a wrong edit must be found again.

Text that it was trained on: Wikipedia (CC BY-SA), eLife (CC BY), public-domain books, abstracts (their authors'),
LaTeX sources of open repositories. Only counts and weights are kept, no text."""


def model_card(files: ModelFiles, scores: Scores, sequences: str, harm: Mapping[str, Harm]) -> str:
    """The card as Markdown."""
    training = files.config["training"]
    pair = scores.penalties
    size = sum(array.nbytes for array in files.weights.values()) / 1e6
    words = len(Dictionary.from_weights(files.weights).keys)
    counted = LanguageModel.from_weights(files.weights)
    lines = [
        f"# {files.name}",
        "",
        "FAST: one logit per gap from hashed n-grams, straddles, given words and a dictionary, and dilated residual "
        "convolutions" + (", decided together with a counted language model" if counted else "") + " (`docs/fast.md`).",
        "",
        f"- sha256 `{files.sha256}`, {size:.0f} MB, table in 8 bits",
        f"- penalties: insertion {pair.insertion:g}, deletion {pair.deletion:g}; zero for texts that lost all spaces",
        f"- trained on {training['characters'] / 1e6:.0f} M characters in {training['hours']:.1f} hours on two CPU "
        f"cores, from a table and a dictionary of {words:,} words counted over all of the text",
        *([_language_model_line(counted, files.config.get("joint", {}))] if counted else []),
        f"- text: {', '.join(training['sources'])}; noise injected on the fly",
        "- settings: " + ", ".join(f"{name} {value}" for name, value in training["settings"].items()),
        "",
        f"## Development scores ({sequences})",
        "",
        "Harm: false edits per 10,000 characters when the correct text is the input.",
        "Penalties are fitted on the benchmarks they are scored on.",
        *([_ALL_TYPOS] if training.get("recipe", {}).get("typo_half") == "all" else []),
        "",
        "| benchmark | F-score | sequence accuracy | harm | with its own penalties |",
        "| --- | --- | --- | --- | --- |",
    ]
    for name, score in scores.rows.items():
        own, own_score = scores.fitted[name]
        harmed = f"{scores.harm[name].false_edits_per_10000_characters:.2f}" if name in scores.harm else ""
        lines.append(
            f"| {name} | {100 * score.f_score:.1f} | {100 * score.sequence_accuracy:.1f} | {harmed} | "
            f"{100 * own_score.f_score:.1f} / {100 * own_score.sequence_accuracy:.1f} "
            f"({own.insertion:g}, {own.deletion:g}) |"
        )
    if harm:
        lines += ["", *_harm_table(harm)]
    if training.get("history"):
        lines += ["", *_history_table(training["history"])]
    lines += ["", _NOT_FOR]
    return "\n".join(lines) + "\n"


def _language_model_line(counted: LanguageModel, joint: Mapping[str, float]) -> str:
    weights = ", ".join(f"{name} {value:g}" for name, value in joint.items() if value is not None)
    ngrams = np.count_nonzero(counted.fingerprints)
    return f"- language model: {ngrams:,} n-grams of up to {ORDERS[0]} symbols; weights {weights}"


def _harm_table(harm: Mapping[str, Harm]) -> list[str]:
    rates = {kind: one.per_10000_characters for kind, one in harm.items()}
    return [
        "## Text that is no English prose",
        "",
        "False edits per 10,000 characters of text that is right as it is and that was kept for measuring "
        f"(`python -m training.harm`): {sum(rates.values()) / len(rates):.2f} on average over {len(rates)} kinds, "
        f"{sum(rate > 1 for rate in rates.values())} kinds above 1. Those that are not 0:",
        "",
        "| kind | characters | false edits | per 10,000 |",
        "| --- | ---: | ---: | ---: |",
        *(
            f"| {kind} | {harm[kind].characters:,} | {harm[kind].edits} | {rates[kind]:.2f} |"
            for kind in sorted(rates, key=lambda kind: -rates[kind])
            if rates[kind] > 0
        ),
    ]


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
    parser.add_argument("--nonprose", help="Parquet with the columns kind and text, right as it is, to measure harm")
    parser.add_argument("--rows", type=int, help="measure harm on at most so many texts of each kind")
    parser.add_argument("--fit", action="store_true", help="fit the penalties and write them into the model")
    options = parser.parse_args()
    try:
        files = load_model(options.model)
        benchmarks = read_benchmarks(options.benchmarks, options.sequences)
        benchmarks += [one.with_all_spaces_lost() for one in benchmarks if one.name == WIKI]
        kinds = read_kinds(options.nonprose, options.rows) if options.nonprose else {}
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
    harm = dict(measure(Repairer(method, judge=load_line_judge()), kinds))
    card = model_card(files, scores, sequences, harm)
    publish_bytes(join_url(locate(options.model), "README.md"), card.encode())
    print(card)


if __name__ == "__main__":
    main()
