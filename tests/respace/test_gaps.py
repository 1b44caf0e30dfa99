from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace import gaps
from respace.gaps import Bits, Edit

# Everything that real text and broken text is made of: combining marks, astral characters, right-to-left scripts,
# zero-width characters, all kinds of whitespace, controls, lone surrogates.
ODD = (
    "e\u0301\u0327\U0001f600\U00010348אבجد\u200b\u200d\ufeff"
    "\u00a0\u2009\u3000\u2028\r\n\t\v\f\x1c\x85 \x00\x07\ud800-ab "
)
texts = st.text(alphabet=st.one_of(st.sampled_from(ODD), st.characters()), max_size=60)


def random_bits(length: int, random: Random) -> Bits:
    bits = np.zeros(length, dtype=np.bool_)
    for gap in range(1, length):
        bits[gap] = random.random() < 0.5
    return bits


def non_space(text: str) -> str:
    return "".join(character for character in text if not character.isspace())


@given(texts)
def test_split_takes_out_exactly_the_whitespace(text: str) -> None:
    characters, bits = gaps.split(text)
    assert characters == non_space(text)
    assert len(bits) == len(characters)
    assert gaps.join(characters, bits) == " ".join(text.split())


@given(texts)
def test_join_and_split_are_inverse(text: str) -> None:
    characters, bits = gaps.split(text)
    again, bits_again = gaps.split(gaps.join(characters, bits))
    assert again == characters
    assert bits_again.tolist() == bits.tolist()


@given(texts)
def test_unchanged_bits_change_no_byte(text: str) -> None:
    _, bits = gaps.split(text)
    assert gaps.apply(text, bits) == text


@given(texts, st.randoms(use_true_random=False))
def test_apply_gives_the_wanted_bits_and_keeps_characters_and_other_whitespace(text: str, random: Random) -> None:
    characters, before = gaps.split(text)
    wanted = random_bits(len(before), random)
    repaired = gaps.apply(text, wanted)
    characters_after, after = gaps.split(repaired)
    assert characters_after == characters
    assert after.tolist() == wanted.tolist()
    assert runs(repaired, wanted & before) == runs(text, wanted & before)
    assert repaired[: len(repaired) - len(repaired.lstrip())] == text[: len(text) - len(text.lstrip())]
    if characters:
        assert repaired[len(repaired.rstrip()) :] == text[len(text.rstrip()) :]


def runs(text: str, wanted: np.ndarray) -> list[str]:
    """The whitespace before each of the wanted characters."""
    found, run = [], ""
    for character in text:
        if character.isspace():
            run += character
        else:
            found.append(run)
            run = ""
    return [run for run, is_wanted in zip(found, wanted, strict=True) if is_wanted]


@given(texts, st.randoms(use_true_random=False))
def test_edits_then_apply_is_the_identity(text: str, random: Random) -> None:
    _, before = gaps.split(text)
    after = random_bits(len(before), random)
    changes = gaps.edits(before, after)
    assert gaps.apply_edits(before, changes).tolist() == after.tolist()
    assert len(changes) == int(np.sum(before != after))


def test_kinds_of_whitespace() -> None:
    text = "\u00a0a\u200bb\r\n c\u2009\td  "
    characters, bits = gaps.split(text)
    assert characters == "a\u200bbcd"  # a zero-width space is a character: it has no width to repair
    assert bits.tolist() == [False, False, False, True, True]
    wanted = np.array([False, True, False, True, False])
    assert gaps.apply(text, wanted) == "\u00a0a \u200bb\r\n cd  "


def test_line_breaks() -> None:
    assert gaps.line_break_gaps("a b\nc \r\n d\u2028e\n").tolist() == [False, False, True, True, True]
    assert gaps.line_break_gaps("").tolist() == []
    assert gaps.line_break_gaps("\n\na").tolist() == [False]


def test_edits_that_do_not_fit_say_why() -> None:
    bits = np.array([False, True, False])
    with pytest.raises(ValueError, match="insertion at gap 1: there is already space"):
        gaps.apply_edits(bits, [Edit(1, "insertion")])
    with pytest.raises(ValueError, match="deletion at gap 2: there is no space"):
        gaps.apply_edits(bits, [Edit(2, "deletion")])
    with pytest.raises(ValueError, match="edit at gap 3: expected a gap between 1 and 2"):
        gaps.apply_edits(bits, [Edit(3, "deletion")])
    with pytest.raises(ValueError, match="2 gap bits for 3 characters"):
        gaps.join("abc", bits[:2])
