"""Wikitext to paragraphs: what a reader sees stays, the machinery goes, and holes are marked."""

from __future__ import annotations

from collections import Counter

import pytest

from respace.wikipedia.wikitext import LOST, paragraphs


@pytest.mark.parametrize(
    ("wikitext", "expected"),
    [
        ("'''Bold''' and ''italic'' and '''''both'''''.", ["Bold and italic and both."]),
        (
            "A [[link]], a [[target (thing)|shown]] one, a [[:Category:X|named]] one.",
            ["A link, a shown one, a named one."],
        ),
        ("[[bus]]es and [[a_b]].", ["buses and a b."]),
        ("Before [[File:x.jpg|thumb|A ''caption'' with [[a link]].]]after.", ["Before after."]),
        ("Text.[[Category:Things]]", ["Text."]),
        ("A claim.<ref>{{cite web|url=http://x}}</ref> More<ref name=a /> of it.", ["A claim. More of it."]),
        ("See [http://example.org the site] and [http://example.org].", ["See the site and ."]),
        ("At http://example.org/x it is.", ["At http://example.org/x it is."]),
        ("10&nbsp;km &ndash; or&thinsp;so &amp; more.", ["10 km – or so & more."]),
        ("H<sub>2</sub>O and 10<sup>6</sup>.", ["H2O and 106."]),
        ("One.<br />Two.", ["One. Two."]),
        ("Line one\nline two.\n\nNext.", ["Line one line two.", "Next."]),
        ("Intro.\n* item one\n# item two\n: indented\n; term\nOutro.", ["Intro.", "Outro."]),
        ("Intro.\n{| class=wikitable\n|-\n! Head !! Two\n|-\n| cell || two\n|}\nOutro.", ["Intro.", "Outro."]),
        ("{{Infobox|a=b|c={{nested|d}}}}\n'''X''' is a thing.", ["X is a thing."]),
        ("{{Infobox|a=b}}'''X''' is a thing.", ["X is a thing."]),
        ("It is {{convert|5|km}} away.", [f"It is {LOST} away."]),
        ("{{As of|2010}}, it is so.", [f"{LOST}, it is so."]),
        ("{{USS|Enterprise}} sailed.", [f"{LOST} sailed."]),
        ("True.{{citation needed|date=May 2010}} And so.{{sfn|Smith|2010}}", ["True. And so."]),
        ("5{{nbsp}}km off.", ["5 km off."]),
        ("Let <math>x^2</math> be.", [f"Let {LOST} be."]),
        ("Use <code>a = b</code> here.", [f"Use {LOST} here."]),
        ("<blockquote>Quoted words.</blockquote>Then.", ["Quoted words.", "Then."]),
        ("<gallery>\nFile:a.jpg|One\n</gallery>\nText.", ["Text."]),
        ("Kept <!-- not this --> text.__NOTOC__", ["Kept text."]),
        ("<nowiki>[[not a link]]</nowiki>", ["[[not a link]]"]),
        ("== Heading ==\nText.\n=== Sub ===\nMore.", ["Text.", "More."]),
        ("A {{{parameter|}}} of a template.", [f"A {LOST} of a template."]),
        ("| stray || row\n|}\n!Kung people.", ["!Kung people."]),
        ("", []),
    ],
)
def test_what_a_reader_sees(wikitext: str, expected: list[str]) -> None:
    assert paragraphs(wikitext) == expected


def test_what_is_dropped_is_counted() -> None:
    counts: Counter[str] = Counter()
    paragraphs("A.<ref>b</ref><ref>c</ref>\n* d\n{|\n| e\n|}\n== f ==\n{{Box}}\nG {{h}} <math>i</math>.", counts)
    assert counts == {
        "ref": 2,
        "list_item": 1,
        "table": 1,
        "heading": 1,
        "block_template": 1,
        "inline_template": 1,
        "formula": 1,
    }
