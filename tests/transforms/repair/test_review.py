from __future__ import annotations

import json
from pathlib import Path

import pytest

from respace.gaps import Edit
from transforms.repair.review import BadReview, apply_review, format_entry, parse_review, read_review

ENTRY = {"shard": "a.txt", "row": 3, "gap": 2, "kind": "deletion", "decision": "reject"}


def test_the_last_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "review.jsonl"
    changed = {**ENTRY, "decision": "accept"}
    other = {**ENTRY, "gap": 5, "kind": "insertion"}
    path.write_text(format_entry(ENTRY) + format_entry(changed) + "\n" + format_entry(other))
    review = read_review(str(path))
    assert review == {("a.txt", 3): {(2, "deletion"): "accept", (5, "insertion"): "reject"}}
    edits = [Edit(2, "deletion"), Edit(5, "insertion"), Edit(9, "insertion")]
    assert apply_review(edits, review["a.txt", 3]) == [edits[0], edits[2]]
    assert apply_review(edits, {}) == edits


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "review, line 2: Expecting"),
        ("[]", "review, line 2: expected an object with shard, row"),
        (json.dumps({**ENTRY, "row": "3"}), "row '3': expected a whole number"),
        (json.dumps({**ENTRY, "row": True}), "row 'True': expected a whole number"),
        (json.dumps({**ENTRY, "gap": -1}), "gap '-1': expected a whole number"),
        (json.dumps({**ENTRY, "kind": "move"}), "kind 'move': expected insertion or deletion"),
        (json.dumps({**ENTRY, "decision": "maybe"}), "decision 'maybe': expected accept or reject"),
        ("[" * 100_000, "review, line 2"),
    ],
)
def test_bad_lines(line: str, message: str) -> None:
    with pytest.raises(BadReview) as caught:
        parse_review([format_entry(ENTRY), line])
    assert message in str(caught.value)
    assert "Correct or remove the line" in str(caught.value)


def test_missing_file(tmp_path: Path) -> None:
    with pytest.raises(BadReview, match=r"not found\. Expected a file that the review page wrote"):
        read_review(str(tmp_path / "none"))
