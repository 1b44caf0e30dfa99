"""One range of a dump to sentences; and 30 facts about what comes out of real dumps."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

from respace.splits import Splits
from respace.storage.files import describe
from respace.wikipedia.dumps import DumpLimits, DumpRange, Page
from respace.wikipedia.sentences import clean_sentences
from tests.shared_data import SHARED
from transforms.shards.dead_letters import dead_letters_url, read_dead_letters
from transforms.shards.manifests import read_manifest
from transforms.wikipedia import DumpShard, ExtractSentences, articles

DUMPS = SHARED / "dumps"
needs_dumps = pytest.mark.skipif(not DUMPS.is_dir(), reason="$RESPACE_DATA/dumps is not there")


@pytest.fixture(scope="module")
def real() -> tuple[dict[str, list[str]], Counter[str]]:
    """Sentences of every article of the two real dumps, by title, and what was counted."""
    counts: Counter[str] = Counter()
    found = {}
    for dump in sorted(DUMPS.glob("*.xml.bz2")):
        with open(dump, "rb") as stream:
            for page in articles(stream, DumpRange(0, dump.stat().st_size), DumpLimits(), counts):
                assert isinstance(page, Page)
                found[page.title], dropped = clean_sentences(page.wikitext)
                counts.update(dropped)
    return found, counts


# Sentences that must be there verbatim: behind each stands some markup that had to go.
PRESENT = {
    # links, references in the middle of a sentence
    "Anarchism": "These are often described as stateless societies, although several authors have defined them more "
    "specifically as institutions based on non-hierarchical free associations.",
    # bold and italics in one sentence, brackets, foreign words
    "Constructive vote of no confidence": "To overcome this problem, two provisions were included in the 1949 German "
    "constitution, the Basic Law (Grundgesetz).",
    "Albert Einstein": "In his paper on mass–energy equivalence, Einstein produced E = mc2 from his special relativity "
    "equations.",
    "Alabama": "(Most states exempt groceries from sales tax or apply a lower tax rate.)",
    "Albert Sidney Johnston": "At the outbreak of the Civil War, Johnston was the commander of the U.S. Army "
    "Department of the Pacific in California.",
    "Aldous Huxley": "Julia was the niece of poet and critic Matthew Arnold and the sister of Mrs. Humphrey Ward.",
    "Abraham Lincoln": "A wedding set for January 1, 1841, was canceled when the two broke off their engagement at "
    "Lincoln's initiative.",
    "Amphibian": "The northwestern salamander (Ambystoma gracile) is one of these and, depending on "
    "environmental factors, either remains permanently in the larval state, a condition known as neoteny, or "
    "transforms into an adult.",
    "Angola": "Travel on highways outside of towns and cities in Angola (and in some cases within) is often not best "
    "advised for those without four-by-four vehicles.",
    "Autism": "Unusual social development becomes apparent early in childhood.",
    "Ayn Rand": "In 1990, philosopher David Kelley founded the Institute for Objectivist Studies, now known as The "
    "Atlas Society.",
    "Alkane": "In isomerization, the alkanes become branched-chain isomers.",
    "Algeria": "Between 2007 and 2013, FDATIC subsidised 98 films (feature films, documentaries and short films).",
    "Andrei Tarkovsky": "The documentary Voyage in Time was produced in Italy in 1982, as was Nostalghia in 1983.",
    "Economy of Estonia": "Only 3% of all commerce was with the USSR.",
}
# What must be in no sentence.
ABSENT = {
    "links": r"\[\[|\]\]",
    "templates": r"\{\{|\}\}",
    "references": r"</?ref",
    "tags": r"</?[a-z]+[ />]",
    "tables": r"\|",
    "table attributes": r"(?:style|align|class|colspan|bgcolor)\s*=",
    "headings": r"==",
    "bullets": r"^[*#:;•]",
    "bold and italic quotes": r"''",
    "comments": r"<!--|-->",
    "entities": r"&[a-z]+;|&#\d+;",
    "picture options": r"\bthumb\||\d+px\b",
    "magic words": r"__[A-Z]+__",
    "addresses": r"https?://|www\.",
    "blanks before marks": r"\s[,;:](?:\s|$)|\(\s|\s\)|\s\s|^\s|\s$",
}


@needs_dumps
@pytest.mark.parametrize("title", PRESENT)
def test_sentence_is_there_verbatim(real: tuple[dict[str, list[str]], Counter[str]], title: str) -> None:
    assert PRESENT[title] in real[0][title]


@needs_dumps
@pytest.mark.parametrize("what", ABSENT)
def test_markup_is_in_no_sentence(real: tuple[dict[str, list[str]], Counter[str]], what: str) -> None:
    sentences = [sentence for of_article in real[0].values() for sentence in of_article]
    assert len(sentences) > 10_000
    assert [sentence for sentence in sentences if re.search(ABSENT[what], sentence)] == []


@needs_dumps
def test_all_real_articles_are_extracted(real: tuple[dict[str, list[str]], Counter[str]]) -> None:
    found, counts = real
    assert {name: counts[name] for name in ("pages", "articles", "redirects", "other_namespaces", "bad_pages")} == {
        "pages": 211,
        "articles": 111,
        "redirects": 99,
        "other_namespaces": 1,
        "bad_pages": 0,
    }
    # Two disambiguation pages and a list: bullets only.
    assert [title for title, sentences in found.items() if not sentences] == [
        "Alien",
        "Ada",
        "List of anthropologists",
    ]


def page_xml(number: int, text: str, *, namespace: int = 0, model: str = "wikitext") -> str:
    return (
        f"<page><title>T{number}</title><ns>{namespace}</ns><id>{number}</id><revision><id>1</id>"
        f"<model>{model}</model><text>{text}</text></revision></page>\n"
    )


def extract(tmp_path: Path, xml: str, seconds: float = 60.0) -> dict[str, int]:
    dump = tmp_path / "in" / "x.xml"
    dump.parent.mkdir()
    dump.write_text(xml)
    output = str(tmp_path / "out")
    shard = DumpShard(name="extract/x-00000", file=describe(str(dump)), part=DumpRange(0, dump.stat().st_size))
    return dict(ExtractSentences(output=output, seed=0, splits=Splits(), seconds_per_article=seconds)(shard).counts)


def test_what_is_passed_over_and_why(tmp_path: Path) -> None:
    counts = extract(
        tmp_path,
        "<mediawiki>"
        + page_xml(1, "This is an article.")
        + page_xml(2, "#redirect [[X]]")
        + page_xml(3, "This is a talk page.", namespace=1)
        + page_xml(4, "a{b: c}", model="css")
        + page_xml(5, "&undefined;")
        + page_xml(6, "* only a bullet")
        + "</mediawiki>",
    )
    assert counts == {
        "pages": 6,
        "articles": 2,
        "redirects": 1,
        "other_namespaces": 1,
        "other_models": 1,
        "bad_pages": 1,
        "sentences": 1,
        "train_articles": 1,
        "train_sentences": 1,
        "articles_without_sentences": 1,
        "dropped:list_item": 1,
        "dead_letters": 1,
    }
    letters = read_dead_letters(dead_letters_url(str(tmp_path / "out"), "extract/x-00000")).to_pylist()
    assert [(letter["stage"], letter["error"]) for letter in letters] == [("xml", "BadPage")]
    assert "undefined entity" in letters[0]["message"]
    manifest = read_manifest(str(tmp_path / "out"), "extract/x-00000")
    assert manifest is not None
    assert sorted(manifest.outputs) == ["_dead_letters/extract/x-00000.parquet", "train/x-00000.parquet"]


def test_an_article_that_hangs_the_parser_is_a_dead_letter(tmp_path: Path) -> None:
    """Thousands of tags that are never closed take mwparserfromhell minutes."""
    hostile = "&lt;b&gt;" * 40_000
    counts = extract(
        tmp_path,
        "<mediawiki>"
        + page_xml(1, "This is fine.")
        + page_xml(2, hostile)
        + page_xml(3, "So is this.")
        + "</mediawiki>",
        seconds=2.0,
    )
    assert (counts["sentences"], counts["dead_letters"]) == (2, 1)
    letters = read_dead_letters(dead_letters_url(str(tmp_path / "out"), "extract/x-00000")).to_pylist()
    assert (letters[0]["id"], letters[0]["error"], letters[0]["message"]) == ("2", "TookTooLong", "took more than 2 s")
    assert letters[0]["text"] == "<b>" * 40_000
