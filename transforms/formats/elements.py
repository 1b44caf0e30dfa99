"""Several texts of one row as one document: each on lines of its own, and line breaks are never touched.

Gaps are counted through all of them, so that edits, provenance and reviews need not know that there are several.

>>> joined(["a b", None, "cd"])
'a b\\ncd'
>>> found = split_edits(["a b", None, "cd"], [Edit(1, "deletion"), Edit(3, "insertion")])
>>> [[(edit.gap, edit.kind) for edit in edits] for edits in found]
[[(1, 'deletion')], [], [(1, 'insertion')]]
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeVar

from respace.gaps import Edit
from transforms.formats.provenance import KeptEdit, character_positions

# What a row holds that may be text: bytes where it is not valid UTF-8, and a list where a list is on the way to it.
Text = str | bytes | None
RowText = Text | list[Text]
AnyEdit = TypeVar("AnyEdit", Edit, KeptEdit)


def joined(texts: Sequence[Text]) -> Text:
    """All texts as one; None if there is none, and the first that is not text if there is one."""
    wrong = next((text for text in texts if isinstance(text, bytes)), None)
    if wrong is not None:
        return wrong
    found = [text for text in texts if isinstance(text, str)]
    return "\n".join(found) if found else None


def split_edits(texts: Sequence[Text], edits: Sequence[AnyEdit]) -> list[list[AnyEdit]]:
    """The edits of the joined texts as those of each text.

    Raises:
        ValueError: one of them is not inside of a text.
    """
    found: list[list[AnyEdit]] = []
    first = place = 0
    for text in texts:
        own: list[AnyEdit] = []
        stop = first + (len(character_positions(text)) if isinstance(text, str) else 0)
        while place < len(edits) and edits[place].gap < stop:
            if edits[place].gap <= first:
                raise ValueError(f"edit at gap {edits[place].gap}: expected one inside of a text, not between two")
            own.append(replace(edits[place], gap=edits[place].gap - first))
            place += 1
        found.append(own)
        first = stop
    if place < len(edits):
        raise ValueError(f"edit at gap {edits[place].gap}: the texts have {first} characters. Were they changed since?")
    return found
