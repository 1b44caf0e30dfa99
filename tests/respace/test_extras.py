from __future__ import annotations

from pathlib import Path

from respace.extras import EXTRAS, missing


def test_what_is_missing_and_what_to_do() -> None:
    assert str(missing("wordsegment", "the method wordsegment")) == (
        "the method wordsegment needs the package wordsegment. Run: pip install 'wordsegment>=1.3'"
    )


def test_every_extra_is_one_of_ours() -> None:
    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    section = text.partition("[project.optional-dependencies]")[2]
    for extra in EXTRAS.values():
        assert f"\n{extra} = [" in section
