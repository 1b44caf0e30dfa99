from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np
import pytest

from respace import gaps
from respace.noise.confusions import Confusion, ConfusionTable, read_confusions
from respace.noise.rows import Rows


def test_read_confusions(tmp_path: Path) -> None:
    path = tmp_path / "confusions.tsv"
    path.write_text("h\til\t5436\tacl\n\t?\t17626\n", encoding="utf-8")
    assert read_confusions(path) == [Confusion("h", "il", 5436), Confusion("", "?", 17626)]


@pytest.mark.parametrize("line", ["h\til", "abcd\te\t3", "h\til\tmany", "h il 3"])
def test_a_bad_line_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "confusions.tsv"
    path.write_text(f"h\til\t5436\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match=r"confusions\.tsv, line 2: .*expected correct, wrong"):
        read_confusions(path)


def drawn(table: ConfusionTable, texts: list[str], rate: float) -> Counter[tuple[str, str]]:
    rows = Rows.of(texts, [str(number) for number in range(len(texts))], seed=1)
    places = np.arange(len(rows.characters))
    found = table.replacements(rows, places, np.full(len(places), rate))
    ends = np.cumsum(found.length)
    return Counter(
        (
            gaps.from_code_points(rows.characters[start : start + removed]),
            gaps.from_code_points(found.added[end - length : end]),
        )
        for start, removed, length, end in zip(found.start, found.removed, found.length, ends, strict=True)
    )


def test_frequencies_are_those_of_the_table_whatever_the_text_is_like() -> None:
    # In this text b is as frequent as a, yet it is misread three times as often.
    table = ConfusionTable(
        [Confusion("a", "o", 10), Confusion("b", "h", 30), Confusion("ab", "x", 20), Confusion("", "~", 40)],
        {"a": 0.5, "b": 0.5, "ab": 0.4},
    )
    counts = drawn(table, ["ab" * 25] * 2000, rate=0.2)
    total = sum(counts.values())
    assert total == pytest.approx(0.2 * 100_000, rel=0.1)
    # The string ab stands at 50 of 100 places, not at 40: it is drawn that much more often.
    expected = {("a", "o"): 10.0, ("b", "h"): 30.0, ("ab", "x"): 25.0, ("", "~"): 40.0}
    for confusion, share in expected.items():
        assert counts[confusion] / total == pytest.approx(share / sum(expected.values()), rel=0.06)


def test_what_stands_across_a_space_is_not_misread_together() -> None:
    table = ConfusionTable([Confusion("ab", "x", 1)], {"ab": 0.5})
    assert drawn(table, ["a b a b", "a", "b"], rate=1.0) == Counter()
    assert drawn(table, ["ab"], rate=1.0) == Counter({("ab", "x"): 1})


def test_a_confusion_with_whitespace_is_never_used() -> None:
    table = ConfusionTable([Confusion("a", "\u00a0", 1), Confusion("a", "o", 1)], {"a": 1.0})
    assert set(drawn(table, ["aaaa"] * 50, rate=0.5)) == {("a", "o")}
