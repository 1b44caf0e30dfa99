"""JSON lines changed in place: only the whitespace inside one string moves, every other byte stays.

Reading and dumping a line would rewrite numbers, escapes and blanks. Here the line is read once to find where the
members are, and only the text's own characters are touched, escape by escape.

>>> line = parse_line('{"n": 1.00, "text": "caf\\\\u00e9s nack"}', "text")
>>> line.text
'cafés nack'
>>> from transforms.formats.provenance import KeptEdit
>>> repaired = with_repaired_text(line, [KeptEdit(4, "insertion", 1, " "), KeptEdit(5, "deletion", 1, " ")])
>>> repaired
'{"n": 1.00, "text": "caf\\\\u00e9 snack"}'
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any

from transforms.formats.provenance import (
    ADDED_COLUMNS,
    DELETIONS,
    EDITS,
    INSERTIONS,
    MODEL,
    KeptEdit,
    character_positions,
    check_revertible,
    edits_from_python,
    replace_gaps,
)

# Numbers are only passed over, so they need not be turned into numbers (which may fail, or lose digits).
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_WRITTEN = "written"
_BLANK = re.compile(r"[ \t\n\r]*")
_UNITS = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)


class NoSuchMember(ValueError):
    """The line has no member of that name; perhaps no line has."""


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line, taken apart as far as needed.

    Args:
        line: the line itself.
        text: the text member; None where it is null.
        text_start: where its raw value begins, with the quotation mark.
        text_stop: where it ends.
        ends: where each member's value ends, in order of the line.
        values: members by name.
    """

    line: str
    text: str | None
    text_start: int
    text_stop: int
    ends: tuple[int, ...]
    values: Mapping[str, Any]


def parse_line(line: str, text_key: str) -> JsonLine:
    """Takes a line apart.

    Raises:
        ValueError: the line is not a JSON object with one such member that is a string or null.
    """
    values: dict[str, Any] = {}
    ends: list[int] = []
    span = (0, 0)
    place = _skip(line, 1 if line.startswith("\ufeff") else 0)
    if line[place : place + 1] != "{":
        raise ValueError(f"expected a JSON object, found {line[place : place + 20]!r}")
    place = _skip(line, place + 1)
    while line[place : place + 1] != "}" or ends:
        if line[place : place + 1] != '"':
            raise ValueError(f"expected a member's name at character {place}, found {line[place : place + 20]!r}")
        key, place = scanstring(line, place + 1, False)
        place = _skip(line, place)
        if line[place : place + 1] != ":":
            raise ValueError(f"expected ':' at character {place}, found {line[place : place + 20]!r}")
        start = _skip(line, place + 1)
        try:
            value, place = _DECODER.raw_decode(line, start)
        except RecursionError as error:
            raise ValueError("nested too deeply") from error
        if key in values:
            raise ValueError(f"the member {key!r} occurs twice")
        values[key] = value
        ends.append(place)
        if key == text_key:
            span = (start, place)
        place = _skip(line, place)
        if line[place : place + 1] == "}":
            break
        if line[place : place + 1] != ",":
            raise ValueError(f"expected ',' or '}}' at character {place}, found {line[place : place + 20]!r}")
        place = _skip(line, place + 1)
    if _skip(line, place + 1) != len(line):
        raise ValueError(
            f"expected the end of the line at character {place + 1}, found {line[place + 1 : place + 21]!r}"
        )
    if text_key not in values:
        raise NoSuchMember(f"no member {text_key!r}. There are: {', '.join(map(repr, values)) or 'none'}")
    text = values[text_key]
    if text is not None and line[span[0]] != '"':
        raise ValueError(f"the member {text_key!r} is {line[span[0] : span[0] + 20]!r}, expected a string")
    return JsonLine(line, text, *span, tuple(ends), values)


def with_repaired_text(line: JsonLine, edits: Sequence[KeptEdit]) -> str:
    """The line with these edits made in its text."""
    new = [(edit.gap, " " if edit.kind == "insertion" else "") for edit in edits]
    return _with_gaps(line, new) if new else line.line


def with_members(line: str, end: int, members: Mapping[str, Any]) -> str:
    """The line with members added after the value that ends at ``end``. They are taken out by `revert_line`."""
    added = "".join(
        f", {json.dumps(name)}: {json.dumps(value, ensure_ascii=line.isascii())}" for name, value in members.items()
    )
    return line[:end] + added + line[end:]


def members_of(line: JsonLine, edits: Sequence[KeptEdit], model: str) -> dict[str, Any]:
    """Provenance as members of a line. Whitespace that was not written as plain blanks is kept as it was written."""
    units = _units(line) if edits else ""
    positions = character_positions(line.text or "")
    shown = []
    for edit in edits:
        shown.append(asdict(edit))
        written = "".join(units[int(positions[edit.gap - 1]) + 1 : int(positions[edit.gap])])
        if edit.kind == "deletion" and written.strip(" "):
            shown[-1][_WRITTEN] = written
    insertions = sum(edit.kind == "insertion" for edit in edits)
    return {EDITS: shown, INSERTIONS: insertions, DELETIONS: len(edits) - insertions, MODEL: model}


def without_members(line: JsonLine) -> str:
    """The line without what `with_members` added to it."""
    ours = [place for place, name in enumerate(line.values) if name in ADDED_COLUMNS]
    if not ours:
        return line.line
    return line.line[: line.ends[ours[0] - 1]] + line.line[line.ends[ours[-1]] :]


def revert_line(line: str, text_key: str) -> str:
    """The line as it was before repair.

    Raises:
        ValueError: it has no provenance, or one that does not fit its text.
    """
    parsed = parse_line(line, text_key)
    if EDITS not in parsed.values:
        raise ValueError(f"no member {EDITS!r}: the line was not written with --provenance")
    edits = edits_from_python(parsed.values[EDITS])
    bare = parse_line(without_members(parsed), text_key)
    if bare.text is None or not edits:
        return bare.line
    check_revertible(bare.text, character_positions(bare.text), edits)
    back = [
        (edit.gap, "" if edit.kind == "insertion" else member.get(_WRITTEN, edit.whitespace))
        for edit, member in zip(edits, parsed.values[EDITS], strict=True)
    ]
    return _with_gaps(bare, back)


def _with_gaps(line: JsonLine, replacements: Sequence[tuple[int, str]]) -> str:
    changed = replace_gaps(_units(line), character_positions(line.text or ""), replacements)
    return f'{line.line[: line.text_start]}"{changed}"{line.line[line.text_stop :]}'


def _units(line: JsonLine) -> Sequence[str]:
    """The text as it is written, one item per code point."""
    raw = line.line[line.text_start + 1 : line.text_stop - 1]
    units: Sequence[str] = _UNITS.findall(raw) if "\\" in raw else raw
    if len(units) != len(line.text or ""):
        raise ValueError("its escapes cannot be told apart")
    return units


def _skip(line: str, place: int) -> int:
    match = _BLANK.match(line, place)
    return match.end() if match else place
