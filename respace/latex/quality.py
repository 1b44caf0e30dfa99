"""Which paragraphs are fit to learn spacing from: complete, without left-over markup, with the usual spacing."""

from __future__ import annotations

import re

from respace.latex.formula import UNKNOWN

# None of these looks farther than a word: a paragraph may be millions of characters long.
_REASONS = {
    "left-over markup": re.compile(
        r"\\|!!|\b(?:width|height|scale|label|name|ref)=|\b[A-Za-z]{2,20}:[A-Za-z]\w{0,40}:|\b(?:sec|fig|eq|thm|lem|tab|def):\w"
        r"|\d(?:em|pt|ex)\b(?!\.)|[a-z]{3}\]\[|[a-z,] \]|[^\s\[(]@[^\s]{0,60}@"
    ),
    "wrong encoding": re.compile("Ã[^ ]|Â[^ ]|\ufffd"),
    # A command that printed nothing, or a writer's slip: both leave spacing that no one should learn.
    "odd spacing": re.compile(
        r"[A-Za-z]{2} [,.;:](?:\s|$)|[a-z]{3} \)|\( [a-z]{3}|[a-z]{2}[.;,][A-Z][a-z]|[a-z]{3},[a-z]{3}"
        r"|[a-z]{4}\([a-z]{4}|\w“[A-Za-z]{4}|”\w{2}|, ?,|[a-z] \( ?\)|\[ ?\]"
    ),
}


def reason_against(text: str) -> str | None:
    """Why a paragraph is not used, or None if it is.

    >>> reason_against("Let n be odd.")
    >>> reason_against("The family , has")
    'odd spacing'
    """
    if UNKNOWN in text:
        return "unknown command"
    if not any(character.isalpha() for character in text):
        return "no letters"
    for reason, pattern in _REASONS.items():
        if pattern.search(text):
            return reason
    return None
