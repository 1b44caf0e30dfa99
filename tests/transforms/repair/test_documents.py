from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.repairer import Repairer
from tests.transforms.rule_method import Rules
from transforms.formats.provenance import revert_text, with_whitespace
from transforms.repair.documents import Document, DocumentRepair, repair_in_segments

REPAIRER = Repairer(Rules(), join_hyphenated=True)
texts = st.text(st.sampled_from("aofthex \t\n-\u00a0é😀"), max_size=120)


@settings(max_examples=300, deadline=None)
@given(texts, st.integers(1, 40))
def test_segments_change_nothing(text: Any, length: Any) -> None:
    whole = REPAIRER.repair_with_edits(text)
    assert repair_in_segments(REPAIRER, text, length) == whole
    assert revert_text(whole.text, with_whitespace(text, whole.edits)) == text


def repair(max_document_bytes: int = 1000) -> DocumentRepair:
    return DocumentRepair(REPAIRER, "shard", batch_characters=20, max_document_bytes=max_document_bytes)


def test_one_failing_document_does_not_condemn_its_batch() -> None:
    outcomes = repair().repair([Document(0, "ofthe"), Document(1, "why‽ ofthe", "id1"), Document(2, "a x")])
    assert [outcome.text for outcome in outcomes] == ["of the", "why‽ ofthe", "ax"]
    letter = outcomes[1].dead_letter
    assert letter is not None
    assert (letter.shard, letter.row, letter.id, letter.stage) == ("shard", 1, "id1", "repair")
    assert (letter.error, letter.message) == ("RuntimeError", "this method cannot read an interrobang")
    assert letter.original == "why‽ ofthe"
    assert outcomes[0].dead_letter is outcomes[2].dead_letter is None


def test_what_needs_no_model() -> None:
    problem = ValueError("broken")
    outcomes = repair().repair([Document(0, None), Document(1, ""), Document(2, None, None, problem, b"\xff")])
    assert [outcome.text for outcome in outcomes] == [None, "", None]
    letter = outcomes[2].dead_letter
    assert letter is not None
    assert (letter.stage, letter.error, letter.original) == ("read", "ValueError", b"\xff")


@pytest.mark.parametrize(("text", "dead"), [("é" * 500, False), ("é" * 501, True), ("a" * 1000, False)])
def test_the_size_cap_is_in_bytes(text: Any, dead: Any) -> None:
    (outcome,) = repair().repair([Document(0, text)])
    assert (outcome.dead_letter is not None) == dead
    if outcome.dead_letter:
        assert outcome.dead_letter.message == "1002 bytes, more than --max_document_megabytes 0 allows"


def test_batches_hold_about_the_wanted_size_and_keep_the_order() -> None:
    documents = [Document(row, "a" * length) for row, length in enumerate([5, 10, 10, 50, 1, 0, 3])]
    batches = list(repair().batches(documents))
    assert [[document.row for document in batch] for batch in batches] == [[0, 1], [2], [3], [4, 5, 6]]
