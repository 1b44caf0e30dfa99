"""Training text of the paper's networks."""

from __future__ import annotations

from itertools import islice, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from models.paper.vocabulary import Vocabulary
from respace.noise import NOISE_KINDS, corrupt
from training.data.corpora import Source
from training.data.text_stream import (
    NO_SPACE_ERRORS,
    TextStreamConfig,
    clean_recipe,
    cut,
    group,
    noisy_recipe,
    text_batches,
)

VOCABULARY = Vocabulary(" abcdefghijklmnopqrstuvwxyz.")


def decode(ids: np.ndarray) -> str:
    symbols = [*VOCABULARY.characters, "?", "<", ">"]
    return "".join(symbols[number] for number in ids.tolist())


def pieces(text: str, length: int, with_spaces: bool) -> list[str]:
    noisy = corrupt([text], ["key"], clean_recipe(), 1)
    return [decode(ids) for ids, _ in cut(noisy, VOCABULARY, length, with_spaces)]


def test_cut_before_words() -> None:
    assert pieces("the cat sat on the mat.", 12, True) == ["the cat sat", "on the mat.>"]
    assert pieces("the cat sat on the mat.", 9, False) == ["thecatsat", "onthemat."]


def test_words_that_are_too_long_are_cut_anywhere() -> None:
    assert pieces("abcdefghij k", 4, True) == ["abcd", "efgh", "ij k"]  # no room for the end


def test_end_only_where_the_text_ends() -> None:
    assert pieces("ab cd", 100, True) == ["ab cd>"]
    assert pieces("ab cd", 100, False) == ["abcd"]


def test_bits_of_pieces() -> None:
    noisy = corrupt(["ab cd ef"], ["key"], clean_recipe(), 1)
    found = [bits.astype(int).tolist() for _, bits in cut(noisy, VOCABULARY, 4, False)]
    assert found == [[0, 0, 1, 0], [0, 0]]  # a piece begins without a space


def test_groups_have_like_lengths_and_each_piece_once() -> None:
    random = np.random.default_rng(1)
    made = [(np.zeros(length, dtype=np.int32), np.zeros(1, dtype=bool)) for length in random.integers(1, 50, 103)]
    groups = group(made, 10, random)
    members = [member for one in groups for member in one]
    assert len(groups) == 10
    assert len(set(members)) == 100
    spans = sorted((min(len(made[one][0]) for one in g), max(len(made[one][0]) for one in g)) for g in groups)
    assert all(before[1] <= after[0] for before, after in pairwise(spans))


@pytest.fixture
def source(tmp_path: Path) -> Source:
    random = np.random.default_rng(2)
    rows = [" ".join(random.choice(["the", "cat", "sat", "on", "a", "mat."], 30)) for _ in range(3000)]
    pq.write_table(pa.table({"text": rows}), tmp_path / "text.parquet")
    return Source(path=str(tmp_path / "text.parquet"))


def test_the_stream_goes_on_from_any_block(source: Source) -> None:
    config = TextStreamConfig(
        sources=(source,),
        recipe=noisy_recipe(),
        characters=VOCABULARY.characters,
        with_spaces=True,
        batch=64,
        length=64,
    )
    first_blocks = []
    for batch in text_batches(config):
        first_blocks.append(batch)
        if batch.block == 1 and batch.last_of_block:
            break
    second = [batch for batch in first_blocks if batch.block == 1]
    again = list(islice(text_batches(config, first_block=1), len(second)))
    assert [batch.ids.tolist() for batch in again] == [batch.ids.tolist() for batch in second]
    assert again[-1].last_of_block
    assert all(batch.ids.shape[0] == 64 and batch.ids.shape[1] <= 64 for batch in first_blocks)


def test_recipes_have_no_space_errors() -> None:
    texts = ["the cat sat on a mat and ate it all"] * 50
    for recipe in (clean_recipe(), noisy_recipe()):
        noisy = corrupt(texts, [str(number) for number in range(50)], recipe, 1)
        assert noisy.given_bits.tolist() == noisy.true_bits.tolist()
    assert decode(VOCABULARY.encode(corrupt(texts[:1], ["a"], clean_recipe(), 1).characters)) == texts[0].replace(
        " ", ""
    )


def test_every_kind_of_space_noise_is_left_out() -> None:
    assert set(NO_SPACE_ERRORS) == {f"spaces_{kind}" for kind in NOISE_KINDS} - {"spaces_clean"}
    assert clean_recipe().space_weights == noisy_recipe().space_weights == [1.0, *[0.0] * (len(NOISE_KINDS) - 1)]
