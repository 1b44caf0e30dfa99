"""Rows of the training text that are held out, and whether a model that was trained on the others is one yet."""

from __future__ import annotations

from itertools import pairwise
from statistics import mean

from respace.benchmarks import Benchmark
from respace.method import GivenSequence, without_spaces
from respace.noise import corrupt
from training.data.corpora import Corpus
from training.fast.config import TrainConfig
from training.score import Scores

HELD_OUT = "held-out text"
_MOST_ROWS = 400
_LONGEST = 2000  # characters of a row
# Below this F-score, or above so many false edits per 10,000 characters of correct text, nobody wants the output.
_LEAST_F_SCORE, _MOST_HARM = 0.5, 50.0


def held_out_benchmarks(config: TrainConfig) -> list[Benchmark]:
    """One benchmark: rows of prose that are never trained on, with the noise of the training. None if all are few."""
    texts: list[str] = []
    prose = [source for source in config.sources if not source.right_as_it_is]
    for source in prose:
        rows = Corpus(source, kept_for_fitting=True).texts.slice(0, _MOST_ROWS // len(prose))
        texts += [text[:_LONGEST] for text in rows.to_pylist() if text.strip()]
    if not texts:
        return []
    noisy = corrupt(texts, [f"{HELD_OUT}/{number}" for number in range(len(texts))], config.recipe, config.seed)
    given, true = [], []
    for start, stop in pairwise(noisy.offsets):
        bits = noisy.given_bits[start:stop]
        given.append(GivenSequence(noisy.characters[start:stop], bits, without_spaces(bits)))
        true.append(noisy.true_bits[start:stop])
    return [Benchmark(name=HELD_OUT, given=given, true=true)]


def too_weak(scores: Scores) -> str | None:
    """Why a model should not be used yet, by its mean scores; None if it may."""
    f_score = mean(score.f_score for score in scores.rows.values())
    harm = mean([score.false_edits_per_10000_characters for score in scores.harm.values()] or [0.0])
    if f_score >= _LEAST_F_SCORE and harm <= _MOST_HARM:
        return None
    return (
        f"not a usable model yet: F-score {100 * f_score:.1f} (expected at least {100 * _LEAST_F_SCORE:.0f}), "
        f"{harm:.1f} false edits per 10,000 characters of correct text (expected at most {_MOST_HARM:.0f}). "
        "Train longer, or on more text"
    )
