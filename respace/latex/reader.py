"""Reading LaTeX token by token, with a stack of texts so that a macro's replacement is read in its place.

Why not a parser library: pylatexenc builds a tree of Python objects at 0.13 MB/s (measured on 1.8 MB of books and
papers, where this package converts 2.2 MB/s to text), and it does not expand the author's own macros, which
mathematical text is full of. One pass of one regular expression, with arguments taken as raw text only where a command
needs them, is fast and cannot be led into deep recursion.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field

TOKEN = re.compile(
    r"(?P<text>[^\\$~{}\n&#^_]+)"
    r"|(?P<newline>\n[ \t]*(?:\n\s*)?)"
    r"|(?P<word>\\[a-zA-Z@]+\*?)"
    r"|(?P<symbol>\\.)"
    r"|(?P<dollar>\$\$?)"
    r"|(?P<brace>[{}])"
    r"|(?P<other>.)",
    re.DOTALL,
)
_BRACES = re.compile(r"\\.|[{}]", re.DOTALL)
_BRACKETS = re.compile(r"\\.|[{}\[\]]", re.DOTALL)
_BLANKS = re.compile(r"[ \t]*(?:\n[ \t]*(?!\s*\n))?")
# Only the first bare % of a line can match, so that a line of nothing else is no work; \0 stands for a comment then.
_COMMENT = re.compile(r"^((?:[^\\%\n]|\\[^\n])*+)%[^\n]*$", re.MULTILINE)
_BEFORE_BLANK_LINE = re.compile(r"\0\n[ \t]*(?=\n)")
_LINE_END = re.compile(r"\0(?:\n[ \t]*)?")


class LatexLimitError(ValueError):
    """A document that would take too long or grow too large."""


@dataclass(kw_only=True)
class Budget:
    """What one document may cost. Macros can grow without end, so every expansion is paid for."""

    seconds: float = 60.0
    expanded_characters: int = 20_000_000
    output_characters: int = 20_000_000
    expansion_depth: int = 60
    _deadline: float = field(init=False)

    def __post_init__(self) -> None:
        self._deadline = time.monotonic() + self.seconds

    def spend(self, characters: int) -> None:
        self.expanded_characters -= characters + 50
        if self.expanded_characters < 0:
            raise LatexLimitError("macro expansion grew beyond the limit. Does a macro call itself?")
        self.check_time()

    def check_time(self) -> None:
        if time.monotonic() > self._deadline:
            raise LatexLimitError(f"conversion took longer than {self.seconds:g} s")


def without_comments(tex: str) -> str:
    r"""LaTeX without its comments. A comment swallows its line's end; a blank line after it still ends the paragraph.

    >>> without_comments("a% x\nb 5\\% c\n% y\n\nd")
    'ab 5\\% c\n\n\n\nd'
    """
    if "%" not in tex:
        return tex
    marked = _COMMENT.sub("\\1\0", tex.replace("\0", ""))
    return _LINE_END.sub("", _BEFORE_BLANK_LINE.sub("\n\n", marked))


def group_end(text: str, start: int) -> int:
    """The position after the group that opens at ``start``, or -1 if it never closes."""
    depth = 0
    for match in _BRACES.finditer(text, start):
        character = match.group()
        if character == "{":
            depth += 1
        elif character == "}":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


def bracket_end(text: str, start: int) -> int:
    """The position after the ``[...]`` that opens at ``start``, or -1. Brackets inside braces do not count."""
    depth = braces = 0
    for match in _BRACKETS.finditer(text, start, start + 2000):
        character = match.group()
        if character == "{":
            braces += 1
        elif character == "}":
            braces -= 1
            if braces < 0:
                return -1
        elif braces == 0 and character == "[":
            depth += 1
        elif braces == 0 and character == "]":
            depth -= 1
            if depth == 0:
                return match.end()
    return -1


class Reader:
    """Tokens and arguments from a stack of texts; the top is read first."""

    def __init__(self, text: str, budget: Budget) -> None:
        self._stack: list[tuple[str, int]] = []
        self._text, self._position = text, 0
        self._budget = budget

    @property
    def depth(self) -> int:
        return len(self._stack)

    def push(self, text: str) -> None:
        """Reads this text before what follows."""
        if not text:
            return
        self._budget.spend(len(text))
        if self._position < len(self._text):
            self._stack.append((self._text, self._position))
        self._text, self._position = text, 0

    def token(self) -> tuple[str, str] | None:
        """The next token as (kind, text), or None at the end."""
        if not self._refill():
            return None
        match = TOKEN.match(self._text, self._position)
        assert match is not None
        assert match.lastgroup is not None
        self._position = match.end()
        return match.lastgroup, match.group()

    def skip_blanks(self) -> None:
        """TeX's rule after a command made of letters: blanks and one line end vanish, a blank line does not."""
        match = _BLANKS.match(self._text, self._position)
        assert match is not None
        self._position = match.end()

    def peek(self) -> str:
        """The next character, or nothing at the end."""
        return self._text[self._position] if self._refill() else ""

    def next_visible(self) -> str:
        """The next character that is not blank. What is blank is skipped, unless it ends the paragraph."""
        while self._refill():
            self.skip_blanks()
            if self._position < len(self._text):
                return self._text[self._position]
        return ""

    def argument(self) -> str:
        """A mandatory argument as raw text: a group without its braces, or one token."""
        if self.next_visible() == "{":
            end = group_end(self._text, self._position)
            if end < 0:  # never closed: take the brace away and go on
                self._budget.check_time()  # many of these make the work quadratic
                self._position += 1
                return ""
            raw = self._text[self._position + 1 : end - 1]
            self._position = end
            return raw
        token = self.token()
        if token is None:
            return ""
        kind, text = token
        if kind == "text":
            self._position -= len(text) - 1
            return text[0]
        if kind == "brace" or (kind == "newline" and text.count("\n") > 1):
            self._position -= len(text)
            return ""
        return text

    def optional(self) -> str | None:
        """An optional argument ``[...]`` as raw text, if there is one."""
        if self.next_visible() != "[":
            return None
        end = bracket_end(self._text, self._position)
        if end < 0:
            return None
        raw = self._text[self._position + 1 : end - 1]
        self._position = end
        return raw

    def looking_at(self, pattern: re.Pattern[str]) -> bool:
        """Whether the pattern comes next in the text on top."""
        return self._refill() and pattern.match(self._text, self._position) is not None

    def star(self) -> bool:
        if self.peek() == "*":
            self._position += 1
            return True
        return False

    def until(self, pattern: re.Pattern[str]) -> str | None:
        """The text up to the pattern, which is skipped; None, and nothing read, if the pattern does not come."""
        self._refill()
        match = pattern.search(self._text, self._position)
        before = ""
        if match is None and self._stack:  # it may come after the end of the macro that is being read
            below, position = self._stack[-1]
            match = pattern.search(below, position)
            if match is not None:
                before = self._text[self._position :]
                self._stack.pop()
                self._text, self._position = below, position
        if match is None:
            self._budget.check_time()
            return None
        raw = before + self._text[self._position : match.start()]
        self._position = match.end()
        return raw

    def _refill(self) -> bool:
        while self._position >= len(self._text):
            if not self._stack:
                return False
            self._text, self._position = self._stack.pop()
        return True
