"""A LaTeX document as a set of files: which one is the main file, what the others add, and the text of it all."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import islice

from respace.latex.body import BodyConverter, Paragraph
from respace.latex.macros import Macros
from respace.latex.marks import Inputs
from respace.latex.reader import Budget, Reader, without_comments

_BEGIN_DOCUMENT = re.compile(r"\\begin\s*\{document\}")
# Bounded everywhere: it runs over hostile text where no one can stop it.
_INPUT = re.compile(
    r"\\(?:input|include|subfile|usepackage|RequirePackage)[ \t]{0,9}(?:\[[^\]\n]{0,200}\])?[ \t]{0,9}"
    r"(?:\{([^{}\n]{1,500})\}|([\w./-]{1,200}))"
)
_MOST_INPUTS = 2000
_TITLE = re.compile(r"\\title\*?\s*(?:\[[^\]]*\])?\s*(?=\{)")


@dataclass
class Converted:
    """The paragraphs of a document, the commands whose meaning is unknown, and the files that it reads but has not."""

    paragraphs: list[Paragraph]
    unknown_commands: dict[str, int] = field(default_factory=dict)
    missing_inputs: list[str] = field(default_factory=list)


def decode(data: bytes) -> str:
    """A LaTeX file's text: UTF-8 where that fits, else Latin-1, which older sources are in."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("latin-1")


def main_files(files: Mapping[str, str]) -> list[str]:
    """The files that documents start from: those with a document body, else every file that no other one reads."""
    starts = [path for path, tex in files.items() if _BEGIN_DOCUMENT.search(without_comments(tex))]
    if starts:
        return sorted(starts)
    read: set[str] = set()
    for path, tex in files.items():
        for name in _inputs_of(without_comments(tex)):
            found = find_file(name, posixpath.dirname(path), files)
            if found and found != path:
                read.add(found)
    return sorted(path for path in files if path not in read and not path.endswith((".sty", ".cls")))


def find_file(name: str, directory: str, files: Mapping[str, str]) -> str | None:
    """The path of a file named in another one. Only files of the set are found: nothing outside is ever opened."""
    name = name.strip().strip('"')
    for base in (directory, "", posixpath.dirname(directory)):
        path = posixpath.normpath(posixpath.join(base, name))
        for candidate in (path, path + ".tex", path + ".sty"):
            if candidate in files:
                return candidate
    return _flattened(name, files)


def _flattened(name: str, files: Mapping[str, str]) -> str | None:
    """The one file that has this path with its directories folded into the name, as some archives store them."""
    wanted = "_" + posixpath.normpath(name).replace("/", "_").removesuffix(".tex").lstrip("._")
    found = [path for path in files if path.replace("/", "_").removesuffix(".tex").endswith(wanted)]
    return found[0] if len(found) == 1 else None


def convert(
    files: Mapping[str, str], main: str, *, library: Mapping[str, str] | None = None, budget: Budget | None = None
) -> Converted:
    """The running text of one document.

    Args:
        files: The document's files by path.
        main: The path of the file to start from.
        library: More files that it may read, such as macro files shared by several documents.
        budget: What the conversion may cost.

    Raises:
        LatexLimitError: the document costs more than its budget.
    """
    budget = budget or Budget()
    known = {**(library or {}), **files}
    directory = posixpath.dirname(main)
    clean: dict[str, str] = {}

    def open_clean(path: str) -> str:
        if path not in clean:
            clean[path] = without_comments(known[path])
        return clean[path]

    def find(name: str) -> str | None:
        path = find_file(name, directory, known)
        return None if path is None else open_clean(path)

    tex = open_clean(main)
    macros = Macros()
    for path in _reachable(main, directory, known, open_clean):
        macros.gather(open_clean(path), budget)
    inputs = Inputs(find)
    body = BodyConverter(macros, budget, inputs)
    start = _BEGIN_DOCUMENT.search(tex)
    paragraphs = body.convert(_front(tex[: start.start()]) + tex[start.end() :] if start else tex)
    return Converted(paragraphs, body.unknown_commands, inputs.missing)


@dataclass(frozen=True)
class LatexProject:
    """The files of a document, small enough to be sent to another process: its own, and those it reads from others."""

    files: Mapping[str, str]
    library: Mapping[str, str] = field(default_factory=dict)
    seconds: float = 60.0

    @classmethod
    def gather(cls, files: Mapping[str, str], library: Mapping[str, str], seconds: float = 60.0) -> LatexProject:
        """Takes along the files of a library that the document's files read, directly or through others."""
        known = {**library, **files}
        needed: dict[str, str] = {}
        waiting = list(files)
        while waiting:
            path = waiting.pop()
            for name in _inputs_of(without_comments(known[path])):
                found = find_file(name, posixpath.dirname(path), known)
                found = found or find_file(name, posixpath.dirname(next(iter(files))), known)
                if found and found not in files and found not in needed:
                    needed[found] = known[found]
                    waiting.append(found)
        return cls(files, needed, seconds)


def convert_document(document: LatexProject) -> Converted:
    """The running text of all of a document's main files, in the order of their names.

    Raises:
        LatexLimitError: it costs more than it may.
    """
    together = Converted([])
    budget = Budget(seconds=document.seconds)
    for main in main_files(document.files):
        one = convert(document.files, main, library=document.library, budget=budget)
        together.paragraphs += one.paragraphs
        together.missing_inputs += one.missing_inputs
        for name, count in one.unknown_commands.items():
            together.unknown_commands[name] = together.unknown_commands.get(name, 0) + count
    return together


def _front(preamble: str) -> str:
    """What the preamble holds of the page: the title."""
    title = _TITLE.search(preamble)
    return (
        preamble[title.start() : title.end()] + "{" + Reader(preamble[title.end() :], Budget()).argument() + "}\n\n"
        if title
        else ""
    )


def _reachable(main: str, directory: str, known: Mapping[str, str], open_clean: Callable[[str], str]) -> list[str]:
    """Files in the order in which their definitions take effect: what a file reads comes before its own."""
    order: list[str] = []
    seen: set[str] = set()

    def visit(path: str, depth: int) -> None:
        if path in seen or depth > 12 or len(seen) > 500:
            return
        seen.add(path)
        for name in _inputs_of(open_clean(path)):
            found = find_file(name, directory, known)
            if found:
                visit(found, depth + 1)
        order.append(path)

    visit(main, 0)
    return order


def _inputs_of(tex: str) -> list[str]:
    names: list[str] = []
    for match in islice(_INPUT.finditer(tex), _MOST_INPUTS):
        names.extend(part.strip() for part in (match[1] or match[2]).split(","))
    return names
