"""Statistics by hand on small examples, and on the public development halves; noise at the wanted rates."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
import pytest

from respace import benchmarks
from respace.benchmark_statistics import DEVELOPMENT, BenchmarkStatistics, count
from respace.benchmarks import Sequences, check_halves, from_pairs, inject, make_benchmark, recipe
from respace.noise.typos import codespell_typos, in_half
from tests.shared_data import SHARED

DEV = SHARED / "benchmarks" / "dev"
# The sentences of Wiki+ are those of Wiki, misspelled.
SPELLING = {"ACL": "ACL/spelling.txt", "arXiv.OCR": "arXiv.OCR/spelling.txt", "Wiki.typos": "Wiki/correct.txt"}
SPELLING["Wiki.typos.no_spaces"] = SPELLING["Wiki.typos"]


@pytest.mark.parametrize(
    ("corrupt", "correct", "spelling", "expected"),
    [
        ("a cat sat", "a cat sat", "a cat sat", BenchmarkStatistics(1, 0, 0, 0, 3, 0, 0, 0)),
        ("a c at sat", "a cat sat", "a cat sat", BenchmarkStatistics(1, 1, 1, 0, 3, 1, 0, 0)),
        ("acat sat", "a cat sat", "a cat sat", BenchmarkStatistics(1, 1, 0, 1, 3, 2, 0, 0)),
        ("a cta sat", "a cta sat", "a cat sat", BenchmarkStatistics(1, 0, 0, 0, 3, 0, 1, 0)),
        ("a ctas at", "a cta sat", "a cat sat", BenchmarkStatistics(1, 1, 1, 1, 3, 1, 0, 1)),
        ("one", "one", "one", BenchmarkStatistics(1, 0, 0, 0, 1, 0, 0, 0)),
        ("a c at", "a cat", "a big cat", BenchmarkStatistics(1, 1, 1, 0, 2, 1, 0, 0)),
    ],
)
def test_counts_by_hand(corrupt: str, correct: str, spelling: str, expected: BenchmarkStatistics) -> None:
    assert count(Sequences([corrupt], [correct], [spelling])) == expected
    assert count(Sequences([corrupt] * 2, [correct] * 2, [spelling] * 2)) == expected + expected


def lines(path: str) -> list[str]:
    return (DEV / path).read_text(encoding="utf-8").removesuffix("\n").split("\n")


@pytest.mark.skipif(not DEV.is_dir(), reason="$RESPACE_DATA/benchmarks/dev is not there")
@pytest.mark.parametrize("name", benchmarks.NAMES)
def test_statistics_of_the_development_halves(name: str) -> None:
    spelling = lines(SPELLING[name]) if name in SPELLING else None
    found = count(Sequences(lines(f"{name}/corrupt.txt"), lines(f"{name}/correct.txt"), spelling))
    assert found == DEVELOPMENT[name]


@lru_cache
def sentences(number: int) -> list[str]:
    words = sorted({typo.correct for typo in codespell_typos()})
    chosen = np.random.default_rng(3).integers(len(words), size=(number, 15)).tolist()
    return [" ".join(words[place] for place in row) + "." for row in chosen]


def test_wiki_has_the_wanted_errors_per_token() -> None:
    found = count(inject(sentences(4000), recipe("Wiki"), seed=1))
    assert found.errors_per_token == pytest.approx(0.1, rel=0.05)
    assert found.spurious == pytest.approx(found.missing, rel=0.15)
    assert found.spelling_errors == found.mixed_errors == 0


def test_wiki_plus_has_few_space_errors_and_a_tenth_of_the_words_misspelled() -> None:
    made = inject(sentences(4000), recipe("Wiki.typos"), seed=1)
    found = count(made)
    assert found.errors_per_token == pytest.approx(0.01, rel=0.05)
    # Only words that the test half misspells can be; in this text about half of them.
    misspelled = (found.spelling_errors + found.mixed_errors) / found.tokens
    assert 0.03 < misspelled < 0.1
    assert made.spelling == sentences(4000)


def test_benchmarks_use_the_half_of_the_typos_that_training_does_not() -> None:
    train = {typo.misspelled.lower() for typo in in_half(codespell_typos(), "train")}
    made = inject(sentences(500), recipe("Wiki.typos"), seed=1)
    assert made.spelling is not None
    wrong = {
        word.strip(".").lower()
        for correct, spelled in zip(made.correct, made.spelling, strict=True)
        for word, right in zip(correct.split(), spelled.split(), strict=True)
        if word != right
    }
    assert len(wrong) > 200
    assert not wrong & train
    sizes = check_halves(None)
    assert min(sizes) > 20_000


def test_no_spaces_has_none() -> None:
    made = inject(sentences(20), recipe("Wiki.typos.no_spaces"), seed=1)
    assert all(" " not in text for text in made.corrupt)
    assert all(" " in text for text in made.correct)


def test_the_same_text_gets_the_same_errors_in_another_collection() -> None:
    texts = sentences(50)
    whole, part = (inject(some, recipe("arXiv.OCR"), seed=1) for some in (texts, texts[20:30]))
    assert whole.corrupt[20:30] == part.corrupt
    assert whole.correct[20:30] == part.correct


def test_pairs_that_are_none() -> None:
    with pytest.raises(ValueError, match="line 2: corrupt and correct text differ in more than their spaces"):
        from_pairs(["a b", "c d"], ["ab", "ce"])
    with pytest.raises(ValueError, match="1 lines of corrupt text, 2 of correct text"):
        from_pairs(["a"], ["a", "b"])


def test_no_noise_for_real_errors() -> None:
    with pytest.raises(ValueError, match=r"arXiv\.pdftotext: no noise is injected"):
        recipe("arXiv.pdftotext")


def test_misspellings_in_both_halves_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("respace.benchmarks.in_half", lambda collection, half: collection)
    with pytest.raises(ValueError, match="are in both halves"):
        check_halves(None)


def test_correct_text_with_all_spaces_lost() -> None:
    benchmark = make_benchmark("Foxes", ["the quickbrown fox ran away"], ["the quick brown fox ran away"])
    lost = benchmark.with_all_spaces_lost()
    assert lost.name == "Foxes correct, no spaces"
    assert not lost.given[0].bits.any()
    assert lost.given[0].lost_all_spaces
    assert lost.true[0].sum() == 5
