"""What takes more than in proportion to the length of a text stops a worker, or the web application, for hours."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from functools import partial

import pytest

from models.lines import load_line_judge
from models.methods import load_method
from respace import Repairer, guards
from respace.judgement import Judgement
from respace.laid_texts import LaidTexts
from tests.respace.growth import grows, repeated, search_repeated, slow_text
from tests.respace.test_guards import EXAMPLES, marked_gaps

# A pattern by name: those of the kinds, and whatever else the module compiles.
ALL_PATTERNS: dict[str, re.Pattern[str]] = {
    **{kind.name: kind.pattern for kind in guards.PATTERNS},
    **{name: value for name, value in vars(guards).items() if isinstance(value, re.Pattern)},
}
IN_WORDS = {kind.name for kind in guards.PATTERNS if kind.in_words} | {"_HUMPED", "_MANY_HUMPS", "_GLUED_FRONT"}


def _numbered(pattern: str) -> Callable[[int], str]:
    """As many different ones as fit."""
    return lambda size: " ".join(pattern.format(number) for number in range(size // len(pattern.format(10_000))))


def _of(pump: str, before: str = "", after: str = "") -> Callable[[int], str]:
    return lambda size: before + repeated(pump, size) + after


# Texts of any size, by what is hostile in them. The first ones stopped a worker for hours.
HOSTILE: dict[str, Callable[[int], str]] = {
    "letters and an @": _of("a", after=" @"),
    "letters before an @": _of("a", after="@"),
    "a path of dots": _of(".", after="/"),
    "a path of plus signs": _of("+", after="/"),
    "a path of stars": _of("/*a", before="a"),
    "open brackets": _of("(", after="="),
    "brackets and quotes": _of("(1=,"),
    "a formula that ends wrong": _of("(C=C)", after="!"),
    "short labels": _of("a."),
    "hyphens": _of("a-", after=".b"),
    "labels of hyphens": _of("a-" * 31 + "a."),
    "a name with a dot": _of("a", after=".b"),
    "a name with colons": _of("a", after="::"),
    "an underscore": _of("a", after="é_"),
    "underscores": _of("_", before="a"),
    "a backslash": _of("a", after="\\"),
    "humps": _of("aB", after="é"),
    "one long name": _of("aBc"),
    "comments": _of("<!--"),
    "options": _of("\\cite["),
    "brackets": _of("{"),
    "different names": _numbered("someName{}"),
    "different numbers": _numbered("q{}.x"),
    "different addresses": _numbered("www.{}.com"),
    "one word": _of("a"),
    "words without spaces": _of("theresearchersfound"),
    "lines without spaces": _of("theresearchersfoundthatit\n"),
    "digits": _of("1"),
    "commas": _of(","),
    "single letters": _of("A B C D "),
    "line breaks": _of("a\n"),
    "blanks": _of(" ", before="a", after="a"),
    "wide spaces": _of("a   "),
    "Greek": _of("α"),
    "emoji": _of("😀"),
    "accents": _of("\u0301"),
    "no characters": _of("\udc80 "),
    "bases": _of("ACGT"),
    "NULs": _of("\0"),
}


def test_growth_is_seen() -> None:
    assert slow_text(re.compile("[a-z]+@"), 1) == "'a', repeated, then ''"
    assert slow_text(re.compile("(?<![a-z])[a-z]++@"), 2) is None


@pytest.mark.parametrize("name", ALL_PATTERNS)
def test_patterns_take_time_in_proportion(name: str) -> None:
    assert slow_text(ALL_PATTERNS[name], 2, without_spaces=name in IN_WORDS) is None


@pytest.mark.slow
@pytest.mark.parametrize("name", ALL_PATTERNS)
def test_patterns_take_time_in_proportion_whatever_is_repeated(name: str) -> None:
    assert slow_text(ALL_PATTERNS[name], 3, without_spaces=name in IN_WORDS) is None


@pytest.mark.parametrize("name", [kind.name for kind in guards.PATTERNS])
def test_the_beginnings_of_what_is_guarded_take_time_in_proportion(name: str) -> None:
    for example in EXAMPLES[name]:
        text, _ = marked_gaps(example)
        for length in range(1, len(text) + 1):
            for pump in {text[:length], text[len(text) - length :]}:
                assert not grows(partial(search_repeated, ALL_PATTERNS[name], pump, "")), pump


@pytest.mark.parametrize("name", HOSTILE)
def test_judging_takes_time_in_proportion(name: str) -> None:
    judge = load_line_judge()

    def work(size: int) -> None:
        Judgement.of(LaidTexts.of([HOSTILE[name](size)]), judge)

    assert not grows(work)


@pytest.mark.slow
def test_a_million_hostile_characters_take_about_as_long_as_prose() -> None:
    """The network reads what it is certain of with few layers, and what is no language with all of them, which takes
    up to nine times as long whatever is in it: so the rest is measured without it, too."""
    repairer = Repairer.load()
    without_model = Repairer(load_method("do_nothing"), judge=repairer.judge)
    sentence = "It was the first time that anybody had asked her what she thought of the whole affair. "

    def seconds(one: Repairer, text: str) -> float:
        began = time.process_time()
        one.repair(text)
        return time.process_time() - began

    seconds(repairer, sentence * 100)
    prose = min(seconds(repairer, repeated(sentence, 1_000_000)) for _ in range(2))
    judged = {name: seconds(without_model, make(1_000_000)) / prose for name, make in HOSTILE.items()}
    assert {name: ratio for name, ratio in judged.items() if ratio > 2} == {}
    repaired = {name: seconds(repairer, make(100_000)) / (prose / 10) for name, make in HOSTILE.items()}
    assert {name: ratio for name, ratio in repaired.items() if ratio > 12} == {}
