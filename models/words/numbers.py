"""Numbers that a table of single contexts cannot see whole: thousands (1,067), ordinals (46th), decades (1950s)."""

from __future__ import annotations

import re

from respace.gaps import Bits, Codes, from_code_points

# No space stands inside of these. What begins like a word ("5 that", "1 star") is left to the contexts.
_WHOLE = re.compile(
    r"(?<![0-9,.])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])"
    r"|(?<!1)1st(?![aeiouyr])|(?<!1)2nd|(?<!1)3rd|(?:1[0-9]|[04-9])th(?![aeiour])"
    r"|(?<![0-9])[12][0-9]{2}0s(?![a-z])"
)


def join_numbers(codes: Codes, first: Bits, bits: Bits) -> None:
    """Takes spaces out of numbers, in texts laid one after the other that begin where ``first`` says."""
    for match in _WHOLE.finditer(from_code_points(codes)):
        inside = slice(match.start() + 1, match.end())
        if not first[inside].any():
            bits[inside] = False
