"""Wikitext to running text: the paragraphs a reader sees, without the machinery around them.

Parsing is mwparserfromhell's (a tokenizer in C with bounded depth); what to keep is decided here. Templates are not
expanded. Where something that a reader would see inside a sentence cannot be kept (a template, a formula, code), the
text gets `LOST`, so that the sentence can be thrown away: a sentence with a hole in it teaches wrong spacing.

>>> paragraphs("'''Ada''' wrote [[program (computing)|programs]].<ref>Toole</ref>\\n* stub\\n== Life ==\\nBorn.")
['Ada wrote programs.', 'Born.']
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Iterable

import mwparserfromhell
from mwparserfromhell import nodes
from mwparserfromhell.wikicode import Wikicode

# An object stood here that plain text cannot show (U+FFFC is Unicode's own character for that).
LOST = "￼"
_BREAK = "\n\n"
# A line that starts with this was an item of a list; private, never in the output.
_ITEM = "\x01"


def _names(text: str) -> frozenset[str]:
    return frozenset(name.strip() for name in text.split(","))


# Notes and marks set at the end of a word or sentence: a reader skips them, the sentence is whole without them.
_NOTE_TEMPLATES = _names(
    """
    harv, harvnb, harvtxt, rp, ref, note, cn, fact, page needed, clarify, when, which, who, whom, by whom, where, why,
    vague, dubious, verify source, failed verification, better source needed, full citation needed, dead link, anchor,
    not in citation given, unreliable source?, according to whom, original research inline, disputed inline
    """
)
_NOTE_PREFIXES = ("sfn", "refn", "efn", "citation", "cite ")
_SPACE_TEMPLATES = _names("nbsp, thinsp, thin space, space, spaces, hair space, snd, spaced ndash")
# Contents are what a reader sees as running text.
_TRANSPARENT_TAGS = _names(
    """
    b, i, u, em, strong, small, big, span, font, abbr, cite, q, dfn, sub, sup, nowiki, noinclude, onlyinclude, var,
    samp, kbd, tt, bdi, bdo, ins, s, del, strike, section
    """
)
# Blocks of running text: their contents are paragraphs of their own.
_BLOCK_TAGS = _names("blockquote, div, p, center")
# Blocks beside the text: gone without a trace.
_DROPPED_TAGS = _names(
    """
    ref, references, gallery, table, timeline, imagemap, poem, includeonly, templatestyles, indicator, inputbox,
    categorytree, mapframe, score, graph, pre, ul, ol, dl, li, dd, dt, tr, td, th, caption
    """
)
_LIST_MARKUP = frozenset(["*", "#", ":", ";"])
# Links that are pictures or filing, not words; the English names of the namespaces and their aliases.
_FILED_LINK = re.compile(r"\s*(?:file|image|media|category)\s*:", re.IGNORECASE)
_INTERLANGUAGE_LINK = re.compile(r"[a-z]{2,3}(?:-[a-z]+)?:")
_MAGIC_WORD = re.compile(r"__[A-Z]{3,}__")
_QUOTE_RUN = re.compile(r"'{2,}")
_WHITESPACE = re.compile(r"\s+")
_TABLE_LINE = re.compile(r"\s*(?:\{\||\||!.*[|!])")


def paragraphs(wikitext: str, counts: Counter[str] | None = None) -> list[str]:
    """The paragraphs of an article.

    Args:
        wikitext: the source of a page.
        counts: what was dropped is added here, by kind (`table`, `list_item`, `formula`, ...).

    Returns:
        One string without line breaks for each paragraph. It may contain `LOST`.
    """
    counts = Counter() if counts is None else counts
    out: list[str] = []
    _render(mwparserfromhell.parse(wikitext, skip_style_tags=False), out, counts)
    return list(_assemble("".join(out), counts))


def _assemble(text: str, counts: Counter[str]) -> Iterable[str]:
    """Lines that follow each other are one paragraph, as in MediaWiki; list items and stray table rows are none."""
    current: list[str] = []
    for line in _MAGIC_WORD.sub("", text).split("\n"):
        if line.startswith(_ITEM):
            counts["list_item"] += 1
            line = ""
        elif _TABLE_LINE.match(line):
            # The rest of a table whose markup does not close; a paragraph does not start like this.
            counts["stray_table_line"] += 1
            line = ""
        # The parser leaves an entity alone where it gave up on the markup around it.
        line = html.unescape(_QUOTE_RUN.sub("", line).replace(_ITEM, ""))
        line = _WHITESPACE.sub(" ", line).strip()
        if line:
            current.append(line)
        elif current:
            yield " ".join(current)
            current = []
    if current:
        yield " ".join(current)


def _render(code: Wikicode, out: list[str], counts: Counter[str]) -> None:
    children = code.nodes
    for index, node in enumerate(children):
        if isinstance(node, nodes.Text):
            out.append(str(node.value))
        elif isinstance(node, nodes.Wikilink):
            _render_wikilink(node, out, counts)
        elif isinstance(node, nodes.Tag):
            _render_tag(node, out, counts)
        elif isinstance(node, nodes.Template):
            _render_template(node, children[index + 1] if index + 1 < len(children) else None, out, counts)
        elif isinstance(node, nodes.ExternalLink):
            # Without a title a reader sees a number in brackets, as for a note; a bare address stays and is judged
            # with its sentence.
            if node.title is not None:
                _render(node.title, out, counts)
            elif not node.brackets:
                out.append(str(node.url))
        elif isinstance(node, nodes.HTMLEntity):
            out.append(_entity(node))
        elif isinstance(node, nodes.Heading):
            counts["heading"] += 1
            out.append(_BREAK)
        elif isinstance(node, nodes.Argument):
            counts["template_argument"] += 1
            out.append(LOST)


def _render_wikilink(node: nodes.Wikilink, out: list[str], counts: Counter[str]) -> None:
    title = str(node.title)
    if _FILED_LINK.match(title) or (node.text is None and _INTERLANGUAGE_LINK.match(title)):
        counts["file_or_category"] += 1
    elif node.text is not None and str(node.text).strip():
        _render(node.text, out, counts)
    else:
        shown = title.strip().lstrip(":")
        if node.text is not None:  # [[a (b)|]]: the pipe trick shows a
            shown = re.sub(r"\s*\([^)]*\)$", "", shown.split(":", 1)[-1])
        out.append(shown.replace("_", " "))


def _render_tag(node: nodes.Tag, out: list[str], counts: Counter[str]) -> None:
    name = str(node.tag).strip().lower()
    if node.wiki_markup in _LIST_MARKUP:
        out.append(_ITEM)
    elif name == "br":
        out.append(" ")
    elif name == "hr":
        out.append(_BREAK)
    elif name in _TRANSPARENT_TAGS:
        _render(node.contents, out, counts)
    elif name in _BLOCK_TAGS:
        out.append(_BREAK)
        _render(node.contents, out, counts)
        out.append(_BREAK)
    elif name in _DROPPED_TAGS:
        counts[name] += 1
        if name != "ref":
            out.append(_BREAK)
    else:
        counts["formula" if name in ("math", "chem", "ce") else "other_tag"] += 1
        out.append(LOST)


def _render_template(node: nodes.Template, after: nodes.Node | None, out: list[str], counts: Counter[str]) -> None:
    name = _WHITESPACE.sub(" ", str(node.name).replace("_", " ")).strip().lower()
    if name in _SPACE_TEMPLATES:
        out.append(" – " if name in ("snd", "spaced ndash") else " ")
    elif name in _NOTE_TEMPLATES or name.startswith(_NOTE_PREFIXES):
        counts["note_template"] += 1
    elif _starts_line(out):
        # Boxes and hatnotes stand on lines of their own, or directly before the first word. With a blank between,
        # the template is a word of the sentence that follows.
        counts["block_template"] += 1
        out.append(LOST if isinstance(after, nodes.Text) and after.value[:1] in (" ", ",") else _BREAK)
    else:
        counts["inline_template"] += 1
        out.append(LOST)


def _starts_line(out: list[str]) -> bool:
    for piece in reversed(out):
        if "\n" in piece:
            return not piece.rsplit("\n", 1)[1].strip()
        if piece.strip():
            return False
    return True


def _entity(node: nodes.HTMLEntity) -> str:
    try:
        character = node.normalize()
    except (ValueError, OverflowError):
        return str(node)
    return " " if character.isspace() else character
