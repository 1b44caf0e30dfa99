"""Which rows of the corpora are never trained on, so that one may measure on them."""

from __future__ import annotations

from respace.noise import held_out


def kept_for_measuring(text: str) -> bool:
    """Is this row of text that is right as it is among the 20 % that are kept for measuring harm?

    It goes by a stable hash of the characters without spaces, so that every reader of a corpus draws the same line.
    """
    return held_out(text)
