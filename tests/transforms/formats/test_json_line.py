from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace import gaps
from transforms.formats.json_line import members_of, parse_line, revert_line, with_members, with_repaired_text
from transforms.formats.provenance import DELETIONS, EDITS, INSERTIONS, MODEL, KeptEdit, with_whitespace

texts = st.text(st.sampled_from('ab \t\u00a0é"\\/\n😀\ud800'), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)


def edited(line: str, wanted: list[bool]) -> tuple[str, str]:
    """The line with some gaps of its text flipped, and its text then."""
    parsed = parse_line(line, "text")
    assert parsed.text is not None
    _, bits = gaps.split(parsed.text)
    after = bits.copy()
    for gap in range(1, len(bits)):
        after[gap] ^= wanted[gap % len(wanted)]
    edits = with_whitespace(parsed.text, gaps.edits(bits, after))
    repaired = with_repaired_text(parsed, edits)
    end = parsed.ends[-1] + len(repaired) - len(line)
    return with_members(repaired, end, members_of(parsed, edits, "model")), gaps.apply(parsed.text, after)


@settings(max_examples=200, deadline=None)
@given(
    st.dictionaries(texts.filter(lambda key: key != "text"), values, max_size=3),
    texts,
    st.lists(st.booleans(), min_size=1, max_size=7),
    st.booleans(),
    st.sampled_from([None, (",", ":"), (" , ", " : ")]),
)
def test_only_the_text_changes_and_the_way_back_is_exact(
    others: Any, text: Any, wanted: Any, ascii_only: Any, separators: Any
) -> None:
    record = {**others, "text": text, "last": [1.50, {"text": "inner"}]}
    line = json.dumps(record, ensure_ascii=ascii_only, separators=separators)
    repaired, new_text = edited(line, wanted)
    read = json.loads(repaired)
    assert read["text"] == new_text
    assert {key: value for key, value in read.items() if not key.startswith("respace_")} == {**record, "text": new_text}
    assert revert_line(repaired, "text") == line


def test_every_other_byte_stays() -> None:
    line = '\ufeff { "n" : 1.00e+05,"id":12345678901234567890123, "text":"a\\u00a0b\\u002dc\\/d" , "z":[ 1 , 2 ] } '
    repaired, _ = edited(line, [True])
    assert repaired.startswith(
        '\ufeff { "n" : 1.00e+05,"id":12345678901234567890123, "text":"ab \\u002d c \\/ d" , "z":[ 1 , 2 ]'
    )
    assert repaired.endswith(" } ")
    assert revert_line(repaired, "text") == line


def test_numbers_too_long_for_python_are_passed_over() -> None:
    line = '{"n": ' + "1" * 10_000 + ', "text": "ab"}'
    assert parse_line(line, "text").text == "ab"


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("", "expected a JSON object, found ''"),
        ("[1]", r"expected a JSON object, found '\[1\]'"),
        ("{", "expected a member's name at character 1"),
        ('{"text": "a"', r"expected ',' or '}' at character 12"),
        ('{"text": "a",}', "expected a member's name"),
        ('{"text": "a"} x', "expected the end of the line at character 13, found ' x'"),
        ('{"text" "a"}', "expected ':' at character 8"),
        ('{"text": "a}', "Unterminated string"),
        ('{"body": 1, "n": 2}', "no member 'text'. There are: 'body', 'n'"),
        ("{}", "no member 'text'. There are: none"),
        ('{"text": 5}', "the member 'text' is '5}', expected a string or a list of strings"),
        ('{"text": ["a", 5]}', r"the member 'text' is '5\]}', expected a string or a list of strings"),
        ('{"text": {"a": "b"}}', "expected a string or a list of strings"),
        ('{"text": ' + "[" * 20 + "]" * 20 + "}", "nested too deeply: expected at most 16 levels"),
        ('{"text": "a", "text": "b"}', "the member 'text' occurs twice"),
        ('{"text": ' + "[" * 100_000, "nested too deeply"),
    ],
)
def test_broken_lines(line: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        parse_line(line, "text")


def test_null_is_nothing_to_repair() -> None:
    assert parse_line('{"text": null}', "text").text is None


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"text": "a"}', "was not written with --provenance"),
        ('{"text": "a b", "respace_edits": [{"gap":9,"kind":"deletion","confidence":1,"whitespace":" "}]}', "gap 9"),
        ('{"text": "a b", "respace_edits": [{"gap":1,"kind":"deletion","confidence":1,"whitespace":" "}]}', "changed"),
    ],
)
def test_lines_that_cannot_be_reverted(line: Any, message: Any) -> None:
    with pytest.raises(ValueError, match=message):
        revert_line(line, "text")


def test_provenance_counts_insertions_and_deletions_apart() -> None:
    parsed = parse_line('{"text": "ab c\\td\\u0020e"}', "text")
    edits = [
        KeptEdit(1, "insertion", 0.9, " "),
        KeptEdit(2, "deletion", 0.9, " "),
        KeptEdit(3, "deletion", 0.9, "\t"),
        KeptEdit(4, "deletion", 0.9, " "),
    ]
    members = members_of(parsed, edits, "model")
    assert (members[INSERTIONS], members[DELETIONS], members[MODEL]) == (1, 3, "model")
    # Only what was not written as plain blanks is kept as it was written.
    assert [edit.get("written") for edit in members[EDITS]] == [None, None, "\\t", "\\u0020"]


def test_lists_of_objects_are_gone_through_to_their_end() -> None:
    parsed = parse_line('{"pages": [{"text": "a"}, null, {"text": null}, {"n": [], "text": "b"}]}', "pages.text")
    assert (parsed.texts, parsed.in_list) == (("a", "b"), True)


@pytest.mark.parametrize("level", ['{"a": %s}', "[%s]"])
def test_texts_are_at_most_sixteen_levels_down(level: str) -> None:
    def line(levels: int) -> tuple[str, str]:
        inner = '"x y"'
        for _ in range(levels):
            inner = level % inner
        return f'{{"a": {inner}}}', ".".join(["a"] * (levels + 1)) if "{" in level else "a"

    assert parse_line(*line(15)).texts == ("x y",)
    with pytest.raises(ValueError, match="nested too deeply: expected at most 16 levels"):
        parse_line(*line(16))
