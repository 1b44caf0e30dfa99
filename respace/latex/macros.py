r"""The author's own macros: ``\newcommand``, ``\def``, ``\let``, ``\DeclareMathOperator`` and their relatives."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from respace.latex.reader import Budget, Reader
from respace.latex.symbols import names

DEFINING = names(
    """newcommand renewcommand providecommand newrobustcmd DeclareRobustCommand def gdef edef xdef let
    DeclareMathOperator DeclarePairedDelimiter NewDocumentCommand RenewDocumentCommand ProvideDocumentCommand
    DeclareDocumentCommand newenvironment renewenvironment NewDocumentEnvironment newtheorem"""
)
_DEFINITION = re.compile(r"\\(" + "|".join(sorted(DEFINING, key=len, reverse=True)) + r")(?![a-zA-Z])\*?")
_PARAMETER = re.compile(r"#([1-9])")
_BEGIN = re.compile(r"\\begin\s*\{([^}]*)\}")
_END = re.compile(r"\\end\s*\{([^}]*)\}")
_NAME = re.compile(r"\\(?:[a-zA-Z@]+|.)", re.DOTALL)
_LONGEST_BODY = 4000


@dataclass(frozen=True, slots=True)
class Macro:
    """``#1`` … in the body stand for arguments; ``default`` is the first one's value when it is left out."""

    body: str
    arguments: int = 0
    default: str | None = None

    def expand(self, values: list[str]) -> str:
        if not self.arguments:
            return self.body
        return _PARAMETER.sub(lambda m: values[int(m[1]) - 1] if int(m[1]) <= len(values) else "", self.body)


@dataclass
class Macros:
    """All definitions of a document; later ones replace earlier ones, as in LaTeX."""

    commands: dict[str, Macro] = field(default_factory=dict)
    operators: dict[str, str] = field(default_factory=dict)
    environments: dict[str, Macro] = field(default_factory=dict)
    theorems: set[str] = field(default_factory=set)
    enders: dict[str, set[str]] = field(default_factory=dict)
    originals: dict[str, str] = field(default_factory=dict)

    def gather(self, tex: str, budget: Budget) -> None:
        """Reads every definition of a file (without comments), wherever it stands."""
        for match in _DEFINITION.finditer(tex):
            self.define(match.group(1), Reader(tex[match.end() : match.end() + 2 * _LONGEST_BODY], budget))

    def define(self, command: str, reader: Reader) -> None:
        """Reads one definition, after its command."""
        reader.star()
        if command in ("def", "gdef", "edef", "xdef"):
            self._define_plain(reader)
        elif command == "let":
            self._let(reader)
        elif command == "DeclareMathOperator":
            name = _name(reader.argument())
            self.commands.pop(name, None)
            self.operators[name] = reader.argument()
        elif command == "DeclarePairedDelimiter":
            name, left, right = _name(reader.argument()), reader.argument(), reader.argument()
            self._store(name, Macro(rf"{left} #1 {right}", 1))
        elif command.endswith("DocumentCommand"):
            name, signature, body = _name(reader.argument()), reader.argument(), reader.argument()
            kinds = re.sub(r"[^moOsd]|\{[^}]*\}", "", signature)
            if set(kinds) <= {"m"}:
                self._store(name, Macro(body, len(kinds)))
            elif kinds and kinds[0] in "oO" and set(kinds[1:]) <= {"m"}:
                self._store(name, Macro(body, len(kinds), ""))
        elif command in ("newenvironment", "renewenvironment"):
            name = reader.argument()
            arguments, default = _arity(reader)
            self.environments[name] = Macro(reader.argument(), arguments, default)
        elif command == "NewDocumentEnvironment":
            name, signature = reader.argument(), reader.argument()
            self.environments[name] = Macro(reader.argument(), len(re.sub(r"[^moO]", "", signature)))
        elif command == "newtheorem":
            self.theorems.add(reader.argument())
        else:
            name = _name(reader.argument())
            arguments, default = _arity(reader)
            self._store(name, Macro(reader.argument(), arguments, default))

    def _define_plain(self, reader: Reader) -> None:
        token = reader.token()
        if token is None or token[0] not in ("word", "symbol"):
            return
        pattern = reader.until(re.compile(r"(?=\{)"))
        if pattern is None or re.sub(r"#[1-9]", "", pattern).strip():
            return  # delimited parameters are TeX programming, not notation
        self._store(token[1][1:], Macro(reader.argument(), len(_PARAMETER.findall(pattern))))

    def _let(self, reader: Reader) -> None:
        name = reader.argument()
        if reader.next_visible() == "=":
            reader.argument()
        target = reader.argument()
        if name.startswith("\\") and target.startswith("\\"):
            name, target = _name(name), _name(target)
            if target in self.operators:
                self.operators[name] = self.operators[target]
            elif target in self.commands:
                self._store(name, self.commands[target])
            elif name != target:
                self.originals[name] = target
                self._store(name, Macro("\\" + target + " "))

    def _store(self, name: str, macro: Macro) -> None:
        if not name or len(macro.body) > _LONGEST_BODY:
            return
        used = {match[1:] for match in _NAME.findall(macro.body)}
        if name in used or any(self.originals.get(other) == name for other in used):
            return  # defined by itself, perhaps under another name: the original meaning is the better one
        self.operators.pop(name, None)
        self.commands[name] = macro
        begins = set(_BEGIN.findall(macro.body))
        for environment in _END.findall(macro.body):
            if environment not in begins:
                self.enders.setdefault(environment, set()).add(name)

    def expand(self, name: str, reader: Reader) -> str | None:
        """The replacement of a command whose arguments the reader has before it, or None if it has none."""
        return _expanded(self.commands.get(name), reader)

    def begin(self, environment: str, reader: Reader) -> str | None:
        """What an author's environment begins with, its arguments read."""
        return _expanded(self.environments.get(environment), reader)

    def begins_with(self, environment: str) -> list[str]:
        """The environments that an author's environment opens."""
        macro = self.environments.get(environment)
        return _BEGIN.findall(macro.body) if macro else []


def _expanded(macro: Macro | None, reader: Reader) -> str | None:
    if macro is None:
        return None
    values: list[str] = []
    if macro.arguments and macro.default is not None:
        given = reader.optional()
        values.append(macro.default if given is None else given)
    while len(values) < macro.arguments:
        values.append(reader.argument())
    return macro.expand(values)


def _name(raw: str) -> str:
    match = _NAME.search(raw)
    return match.group()[1:] if match else ""


def _arity(reader: Reader) -> tuple[int, str | None]:
    count = reader.optional()
    if count is None or not count.strip().isdigit():
        return 0, None
    return int(count), reader.optional()
