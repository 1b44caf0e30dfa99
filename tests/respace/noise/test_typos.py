from __future__ import annotations

from pathlib import Path

import pytest

from respace.noise.typos import Typo, TypoTable, codespell_typos, half_of, in_half, parse_codespell, read_typos, slip


def test_codespell_is_the_default_and_holds_single_words_only() -> None:
    typos = codespell_typos()
    assert Typo("which", "wich") in typos
    assert len(typos) > 50_000
    assert not any(len((typo.correct + typo.misspelled).split()) != 1 for typo in typos)
    assert not any("," in typo.correct for typo in typos)


def test_codespell_lines_with_a_remark() -> None:
    text = "abandonned->abandoned\nans->and, disabled because it is an abbreviation\nalot->a lot\n"
    assert list(parse_codespell(text)) == [Typo("abandoned", "abandonned"), Typo("and", "ans")]


def test_the_halves_share_no_misspelling_and_are_the_whole() -> None:
    typos = codespell_typos()
    train, test = list(in_half(typos, "train")), list(in_half(typos, "test"))
    assert sorted(train + test) == sorted(typos)
    assert not {typo.misspelled.lower() for typo in train} & {typo.misspelled.lower() for typo in test}
    assert 0.48 < len(train) / len(typos) < 0.52
    assert half_of("Teh") == half_of("teh")


def test_the_halves_never_change() -> None:
    # Models were trained on the one half: another hash would leak it into the benchmarks.
    halves = [half_of(word) for word in ("teh", "tha", "wich", "occured", "succesful")]
    assert halves == ["test", "train", "train", "train", "test"]


def test_read_typos(tmp_path: Path) -> None:
    path = tmp_path / "typos.tsv"
    path.write_text("the\tteh\t3\tsomewhere\nthe\ttha\nalot\ta lot\t2\n", encoding="utf-8")
    assert read_typos(path) == [Typo("the", "teh", 3), Typo("the", "tha", 1)]


@pytest.mark.parametrize("content", ["the teh\n", "the\tteh\tmany\n"])
def test_a_bad_line_is_named(tmp_path: Path, content: str) -> None:
    path = tmp_path / "typos.tsv"
    path.write_text("a\tb\n" + content, encoding="utf-8")
    with pytest.raises(ValueError, match=r"typos\.tsv, line 2: .*expected correct, misspelled, count"):
        read_typos(path)


def test_an_empty_file_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "typos.tsv"
    path.write_text("", encoding="utf-8")
    with pytest.raises(ValueError, match="no pair of single words"):
        read_typos(path)


def test_misspellings_are_drawn_by_frequency_and_keep_the_case() -> None:
    table = TypoTable([Typo("the", "teh", 3), Typo("the", "tha", 1), Typo("NASA", "NSAA")])
    assert [table.misspell("the", draw) for draw in (0.0, 0.74, 0.76, 0.99)] == ["teh", "teh", "tha", "tha"]
    assert table.misspell("The", 0.0) == "Teh"
    assert table.misspell("THE", 0.0) == "TEH"
    assert table.misspell("NASA", 0.5) == "NSAA"
    assert table.misspell("nasa", 0.5) is None
    assert table.misspell("", 0.5) is None


def test_the_shared_collection(shared: Path) -> None:
    typos = read_typos(shared / "noise" / "typos.tsv")
    assert Typo("the", "tha", 384) in typos
    assert len(typos) > 180_000


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        (0.0, {"zs", "as", "iz", "ia"}),
        (0.5, {"zis", "ais", "izs", "ias", "isz", "isa"}),
        (0.8, {"s", "i"}),
        (0.9, {"si", None}),
    ],
)
def test_a_slip_is_one_edit_anywhere_in_the_word(kind: float, found: set[str | None]) -> None:
    places = [number / 30 for number in range(30)]
    letters = {"a": (12.7 + 9.1 + 1) / 99.84, "z": 0.9999}
    assert {slip("is", kind, place, letters[one], 0.9) for place in places for one in "az"} == found


def test_a_slip_leaves_a_word_of_one_letter_a_letter() -> None:
    assert slip("a", 0.8, 0.0, 0.0, 0.0) is None
    assert slip("a", 0.9, 0.0, 0.0, 0.0) is None
    assert slip("a", 0.5, 0.0, 0.99, 0.0) == "xa"
    assert slip("É", 0.0, 0.0, 0.0, 0.0) == "e"
