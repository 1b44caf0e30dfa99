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
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from json.decoder import scanstring  # type: ignore[attr-defined]
from typing import Any, NamedTuple, cast

from transforms.formats.elements import joined, split_edits
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
from transforms.formats.text_columns import advice, first_name

Span = tuple[int, int]

# Numbers are only passed over, so they need not be turned into numbers (which may fail, or lose digits).
_DECODER = json.JSONDecoder(strict=False, parse_int=str, parse_float=str)
_WRITTEN = "written"
# Every level on the way to the text is read once more.
_MOST_LEVELS = 16
_BLANK = re.compile(r"[ \t\n\r]*")
_UNITS = re.compile(
    r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|\\u[0-9a-fA-F]{4}|\\.|[^\\]", re.DOTALL
)


class NoSuchMember(ValueError):
    """The line has no member of that name; perhaps no line has.

    Args:
        message: what there is instead.
        advice: what to do.
    """

    def __init__(self, message: str, advice: str):
        super().__init__(message)
        self.advice = advice


@dataclass(frozen=True, slots=True)
class JsonLine:
    """A line, taken apart as far as needed.

    Args:
        line: the line itself.
        texts: what is to be repaired: one string, those of a list, or none where it is null.
        spans: where the raw value of each begins, with the quotation mark, and where it ends.
        in_list: whether there are lists on the way to the texts.
        ends: where each member's value ends, in order of the line.
        values: members by name.
    """

    line: str
    texts: tuple[str, ...]
    spans: tuple[Span, ...]
    in_list: bool
    ends: tuple[int, ...]
    values: Mapping[str, Any]

    @property
    def text(self) -> str | None:
        """All texts as one."""
        return cast("str | None", joined(self.texts))

    @property
    def original(self) -> str | list[str] | None:
        return list(self.texts) if self.in_list else self.text

    @property
    def around(self) -> tuple[str, ...]:
        """What is not text."""
        starts = [0, *(stop for _, stop in self.spans)]
        stops = [*(start for start, _ in self.spans), len(self.line)]
        return tuple(self.line[start:stop] for start, stop in zip(starts, stops, strict=True))


class _Member(NamedTuple):
    key: str
    value: Any
    span: Span


def parse_line(line: str, text_key: str) -> JsonLine:
    """Takes a line apart.

    Args:
        line: an object.
        text_key: the member that holds the text, or the names on the way to it with dots in between. Lists on the way
            are gone through.

    Raises:
        ValueError: the line is not a JSON object with such a member that is a string, a list of strings or null.
    """
    place = _skip(line, 1 if line.startswith("\ufeff") else 0)
    if line[place : place + 1] != "{":
        raise ValueError(f"expected a JSON object, found {line[place : place + 20]!r}")
    members, place = _members(line, place)
    if _skip(line, place) != len(line):
        raise ValueError(f"expected the end of the line at character {place}, found {line[place : place + 20]!r}")
    values = {member.key: member.value for member in members}
    spans: list[Span] = []
    in_list = _find_texts(line, members, text_key, spans, _MOST_LEVELS)
    texts = tuple(scanstring(line, start + 1, False)[0] for start, _ in spans)
    return JsonLine(line, texts, tuple(spans), in_list, tuple(member.span[1] for member in members), values)


def _members(line: str, place: int) -> tuple[list[_Member], int]:
    """The members of the object that begins at a place, and where it ends."""
    members: list[_Member] = []
    seen: set[str] = set()
    place = _skip(line, place + 1)
    while line[place : place + 1] != "}" or members:
        if line[place : place + 1] != '"':
            raise ValueError(f"expected a member's name at character {place}, found {line[place : place + 20]!r}")
        key, place = scanstring(line, place + 1, False)
        place = _skip(line, place)
        if line[place : place + 1] != ":":
            raise ValueError(f"expected ':' at character {place}, found {line[place : place + 20]!r}")
        start = _skip(line, place + 1)
        value, place = _value(line, start)
        if key in seen:
            raise ValueError(f"the member {key!r} occurs twice")
        seen.add(key)
        members.append(_Member(key, value, (start, place)))
        place = _skip(line, place)
        if line[place : place + 1] == "}":
            break
        if line[place : place + 1] != ",":
            raise ValueError(f"expected ',' or '}}' at character {place}, found {line[place : place + 20]!r}")
        place = _skip(line, place + 1)
    return members, place + 1


def _elements(line: str, place: int) -> Iterator[tuple[Any, Span]]:
    """The elements of the array that begins at a place. It has been read before, so that it is one."""
    place = _skip(line, place + 1)
    while line[place] != "]":
        value, stop = _value(line, place)
        yield value, (place, stop)
        place = _skip(line, stop)
        if line[place] == ",":
            place = _skip(line, place + 1)


def _value(line: str, start: int) -> tuple[Any, int]:
    try:
        value, stop = _DECODER.raw_decode(line, start)
    except RecursionError as error:
        raise ValueError("nested too deeply") from error
    return value, stop


def _find_texts(line: str, members: Sequence[_Member], path: str, found: list[Span], levels: int) -> bool:
    """Adds the places of the texts to ``found``, at most so many levels down; whether there are lists on the way."""
    key, rest = first_name([member.key for member in members], path)
    if key is None:
        names = ", ".join(repr(member.key) for member in members)
        paths = _paths_below({member.key: member.value for member in members})
        raise NoSuchMember(f"no member {path!r}. There are: {names or 'none'}", advice(paths, path))
    member = next(one for one in members if one.key == key)
    return _texts_in(line, member, rest, found, levels)


def _paths_below(value: Any, way: str = "", levels: int = _MOST_LEVELS) -> Iterator[str]:
    """The paths to the texts of a value, by the names on the way."""
    if isinstance(value, list):
        value = next((one for one in value if one is not None), None)
    if isinstance(value, dict) and levels:
        for key, inside in value.items():
            yield from _paths_below(inside, f"{way}.{key}" if way else key, levels - 1)
    elif isinstance(value, str):
        yield way


def _texts_in(line: str, member: _Member, path: str, found: list[Span], levels: int) -> bool:
    (key, value, span), start = member, member.span[0]
    if levels == 0:
        raise ValueError(f"the member {key!r} is nested too deeply: expected at most {_MOST_LEVELS} levels")
    if isinstance(value, list):
        for element, where in _elements(line, start):
            _texts_in(line, _Member(key, element, where), path, found, levels - 1)
        return True
    if path and isinstance(value, dict):
        return _find_texts(line, _members(line, start)[0], path, found, levels - 1)
    if line[start] == '"' and not path:
        found.append(span)
    elif value is not None:
        expected = "an object" if path else "a string or a list of strings"
        raise ValueError(f"the member {key!r} is {line[start : start + 20]!r}, expected {expected}")
    return False


def with_repaired_text(line: JsonLine, edits: Sequence[KeptEdit]) -> str:
    """The line with these edits made in its texts."""
    parts = split_edits(line.texts, edits)
    return _with_gaps(line, [[(edit.gap, " " if edit.kind == "insertion" else "") for edit in own] for own in parts])


def with_members(line: str, end: int, members: Mapping[str, Any]) -> str:
    """The line with members added after the value that ends at ``end``. They are taken out by `revert_line`."""
    added = "".join(
        f", {json.dumps(name)}: {json.dumps(value, ensure_ascii=line.isascii())}" for name, value in members.items()
    )
    return line[:end] + added + line[end:]


def members_of(line: JsonLine, edits: Sequence[KeptEdit], model: str) -> dict[str, Any]:
    """Provenance as members of a line. Whitespace that was not written as plain blanks is kept as it was written."""
    shown = [asdict(edit) for edit in edits]
    described = iter(shown)
    for place, own in enumerate(split_edits(line.texts, edits)):
        units = _units(line, place) if own else ""
        positions = character_positions(line.texts[place])
        for edit, one in zip(own, described, strict=False):
            written = "".join(units[int(positions[edit.gap - 1]) + 1 : int(positions[edit.gap])])
            if edit.kind == "deletion" and written.strip(" "):
                one[_WRITTEN] = written
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
    members = iter(parsed.values[EDITS])
    back = []
    for text, own in zip(bare.texts, split_edits(bare.texts, edits), strict=True):
        check_revertible(text, character_positions(text), own)
        back.append(
            [
                (edit.gap, "" if edit.kind == "insertion" else member.get(_WRITTEN, edit.whitespace))
                for edit, member in zip(own, members, strict=False)
            ]
        )
    return _with_gaps(bare, back)


def _with_gaps(line: JsonLine, replacements: Sequence[Sequence[tuple[int, str]]]) -> str:
    """The line with other whitespace in some gaps of each text."""
    pieces = [line.around[0]]
    for place, (text, new) in enumerate(zip(line.texts, replacements, strict=True)):
        start, stop = line.spans[place]
        changed = (
            f'"{replace_gaps(_units(line, place), character_positions(text), new)}"' if new else line.line[start:stop]
        )
        pieces += [changed, line.around[place + 1]]
    return "".join(pieces)


def _units(line: JsonLine, place: int) -> Sequence[str]:
    """One of the texts as it is written, one item per code point."""
    start, stop = line.spans[place]
    raw = line.line[start + 1 : stop - 1]
    units: Sequence[str] = _UNITS.findall(raw) if "\\" in raw else raw
    if len(units) != len(line.texts[place]):
        raise ValueError("its escapes cannot be told apart")
    return units


def _skip(line: str, place: int) -> int:
    match = _BLANK.match(line, place)
    return match.end() if match else place
