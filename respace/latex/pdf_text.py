"""The text of PDF pages as extractors give it: its paragraphs, and which of them are prose."""

from __future__ import annotations

import re
from collections.abc import Iterator

_LIGATURES = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_CLEANED = str.maketrans({**_LIGATURES, "\u00ad": None, "\u200b": None, "\ufeff": None, "\0": None})
# pdfium marks a hyphen that it takes for the end of a line, and keeps the break.
_JOINED_LINES = re.compile("\ufffe\r?\n?|\x02\r?\n?")
_BLANK_LINES = re.compile(r"\n[ \t\r]*\n|\f")
# Shares of a block's usual line length; with these the most paragraphs of 18 documents were found in their sources.
_SHORT, _VERY_SHORT = 0.92, 0.5
_END_OF_SENTENCE = (".", "?", "!", ":", ".”", ".)")


def paragraphs(text: str) -> Iterator[str]:
    """Paragraphs of extracted text: blocks between blank lines, cut where a short line ends a sentence.

    Ligatures become letters and invisible characters vanish, as every reader of such text must do; spaces stay.

    >>> list(paragraphs("First line of it\\nends here.\\nThe second one\\ngoes on\\n\\nA block"))
    ['First line of it ends here.', 'The second one goes on', 'A block']
    """
    text = _JOINED_LINES.sub("", text).translate(_CLEANED)
    for block in _BLANK_LINES.split(text):
        lines = [line.strip() for line in block.splitlines() if line.strip()]
        full = sorted(map(len, lines))[int(0.7 * len(lines))] if lines else 0
        waiting: list[str] = []
        for line in lines:
            waiting.append(line)
            if len(line) < _SHORT * full and (line.endswith(_END_OF_SENTENCE) or len(line) < _VERY_SHORT * full):
                yield " ".join(waiting)
                waiting = []
        if waiting:
            yield " ".join(waiting)


def is_prose(paragraph: str) -> bool:
    """At least 60 characters, three quarters of them letters."""
    characters = "".join(paragraph.split())
    return len(characters) >= 60 and sum(map(str.isalpha, characters)) >= 0.75 * len(characters)
