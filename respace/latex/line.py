"""The spacing of a formula in a line of text, symbol by symbol: the rules of the arXiv benchmarks' ground truth.

Relations and binary operators stand between blanks (``n + 1``, ``θ | α``) unless they are signs (``= ±1``,
``(>0.1c)``); a comma or colon is followed by one unless a bracket opens (``F(R, T)``, ``d(x,(y, z))``); so is a
function's name (``cos θ``, ``log(n)``). These rules were read from the 10,000 development sequences, with their
oddities: a bar is always an operator, so ``|T|`` is ``|T |``.
"""

from __future__ import annotations

import re


class Line:
    """A line of atoms being spaced. ``previous`` is the kind of the last atom, as far as it decides the next blank."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.previous = "start"
        self.pending_blank = False

    def add(self, kind: str, symbol: str) -> None:
        if kind in ("bin", "rel", "bar", "arrow"):
            self._add_operator(kind, symbol)
        elif kind == "space":
            self.pending_blank = self.previous != "start"
        elif kind == "open":
            if self.previous in ("punct", "function"):
                self.pending_blank = False
            self._put(symbol, "open")
        elif kind == "punct":
            self._put(symbol, "punct", blank=True)
        elif kind == "function":
            self._put(symbol, "function", blank=True)
        elif kind == "dots":
            self._put(symbol, "sign")
        else:
            if symbol == "/" and self.previous == "function":
                self.pending_blank = False
            self._put(symbol, "ord")

    def _add_operator(self, kind: str, symbol: str) -> None:
        previous = self.previous
        if previous == "bin" and kind == "rel":  # one operator of two characters, such as +=
            self.pieces.append(symbol)
            self.previous = kind
            return
        is_sign = (
            previous in ("start", "open", "punct", "sign", "bar")
            or (previous == "bin" and kind == "bin")
            or (previous == "rel" and kind in ("bin", "rel", "arrow"))
        )
        if is_sign:
            self._put(symbol, "sign")
        else:
            self.pending_blank = True
            self._put(symbol, kind, blank=True)

    def _put(self, symbol: str, kind: str, blank: bool = False) -> None:
        if self.pending_blank and self.pieces:
            self.pieces.append(" ")
        self.pieces.append(symbol)
        self.previous = kind
        self.pending_blank = blank

    def text(self) -> str:
        if self.previous == "bin" and len(self.pieces) > 1 and self.pieces[-2] == " ":
            del self.pieces[-2]  # an operator without a right-hand side stays at what it follows: 2× the size
        return re.sub(r" {2,}", " ", "".join(self.pieces)).strip()
