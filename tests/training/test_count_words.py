"""Counts of words, and what the word baselines make of them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from models.files import ModelError, load_model, save_model
from models.words.baselines import DynamicProgramming, Greedy
from models.words.counts import WordCounts, from_logs, load_word_counts, to_logs, word_hashes
from models.words.viterbi import WordSearch
from respace import gaps
from respace.method import GivenSequence
from respace.repairer import Repairer
from training.count_words import count, main, units_of

TEXTS = [
    "The cat sat on the mat. The cat didn't see the dog, or so they said (in 1999).",
    "A man at the table ate the cake; the man is not a cat.",
    "They said that the table is on the mat, and the dog ate it.",
] * 20


@pytest.fixture(scope="module")
def counts() -> WordCounts:
    return count([pa.array(TEXTS, type=pa.large_string())], most_words=1000, most_pairs=1000)


def number(counts: WordCounts, word: str) -> int:
    return counts.words.index(word)


def pair_count(counts: WordCounts, first: str, second: str) -> float:
    keys = counts.pair_keys(np.array([number(counts, first)]), np.array([number(counts, second)]))
    found = int(counts.pair_table.find(keys)[0])
    return 0.0 if found < 0 else float(counts.pair_counts[found])


def test_units() -> None:
    assert units_of("(don't)") == ["(", "don't", ")"]
    assert units_of("1999-2004,") == ["0", "-", "0", ","]
    assert units_of("rock'n'roll's") == ["rock'n'roll's"]
    assert units_of("dogs'") == ["dogs", "'"]
    assert units_of("naïveté’s,") == ["naïveté’s", ","]


@given(st.text(st.characters(max_codepoint=126, min_codepoint=33), min_size=1, max_size=20))
def test_ascii_units_are_like_all_others(token: str) -> None:
    assert units_of(token) == units_of(token + "é.")[: len(units_of(token))] or token[-1].isalpha() or token[-1] == "'"


def test_counts_are_exact(counts: WordCounts) -> None:
    assert counts.word_counts[number(counts, "the")] == 20 * 8
    assert counts.word_counts[number(counts, "0")] == 20
    assert counts.word_counts[number(counts, "didn't")] == 20
    assert pair_count(counts, "the", "mat") == 40
    assert pair_count(counts, "mat", ".") == 20
    assert pair_count(counts, ".", "The") == 20
    assert pair_count(counts, "cat", "mat") == 0
    assert counts.total == sum(len(units_of(token)) for text in TEXTS for token in text.split())


def test_rows_are_not_neighbours(counts: WordCounts) -> None:
    assert pair_count(counts, ".", "A") == 0


def test_most_frequent_are_kept() -> None:
    few = count([pa.array(TEXTS, type=pa.large_string())], most_words=8, most_pairs=2)
    assert "the" in few.words
    assert len(few.words) == 8
    assert len(few.pair_first) == 2


def test_logarithms() -> None:
    values = np.array([1, 2, 10, 1000, 3_000_000])
    np.testing.assert_allclose(from_logs(to_logs(values)), values, rtol=0.04)


@given(st.lists(st.text(min_size=1, max_size=8), min_size=1, max_size=30, unique=True))
@settings(max_examples=30, deadline=None)
def test_hashes_tell_words_apart(words: list[str]) -> None:
    assert len(set(word_hashes(words).tolist())) == len(words)


def repair(method: DynamicProgramming | Greedy, text: str) -> str:
    return Repairer(method).repair(text)


def test_dynamic_programming_ignores_given_spaces(counts: WordCounts) -> None:
    method = DynamicProgramming(counts)
    for text in ("Thecatsatonthemat.", "The cat sat on the mat.", "T h e cats at on themat ."):
        assert repair(method, text) == "The cat sat on the mat."


def test_signs_and_numbers(counts: WordCounts) -> None:
    text = "they said (in 1999). The cat didn't"
    assert repair(DynamicProgramming(counts), text.replace(" ", "")) == text


def test_quotations_open_and_close() -> None:
    said = count([pa.array(['He said "we sat" and "we ate" to her.'] * 30, type=pa.large_string())], 100, 100)
    bits = DynamicProgramming(said).decide([given_text('He said"we sat"and"we ate"to her.')])[0].bits
    assert gaps.join('Hesaid"wesat"and"weate"toher.', bits) == 'He said "we sat" and "we ate" to her.'


def given_text(text: str) -> GivenSequence:
    characters, bits = gaps.split(text)
    return GivenSequence(gaps.code_points(characters), bits)


def test_unknown_words_stay_whole(counts: WordCounts) -> None:
    assert repair(DynamicProgramming(counts), "itxylophonesaton").endswith("xylophone sat on")


def test_every_known_word_has_a_possessive(counts: WordCounts) -> None:
    assert repair(DynamicProgramming(counts), "thetable'smatsat") == "the table's mat sat"


def test_dashes_have_spaces_on_both_sides_or_on_none(counts: WordCounts) -> None:
    codes = gaps.code_points("cat–mat—dog-man1–2")
    bits = WordSearch(counts).best_bits(codes, np.array([len(codes)]))
    for place, code in enumerate(codes.tolist()):
        if chr(code) in "–—-":
            assert bits[place] == bits[place + 1]


def test_pairs_decide(counts: WordCounts) -> None:
    # "the table" was read, "thet able" and "the tab le" were not; "a cat" and "at the table" compete for "atthetable".
    assert repair(DynamicProgramming(counts), "amanatthetable") == "a man at the table"


def brute_force(search: WordSearch, text: str) -> float:
    """The best score over all ways to cut a run of letters, each scored from the definition."""
    counts = search.counts
    best = -np.inf
    codes = gaps.code_points(text)
    unknown = search._unknown_scores(codes, np.arange(len(text), 0, -1))
    for cut in range(1 << (len(text) - 1)):
        places = [0, *(at for at in range(1, len(text)) if cut >> (at - 1) & 1), len(text)]
        words = [text[a:b] for a, b in pairwise(places)]
        for as_unknown in range(1 << len(words)):
            score, before = 0.0, None
            for at, word in enumerate(words):
                known = word in counts.words
                if as_unknown >> at & 1:
                    score, before = score + unknown[places[at]][len(word) - 1], None
                elif known:
                    p = counts.word_counts[number(counts, word)] / counts.total / 2
                    if before is not None:
                        after = pair_count(counts, before, word) / counts.word_counts[number(counts, before)]
                        p += min(1.0, after) / 2
                    score, before = score + np.log(p), word
                else:
                    score = -np.inf
            best = max(best, score)
    return best


def cut_score(search: WordSearch, text: str, bits: np.ndarray) -> float:
    """The best score of one given cut."""
    glued = WordSearch(search.counts)
    words = gaps.join(text, bits).split(" ")
    unknown = glued._unknown_scores(gaps.code_points(text), np.arange(len(text), 0, -1))
    best: dict[str | None, float] = {None: 0.0}
    at = 0
    for word in words:
        following: dict[str | None, float] = {None: max(best.values()) + unknown[at][len(word) - 1]}
        if word in search.counts.words:
            unigram = search.counts.word_counts[number(search.counts, word)] / search.counts.total / 2
            following[word] = max(
                score
                + np.log(
                    unigram
                    + (
                        min(
                            1.0,
                            pair_count(search.counts, before, word)
                            / search.counts.word_counts[number(search.counts, before)],
                        )
                        / 2
                        if before
                        else 0
                    )
                )
                for before, score in best.items()
            )
        best, at = following, at + len(word)
    return max(best.values())


@pytest.mark.parametrize("text", ["catsat", "amanate", "thetab", "onacat", "seeit", "zqthe"])
def test_the_best_cut_of_all(counts: WordCounts, text: str) -> None:
    search = WordSearch(counts)
    bits = search.best_bits(gaps.code_points(text), np.array([len(text)]))
    assert cut_score(search, text, bits) == pytest.approx(brute_force(search, text), abs=1e-9)


def test_greedy_takes_the_longest_word(counts: WordCounts) -> None:
    assert repair(Greedy(counts), "thetable") == "the table"
    assert repair(Greedy(counts), "Theyate") == "They ate"  # not "The"
    assert repair(Greedy(counts), "isnota") == "is not a"


@given(st.lists(st.text(max_size=30), max_size=5))
@settings(max_examples=60, deadline=None)
def test_any_text_is_decided(counts: WordCounts, texts: list[str]) -> None:
    for method in (DynamicProgramming(counts), Greedy(counts)):
        assert ["".join(one.split()) for one in Repairer(method).repair(texts)] == [
            "".join(text.split()) for text in texts
        ]


@given(
    st.lists(
        st.sampled_from(["thecat", "sat", "on(themat)", "", "x", "A man", "didn'tsee", "onthe", "mat"]),
        min_size=1,
        max_size=6,
    )
)
@settings(max_examples=30, deadline=None)
def test_texts_do_not_touch(counts: WordCounts, texts: list[str]) -> None:
    method = DynamicProgramming(counts)
    given_texts = [GivenSequence(gaps.code_points(characters), bits) for characters, bits in map(gaps.split, texts)]
    together = [one.bits.tolist() for one in method.decide(given_texts)]
    assert together == [method.decide([one])[0].bits.tolist() for one in given_texts]


def test_command_and_files(tmp_path: Path) -> None:
    pq.write_table(pa.table({"text": TEXTS}), tmp_path / "text.parquet")
    assert main(["--sources", str(tmp_path / "text.parquet"), "--output", str(tmp_path / "words")]) == 0
    loaded = load_word_counts(str(tmp_path / "words"))
    assert loaded.word_counts[number(loaded, "the")] == pytest.approx(160, rel=0.04)
    assert pair_count(loaded, "the", "mat") == pytest.approx(40, rel=0.04)
    assert repair(DynamicProgramming(loaded), "Thecatsatonthemat.") == "The cat sat on the mat."


def test_bad_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--sources", str(tmp_path / "none.parquet"), "--output", str(tmp_path / "words")]) == 2
    assert "none.parquet" in capsys.readouterr().err
    save_model(tmp_path / "other", {"kind": "uni"}, {})
    with pytest.raises(ModelError, match="is a 'uni': expected counts of words"):
        WordCounts.from_files(load_model(str(tmp_path / "other")))
