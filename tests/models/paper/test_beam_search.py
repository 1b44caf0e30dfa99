"""The compiled search against the plain one, and what pruning may change."""

from __future__ import annotations

import dataclasses
from functools import lru_cache

import numpy as np
import pytest

from models.paper.beam_search import BeamSearch, Found
from models.paper.lstm import NetworkSize, initial_weights
from models.paper.pruning import FULL_SEARCH, Pruning
from models.paper.uni import UniModel, uni_shapes
from models.paper.vocabulary import Vocabulary
from tests.models.paper.reference_search import LanguageModel, reference_search

VOCABULARY = Vocabulary(" etaoinshrdlu")
SIZE = NetworkSize(units=12, dense=8)


def random_weights(seed: int, scale: float = 3.0) -> dict[str, np.ndarray]:
    """Untrained weights, made larger, so that the model has strong opinions."""
    weights = initial_weights(uni_shapes(len(VOCABULARY), SIZE), seed)
    return {name: (scale * value).astype(np.float32) for name, value in weights.items()}


def random_batch(seed: int, lengths: list[int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    shape = (len(lengths), max(lengths))
    ids = random.integers(1, len(VOCABULARY.characters) + 1, shape).astype(np.int32)  # no blanks; UNK is among them
    return (
        ids,
        np.array(lengths, dtype=np.int32),
        random.random(shape) < 0.3,
        random.normal(0, 2, shape).astype(np.float32),
    )


def penalties(count: int, value: float) -> np.ndarray:
    return np.full(count, value, dtype=np.float64)


@lru_cache
def full_search(seed: int, beams: int) -> BeamSearch:
    """Compiled once for several tests."""
    return BeamSearch(UniModel(VOCABULARY, SIZE, random_weights(seed)), beams)


@pytest.mark.parametrize("beams", [1, 2, 5, 10])
@pytest.mark.parametrize("with_labels", [False, True])
@pytest.mark.parametrize("with_spaces", [False, True])
def test_equals_the_plain_search(beams: int, with_labels: bool, with_spaces: bool) -> None:
    weights = random_weights(seed=beams)
    search = full_search(beams, beams)
    ids, lengths, given, labels = random_batch(beams, [1, 7, 19, 2, 19, 12])
    given &= with_spaces
    insertion, deletion = (1.5, 0.7) if with_spaces else (0.0, 0.0)
    many = len(lengths)
    found = search(
        ids, lengths, given, labels if with_labels else None, penalties(many, insertion), penalties(many, deletion)
    )
    plain = LanguageModel(weights)
    symbols = {"start": VOCABULARY.start, "space": VOCABULARY.space, "end": VOCABULARY.end}
    for row, length in enumerate(lengths.tolist()):
        expected = reference_search(
            plain,
            symbols,
            ids[row, :length].tolist(),
            given[row, :length].tolist(),
            labels[row, :length].tolist() if with_labels else None,
            insertion,
            deletion,
            beams,
        )
        assert found.bits[row, :length].tolist() == expected.bits
        assert found.scores[row] == pytest.approx(expected.score, abs=1e-4)
        assert not found.bits[row, length:].any()


def test_each_sequence_has_its_own_penalties() -> None:
    search = full_search(5, 5)
    ids, lengths, given, labels = random_batch(3, [30])
    twice = {"ids": ids, "lengths": lengths, "given": given, "labels": labels}
    costs = np.array([0.0, 50.0])
    together = search(
        **{name: np.repeat(one, 2, axis=0) for name, one in twice.items()},
        insertion_penalty=costs,
        deletion_penalty=costs,
    )
    alone = search(ids, lengths, given, labels, penalties(1, 0), penalties(1, 0))
    assert together.bits[0].tolist() == alone.bits[0].tolist()
    assert together.bits[0].tolist() != given[0].tolist()
    given[:, 0] = False
    assert together.bits[1].tolist() == given[0].tolist()  # too expensive to change anything


def run_with(pruning: Pruning, seed: int, beams: int = 5) -> Found:
    model = UniModel(VOCABULARY, SIZE, random_weights(seed))
    search = full_search(seed, beams) if pruning == FULL_SEARCH else BeamSearch(model, beams, pruning)
    ids, lengths, given, labels = random_batch(seed, [40, 60, 60, 25, 33])
    return search(ids, lengths, given, 2 * labels, penalties(5, 1.0), penalties(5, 1.0))


@pytest.mark.parametrize("seed", [1, 5])
def test_skipping_hopeless_spaces_changes_no_state(seed: int) -> None:
    full = run_with(FULL_SEARCH, seed)
    skipping = run_with(dataclasses.replace(FULL_SEARCH, skip_hopeless=True), seed)
    assert skipping.bits.tolist() == full.bits.tolist()
    np.testing.assert_allclose(skipping.scores, full.scores, atol=1e-4)
    assert skipping.language_steps < full.language_steps


def test_a_narrow_margin_is_a_search_with_one_beam() -> None:
    narrow = run_with(Pruning(margin=1e-9), seed=1)
    greedy = run_with(FULL_SEARCH, seed=1, beams=1)
    assert narrow.bits.tolist() == greedy.bits.tolist()


def test_work_of_the_full_search() -> None:
    ids, lengths, given, _ = random_batch(1, [50, 20])
    search = full_search(1, 1)
    found = search(ids, lengths, given, None, penalties(2, 0), penalties(2, 0))
    # SOS, then each character, each blank before a character but the first, and EOS.
    assert found.language_steps == 2 + 70 + 68 + 2


@pytest.mark.parametrize("beams", [0, -1, 2.5])
def test_bad_beams(beams: float) -> None:
    with pytest.raises(ValueError, match=f"beams {beams}.*at least 1"):
        BeamSearch(UniModel(VOCABULARY, SIZE, random_weights(1)), beams)  # type: ignore[arg-type]


@pytest.mark.parametrize(("change", "message"), [({"margin": 0.0}, "margin 0.0"), ({"same_bits": 63}, "same_bits 63")])
def test_bad_pruning(change: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Pruning(**change)  # type: ignore[arg-type]
