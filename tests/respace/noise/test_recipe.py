from __future__ import annotations

from typing import Any

import pytest

from respace.noise import Recipe


@pytest.mark.parametrize(
    "recipe",
    [
        Recipe.training(),
        Recipe.ocr(),
        Recipe.wiki(0.2),
        Recipe.wiki_plus(typos="typos.tsv"),
        Recipe.no_spaces(),
        Recipe.pdf(),
    ],
)
def test_a_recipe_survives_json(recipe: Recipe) -> None:
    assert Recipe.from_json(recipe.to_json()) == recipe


def test_training_never_uses_the_test_half_and_the_benchmarks_only_that() -> None:
    assert Recipe.training().typo_half == "train"
    assert Recipe.wiki_plus().typo_half == Recipe.no_spaces().typo_half == "test"


def test_the_weights_of_the_default_mixture() -> None:
    assert Recipe.training().space_weights == [0.2, 0.27, 0.15, 0.08, 0.12, 0.03, 0.15]
    assert Recipe.training().character_weights == [0.4, 0.25, 0.2, 0.15]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"misspelling_rate": 1.5}, "misspelling_rate = 1.5: expected a probability"),
        ({"spaces_pdf": -1.0}, "spaces_pdf = -1.0: expected a number of at least 0"),
        ({"light_low": 0.3}, "light_low = 0.3, light_high = 0.2: expected 0 < low <= high"),
        ({"typo_half": "both"}, "typo_half = 'both': expected 'train', 'test' or 'all'"),
        ({"burst_tokens": 0}, "burst_tokens = 0"),
        ({f"characters_{kind}": 0.0 for kind in ("clean", "ocr", "human", "mixed")}, "all weights are 0"),
    ],
)
def test_a_wrong_value_is_named(changes: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Recipe(**changes)


def test_an_unknown_entry_is_named() -> None:
    with pytest.raises(ValueError, match="unknown recipe entries \\['spelling'\\]"):
        Recipe.from_json('{"spelling": 0.1}')
