from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace import Repairer, gaps, repairer
from respace.judgement import LeftAlone, LineVerdicts
from respace.laid_texts import LaidTexts
from respace.method import Decision, GivenSequence


class SpaceBeforeCapitals:
    """Decides by what stands at the gap alone: easy to predict in a test."""

    identity = "space before capitals"
    context = 3

    def __init__(self) -> None:
        self.longest = 0
        self.seen: list[GivenSequence] = []

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        self.longest = max([self.longest, *(len(one.bits) for one in sequences)])
        self.seen += sequences
        capital = [(one.characters >= ord("A")) & (one.characters <= ord("Z")) for one in sequences]
        return [Decision(bits, np.full(len(bits), 0.75, dtype=np.float32)) for bits in capital]


def test_repairs_and_tells_what_it_did() -> None:
    repair = Repairer(SpaceBeforeCapitals()).repair_with_edits(" ab  Cd eFg\t")
    assert repair.text == " ab  Cde Fg\t"
    assert [(edit.gap, edit.kind, edit.confidence) for edit in repair.edits] == [
        (4, "deletion", 0.75),
        (5, "insertion", 0.75),
    ]


def test_lists_and_lines() -> None:
    method = SpaceBeforeCapitals()
    assert Repairer(method).repair(["aB", "", "a b\nc\r\nd e"]) == ["a B", "", "ab\nc\r\nde"]


def test_line_breaks_after_hyphens_are_read_as_joined() -> None:
    method = SpaceBeforeCapitals()
    text = "re-\npair this\nline"
    assert Repairer(method, join_hyphenated=True).repair(text) == "re-\npairthis\nline"
    assert method.seen[0].bits.nonzero()[0].tolist() == [7, 11]
    Repairer(method).repair(text)
    assert method.seen[1].bits.nonzero()[0].tolist() == [3, 7, 11]


class SecondLine:
    """Says of the second line that it lost its spaces, and of the third that it is no prose."""

    def __call__(self, laid: LaidTexts) -> LineVerdicts:
        line = np.cumsum(laid.line_breaks)
        return LineVerdicts(np.where(line == 2, 2.0, 0.0).astype(np.float32), line == 1)


def test_methods_are_told_what_lines_are_worth() -> None:
    method = SpaceBeforeCapitals()
    repair = Repairer(method, judge=SecondLine()).repair_with_edits("aB\ncD\neF")
    assert repair.text == "a B\nc D\neF"  # three to one is not enough for the last line
    assert method.seen[0].lost is not None
    assert method.seen[0].lost.tolist() == [False] * 2 + [True] * 2 + [False] * 2
    assert method.seen[0].caution is not None
    assert method.seen[0].caution.tolist() == [0] * 4 + [2] * 2
    assert repair.left_alone == [LeftAlone("not English prose", 4, 6)]


def test_what_was_edited_was_not_left_alone() -> None:
    class Doubtful:
        """Asks for some evidence everywhere, and for more of it in the last word."""

        def __call__(self, laid: LaidTexts) -> LineVerdicts:
            caution = np.where(np.arange(len(laid.bits)) < 6, 0.5, 2.0).astype(np.float32)
            return LineVerdicts(caution, np.zeros_like(laid.bits))

    repair = Repairer(SpaceBeforeCapitals(), judge=Doubtful()).repair_with_edits("aB c dEf gH")
    assert repair.text == "a Bcd Ef gH"
    assert [edit.gap for edit in repair.edits] == [1, 2, 3, 4]
    assert {edit.doubt for edit in repair.edits} == {"not English prose"}
    assert repair.left_alone == [LeftAlone("not English prose", 0, 1), LeftAlone("not English prose", 5, 8)]


def test_a_repairer_says_what_decides() -> None:
    assert repr(Repairer(SpaceBeforeCapitals())) == "<Repairer space before capitals>"
    shown = repr(Repairer(SpaceBeforeCapitals(), join_hyphenated=True, all_text=True))
    assert shown == "<Repairer space before capitals, join_hyphenated, all_text>"
    assert re.fullmatch(
        r"<Repairer \S+@[0-9a-f]{16} insertion_penalty=1.5 deletion_penalty=\d\S*>",
        repr(Repairer.load(insertion_penalty=1.5)),
    )


def test_spaces_beside_undecodable_bytes_stay() -> None:
    text = b"le caf\xe9 Aet la for\xeat B".decode("utf-8", "surrogateescape")
    assert Repairer(SpaceBeforeCapitals()).repair(text) == "lecaf\udce9 Aetlafor\udceat B"
    assert Repairer(SpaceBeforeCapitals()).repair("ca\ufffd AB\ufffd") == "ca\ufffd A B\ufffd"


def test_all_text_is_prose_if_one_says_so() -> None:
    repair = Repairer(SpaceBeforeCapitals(), all_text=True, judge=SecondLine()).repair_with_edits("aB\ncD\neF")
    assert repair.text == "a B\nc D\ne F"
    assert repair.left_alone == []


def test_guarded_gaps_stay_whatever_the_method_says() -> None:
    repair = Repairer(SpaceBeforeCapitals(), all_text=True).repair_with_edits("aB http://aC.org/Cd &Auml;B")
    assert repair.text == "a Bhttp://aC.org/Cd&Auml;B"
    assert [(one.reason, one.start, one.stop) for one in repair.left_alone] == [("address", 3, 18), ("entity", 19, 25)]


@given(st.text(max_size=80))
def test_only_spaces_change(text: str) -> None:
    repaired = Repairer(SpaceBeforeCapitals()).repair(text)
    assert "".join(repaired.split()) == "".join(text.split())


@pytest.mark.parametrize("text", ["", " ", "\n\t ", "x", " x ", "\ud800", "\x00\x01", "\ud800\udfff"])
def test_odd_texts_pass(text: str) -> None:
    assert Repairer(SpaceBeforeCapitals()).repair(text) == text


def test_long_texts_go_in_pieces_and_come_out_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "abC dE f " * 50
    whole = Repairer(SpaceBeforeCapitals()).repair_with_edits(text)
    monkeypatch.setattr(repairer, "PIECE_CHARACTERS", 16)
    method = SpaceBeforeCapitals()
    assert Repairer(method).repair_with_edits(text) == whole
    assert method.longest == 16 + 2 * method.context


def test_what_is_not_text_is_a_type_error() -> None:
    fine = Repairer(SpaceBeforeCapitals())
    for wrong, name in ((None, "NoneType"), (b"bytes", "bytes"), (3, "int")):
        with pytest.raises(TypeError, match=f"cannot repair {name}: expected str"):
            fine.repair(wrong)  # type: ignore[call-overload]
    with pytest.raises(TypeError, match="cannot repair NoneType at position 1: expected str"):
        fine.repair(["a", None])  # type: ignore[list-item]


def test_the_invariant_is_checked() -> None:
    characters, bits = gaps.split("ab c")
    codes = gaps.code_points(characters)
    repairer.check_characters(codes, bits, "ab\tc")
    for broken in ("ab d", "a bc", "abc", "ab c!"):
        with pytest.raises(repairer.CharactersChanged):
            repairer.check_characters(codes, bits, broken)
