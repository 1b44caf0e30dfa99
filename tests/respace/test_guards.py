from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from respace import gaps, guards
from respace.guards import HUMPS, JOINING, KINDS, NEIGHBOURS, PATTERNS, SCRIPT, SERIES, UNREADABLE, WIDE
from respace.laid_texts import LaidTexts

# For each kind: the text, with what must stay between ‹ and ›.
EXAMPLES = {
    "entity": ["a ‹&quot;d›ee‹p&quot;› b", "‹&#8217;s›", "‹x&#x1F600;›", "glued‹&quot;›the", "a ‹&amp;› b"],
    "tag": ['say ‹<a href="index.html" class=x>›here‹</a>›', "‹<br/>›", "‹<!-- two words -->›", "‹<stdio.h>›"],
    "address": [
        "See ‹https://en.wikipedia.org/wiki/Optical_character_recognition#Text_recognition› for",
        "seen at‹http://www.example.com/a?b=c&d=e›, then",
        "(‹www.penisland.net/expertsexchange›)",
    ],
    "host name": ["visit ‹thebestrestaurantsinlondon.co.uk› and ‹bookatableonline.com› today"],
    "e-mail address": [
        "‹john.doe@acmecorporation.com›",
        "‹{bast,hertelm,mostafa.mohamed}@cs.uni-freiburg.de›",
        "‹{bast, hertelm}@cs.uni-freiburg.de›",
    ],
    "identifier of a document": ["doi:‹10.1016/j.foodqual.2012.05.003›", "‹arXiv:1706.03762v5›", "‹hep-th/0110154›"],
    "path": ["edit ‹/etc/nginx/sites-available/default›.", "‹C:\\Users\\MyName›", "‹src/main/App.java›", "‹~/a/b›"],
    "file name": ["‹annual-report-2020.docx›", "run ‹main.py› now"],
    "handle": ["Loving ‹#ThrowbackThursday› ‹#nofilter› ‹@JohnDoe›"],
    "name with underscores": ["‹MAX_SEQUENCE_LENGTH› is ‹user_id›", "‹__init__›"],
    "dotted name": ["‹tf.keras.layers.Dense›", "‹str.join(›iterable)", "‹std::vector›"],
    "checksum or code": [
        "‹550e8400-e29b-41d4-a716-446655440000›",
        "‹00:1A:2B:3C:4D:5E›",
        "‹da39a3ee5e6b4b0d3255bfef95601890afd80709›",
        "‹SGVsbG8gd29ybGQhIFRoaXMgaXMgYSBiYXNlNjQ=›",
        "‹0xDEADBEEF›",
    ],
    "empty brackets": ["main :: I‹O ()›", "call ru‹n()› and sto‹p ()›"],
    "structural formula": [
        "‹C1=CC=C(C=C1)C(=O)O›",
        "as (‹CC(=O)Oc1ccccc1C(=O)O)›.",
        "‹N#CC1=CC=CC=C1›, too",
        "‹C[C@H](N)C(=O)O›",
    ],
    "sequence of bases": ["‹ATGGCCATTGTAATGGGCC›"],
    "number": [
        "‹192.168.0.1:8080›",
        "at ‹14:05:33›",
        "‹2019-03-04T10:00:00Z›",
        "‹1,204,500.25›",
        "Nature. ‹1993;362(6422):709–15›.",
    ],
    "LaTeX": ["see ‹\\cite{einstein 1905, bohr}›", "‹\\documentclass[12pt, a4paper]{article}›", "‹T \\cap U›"],
    "quoted code": ["call ‹`parse args(x)`› here"],
    "quoted name": ['[‹"skin-jumptosearch"›, ‹"max-lineheight"›: 3', 'class=‹"main-bodytext"›>'],
    "fields of a table": ["‹11%,,9%,14%,11%›"],
    "labelled field of a table": ["Offense‹:,C›onspiracy", 'Date‹:,"›May 3"'],
    "macro of a manual": [".SH NAME\n‹.BR ls (1) .›\ntext"],
    "place in a file": ["‹@@ -53,7 +57,7 @@› text"],
    "box to tick": ["- ‹[ ]› write"],
    "line of signs": ["Contents ‹.....................› 3", "‹. . . . . .›", "‹______________›", "‹======  ======›"],
    HUMPS: ["The variable ‹numTrainingExamples› is", "‹setState(›x)", "‹fooBar› is ‹fooBar›"],
    SERIES: ["A‹ B C D E F›"],
    JOINING: ["‹👨\u200d👩\u200d👧›", "‹a\u200bb›", "‹e\u0301›", "‹😀😀😀›", "‹🇩🇪›"],
    SCRIPT: ["‹Он и я были›", "‹これは日本語›", "‹ذهب الولد›", "‹είναι› x", "‹a \ud800 b›"],
    UNREADABLE: ["ca‹f\udce9 a›nd", "n‹a\ufffdv›e", "‹a \udc80›", "x‹y \udcff z›z", "o‹f \ufffd›"],
    WIDE: ["‹2\t1›", "‹a    b›", "‹a   b›", "‹a \t b›c"],
}


def kinds_of(text: str) -> tuple[str, list[str]]:
    characters, _ = gaps.split(text)
    kinds = guards.guarded_kinds(LaidTexts.of([text]))
    return characters, [KINDS[kind] for kind in kinds]


def marked_gaps(marked: str) -> tuple[str, set[int]]:
    """A text without the marks, and its gaps between two characters that stand inside of the same marks."""
    inside, place, depth, first = set(), 0, False, True
    for sign in marked:
        if sign in "‹›":
            depth, first = sign == "‹", True
        elif not sign.isspace():
            if depth and not first:
                inside.add(place)
            place, first = place + 1, False
    return marked.replace("‹", "").replace("›", ""), inside


def test_every_kind_has_a_reason_and_an_example() -> None:
    names = [kind.name for kind in PATTERNS] + list(NEIGHBOURS)
    assert sorted(EXAMPLES) == sorted(names)
    assert len(set(names)) == len(names)
    assert all(kind.reason and kind.triggers for kind in PATTERNS)
    assert all(NEIGHBOURS.values())


@pytest.mark.parametrize(("kind", "marked"), [(kind, one) for kind, texts in EXAMPLES.items() for one in texts])
def test_gaps_inside_are_guarded(kind: str, marked: str) -> None:
    text, inside = marked_gaps(marked)
    _, found = kinds_of(text)
    assert inside
    assert all(found[gap] for gap in inside)
    assert kind in found


@pytest.mark.parametrize(
    "text",
    [
        "the end.The next one,and more;than that",
        "inGermany wordsHave NewYork McDonald had an iPhone, e.g. in the U.S. or the U.K.",
        "http:// www. example. com",
        "it was in1996,and 19 80 too",
        "and/or input/output km/h",
        "Hertel et al.(2021)said: yes",
        "α β γ δ and Γ(x)=αβγ",
        "a word - or two - and a well-known one",
        "'quoted' words and \"NewYork\" (see above)",
        "Sch o \u0308 n",
        "consid\u00ad ered",
        "AboveAll(album)",
        "JohnM.Cowley",
        "T H E A U T H O R",
        "CO2=400ppm and NO=5 per cent, IN CHINA(=PRC) it is",
    ],
)
def test_what_prose_has_stays_free(text: str) -> None:
    _, found = kinds_of(text)
    guarded = [kind for kind in found if kind]
    assert guarded in ([], ["address"] * 6)


@pytest.mark.parametrize("space", [" ", "  ", "\u2003", " \u00a0"])
def test_up_to_two_blanks_are_no_layout(space: str) -> None:
    assert not any(kinds_of(f"a{space}b")[1])


NAMES = [
    "‹theInput› and ‹theInput›",
    "'‹theInput›' is",
    '"‹theInput›" is',
    "call ‹setState(›x)",
    "‹oneTwoThree› is",
    "‹OneTwoThreeFour› is",
    "a $‹someName› is",
    "a ‹SomeName›[3] is",
    "‹setState(›x) ‹getState(›y) ‹inGermany›",
]
NO_NAMES = [
    "He saw theInput again",
    "'TheInput' is",
    "'theInput\" is",
    "call SetState(x)",
    "call theState(x)",
    "OneTwoThree is",
    "theOneTwo is",
    "theOneTwoThreeFour is",
    "inGermany wordsHave NewYork",
]


@pytest.mark.parametrize("marked", NAMES)
def test_a_word_with_humps_is_a_name(marked: str) -> None:
    text, inside = marked_gaps(marked)
    assert {gap for gap, kind in enumerate(kinds_of(text)[1]) if kind == HUMPS} == inside


@pytest.mark.parametrize("text", NO_NAMES)
def test_two_words_without_the_space_between_them_are_no_name(text: str) -> None:
    assert HUMPS not in kinds_of(text)[1]


def test_one_name_that_comes_again_does_not_make_others_names() -> None:
    characters, found = kinds_of("setState(x) setState(y) inGermany")
    assert HUMPS in found
    assert not any(found[characters.index("inGermany") :])


def test_a_name_has_no_part_that_is_longer_than_a_word() -> None:
    characters, found = kinds_of("getStateOf fooBarBaz LynetteHirschmanproposedthefollowinghypothesis")
    start = characters.index("Lynette")
    assert HUMPS in found[:start]
    assert not any(found[start:])


def test_a_word_glued_to_an_address_can_be_cut_off() -> None:
    characters, found = kinds_of("seehttp://www.example.com")
    assert [place for place, kind in enumerate(found) if not kind] == [0, 1, 2, 3]
    assert characters[3:7] == "http"


def test_where_spaces_were_lost_only_what_has_an_end_is_guarded() -> None:
    text = "Thenumbersof1996and1997&amp;moreofthem"
    _, bits = gaps.split(text)
    kinds = guards.guarded_kinds(LaidTexts.of([text]), np.ones_like(bits))
    assert {KINDS[kind] for kind in kinds if kind} == {"entity"}


@given(st.text(alphabet=st.sampled_from("aB1 \t\n.,;:/\\_@#&<>{}[]()-=`'\"é\u0301\u200dЖ中α😀"), max_size=60))
def test_any_text_has_one_kind_for_each_gap(text: str) -> None:
    _, bits = gaps.split(text)
    kinds = guards.guarded_kinds(LaidTexts.of([text]))
    assert len(kinds) == len(bits)
    assert not len(kinds) or (kinds[0] == 0 and int(kinds.max()) < len(KINDS))


@given(st.text(alphabet="aB1. /_@#&;<>-=", max_size=40), st.text(alphabet="aB1. /_@#&;<>-=", max_size=40))
def test_lines_do_not_reach_over_breaks(first: str, second: str) -> None:
    """What stands on another line may make a name known, but guards nothing by itself."""
    _, alone = kinds_of(first)
    _, both = kinds_of(first + "\n" + second)
    humps = (HUMPS, "")
    assert all(a == b or (a in humps and b in humps) for a, b in zip(alone, both, strict=False))
