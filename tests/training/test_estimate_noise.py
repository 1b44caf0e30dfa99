from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

from respace.noise import Recipe, corrupt, given_texts
from respace.noise.errors import count_errors
from respace.noise.parameters import DEFAULTS, GAP_MODEL_FILE, OCR_FILE
from tests.shared_data import SHARED
from training.estimate_noise import main, read_pairs

needs_data = pytest.mark.skipif(not SHARED.is_dir(), reason="$RESPACE_DATA is not here")


def write_pairs(directory: Path, **files: str) -> Path:
    directory.mkdir(exist_ok=True)
    for name, text in files.items():
        (directory / f"{name}.txt").write_text(text, encoding="utf-8")
    return directory


@needs_data
def test_counts_on_acl_are_those_that_others_counted() -> None:
    expected = json.loads((SHARED / "noise" / "acl_dev_stats.json").read_text())
    counts = count_errors(read_pairs(SHARED / "benchmarks" / "dev" / "ACL", spelled=True))
    assert counts.sequences == expected["sequences"]
    assert counts.tokens == expected["tokens"]
    assert {repr(form): count for form, count in counts.hyphens.items()} == expected["spurious_hyphen_forms"]
    assert len(counts.spans) == pytest.approx(expected["erroneous_spans"], abs=5)
    assert counts.span_start_rate == pytest.approx(expected["p_span_start_given_not_in_span"], rel=0.01)
    # Which part of a token is its word is a matter of taste: we agree with their looser reading.
    assert counts.hyphenable_tokens == pytest.approx(expected["hyphenable_tokens_loose"], rel=0.001)
    assert counts.hyphenation_rate == pytest.approx(expected["hyphenation_rate_loose"], rel=0.001)
    # Of two alignments with the same number of edits either may be taken, and they left out stretches that have no
    # correct side, spaces included, where we leave out only what stands apart from all words.
    total = counts.total()
    assert total.insertions == pytest.approx(expected["space_insertions"], rel=0.05)
    assert total.deletions == pytest.approx(expected["space_deletions"], rel=0.05)
    assert total.replacements == pytest.approx(expected["char_replacements"], rel=0.05)
    assert total.tokens == pytest.approx(expected["tokens_in_spans"], rel=0.05)
    lengths = Counter(span.tokens for span in counts.spans)
    for length, count in expected["length_hist"].items():
        assert lengths[int(length)] == pytest.approx(count, abs=0.05 * expected["length_hist"]["1"])


@needs_data
def test_the_committed_defaults_are_what_the_command_writes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    dev = SHARED / "benchmarks" / "dev"
    arguments = ["--pairs", dev / "ACL", "--gap_pairs", dev / "arXiv.pdftotext", "--text", dev / "Wiki" / "correct.txt"]
    arguments += ["--confusions", SHARED / "noise" / "ocr_confusions.tsv", "--output", tmp_path]
    assert main([str(argument) for argument in arguments]) == 0
    for name in (OCR_FILE, GAP_MODEL_FILE):
        assert (tmp_path / name).read_text() == (DEFAULTS / name).read_text()
        assert (DEFAULTS / name).stat().st_size < 200_000
    assert "erroneous spans 909" in capsys.readouterr().out


def test_what_was_estimated_is_injected(tmp_path: Path) -> None:
    pairs = write_pairs(
        tmp_path / "pairs",
        corrupt="w o r d here\nanother here\n" * 20,
        correct="word here\nanother here\n" * 20,
    )
    output = tmp_path / "estimated"
    assert main(["--pairs", str(pairs), "--gap_pairs", str(pairs), "--all_lines", "--output", str(output)]) == 0
    recipe = Recipe.ocr(parameters=str(output), span_start_rate=1.0, hyphenation_rate=None)
    assert given_texts(corrupt(["some more"], ["key"], recipe, seed=1)) == ["s o m e m o r e"]


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"corrupt": "a\nb\n", "correct": "a\n"}, "2 lines of corrupt text, 1 of correct text"),
        ({"corrupt": "a b\n", "correct": "a c\n"}, "line 1: corrupt and correct text differ in more than their spaces"),
        ({"corrupt": "a b\n"}, "correct.txt"),
    ],
)
def test_a_users_mistake_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], files: dict[str, str], message: str
) -> None:
    pairs = write_pairs(tmp_path / "pairs", **files)
    assert main(["--pairs", str(pairs), "--output", str(tmp_path / "out")]) == 2
    errors = capsys.readouterr().err
    assert message in errors
    assert errors.count("\n") == 1


def test_nothing_to_do_is_a_mistake_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--output", str(tmp_path)])
    assert stopped.value.code == 2
    assert "give --pairs, --gap_pairs or both" in capsys.readouterr().err
