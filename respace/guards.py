"""Gaps that are never touched: inside addresses, names of programs, tags, beside joining characters, in other scripts.

No model is asked there, and no penalty is high enough: a space put into an address makes a broken address. `KINDS` is
the table of what is guarded and why. Two sorts of rules:

* *patterns* over the text, tried only where a trigger character occurs: all gaps inside a match are guarded, so that a
  word glued to the front of an address can still be cut off, and an address that was broken up can be joined;
* *neighbours*: what the two characters beside a gap are.

Texts come from strangers, and `re` can be stopped by nobody: a pattern takes as many steps as there are characters, in
whatever text. So where one fails, it is not tried again from every character that it has read: it begins at the edge
of a stretch alone (a look behind), gives back nothing of what it has read (possessive repeats), reads a bounded number
of characters, or steps over what it found to be nothing (a group named ``skipped``). A test measures all of them.

>>> text = "see&quot;http://www.example.com/a&quot; and"
>>> kinds = guarded_kinds(LaidTexts.of([text]))
>>> "".join("-" if kind else character for character, kind in zip(text.replace(" ", ""), kinds))
'see&-----h-----------------------------and'
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from respace.gaps import Bits, Codes
from respace.laid_texts import LaidTexts
from respace.loops import compiled

# Endings of host names that are no English word ("end.In 1990" lost a space, "example.in" did not).
_TOP_LEVEL = (
    "com|org|net|edu|gov|mil|info|biz|io|ai|dev|app|co|uk|de|fr|eu|ch|nl|ru|jp|cn|au|ca|pl|se|cz|fi|dk|br|kr|tv"
)
# A word may be glued to the front of these; any other name before :// is taken whole.
_SCHEMES = "https?|HTTPS?|ftps?|sftp|file|git|ssh|s3|gs|hdfs|jdbc:[a-z]+"
_FILE_ENDINGS = (
    "py|pyc|js|jsx|ts|tsx|json|jsonl|xml|html?|css|scss|txt|md|rst|tex|bib|pdf|docx?|xlsx?|pptx?|csv|tsv|png|jpe?g|gif|"
    "svg|zip|gz|tgz|tar|bz2|xz|exe|dll|ini|cfg|conf|toml|ya?ml|sh|bat|java|class|jar|cpp|cc|hpp|rb|rs|go|php|pl|sql|"
    "log|lock|parquet|ipynb|tmp|bak|cache|mp3|mp4|wav|avi|so|rpm|deb"
)
_ENTITY = r"&(?:[A-Za-z][A-Za-z0-9]{1,31}|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});"
_ATOMS = r"(?:Cl|Br|[BCFHINOPScnops]|\[[A-Za-z0-9@+-]{1,8}\]|[0-9=#()/\\@+%.-])++"
_KEY_COMMANDS = (
    "cite[a-z]*|[a-z]*ref|label|input|include[a-z]*|usepackage|documentclass|begin|end|bibliography[a-z]*|url|href|"
    "newcommand|renewcommand|hspace|vspace|setlength|pagestyle|index"
)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """One kind that is found in the text.

    Attributes:
        name: what it is, as reports call it.
        reason: why its gaps are left alone.
        triggers: one of these must be in a text, or in a word of it, for the pattern to be tried at all.
        pattern: all gaps inside a match are guarded, but for what a group named ``skipped`` matched.
        in_words: it never reaches over a space, and is tried on odd words alone (see `_odd_words`).
    """

    name: str
    reason: str
    triggers: tuple[str, ...]
    pattern: re.Pattern[str]
    in_words: bool = False

    def find(self, text: str) -> Iterator[tuple[int, int]]:
        """Where matches begin and end, from left to right."""
        return (match.span() for match in self.pattern.finditer(text) if match.lastgroup != "skipped")

    def may_match(self, text: str, characters: set[str]) -> bool:
        """Whether one of the triggers is in a text, of which the different characters are given too."""
        return not self._signs.isdisjoint(characters) or any(string in text for string in self._strings)

    @cached_property
    def _signs(self) -> frozenset[str]:
        return frozenset(trigger for trigger in self.triggers if len(trigger) == 1)

    @cached_property
    def _strings(self) -> tuple[str, ...]:
        return tuple(trigger for trigger in self.triggers if len(trigger) > 1)


def _kind(name: str, reason: str, triggers: str, pattern: str, *, in_words: bool = False) -> Pattern:
    return Pattern(
        name=name, reason=reason, triggers=tuple(triggers.split()), pattern=re.compile(pattern), in_words=in_words
    )


# A pattern is searched for faster if it begins with characters: what must not stand before them is asked afterwards.
PATTERNS = (
    _kind(
        "entity",
        "a character of markup, written as a name",
        "&",
        # With a space on one side it is written to the other: as a bracket is, or a quotation mark.
        rf"(?<!\S){_ENTITY}\S?|\S?{_ENTITY}(?!\S)|{_ENTITY}",
    ),
    _kind(
        "tag",
        "names and values of markup",
        "<",
        r"</?[A-Za-z][\w:.-]*+(?:\s*+/?>|\s++[\w:@.-]++\s*+(?:=[^<>\n]*+)?/?>)|<[\w./+-]++(?:(?<=[\w./+-]\.h)|(?<=[\w./+-]\.hpp))>"
        # As far as the next one: an open comment is looked for no further.
        r"|<!--[^\n<-]*+(?:(?!-->|<!--)[<-][^\n<-]*+)*+(?:-->|(?=<!--))",
    ),
    _kind(
        "address",
        "a space in it makes it another one, or none",
        ":// www. WWW. mailto:",
        rf"(?:(?:{_SCHEMES})://|(?<!\w)[a-z]{{2,9}}(?<!http)(?<!https)(?<!ftp)://|[wW]{{3}}\.(?=[\w-])|mailto:)(?:[^\s<>\"“”'‘’`|\\^{{}}]*[\w/=&#%~+$-])?",
        in_words=True,
    ),
    _kind(
        "host name",
        "a space in it makes it another one",
        ".",
        # No label of a host name is longer than 63 characters.
        rf"\b[a-z0-9](?:[a-z0-9-]{{0,62}}[a-z0-9])?(?:\.[a-z0-9-]{{1,63}}+){{0,8}}\.(?:{_TOP_LEVEL})(?![\w-])"
        r"(?::\d++)?(?:/[^\s<>\"]*[\w/])?",
        in_words=True,
    ),
    _kind(
        "e-mail address",
        "a space in it makes it another one",
        "@",
        r"(?:\{[^{}\n]{1,120}\}|(?<![\w.+%-])[\w.+%-]++)@[\w-]++(?:\.[\w-]++)++",
    ),
    _kind(
        "identifier of a document",
        "numbers and letters that are looked up as they are",
        "10. arXiv: /",
        r"\b10\.[0-9]{4,9}/[^\s<>\"]*[\w/)]|\barXiv:[\w.-]+(?:/\d{7})?(?:v\d+)?|\b(?:hep|astro|cond|quant|nucl|gr)-"
        r"[a-z]{2,4}/\d{7}",
        in_words=True,
    ),
    _kind(
        "path",
        "names of files are looked up as they are",
        "/ \\",
        r"(?<![\w/.<])(?:~|\.{1,2})?/[\w.@+~-]++(?:/[\w.@+~*-]++)++/?"
        r"|(?:(?<![\w/.@+-])|(?<=//))[\w.@+-]++(?:/[\w.@+*-]++){0,40}/[\w@+*-]++\.[A-Za-z]{1,5}\b"
        r"|\b[A-Za-z]:\\[^\s\"<>|:*?]*+|(?<![\w.-])(?=[\w.-]*[A-Za-z])[\w.-]++(?:\\[A-Za-z][\w.-]*+){2,}+",
        in_words=True,
    ),
    _kind(
        "file name",
        "names of files are looked up as they are",
        ".",
        rf"\b[\w-]{{1,96}}+(?<=[A-Za-z0-9_])\.(?:{_FILE_ENDINGS})(?!\w)",
        in_words=True,
    ),
    _kind(
        "handle",
        "names that are written in one word, whatever the words in them",
        "@ #",
        r"(?<![\w&/#@.])[@#][^\W\d_]\w++",
        in_words=True,
    ),
    _kind(
        "name with underscores",
        "names of programs are written in one word",
        "_",
        r"(?<![A-Za-z0-9_.$-])[A-Za-z0-9_.$-]*?[A-Za-z0-9]_++[A-Za-z0-9][\w.$-]*+\(?|\b__?[A-Za-z]\w*+",
        in_words=True,
    ),
    _kind(
        "dotted name",
        "names of programs are written in one word",
        ". :: ->",
        r"(?<![\w.])[A-Za-z_]\w++(?:\.[A-Za-z_]\w++)++\((?=\S)"
        r"|(?<![\w.])[a-z_]\w++(?:\.[a-z_]\w++(?=\.[A-Za-z_]\w))++\.[A-Za-z_]\w++(?!\.\w)"
        r"|(?<!\w)(?>\w*?[a-z][A-Z][a-z])\w*+(?:\.[A-Za-z_]\w++)++"
        r"|(?<!\w)[a-z_]\w*+\.[A-Z][a-z]++(?:[A-Z][a-z]++){2,}+|(?:::|->)[A-Za-z_]\w*+|(?<!\w)\w++(?:::\w++)++",
        in_words=True,
    ),
    _kind("empty brackets", "calls and types of programs", "()", r"\S[ ]?\(\)"),
    _kind(
        "checksum or code",
        "letters and digits without words",
        "0 1 2 3 4 5 6 7 8 9 =",
        r"\b[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}\b|\b(?:[0-9A-Fa-f]{2}[:-]){3,}[0-9A-Fa-f]{2}\b"
        r"|\b(?=[a-fA-F]*[0-9])[0-9a-fA-F]{12,}\b|\b0[xX][0-9a-fA-F]+\b"
        r"|(?<![\w+/])(?=[A-Za-z+/]*\d)(?=[a-z0-9+/]*[A-Z])(?=[A-Z0-9+/]*[a-z])"
        r"(?=(?:[A-Za-z+/]+\d+){2})(?=(?:[A-Z0-9+/]*[a-z][a-z0-9+/]*[A-Z]){3})[A-Za-z0-9+/_-]{16,}={0,2}"
        r"|(?<![\w+/])[A-Za-z0-9+/]{12,}+={1,2}+(?![\w=])",
        in_words=True,
    ),
    _kind(
        "structural formula",
        "atoms and bonds are one name of a molecule",
        "= #",
        rf"(?<![^\s(\"'])(?:(?=\S{{8}})(?={_ATOMS}(?![^\s,;\"']))(?=\S{{0,99}}?C)(?=\S{{0,99}}?[=#]){_ATOMS}|(?P<skipped>{_ATOMS}))",
        in_words=True,
    ),
    _kind("sequence of bases", "letters without words", "A C G T", r"[ACGTUN](?<!\w.)[ACGTUN]{9,}+\b"),
    _kind(
        "number",
        "digits and their signs are one number",
        "0 1 2 3 4 5 6 7 8 9",
        r"(?<![\w.])\d+(?:\.\d+){2,}(?::\d+)?(?![\w.])|(?<![\w:])\d{1,2}:\d\d(?::\d\d)?(?:[.,]\d+)?(?![\w:])"
        r"|(?<![\w-])\d{4}-\d\d-\d\d(?:T[\d:.]+Z?)?(?![\w-])|(?<![\w,.])\d{1,3}(?:,\d{3})+(?:\.\d+)?(?![\w,])"
        r"|(?<![\w.])(?:\d{4};)?\d+(?:\(\d+(?:[-–]\d+)?\))?:\d+(?:[-–]\d+)?(?![\w:])|(?<!\w)\d{4};\d+(?:\(\d+\))?",
        in_words=True,
    ),
    _kind(
        "LaTeX",
        "commands, and keys that are looked up as they are",
        "\\",
        rf"(?:\S[ ])?\\(?:{_KEY_COMMANDS})\*?\s?(?:\[[^\]\n]{{0,400}}+\])?\{{[^{{}}\n]*+\}}"
        r"|(?:\S[ ])?(?<![a-z])\\[A-Za-z@]+\*?(?:[\[{]|[ ]\S)?|\\[^\w\s]",
    ),
    _kind(
        "quoted code",
        "between backticks stands what a machine reads",
        "`",
        r"(?<!`)(`{1,3})(?![`\s])[^`'\n]{1,200}(?<!\s)\1(?!`)",
    ),
    _kind(
        "quoted name",
        "names that programs look up are written in one word",
        '"',
        r'"[a-z0-9]+(?:-[a-z0-9]+)+"(?=[],:)}>=])',
    ),
    _kind(
        "fields of a table",
        "signs between fields have no spaces around them",
        ", ; |",
        r"(?<!\S)(?=\S*?(?:\d|,,|;;|\|\|))[^\s,;|]{0,24}+([,;|])(?:[^\s,;|]{0,24}+\1){3,}+[^\s,;|]{0,24}+(?!\S)",
        in_words=True,
    ),
    _kind("labelled field of a table", "signs between fields have no spaces around them", ":,", r":,\S"),
    _kind(
        "macro of a manual",
        "commands of a typesetter and their arguments, to the end of the line",
        ".SH .TP .PP .IR .BR .Sh .Bl .Nm",
        r"(?m)^\.(?!(?:In|It|We|He|At|On|Of|To|By|As|If|Is|My|No|Or|So) )(?:[A-Z][A-Za-z]|[BI])(?= \S).*\S",
    ),
    _kind("place in a file", "read by machines", "@@", r"@@ -\d+(?:,\d+)? \+\d+(?:,\d+)? @@"),
    _kind("box to tick", "the space is the box", "[", r"\[(?<![\w\]].) \]"),
    _kind("line of signs", "leaders, rules and fields of forms", ". _ - * = ~ #", r"([._*=~#-])(?:[ ]{0,2}\1){3,}"),
)
_IN_WORDS = tuple(kind for kind in PATTERNS if kind.in_words)
_OVER_SPACES = tuple(kind for kind in PATTERNS if not kind.in_words)
HUMPS, SERIES, JOINING, SCRIPT, WIDE = "name with humps", "series", "joining character", "other script", "layout"
UNREADABLE = "unreadable character"
NEIGHBOURS = {
    SERIES: "letters of the alphabet, one after the other",
    HUMPS: "names of programs and products are written in one word",
    JOINING: "accents, emoji and flags are put together from several characters",
    SCRIPT: "the models know Latin letters alone",
    UNREADABLE: "what stood there is not known, nor whether it was a letter",
    WIDE: "a tab or several spaces are layout: columns of a table, a heading and its number",
}
REASONS = {**{kind.name: kind.reason for kind in PATTERNS}, **NEIGHBOURS}
# Guarded gaps hold the number of their kind, counted from 1; 0 is a gap that is free.
KINDS = ("", *(kind.name for kind in PATTERNS), *NEIGHBOURS)
_NUMBER = {name: number for number, name in enumerate(KINDS)}
# Where a line lost its spaces, only these are still seen for what they are. (Where an address ends is not; but a new
# error is worse than one that stays.)
_IN_LOST_LINES = np.isin(
    KINDS, ["entity", "tag", "address", "quoted name", "structural formula", JOINING, SCRIPT, UNREADABLE]
)
# Two words that lost the space between them look like a name of a program: `theInput`, `NewYork`. It is a name if signs
# of code stand around it, if it has many humps, if it comes again (errors seldom repeat themselves), or if several
# others in the same text are names.
_HUMPED = re.compile(
    r"(?<![^\W_])(?=[A-Za-z0-9]*+(?![^\W_]))[A-Za-z][A-Za-z0-9]*?[a-z][A-Z][A-Za-z0-9]*+|(?<!\w)[a-z][A-Z][A-Za-z0-9]*+"
)
_CODE_BEFORE, _CODE_AFTER = frozenset("@$<{/`*&!_\\#"), frozenset("[<{=`_")
_MANY_HUMPS = re.compile(r"\A(?:[A-Za-z][a-z0-9]++(?:[A-Z][a-z0-9]++){3,}+|[a-z]++(?:[A-Z][a-z0-9]++){2,}+)\Z")
_GLUED_FRONT = re.compile(r"(?:the|of|in|by|and|for|to|with|from|was|is|are|on|at|as|that|a|an|or|his|her|its)[A-Z]")
# Longer than a word: no part of a name is.
_LOST_SPACES = re.compile(r"[a-z]{24}")
# What is found in longer words is not kept.
_SHORT_WORD = 48
# Deletions are guarded where a run of whitespace is a tab or at least this long.
_WIDE_SPACE = 3

# Signs that stand between two characters of a word in addresses and names, hyphens and apostrophes apart.
_SMALL, _CAPITAL, _DIGIT, _HYPHEN, _SIGN, _PLAIN = range(6)
_CHARACTER_KINDS = np.full(128, _PLAIN, dtype=np.uint8)
_CHARACTER_KINDS[ord("a") : ord("z") + 1] = _SMALL
_CHARACTER_KINDS[ord("A") : ord("Z") + 1] = _CAPITAL
_CHARACTER_KINDS[ord("0") : ord("9") + 1] = _DIGIT
_CHARACTER_KINDS[ord("-")] = _HYPHEN
_CHARACTER_KINDS[[ord(sign) for sign in "./\\_:@#|;,=+~$%&*<"]] = _SIGN

# Ranges of code points, first and last. Zero-width, direction, byte order mark, variation, tags of flags.
_INVISIBLE = ((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF))
_HIGH_INVISIBLE = ((0xE0000, 0xE01EF),)
# What belongs to the character before it: accents, keycaps, skin colours.
_MARKS = ((0x0300, 0x036F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x20D0, 0x20FF), (0xFE20, 0xFE2F), (0x1F3FB, 0x1F3FF))
_PICTURES = ((0x2600, 0x27BF), (0x2B00, 0x2BFF), (0x1F000, 0x1FAFF))
# What stands for bytes that could not be decoded: the sign for it, and halves of characters that hold the byte.
_UNREADABLE = ((0xFFFD, 0xFFFD), (0xDC80, 0xDCFF))
_GREEK = ((0x0370, 0x03FF), (0x1F00, 0x1FFF))
# Cyrillic to Georgian and so on, Chinese, Japanese, Korean and their signs, halves of characters (lone surrogates), and
# all that lies above the emoji.
_SCRIPTS = (
    (0x0400, 0x1CFF),
    (0x2C00, 0x2C5F),
    (0x2C80, 0x2DFF),
    (0x2E80, 0xA71F),
    (0xA800, 0xAB2F),
    (0xAB70, 0xDFFF),
    (0xF900, 0xFAFF),
    (0xFB07, 0xFDFF),
    (0xFE30, 0xFE4F),
    (0xFE70, 0xFEFE),
    (0xFF00, 0xFFEF),
    (0x10000, 0x1CFFF),
    (0x1E000, 0x1EFFF),
    (0x20000, 0x3FFFF),
)
_FIRST_UNUSUAL = 0x0300
# So many Greek letters in a row are a word; fewer may be a formula.
_GREEK_WORD = 4
# So many steps from a letter to the next one are a series.
_SERIES = 4


def guarded_kinds(laid: LaidTexts, lost: Bits | None = None) -> NDArray[np.uint8]:
    """For each gap of texts the number of its kind in `KINDS`, 0 where it is free.

    Args:
        laid: the texts.
        lost: gaps of lines that lost their spaces.
    """
    kinds = np.zeros(len(laid.bits), dtype=np.uint8)
    if len(kinds) < 2:
        return kinds
    spans = _Spans(laid.positions, kinds)
    _guard_patterns(laid, spans)
    _guard_words(laid, spans)
    _guard_layout(laid, kinds)
    _guard_series(laid.characters, laid.bits, _NUMBER[SERIES], kinds)
    if int(laid.characters.max()) >= _FIRST_UNUSUAL:
        _guard_neighbours(laid, kinds)
    if lost is not None and lost.any():
        kinds[lost & ~_IN_LOST_LINES[kinds]] = 0
    kinds[laid.not_empty[:-1]] = 0
    return kinds


class _Spans:
    """Marks the gaps inside stretches of a text, of which it is known where its characters stand."""

    def __init__(self, positions: NDArray[np.intp], kinds: NDArray[np.uint8]):
        self._positions, self._kinds = positions, kinds

    def guard(self, start: int, stop: int, name: str) -> None:
        # Gaps strictly inside: from before the second character to before the last one.
        first, last = self._positions.searchsorted(start), self._positions.searchsorted(stop - 1)
        inside = self._kinds[first + 1 : last + 1]
        inside[inside == 0] = _NUMBER[name]


def _guard_patterns(laid: LaidTexts, spans: _Spans) -> None:
    characters = set(laid.joined)
    # A trigger must be in the same text.
    characters_of = lru_cache(maxsize=None)(lambda number: set(laid.texts[number]))
    for kind in _OVER_SPACES:
        if kind.may_match(laid.joined, characters):
            for start, stop in kind.find(laid.joined):
                number = laid.text_at(start)
                if len(laid.texts) == 1 or kind.may_match(laid.texts[number], characters_of(number)):
                    spans.guard(start, stop, kind.name)


def _guard_words(laid: LaidTexts, spans: _Spans) -> None:
    """Tries the patterns within words, and words with humps, on all odd words."""
    humped: dict[int, list[tuple[int, int]]] = {}
    for start, stop in _odd_words(laid):
        word = laid.joined[start:stop]
        for first, last, name in _found_before(word) if len(word) <= _SHORT_WORD else _found_in(word):
            if name == HUMPS:
                humped.setdefault(laid.text_at(start), []).append((start + first, start + last))
            else:
                spans.guard(start + first, start + last, name)
    for found in humped.values():
        _guard_humps(laid.joined, spans, found)


def _found_in(word: str) -> list[tuple[int, int, str]]:
    """Matches of the patterns within a word, in their order, and its parts with humps."""
    characters = set(word)
    kinds = [kind for kind in _IN_WORDS if kind.may_match(word, characters)]
    found = [(start, stop, kind.name) for kind in kinds for start, stop in kind.find(word)]
    return found + [(*match.span(), HUMPS) for match in _HUMPED.finditer(word)]


# Numbers, years and names come again and again.
_found_before = lru_cache(maxsize=1 << 14)(_found_in)


def _odd_words(laid: LaidTexts) -> list[list[int]]:
    """Words, between spaces, with a sign, a digit or a capital in their middle that plain words do not have there.

    In running text a few in a hundred: patterns need not be tried on the others.
    """
    spaces = np.ones(len(laid.codes), dtype=bool)
    spaces[laid.positions] = False
    edges = np.empty((len(spaces) // 2 + 1, 2), dtype=np.int64)
    found: list[list[int]] = edges[: _find_odd_words(laid.codes, spaces, _CHARACTER_KINDS, edges)].tolist()
    return found


@compiled
def _find_odd_words(codes: Any, spaces: Any, kinds: Any, edges: Any) -> int:
    """Writes where odd words start and stop, and returns how many there are."""
    found, start, odd = 0, 0, False
    left = kinds[127]
    for at in range(len(codes)):
        if spaces[at]:
            if odd:
                edges[found, 0], edges[found, 1] = start, at
                found += 1
            start, odd = at + 1, False
            continue
        right = kinds[min(codes[at], np.uint32(127))]
        if at > start and not odd:
            odd = (
                (left == _SIGN and right != _HYPHEN)
                or (left == _SMALL and right == _CAPITAL)
                or (left == _DIGIT and (right <= _CAPITAL or right == _HYPHEN))
                or (right == _DIGIT and left <= _CAPITAL)
            )
        left = right
    if odd:
        edges[found, 0], edges[found, 1] = start, len(codes)
        found += 1
    return found


def _guard_humps(text: str, spans: _Spans, found: list[tuple[int, int]]) -> None:
    found = [(start, stop) for start, stop in found if not _LOST_SPACES.search(text, start, stop)]
    if not found:
        return
    often = Counter(text[start:stop] for start, stop in found)
    names = [_is_name(text, start, stop) or often[text[start:stop]] > 1 for start, stop in found]
    in_company = len({text[start:stop] for (start, stop), name in zip(found, names, strict=True) if name}) >= 2
    for (start, stop), name in zip(found, names, strict=True):
        if name or in_company:
            # What a program calls has its arguments right behind it.
            spans.guard(start, stop + (text[stop : stop + 1] == "("), HUMPS)


def _is_name(text: str, start: int, stop: int) -> bool:
    """Whether what stands around a word with humps, or the number of humps, says that it is the name of something."""
    name, before, after = text[start:stop], text[start - 1 : start], text[stop : stop + 1]
    quoted = before == after and before in ("'", '"') and name[0].islower()
    glued = _GLUED_FRONT.match(name) is not None
    called = after == "(" and name[0].islower() and not glued
    many = _MANY_HUMPS.match(name) is not None and not glued
    return quoted or called or many or before in _CODE_BEFORE or after in _CODE_AFTER


def _guard_layout(laid: LaidTexts, kinds: NDArray[np.uint8]) -> None:
    if not _has_layout(laid.joined):
        return
    tabs = np.cumsum(laid.codes == ord("\t"))[laid.positions]
    wide = np.zeros(len(kinds), dtype=bool)
    wide[1:] = (np.diff(laid.positions) > _WIDE_SPACE) | (tabs[1:] > tabs[:-1])
    for number, text in enumerate(laid.texts):
        if not _has_layout(text):
            wide[laid.starts[number] : laid.starts[number + 1]] = False
    kinds[wide & (kinds == 0)] = _NUMBER[WIDE]


def _has_layout(text: str) -> bool:
    return "\t" in text or " " * _WIDE_SPACE in text


@compiled
def _guard_series(characters: Any, bits: Any, number: int, kinds: Any) -> None:
    """Single letters or digits that follow each other in the alphabet, as in ``A B C D``, are no word torn apart."""
    steps = 0
    for at in range(1, len(bits)):
        alone = at + 1 < len(bits) and bits[at] and bits[at + 1]
        if alone and characters[at] == characters[at - 1] + 1:
            steps += 1
            continue
        if steps >= _SERIES:
            for gap in range(at - 1 - steps, at + 1):
                kinds[gap] = number
        steps = 0


def _guard_neighbours(laid: LaidTexts, kinds: NDArray[np.uint8]) -> None:
    characters, bits = laid.characters, laid.bits
    invisible = _within(characters, _INVISIBLE + _HIGH_INVISIBLE)
    marks = _within(characters, _MARKS)
    pictures = _within(characters, _PICTURES)
    # A mark that was torn from its letter may be put back, never torn off.
    joining = (marks & ~bits) | invisible
    joining[1:] |= invisible[:-1] | (pictures[1:] & pictures[:-1])
    script = _within(characters, _SCRIPTS) | _greek_words(laid)
    script[1:] |= script[:-1].copy()
    unreadable = _within(characters, _UNREADABLE)
    unreadable[1:] |= unreadable[:-1].copy()
    kinds[unreadable & (kinds == 0)] = _NUMBER[UNREADABLE]
    kinds[script & (kinds == 0)] = _NUMBER[SCRIPT]
    kinds[joining & (kinds == 0)] = _NUMBER[JOINING]


def _greek_words(laid: LaidTexts) -> Bits:
    greek = _within(laid.characters, _GREEK)
    if not greek.any():
        return greek
    begins = laid.bits.copy()
    begins[laid.not_empty[:-1]] = True
    first = greek.copy()
    first[1:] &= ~greek[:-1] | begins[1:]
    word = np.cumsum(first)
    lengths = np.bincount(word, greek)
    return greek & (lengths[word] >= _GREEK_WORD)


def _within(codes: Codes, ranges: tuple[tuple[int, int], ...]) -> Bits:
    out = np.zeros(len(codes), dtype=bool)
    for first, last in ranges:
        out |= (codes >= first) & (codes <= last)
    return out
