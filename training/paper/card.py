"""The card of a UNI or BID model: what it is, what it was trained on, how good the network is, its penalties."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from training.penalties import Penalties


def describe(measured: dict[str, float]) -> str:
    names = {
        "cross_entropy": "cross-entropy {:.4f} nats",
        "accuracy": "accuracy {:.2%}",
        "top_5_accuracy": "top 5 {:.2%}",
    }
    return ", ".join(names[name].format(value) for name, value in measured.items())


def card(config: dict[str, Any]) -> str:
    """A model card: what it is, what it was trained on, how good the network is, its penalties."""
    training = config["training"]
    networks = ", ".join(f"{kind} {config[kind]['units']} units" for kind in ("uni", "bid") if kind in config)
    noise = "with misspelled and misread words" if training["noisy"] else "clean"
    lines = [
        f"# {config['name']}",
        "",
        f"The paper's {config['kind'].upper()} ({networks}, {len(config['vocabulary'])} characters), trained on "
        f"{training['characters'] / 1e6:.1f} M characters ({noise}) of {', '.join(training['sources'])} in "
        f"{training['hours']} hours on CPUs. Written by `python -m training.train_paper`.",
    ]
    if training["held_out"]:
        lines += ["", f"On the correct text of the development benchmarks: {describe(training['held_out'])}."]
    pairs = {"The One (default)": config["penalties"]} | config["fitted_penalties"]
    lines += ["", *penalty_table({name: Penalties(**pair) for name, pair in pairs.items()})]
    return "\n".join(lines) + "\n"


def penalty_table(pairs: Mapping[str, Penalties]) -> list[str]:
    rows = [f"| {name} | {pair.insertion:g} | {pair.deletion:g} |" for name, pair in pairs.items()]
    return ["| penalties | insertion | deletion |", "| --- | --- | --- |", *rows]
