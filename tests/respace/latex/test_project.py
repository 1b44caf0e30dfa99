"""Documents of several files: what is read, what is refused, what ends although it would not."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from respace.latex.project import LatexProject, convert, convert_document, decode, find_file, main_files
from respace.latex.reader import Budget, LatexLimitError

PIECES = [
    *"ab \n\\{}$%&#^_~[]()|-'`\"",
    *[r"\begin{equation}", r"\end{equation}", r"\frac", r"\item", r"\footnote", r"\def\x", r"\newcommand"],
]


def texts(files: dict[str, str], main: str = "main.tex", **options: object) -> list[str]:
    return [paragraph.text for paragraph in convert(files, main, **options).paragraphs]  # type: ignore[arg-type]


def test_inputs_are_resolved_among_the_files() -> None:
    files = {
        "paper/main.tex": r"\input{macros}\begin{document}One. \input{parts/two.tex} \include{three}\end{document}",
        "paper/macros.tex": r"\newcommand{\x}{$x+1$}",
        "paper/parts/two.tex": r"Two \x.",
        "paper/three.tex": "Three.",
    }
    assert main_files(files) == ["paper/main.tex"]
    assert texts(files, "paper/main.tex") == ["One. Two x + 1. Three."]


def test_nothing_outside_the_files_is_opened() -> None:
    files = {"main.tex": r"\input{/etc/passwd}\input{../../secret}Text."}
    converted = convert(files, "main.tex")
    assert [paragraph.text for paragraph in converted.paragraphs] == ["Text."]
    assert converted.missing_inputs == ["/etc/passwd", "../../secret"]


def test_a_file_that_reads_itself_ends() -> None:
    assert texts({"main.tex": r"A \input{b} ", "b.tex": r"B \input{main}"}) == ["A B A B A"]


def test_files_whose_directories_were_folded_into_their_names() -> None:
    files = {"source.tex": "", "source__input_intro.tex": ""}
    assert find_file("./input/intro", "", files) == "source__input_intro.tex"
    assert find_file("intro", "", {"a_intro.tex": "", "b_intro.tex": ""}) is None


def test_a_library_gives_macros() -> None:
    found = texts({"main.tex": r"\input{macros} $\RR$"}, library={"macros.tex": r"\def\RR{\mathbb{R}}"})
    assert found == ["R"]


def test_a_document_takes_along_only_what_it_reads() -> None:
    library = {"a.tex": r"\input{b}", "b.tex": "B.", "other.tex": "x" * 100}
    document = LatexProject.gather({"main.tex": r"\input{a} Text."}, library)
    assert sorted(document.library) == ["a.tex", "b.tex"]
    assert [paragraph.text for paragraph in convert_document(document).paragraphs] == ["B. Text."]


def test_macros_that_call_each_other_without_end() -> None:
    assert texts({"main.tex": r"\def\xa{\xb}\def\xb{\xa}Before \xa after."}) == ["Before \ue00fafter."]


def test_macros_that_grow_reach_the_limit() -> None:
    levels = "".join(rf"\newcommand{{\m{chr(98 + i)}}}{{\m{chr(97 + i)}\m{chr(97 + i)}}}" for i in range(20))
    started = time.monotonic()
    with pytest.raises(LatexLimitError, match="limit"):
        texts(
            {"main.tex": r"\newcommand{\ma}{word word word}" + levels + r"\mu"},
            budget=Budget(expanded_characters=10**5),
        )
    assert time.monotonic() - started < 60


def test_the_clock_ends_a_conversion() -> None:
    with pytest.raises(LatexLimitError, match="longer than 0 s"):
        texts({"main.tex": r"\emph{x} " * 20_000}, budget=Budget(seconds=0))


def test_latin_1() -> None:
    assert decode("Erdős é".encode()) == "Erdős é"
    assert decode("café".encode("latin-1")) == "café"
    assert texts({"main.tex": decode("Das Café.".encode("latin-1"))}) == ["Das Café."]


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(PIECES)))
def test_nothing_breaks_the_converter(pieces: list[str]) -> None:
    for paragraph in texts({"main.tex": "".join(pieces)}):
        assert paragraph == " ".join(paragraph.split())
        assert paragraph


@pytest.mark.parametrize("piece", [r"\input[", r"\input{", r"\input ", "\\", "%", "{", "$", r"\begin{", "[", r"\def\x"])
def test_hostile_repetition_ends(piece: str) -> None:
    started = time.process_time()
    document = LatexProject.gather({"main.tex": piece * 30_000}, {})
    with suppress(LatexLimitError):
        convert_document(LatexProject(document.files, document.library, seconds=1))
    assert time.process_time() - started < 5
