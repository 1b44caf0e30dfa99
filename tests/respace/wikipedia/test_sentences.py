"""Sentence ends, and each rule that throws a sentence away."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace.wikipedia.sentences import DEFECTS, clean_sentences, defect, split_sentences


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("One is here. Two is there.", ["One is here.", "Two is there."]),
        ("Is it? Yes! It is… Fine.", ["Is it?", "Yes!", "It is…", "Fine."]),
        ("He met Dr. Smith and Mrs. Jones. They spoke.", ["He met Dr. Smith and Mrs. Jones.", "They spoke."]),
        ("J. R. R. Tolkien wrote it. C. S. Lewis read it.", ["J. R. R. Tolkien wrote it.", "C. S. Lewis read it."]),
        ("It grew 3.5 percent. In 1990 it fell.", ["It grew 3.5 percent.", "In 1990 it fell."]),
        (
            "The U.S. Army came. He left the U.S. The war ended.",
            ["The U.S. Army came.", "He left the U.S.", "The war ended."],
        ),
        ('He said "Stop." Then he left.', ['He said "Stop."', "Then he left."]),
        ('"A petty thief." She laughed.', ['"A petty thief."', "She laughed."]),
        ("It ended (in 1990. Or so) at last. Next.", ["It ended (in 1990. Or so) at last.", "Next."]),
        (
            "See e.g. Smith (1990) et al. The rest is i.e. Known.",
            ["See e.g. Smith (1990) et al. The rest is i.e. Known."],
        ),
        ("It ran to approx. 20 m. Nobody knew.", ["It ran to approx. 20 m. Nobody knew."]),
        ("It happened in 1990. 20 people came.", ["It happened in 1990.", "20 people came."]),
        ("no capital. lower case goes on.", ["no capital. lower case goes on."]),
        ("", []),
    ],
)
def test_sentence_ends(paragraph: str, expected: list[str]) -> None:
    assert split_sentences(paragraph) == expected


@given(st.text(alphabet="aA1 .?!()\"'“”…é", max_size=80))
def test_nothing_but_blanks_is_lost(text: str) -> None:
    paragraph = re.sub(r"\s+", " ", text).strip()
    assert " ".join(split_sentences(paragraph)) == paragraph


EXAMPLES = {
    "lost_object": "It is ￼ from the coast.",
    "left_over_markup": "It is a [[link of some kind.",
    "address": "It is at http://example.org today.",
    "list_item": "- It is a stub.",
    "unfinished": "The following are examples:",
    "starts_inside": "and so it went on.",
    "too_short": "He fights.",
    "too_long": "It was " + "very " * 250 + "long.",
    "unbalanced": "It was (so they said.",
    "hole": "The name () was given later.",
    "glued": "It was in the north,they said.",
    "few_letters": "It was 1,234, 2,345, 3,456, 4,567 and 5,678.",
}


@pytest.mark.parametrize("name", DEFECTS)
def test_each_rule_has_an_example(name: str) -> None:
    assert defect(EXAMPLES[name]) == name


@pytest.mark.parametrize(
    "sentence",
    [
        "The Acme Co. (founded in 1990) is in Paris.",
        '"Is it so?" she asked.',
        "In 1990, 20% of the 1,000 people left.",
        "He wrote L'Étranger, e.g. for Dr. No.",
        "(Most states exempt groceries from sales tax.)",
        "3M is a company in Minnesota.",
        "It was 1.5 km from Node.js, said Smith et al.",
    ],
)
def test_good_sentences_stay(sentence: str) -> None:
    assert defect(sentence) is None


def test_article_to_sentences() -> None:
    sentences, counts = clean_sentences("'''X''' is a thing. It is {{convert|5|km}} long. It was\n* stub\n")
    assert sentences == ["X is a thing."]
    assert counts == {"sentence:lost_object": 1, "sentence:unfinished": 1, "inline_template": 1, "list_item": 1}
