r"""Inline formulas as a reader of the PDF's text sees them.

Subscripts and superscripts are part of the line (``x_{n+1}`` is ``xn + 1``), letters of all alphabets and styles are
plain letters, fractions are written with a slash. `respace.latex.line` decides where blanks stand.
"""

from __future__ import annotations

import re

from respace.latex.line import Line
from respace.latex.macros import DEFINING, Macros
from respace.latex.reader import Budget, Reader
from respace.latex.symbols import (
    DECORATIONS,
    FUNCTION_NAMES,
    MATH_ACCENTS,
    MATH_CHARACTERS,
    MATH_SYMBOLS,
    NEGATED,
    PAIRS,
    TEXT_SYMBOLS,
    USUAL_LETTERS,
    USUAL_OPERATORS,
    USUAL_WORDS,
    accented,
    names,
)

# Stands for what has no place in a line of text (a matrix, an unknown command); such a paragraph is not used.
UNKNOWN = "\ue00f"

_TRANSPARENT = names(
    """mathbb mathbf mathcal mathfrak mathit mathrm mathscr mathsf mathtt mathnormal mathbbm mathbbmss boldsymbol bm bf
    rm it sf tt cal sc sl em frak Bbb mathbin mathrel mathord mathopen mathclose mathpunct mathinner left
    right big Big bigg Bigg bigl Bigl biggl Biggl bigr Bigr biggr Biggr bigm Bigm biggm displaystyle textstyle
    scriptstyle scriptscriptstyle limits nolimits ensuremath underline underbrace overbrace overrightarrow
    overleftarrow mathstrut strut cancel boxed smash nonumber notag relax protect emph textbf textit textrm
    textsf texttt textsc textup textnormal mathds symbf symcal symbb pmb hbox mathclap mathrlap mathllap middle
    allowbreak nobreak displaylimits upshape rmfamily bfseries itshape small normalsize large centering EuScript
    euscript eurm euf leavevmode noindent xspace mathbfit mathbfsf mathbold lowercase widebar"""
)
_SWALLOWED = {
    "label": 1, "phantom": 1, "vphantom": 1, "hphantom": 1, "hspace": 1, "vspace": 1, "color": 1, "index": 1,
    "tag": 1, "textcolor": 1, "kern": 0, "mkern": 0, "mspace": 1, "raisebox": 1, "footnotemark": 0, "hypertarget": 1,
    "footnote": 1, "colorbox": 1, "hyperlink": 1, "rule": 2, "mathcolor": 1,
}  # fmt: skip
_TEXTUAL = names("""text mbox textrm textnormal textup hbox textit textbf texttt textsf textsc emph intertext""")
DIMENSION = re.compile(r"\s*[-+]?[\d.]+\s*(mu|em|ex|pt|cm|mm|in)\s?")
_LETTERS = re.compile(r"[A-Za-z]+|\d[\d.]*|\s+|.", re.DOTALL)
# In braces of its own an operator or a comma is set without blanks: 80{,}000, d{=}256.
_LONE_SYMBOL = re.compile(r"(\\[a-zA-Z]+\s*|[\^_\]}]\s*)?\{([,:;=<>+/.-])\}")
_DEEPEST = 30
_MOST_EXPANSIONS = 500


class FormulaConverter:
    """Turns the inside of ``$...$`` into text. Formulas repeat, so their texts are kept."""

    def __init__(self, macros: Macros, budget: Budget) -> None:
        self._macros = macros
        self._budget = budget
        self._known: dict[str, str] = {}
        self._expansions = 0
        self.unknown_commands: dict[str, int] = {}

    def forget(self) -> None:
        """After a new definition the same formula may mean something else."""
        self._known.clear()

    def convert(self, tex: str) -> str:
        text = self._known.get(tex)
        if text is None:
            self._expansions = 0
            text = self._known[tex] = self._convert(tex, 0)
        return text

    def _convert(self, tex: str, depth: int) -> str:
        line = Line()
        self._read(tex, line, depth)
        return line.text()

    def _read(self, tex: str, line: Line, depth: int, in_script: bool = False) -> None:
        if depth > _DEEPEST:
            line.add("ord", UNKNOWN)
            return
        reader = Reader(_LONE_SYMBOL.sub(_ordinary, tex) if "{" in tex else tex, self._budget)
        first = in_script
        while (token := reader.token()) is not None:
            kind, text = token
            if kind == "text":
                self._characters(text, line, first, len(tex.strip()) == 1)
                first = first and not text.strip()
                continue
            if kind == "newline" or kind == "dollar":
                continue
            if kind == "brace":
                continue
            if kind == "other":
                if text in "^_":
                    self._script(reader, line, depth)
                elif text == "~":
                    line.add("space", "")
                continue
            self._command(text[1:].rstrip("*") or "*", reader, line, depth, first)
            first = False

    def _characters(self, text: str, line: Line, in_script: bool, alone: bool) -> None:
        for match in _LETTERS.finditer(text):
            piece = match.group()
            if piece.isspace():
                continue
            kind, symbol = MATH_CHARACTERS.get(piece, ("ord", piece))
            if in_script and (symbol == "−" or (alone and symbol in DECORATIONS)):
                kind = "ord" if symbol != "−" else "script_minus"
            if kind == "rel" and symbol == "=" and line.previous == "punct" and line.pieces[-1] == ":":
                line.pieces.pop()
                line.previous, line.pending_blank = "ord", False
                symbol = ":="
            line.add(kind, symbol)
            if kind == "script_minus":
                line.previous = "sign"
            in_script = False

    def _script(self, reader: Reader, line: Line, depth: int) -> None:
        raw = reader.argument()
        if raw.startswith("\\") and (name := raw[1:]) and name in self._macros.commands:
            raw = self._macros.expand(name, reader) or ""
        elif raw.startswith("\\") and re.fullmatch(r"\\[a-zA-Z]+", raw):
            kind, symbol = MATH_SYMBOLS.get(raw[1:], ("", ""))
            if symbol in DECORATIONS:
                line.add("ord", symbol)
                return
            if kind in ("", "function"):
                reader.push(raw + " ")  # a command with arguments of its own, such as ^\mathrm{T}
                return
        self._read(raw, line, depth + 1, in_script=True)
        if line.previous == "bin":  # a charge or a sign, as in W ±: what follows is spaced as after any symbol
            line.previous = "ord"

    def _command(self, name: str, reader: Reader, line: Line, depth: int, in_script: bool) -> None:
        if name[0].isalpha():
            reader.skip_blanks()
        if name in self._macros.operators:
            line.add("function", self._plain(self._macros.operators[name], depth))
            return
        if name in self._macros.commands:
            replacement = self._macros.expand(name, reader) or ""
            self._expansions += 1
            if self._expansions > _MOST_EXPANSIONS:
                line.add("ord", UNKNOWN)
                return
            self._budget.spend(len(replacement))
            self._read(replacement, line, depth + 1, in_script)
            return
        if name in MATH_SYMBOLS:
            kind, symbol = MATH_SYMBOLS[name]
            if in_script and symbol in DECORATIONS:
                kind = "ord"
            line.add(kind, symbol)
        elif name in FUNCTION_NAMES:
            line.add("function", {"limsup": "lim sup", "liminf": "lim inf"}.get(name, name))
        elif name in _TEXTUAL:
            self._text(reader.argument(), line, depth)
        elif name in ("left", "right", "middle", "bigl", "bigr", "Bigl", "Bigr", "biggl", "biggr"):
            self._delimiter(name, reader, line)
        elif name in _TRANSPARENT or name in "!/-":
            pass
        elif name in MATH_ACCENTS:
            inner = self._convert(reader.argument(), depth + 1)
            line.add("ord", accented(inner, MATH_ACCENTS[name]) if len(inner) == 1 else inner)
        else:
            self._structure(name, reader, line, depth)

    def _structure(self, name: str, reader: Reader, line: Line, depth: int) -> None:
        if name in ("frac", "tfrac", "dfrac", "nicefrac", "cfrac", "sfrac", "flatfrac"):
            above, below = (self._convert(reader.argument(), depth + 1) for _ in range(2))
            line.add("ord", f"{_bracketed(above)}/{_bracketed(below)}")
        elif name == "sqrt":
            degree = reader.optional() or ""
            line.add("ord", degree + "√" + _bracketed(self._convert(reader.argument(), depth + 1)))
        elif name in ("operatorname", "operatornamewithlimits", "mathop"):
            line.add("function", self._plain(reader.argument(), depth))
        elif name in ("overset", "stackrel", "underset"):
            reader.argument()
            self._read(reader.argument(), line, depth + 1)
        elif name in ("xrightarrow", "xleftarrow", "xhookrightarrow", "xmapsto", "xlongequal"):
            reader.optional()
            reader.argument()
            line.add("arrow", {"xleftarrow": "←", "xmapsto": "↦", "xhookrightarrow": "↪"}.get(name, "→"))
        elif name in ("pmod", "pod"):
            line.add("space", "")
            line.add("ord", f"({'mod ' if name == 'pmod' else ''}{self._convert(reader.argument(), depth + 1)})")
        elif name in ("bmod", "mod"):
            line.add("rel", "mod")
        elif name == "not":
            self._negated(reader, line)
        elif name in ("binom", "tbinom", "dbinom"):
            above, below = (self._convert(reader.argument(), depth + 1) for _ in range(2))
            line.add("ord", f"({above} {below})")
        elif name in ("textcolor", "color", "textsuperscript", "mathcolor"):
            if name != "textsuperscript":
                reader.argument()
        elif name in ("ref", "eqref", "cite", "citep", "citet"):
            reader.argument()
            line.add("ord", UNKNOWN)
        elif name in ("bra", "ket", "braket", "abs", "norm", "set", "Abs", "Norm", "qty", "ip"):
            left, right = PAIRS.get(name, ("|", "|"))
            line.add("open", left)
            self._read(reader.argument(), line, depth + 1)
            line.add("close", right)
        elif name in ("si", "unit", "num", "SI", "qty", "ang"):
            line.add("ord", UNKNOWN)
        elif name in _SWALLOWED:
            for _ in range(_SWALLOWED[name]):
                reader.argument()
            if name in ("kern", "mkern"):
                reader.until(DIMENSION)
        elif name == "ordinary":
            line.add("ord", reader.argument().replace("-", "−"))
        elif name == "mathchoice":
            reader.argument()
            self._read(reader.argument(), line, depth + 1)
            reader.argument()
            reader.argument()
        elif name in DEFINING:
            pass
        elif name in USUAL_OPERATORS:
            line.add("function", name)
        elif name in USUAL_LETTERS or name in USUAL_WORDS:
            line.add("ord", USUAL_LETTERS.get(name) or USUAL_WORDS[name])
        else:
            self.unknown_commands[name] = self.unknown_commands.get(name, 0) + 1
            line.add("ord", UNKNOWN)

    def _delimiter(self, name: str, reader: Reader, line: Line) -> None:
        raw = reader.argument()
        kind = "close" if name.endswith("r") or name == "right" else "open"
        symbol = MATH_SYMBOLS.get(raw[1:], ("", raw))[1] if raw.startswith("\\") else raw
        if raw in ("<", ">"):
            symbol = {"<": "⟨", ">": "⟩"}[raw]
        if symbol in ("|", "‖"):
            kind = "bar"
        if symbol != ".":
            line.add(kind, symbol)

    def _negated(self, reader: Reader, line: Line) -> None:
        raw = reader.argument()
        if raw in NEGATED:
            line.add("rel", NEGATED[raw])
            return
        symbol = MATH_SYMBOLS.get(raw[1:], ("", ""))[1]
        line.add("rel", symbol + "\u0338" if symbol else UNKNOWN)

    def _text(self, raw: str, line: Line, depth: int) -> None:
        """Words inside a formula keep their blanks."""
        if "\\" in raw or "$" in raw or "{" in raw or "~" in raw:
            raw = re.sub(r"\$([^$]*)\$", lambda m: self._convert(m[1], depth + 1), raw).replace("~", " ")
            raw = re.sub(r"\\([a-zA-Z]+\s*|.)", lambda m: self._word(m[1].strip() or " "), raw)
            raw = raw.replace("{", "").replace("}", "")
        if not raw.strip():
            line.add("space", "")
            return
        if raw[0].isspace():
            line.add("space", "")
        line.add("ord", " ".join(raw.split()))
        if raw[-1].isspace():
            line.add("space", "")

    def _word(self, name: str) -> str:
        if name in TEXT_SYMBOLS:
            return TEXT_SYMBOLS[name]
        return "" if name in _TRANSPARENT or name in _TEXTUAL or not name[0].isalpha() else UNKNOWN

    def _plain(self, raw: str, depth: int) -> str:
        """An operator's name."""
        return self._convert(re.sub(r"\\[,;!:]|~", " ", raw), depth + 1).replace("−", "-")


def _bracketed(text: str) -> str:
    """Brackets around what would otherwise read differently in one line."""
    return f"({text})" if " " in text.strip() or "/" in text else text


def _ordinary(match: re.Match[str]) -> str:
    """A symbol in braces of its own, unless they are those of an argument."""
    return match[0] if match[1] else rf"\ordinary{{{match[2]}}}"
