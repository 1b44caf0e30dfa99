from __future__ import annotations

import json
import random
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace import gaps
from respace.noise import NOISE_KINDS, Corrupted, Recipe, corrupt, given_texts, held_out, parameters, true_texts
from respace.noise.characters import find_spans
from respace.noise.errors import count_errors
from respace.noise.recipe import CHARACTER_KINDS
from respace.noise.rows import Rows
from respace.noise.typos import codespell_typos, half_of

SENTENCES = [
    "Nigel (Mann, 1983) is a fourth system that makes use of functional information and of systemic grammar.",
    "The holographic dark energy with F(R, T) gravity and π(θ | α) for N, A of S11(1535) where n + 1 > 3 × 104.",
    "While the length of a phrase is fairly equal, the number of words per sentence is higher than we believed.",
    "They occurred successfully; which committee would have separately received the government's environment?",
]


def texts_and_keys(copies: int) -> tuple[list[str], list[str]]:
    texts = SENTENCES * copies
    return texts, [f"file:{number}" for number in range(len(texts))]


def tokens(noisy: Corrupted) -> int:
    return int(noisy.true_bits.sum() + (np.diff(noisy.offsets) > 0).sum())


def check_shape(noisy: Corrupted, rows: int) -> None:
    assert len(noisy.characters) == len(noisy.true_bits) == len(noisy.given_bits) == noisy.offsets[-1]
    assert noisy.characters.dtype == np.uint32
    assert noisy.true_bits.dtype == noisy.given_bits.dtype == np.bool_
    assert len(noisy.offsets) == rows + 1
    assert len(noisy.kinds) == rows
    assert noisy.offsets[0] == 0
    starts = noisy.offsets[:-1][np.diff(noisy.offsets) > 0]
    assert not noisy.true_bits[starts].any()
    assert not noisy.given_bits[starts].any()
    assert not gaps.is_space(noisy.characters).any()


def test_a_row_does_not_depend_on_its_batch() -> None:
    texts, keys = texts_and_keys(100)
    whole = corrupt(texts, keys, Recipe.training(), seed=3)
    true, noisy = true_texts(whole), given_texts(whole)
    order = list(range(len(texts)))
    random.Random(0).shuffle(order)
    for part in (order[:150], order[150:151], order[151:]):
        again = corrupt([texts[i] for i in part], [keys[i] for i in part], Recipe.training(), seed=3)
        assert true_texts(again) == [true[i] for i in part]
        assert given_texts(again) == [noisy[i] for i in part]
        assert again.kinds.tolist() == whole.kinds[part].tolist()


def test_key_and_seed_change_the_noise() -> None:
    texts, keys = texts_and_keys(50)
    first = given_texts(corrupt(texts, keys, Recipe.training(), seed=3))
    other_seed = given_texts(corrupt(texts, keys, Recipe.training(), seed=4))
    other_keys = given_texts(corrupt(texts, [key + "b" for key in keys], Recipe.training(), seed=3))
    assert first != other_seed
    assert first != other_keys


def test_the_noise_is_the_same_on_every_machine_and_in_every_version() -> None:
    noisy = corrupt(SENTENCES[:1], ["c"], Recipe.wiki(), seed=1)
    assert given_texts(noisy) == [SENTENCES[0].replace("a fourth", "afourth").replace("use of", "useof")]


@settings(max_examples=100, deadline=None)
@given(st.lists(st.text(max_size=60), max_size=6), st.integers(0, 2**63))
def test_any_text_can_be_corrupted(texts: list[str], seed: int) -> None:
    noisy = corrupt(texts, [str(number) for number in range(len(texts))], Recipe.training(), seed)
    check_shape(noisy, len(texts))


def space_noise_only(kind: str) -> Recipe:
    clean: dict[str, Any] = {f"characters_{name}": float(name == "clean") for name in CHARACTER_KINDS}
    spaces: dict[str, Any] = {f"spaces_{name}": float(name == kind) for name in NOISE_KINDS}
    return Recipe(**clean, **spaces)


SPACE_ONLY = {kind: space_noise_only(kind) for kind in NOISE_KINDS}


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(NOISE_KINDS), st.lists(st.text(max_size=60), max_size=4), st.integers(0, 1000))
def test_space_noise_changes_spaces_only(kind: str, texts: list[str], seed: int) -> None:
    noisy = corrupt(texts, [str(number) for number in range(len(texts))], SPACE_ONLY[kind], seed)
    check_shape(noisy, len(texts))
    assert [gaps.split(text)[0] for text in texts] == [gaps.split(text)[0] for text in given_texts(noisy)]
    assert true_texts(noisy) == [" ".join(text.split()) for text in texts]
    assert {NOISE_KINDS[number] for number in noisy.kinds} <= {kind}


def test_clean_every_and_none() -> None:
    text = ["The cat."]
    assert given_texts(corrupt(text, ["k"], SPACE_ONLY["clean"], 1)) == ["The cat."]
    assert given_texts(corrupt(text, ["k"], SPACE_ONLY["every"], 1)) == ["T h e c a t ."]
    assert given_texts(corrupt(text, ["k"], SPACE_ONLY["none"], 1)) == ["Thecat."]


def test_bursts_space_words_out_and_run_words_together() -> None:
    texts, keys = texts_and_keys(250)
    given = given_texts(corrupt(texts, keys, SPACE_ONLY["bursts"], seed=1))
    assert any(" s y s t e m " in text for text in given)
    assert any("lengthofaphrase" in text for text in given)


def test_the_mixture_has_the_weights_of_the_recipe() -> None:
    texts, keys = texts_and_keys(5000)
    recipe = Recipe.training()
    kinds = Counter(corrupt(texts, keys, recipe, seed=1).kinds.tolist())
    for number, kind in enumerate(NOISE_KINDS):
        assert kinds[number] / len(texts) == pytest.approx(getattr(recipe, f"spaces_{kind}"), abs=0.01)


@pytest.mark.parametrize("errors_per_token", [0.01, 0.1])
def test_wiki_has_as_many_space_errors_per_token_as_asked_for(errors_per_token: float) -> None:
    texts, keys = texts_and_keys(2500)
    noisy = corrupt(texts, keys, Recipe.wiki(errors_per_token), seed=2)
    inserted = int((noisy.given_bits & ~noisy.true_bits).sum())
    lost = int((noisy.true_bits & ~noisy.given_bits).sum())
    assert (inserted + lost) / tokens(noisy) == pytest.approx(errors_per_token, rel=0.08)
    assert inserted / lost == pytest.approx(1.06, rel=0.1)


def test_people_misspell_words_of_the_test_half_only_in_benchmarks() -> None:
    texts, keys = texts_and_keys(500)
    pairs = {(typo.correct, typo.misspelled.lower()) for typo in codespell_typos()}
    for recipe, half in ((Recipe.wiki_plus(), "test"), (Recipe.no_spaces(typo_half="train"), "train")):
        changed = Counter(
            (before, after)
            for text, noisy in zip(texts, true_texts(corrupt(texts, keys, recipe, seed=1)), strict=True)
            for before, after in zip(text.split(), noisy.split(), strict=True)
            if before != after
        )
        words = Counter((b.strip(".,;?").removesuffix("'s"), a.strip(".,;?").removesuffix("'s")) for b, a in changed)
        assert len(words) > 10
        assert {half_of(misspelled) for _, misspelled in words} == {half}
        assert {(correct.lower(), misspelled.lower()) for correct, misspelled in words} <= pairs


def test_every_known_word_is_misspelled_at_the_rate_of_the_recipe() -> None:
    texts = ["separately " * 20] * 200
    noisy = corrupt(texts, [str(n) for n in range(200)], Recipe.wiki_plus(typo_half="all"), seed=5)
    wrong = sum(word != "separately" for text in true_texts(noisy) for word in text.split())
    assert wrong / 4000 == pytest.approx(0.1, rel=0.15)


def test_slips_of_the_fingers_happen_to_any_word_short_or_long() -> None:
    texts, keys = texts_and_keys(400)
    recipe = Recipe.wiki_plus(0.0001, misspelling_rate=0.3, slip_share=1.0)
    pairs = Counter(
        (correct, slipped)
        for text, noisy in zip(texts, true_texts(corrupt(texts, keys, recipe, seed=1)), strict=True)
        for correct, slipped in zip(text.split(), noisy.split(), strict=True)
        if correct.isalpha()
    )
    words: Counter[str] = Counter()
    changed: Counter[str] = Counter()
    for (correct, slipped), count in pairs.items():
        words[correct] += count
        changed[correct] += count * (slipped != correct)
        assert abs(len(correct) - len(slipped)) <= 1
    for word, count in words.items():
        least = 0.1 if len(word) == 1 else 0.2  # one letter cannot be left out or swapped
        assert least < changed[word] / count < 0.35, word


def test_hyphens_come_at_hyphenation_points_in_the_measured_forms() -> None:
    texts = ["(computer) " * 20] * 400
    recipe = Recipe.ocr(hyphenation_rate=0.5, span_start_rate=0.0)
    noisy = corrupt(texts, [str(n) for n in range(400)], recipe, seed=5)
    true = Counter(word for text in true_texts(noisy) for word in text.split())
    assert set(true) == {"(computer)", "(com-puter)", "(comput-er)"}
    assert 1 - true["(computer)"] / 8000 == pytest.approx(0.5, rel=0.05)
    given = "".join(given_texts(noisy))
    share_with_space = given.count("- ") / given.count("-")
    assert share_with_space == pytest.approx(25 / 186, rel=0.15)
    assert given.count(" - ") / given.count("-") == pytest.approx(4 / 186, rel=0.5)


def test_ocr_puts_spaces_beside_narrow_letters_unless_the_recipe_is_that_of_the_paper() -> None:
    texts = ["amimomimomimoma"] * 3000

    def share_beside_i(spans_by_letter: float) -> float:
        recipe = Recipe.ocr(span_start_rate=1.0, hyphenation_rate=0.0, spans_by_letter=spans_by_letter)
        given = " ".join(given_texts(corrupt(texts, [str(n) for n in range(3000)], recipe, seed=1)))
        return given.count("m i") / given.count("m o")

    assert share_beside_i(0.0) == pytest.approx(1.0, rel=0.1)
    assert share_beside_i(1.0) > 1.5


def test_pdf_noise_is_about_formulas() -> None:
    texts, keys = texts_and_keys(300)
    given = Counter(given_texts(corrupt(texts, keys, Recipe.pdf(), seed=1)))
    assert any("F (R, T )" in text for text in given)
    prose = [text for text in given.elements() if "fairly" in text]
    assert sum(text == SENTENCES[2] for text in prose) / len(prose) > 0.95


def test_held_out_lines_are_a_fifth_and_go_by_characters() -> None:
    lines = [f"line number {number}" for number in range(5000)]
    assert sum(map(held_out, lines)) / 5000 == pytest.approx(0.2, abs=0.02)
    assert all(held_out(line) == held_out(line.replace(" ", "")) for line in lines)


@cache
def _five_megabytes(shared: Path) -> list[str]:
    import pyarrow.parquet

    texts: list[str] = []
    size = 0
    for batch in pyarrow.parquet.ParquetFile(shared / "corpora" / "wikipedia.parquet").iter_batches(columns=["text"]):
        for text in batch.column("text").to_pylist():
            texts.append(text)
            size += len(text)
            if size > 5e6:
                return texts
    return texts


def test_ocr_errors_have_the_measured_rates(shared: Path) -> None:
    measured = json.loads((shared / "noise" / "acl_dev_stats.json").read_text())
    texts = _five_megabytes(shared)
    recipe = Recipe.ocr(hyphenation_rate=None, span_start_rate=None)
    noisy = corrupt(texts, [str(number) for number in range(len(texts))], recipe, seed=1)
    count = sum(len(text.split()) for text in texts)
    inserted, lost = noisy.given_bits & ~noisy.true_bits, noisy.true_bits & ~noisy.given_bits
    assert inserted.sum() / count == pytest.approx(measured["space_insertions"] / measured["tokens"], rel=0.1)
    assert lost.sum() / count == pytest.approx(measured["space_deletions"] / measured["tokens"], rel=0.1)
    rows = Rows.of(texts, [str(number) for number in range(len(texts))], seed=1)
    spans = find_spans(rows, np.ones(len(texts), dtype=bool), recipe).of_character[rows.token_start]
    assert (spans >= 0).mean() == pytest.approx(measured["tokens_in_spans"] / measured["tokens"], rel=0.1)
    # Measured again by the estimator, on a part that does not take long.
    short = [text for text in texts if 80 < len(text) < 200][:1500]
    given = given_texts(corrupt(short, [str(number) for number in range(len(short))], recipe, seed=1))
    part = count_errors(zip(given, short, strict=True))
    rate = part.total().replacements / part.tokens
    assert rate == pytest.approx(measured["char_replacements"] / measured["tokens"], rel=0.1)
    assert part.hyphenation_rate == pytest.approx(measured["hyphenation_rate_loose"], rel=0.1)


def test_confusions_are_as_frequent_as_in_the_table(shared: Path) -> None:
    texts = _five_megabytes(shared)
    recipe = Recipe.ocr(hyphenation_rate=0.0, span_start_rate=0.2)
    noisy = true_texts(corrupt(texts, [str(number) for number in range(len(texts))], recipe, seed=1))
    injected: Counter[tuple[str, str]] = Counter()
    for before, after in zip(texts, noisy, strict=True):
        for correct, wrong in zip(before.split(), after.split(), strict=False):
            if correct != wrong:
                injected[_only_difference(correct, wrong)] += 1
    table = parameters.ocr_parameters(None).confusions
    wanted = [confusion.frequency for confusion in table if len(confusion.correct) == len(confusion.wrong) == 1]
    found = [injected[c.correct, c.wrong] for c in table if len(c.correct) == len(c.wrong) == 1]
    assert sum(found) > 8_000
    assert np.corrcoef(wanted, found)[0, 1] > 0.95


def _only_difference(correct: str, wrong: str) -> tuple[str, str]:
    start = next((n for n, (a, b) in enumerate(zip(correct, wrong, strict=False)) if a != b), 0)
    end = 0
    while end < min(len(correct), len(wrong)) - start and correct[-1 - end] == wrong[-1 - end]:
        end += 1
    return correct[start : len(correct) - end], wrong[start : len(wrong) - end]
