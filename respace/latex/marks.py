r"""Marks for what only LaTeX knows: the labels of citations and references, the numbers of footnotes.

The converter leaves a mark in the text. Where there is no PDF, `fill` writes labels of the usual form, numbered in the
order of their use; with a PDF, matching takes the label that is printed there.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from respace.latex import comparison

FOOTNOTE = comparison.FOOTNOTE
_START, _END = "\ue000", "\ue001"
_MARK = re.compile(f"{_START}(.)([^{_END}]*){_END}")
# Authors glue the command to the word where the label will be raised; in a line of text it stands apart.
_GLUED_CITATION = re.compile(f"(?<=[\\w.,;:)”’]|{FOOTNOTE})(?={_START}[cpt])")
_KEY_WITH_YEAR = re.compile(r"(?:[a-z]+:)?([A-Za-z]{3,12}?)(?:[A-Z].*?|etal)?[-_:.]*((?:19|20)\d\d)")
_WHITESPACE = re.compile(r"\s+")
_TYPED = re.compile(r"``|''|---|--|`|'")
_TYPED_AS = {"``": "“", "''": "”", "---": "—", "--": "–", "`": "‘", "'": "’"}


@dataclass
class Inputs:
    """Files that ``\\input`` may name; each is opened a bounded number of times, so that loops end."""

    find: Callable[[str], str | None]
    most: int = 500
    missing: list[str] = field(default_factory=list)
    _opened: dict[str, int] = field(default_factory=dict)

    def open(self, path: str) -> str | None:
        path = path.strip().strip('"')
        times = self._opened.get(path, 0)
        if times >= 2 or len(self._opened) >= self.most:
            return None
        self._opened[path] = times + 1
        text = self.find(path)
        if text is None:
            self.missing.append(path)
        return text


def citation(command: str, keys: str) -> str:
    kind = "t" if command.rstrip("*") in ("citet", "textcite", "citealt", "citeauthor", "citeA") else "p"
    kind = kind if command != "cite" else "c"
    return f"{_START}{kind}{_WHITESPACE.sub('', keys)}{_END}"


def reference(command: str, label: str) -> str:
    lowered = command.lower()
    kind = "e" if "eq" in lowered else "a" if lowered in ("cref", "autoref") else "r"
    return f"{_START}{kind}{label.strip()}{_END}"


def tidy(text: str) -> str:
    """One paragraph with single blanks, and with the quotes and dashes that the page shows."""
    text = _WHITESPACE.sub(" ", text).strip()
    return _TYPED.sub(lambda match: _TYPED_AS[match.group()], text)


def as_wildcards(text: str) -> str:
    """The text with one character of `respace.latex.matching` in place of each mark."""
    return _MARK.sub(lambda match: comparison.CITATION if match[1] in "cpt" else comparison.REFERENCE, text)


class Labels:
    """Numbers for the labels of one document, in the order of their first use."""

    def __init__(self) -> None:
        self._citations: dict[str, int] = {}
        self._references: dict[str, int] = {}

    def fill(self, text: str) -> str:
        """The text with labels in place of its marks."""
        if _START in text:
            text = _MARK.sub(self._label, _GLUED_CITATION.sub(" ", text))
        return text.replace(FOOTNOTE, "")

    def _label(self, match: re.Match[str]) -> str:
        kind, content = match[1], match[2]
        if kind in "cpt":
            return self._cited(kind, [key for key in content.split(",") if key])
        number = self._references.setdefault(content, len(self._references))
        label = f"{number // 9 % 12 + 1}.{number % 9 + 1}" if kind != "a" else str(number % 40 + 1)
        if kind == "e":
            return f"({label})"
        if kind == "a":
            return f"{_reference_word(content)} {label}"
        return label

    def _cited(self, kind: str, keys: list[str]) -> str:
        dated = [_KEY_WITH_YEAR.match(key[:80]) for key in keys]
        if kind != "c" and keys and all(dated):
            names = [(match[1].capitalize(), match[2]) for match in dated if match]
            if kind == "t":
                return ", ".join(f"{name} et al. ({year})" for name, year in names)
            return "(" + "; ".join(f"{name} et al., {year}" for name, year in names) + ")"
        numbers = sorted(self._citations.setdefault(key, len(self._citations) + 1) for key in keys)
        return "[" + ", ".join(map(str, numbers)) + "]"


def _reference_word(label: str) -> str:
    words = {"fig": "Figure", "tab": "Table", "sec": "Section", "ch": "Chapter", "eq": "Equation", "thm": "Theorem",
             "lem": "Lemma", "prop": "Proposition", "def": "Definition", "cor": "Corollary", "app": "Appendix",
             "rem": "Remark", "ex": "Example"}  # fmt: skip
    prefix = label.split(":")[0].lower()
    return next((word for start, word in words.items() if prefix.startswith(start)), "Section")
