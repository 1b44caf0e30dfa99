from __future__ import annotations

import json
from pathlib import Path

import pytest

from respace.storage.inputs import list_inputs
from tests.pipelines.test_repair_corpus import run
from tests.transforms.corpora import tree, work, write_parquet
from transforms.formats.registry import SUFFIXES
from transforms.repair.sample import repair_sample


def corpus(folder: Path) -> Path:
    write_parquet(folder / "large.parquet", [f"{row} ofthe {'word ' * 200}" for row in range(1000)], row_group_size=100)
    for number in range(10):
        (folder / f"small{number}.txt").write_text("one ofthe")
    (folder / "lines.jsonl").write_text('{"text": "why‽"}\n' * 3 + "\n")
    return folder


@pytest.mark.parametrize("number", [1, 5, 30])
def test_as_many_as_wanted_from_everywhere(tmp_path: Path, number: int) -> None:
    files = list_inputs([str(corpus(tmp_path / "in"))], SUFFIXES)
    sample = repair_sample(work(tmp_path / "out"), files, number)
    counts = {name: one.counts["documents"] for name, one in sample.manifests.items()}
    assert sum(counts.values()) == number
    assert counts["large.parquet"] >= number - 10
    again = repair_sample(work(tmp_path / "out"), files, number)
    assert {name: one.counts for name, one in again.manifests.items()} == {
        name: one.counts for name, one in sample.manifests.items()
    }
    assert not (tmp_path / "out").exists()


def test_a_corpus_smaller_than_the_sample(tmp_path: Path) -> None:
    (tmp_path / "bad.parquet").write_bytes(b"PAR1")
    (tmp_path / "a.jsonl").write_text('{"text": "why‽"}\n{"text": "ofthe"}\nbroken\n\n')
    sample = repair_sample(work(tmp_path / "out"), list_inputs([str(tmp_path)], SUFFIXES), 100)
    assert sample.manifests["a.jsonl"].counts["documents"] == 3
    assert [letter.error for letter in sample.dead_letters] == ["RuntimeError", "BrokenLine"]
    assert list(sample.unreadable) == ["bad.parquet"]


def test_only_the_report_is_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, out = corpus(tmp_path / "in"), tmp_path / "out"
    assert run(source, out, "--sample", "20", "--dry_run") == 2
    assert run(source, out, "--sample", "20") == 0
    assert list(tree(out)) == ["_report/sample.html", "_report/sample.json"]
    assert "a sample of 20 documents" in capsys.readouterr().out
    shown = (out / "_report/sample.html").read_text()
    assert "Repaired spaces of a sample" in shown
    assert 'href="../' not in shown  # there is no output to link to
    assert json.loads((out / "_report/sample.json").read_text())["totals"]["documents"] == 20
    assert run(source, out, "--max_error_fraction", "1") == 0
    assert (out / "_report/index.html").exists()
