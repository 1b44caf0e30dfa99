from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from respace import Repairer
from respace.method import Decision, GivenSequence
from training.data.held_out import kept_for_measuring
from training.harm import changed_lines, measure, read_kinds, read_must_stay


class SpaceBeforeX:
    identity = "space before x"
    context = 1

    def decide(self, sequences: Sequence[GivenSequence]) -> list[Decision]:
        bits = [one.bits | (one.characters == ord("x")) for one in sequences]
        return [Decision(one, np.full(len(one), 0.9, dtype=np.float32)) for one in bits]


def test_a_fifth_is_kept_and_spaces_do_not_matter() -> None:
    texts = [f"row {number}" for number in range(2000)]
    assert 300 < sum(map(kept_for_measuring, texts)) < 500
    assert all(kept_for_measuring(text) == kept_for_measuring(text.replace(" ", "")) for text in texts)


def test_harm_by_kind(tmp_path: Path) -> None:
    texts = [f"ax {number} by" for number in range(100)]
    path = str(tmp_path / "other.parquet")
    pq.write_table(pa.table({"kind": ["one", "two"] * 50, "text": texts}), path)
    kinds = read_kinds(path, rows=5)
    assert sorted(kinds) == ["one", "two"]
    assert all(kept_for_measuring(text) for part in kinds.values() for text in part)
    measured = dict(measure(Repairer(SpaceBeforeX()), kinds, examples=1))
    assert measured["one"].edits == measured["one"].texts == len(kinds["one"])
    assert measured["one"].examples == [kinds["one"][0].replace("ax", "a[+]x")]
    assert measured["one"].per_10000_characters == pytest.approx(10_000 / np.mean([len(one) for one in kinds["one"]]))


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "other.parquet")
    pq.write_table(pa.table({"sort": ["one"], "text": ["x"]}), path)
    with pytest.raises(ValueError, match="no column 'kind'; it has sort, text"):
        read_kinds(path)


def test_lines_that_must_stay(tmp_path: Path) -> None:
    path = tmp_path / "stay.tsv"
    path.write_text("kind\ttext\nfine\tab c\nbad\tax\n", encoding="utf-8")
    lines = read_must_stay(str(path))
    assert changed_lines(Repairer(SpaceBeforeX()), lines) == [("bad", "ax", "a x")]


def test_hardly_any_line_of_the_shared_list_changes(shared: Path) -> None:
    path = shared / "harm" / "must_stay.tsv"
    if not path.is_file():
        pytest.skip("needs ../shared/harm/must_stay.tsv")
    changed = changed_lines(Repairer.load(), read_must_stay(str(path)))
    assert len(changed) <= 3
    assert not {kind for kind, _, _ in changed} & {"url", "email", "camel", "num", "one_url", "one_ident", "hashtag"}
