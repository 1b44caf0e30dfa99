"""Matching: what differs only by spaces is found, what differs otherwise is not, and the work is linear."""

from __future__ import annotations

import random
import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.gaps import join, split
from respace.latex.comparison import CITATION, FOOTNOTE, REFERENCE
from respace.latex.matching import GroundTruth, Match

SOURCE = [
    "On F(R, T) gravity",
    f"We take F(R, T) as in {CITATION} and π(θ | α) of Section {REFERENCE}, where n + 1 is odd.{FOOTNOTE}",
    "The second paragraph follows without any display in between.",
    "where",
]


def found(paragraph: str, source: list[str] = SOURCE) -> Match:
    match = GroundTruth(source).find(paragraph)
    assert isinstance(match, Match), match
    return match


@pytest.mark.parametrize(
    ("extracted", "truth", "labels"),
    [
        ("On F (R, T ) gravity", "On F(R, T) gravity", 0),
        ("The sec ond paragraphfollows", "The second paragraph follows", 0),
        ("We take F (R, T ) as in [12] and π(θ|α)", "We take F(R, T) as in [12] and π(θ | α)", 1),
        ("and π(θ|α) of Section 3.2, where n+1 is odd.7", "and π(θ | α) of Section 3.2, where n + 1 is odd.7", 2),
        ("as in [3, 4], and", None, 0),
        ("take F (R, T ) as in (Smith et al., 2001) and", "take F(R, T) as in (Smith et al., 2001) and", 1),
        ("where n+1 is odd. The second", "where n + 1 is odd. The second", 1),
        ("wh ere", "where", 0),
        ("O N F(R, T ) GRAVITY", "ON F(R, T) GRAVITY", 0),
        ("2.1 The second paragraph", "The second paragraph", 0),
        ("Theorem 3. The second paragraph", "The second paragraph", 0),
        ("• The second paragraph", "The second paragraph", 0),
        ("The second “paragraph", None, 0),
        ("econd paragraph follows", None, 0),
        ("The second paragraph foll", None, 0),
        ("here", None, 0),
        ("something else entirely", None, 0),
        ("", None, 0),
    ],
)
def test_find(extracted: str, truth: str | None, labels: int) -> None:
    match = GroundTruth(SOURCE).find(extracted)
    if truth is None:
        assert isinstance(match, str)
    else:
        assert isinstance(match, Match), match
        assert (match.truth, match.labels) == (truth, labels)
        assert split(match.extracted)[0] == split(match.truth)[0]


@pytest.mark.parametrize(
    ("source", "extracted", "reason"),
    [
        ("A well-known method of ours", "A wellknown method of ours", "a hyphen lost at a line's end"),
        ("The function \ue00f is continuous", "The function f is continuous", "a command without a known meaning"),
        ("The function fβ is continuous", "The function fb is continuous", "a formula that reads differently"),
        ("This function is continuous", "This function was continuous", "other words or symbols"),
        (f"It follows from {CITATION} that", "It follows from them that", "a citation or reference of another form"),
        ("The function is continuous", "Nothing of it is here", "no stretch of it is in the source"),
        ("These functions are continuous", "These function", "begins or ends inside a word"),
    ],
)
def test_reasons(source: str, extracted: str, reason: str) -> None:
    assert GroundTruth([source]).find(extracted) == reason


def test_position_counts_characters() -> None:
    assert found("The second paragraph").position == len("".join("".join(SOURCE[:2]).split()))


def test_characters_of_a_pair_are_the_extracted_ones() -> None:
    match = found("It’s a “quote” – of ε > 0", ['It\'s a "quote" - of ϵ > 0'])
    assert match.truth == "It’s a “quote” – of ε > 0"


def test_an_empty_source() -> None:
    assert GroundTruth([]).find("A paragraph of some length") == "no stretch of it is in the source"


words = st.lists(st.text("abcdeαβ=+().,", min_size=1, max_size=6), min_size=6, max_size=30)


@settings(max_examples=40, deadline=None)
@given(paragraphs=st.lists(words, min_size=1, max_size=5), seed=st.integers(0, 2**32 - 1))
def test_any_spacing_of_a_paragraph_is_found(paragraphs: list[list[str]], seed: int) -> None:
    source = [" ".join(paragraph) for paragraph in paragraphs]
    wanted = source[seed % len(source)]
    characters, bits = split(wanted)
    noisy = bits ^ (np.random.default_rng(seed).random(len(bits)) < 0.2)
    match = GroundTruth(source).find(join(characters, noisy))
    assert isinstance(match, Match | str)
    if isinstance(match, Match):
        # A heading's number may be cut off; what is left has the source's characters and ends at words' edges.
        assert characters.endswith(split(match.truth)[0])
    else:
        assert len(characters) < 12 or source.count(wanted) == 0 or _repeats(source, characters)


def _repeats(source: list[str], characters: str) -> bool:
    """Text that repeats itself more often than candidates are looked at."""
    whole = "".join("".join(source).split())
    return sum(whole.startswith(characters[:12], place) for place in range(len(whole))) > 8


def test_time_is_linear_in_the_document() -> None:
    def seconds(paragraphs: int) -> float:
        draw = random.Random(paragraphs)
        vocabulary = ["".join(draw.choices("abcdefghijklmnopqrstuvwxyz", k=draw.randint(2, 9))) for _ in range(3000)]
        source = [" ".join(draw.choices(vocabulary, k=60)) for _ in range(paragraphs)]
        started = time.process_time()
        truth = GroundTruth(source)
        assert all(isinstance(truth.find(paragraph.replace("a", "a ")), Match) for paragraph in source)
        return time.process_time() - started

    seconds(20)
    # Ten times the document; a quadratic search would take a hundred times as long.
    assert seconds(1000) < 30 * seconds(100)


def test_hostile_repetition_ends() -> None:
    source = [f"a{CITATION}" * 2000]
    started = time.process_time()
    GroundTruth(source).find("a1" * 1500 + "b")
    assert time.process_time() - started < 10
