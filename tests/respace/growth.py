"""How long patterns take on hostile texts, which are made of what the patterns themselves ask for."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from re import _constants as constants  # type: ignore[attr-defined]
from re import _parser as parser  # type: ignore[attr-defined]
from typing import Any

SHORT, LONG = 8_000, 32_000
# Less is not worth a closer look: a pattern whose steps grow with the square needs more for a short text.
_QUICK = 0.01
# Four times the text takes four times as long, or sixteen times.
_MOST_GROWTH = 8.0
_OF_CATEGORIES = {
    constants.CATEGORY_WORD: "aé",
    constants.CATEGORY_DIGIT: "1",
    constants.CATEGORY_SPACE: " ",
    constants.CATEGORY_NOT_SPACE: "x",
    constants.CATEGORY_NOT_WORD: "!",
    constants.CATEGORY_NOT_DIGIT: "x",
}
# What makes a match fail that went well so far.
_ENDS = ("", "!", "é")
# Of words and letters that a pattern reads literally, so many are enough.
_WORDS = 8


def pieces_of(pattern: re.Pattern[str]) -> list[str]:
    """Characters and literal strings that a pattern reads: one of each kind."""
    pieces = sorted(set(_pieces(parser.parse(pattern.pattern, pattern.flags))), key=lambda one: (len(one), one))
    words = [one for one in pieces if one.isalnum()]
    return [one for one in pieces if not one.isalnum()] + words[:_WORDS]


def slow_text(pattern: re.Pattern[str], together: int, without_spaces: bool = False) -> str | None:
    """A few pieces that, repeated, take the pattern more than in proportion; None if there are none."""
    pieces = [one for one in pieces_of(pattern) if not (without_spaces and any(map(str.isspace, one)))]
    for pump in sorted({"".join(one) for size in range(1, together + 1) for one in product(pieces, repeat=size)}):
        for end in _ENDS:
            if grows(partial(search_repeated, pattern, pump, end)):
                return f"{pump!r}, repeated, then {end!r}"
    return None


def repeated(pump: str, size: int) -> str:
    return pump * (size // len(pump))


def grows(work: Callable[[int], object]) -> bool:
    """Whether work on a long text takes far more than its share of the time that it takes for a short one."""
    if _seconds(work, SHORT, 1) < _QUICK or _seconds(work, SHORT, 2) < _QUICK:
        return False
    return _seconds(work, LONG, 2) > _MOST_GROWTH * _seconds(work, SHORT, 3)


def search_repeated(pattern: re.Pattern[str], pump: str, end: str, size: int) -> None:
    for _ in pattern.finditer(repeated(pump, size) + end):
        pass


def _seconds(work: Callable[[int], object], size: int, times: int) -> float:
    """The least processor time of several runs."""

    def once() -> float:
        began = time.thread_time()
        work(size)
        return time.thread_time() - began

    return min(once() for _ in range(times))


def _pieces(nodes: Any) -> Iterator[str]:
    literal = ""
    for operation, argument in nodes:
        if operation is constants.LITERAL:
            literal += chr(argument)
            continue
        if literal:
            yield literal
            literal = ""
        yield from _of_node(operation, argument)
    if literal:
        yield literal


def _of_node(operation: Any, argument: Any) -> Iterator[str]:
    if operation is constants.IN:
        yield from _of_class(argument)
    elif operation is constants.BRANCH:
        for branch in argument[1]:
            yield from _pieces(branch)
    elif operation is not constants.CATEGORY:
        for part in argument if isinstance(argument, tuple) else (argument,):
            if isinstance(part, parser.SubPattern):
                yield from _pieces(part)


def _of_class(parts: Any) -> Iterator[str]:
    if parts[0][0] is constants.NEGATE:
        yield "x"
    for kind, value in parts:
        if kind is constants.LITERAL:
            yield chr(value)
        elif kind is constants.RANGE:
            yield chr(value[0])
        elif kind is constants.CATEGORY:
            yield from _OF_CATEGORIES[value]
