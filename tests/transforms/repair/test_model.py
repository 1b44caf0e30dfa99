"""The model in a process that is ended when a document takes too long: that document fails, and all others are done."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from respace.repairer import Repairer
from tests.pipelines.test_repair_corpus import run, summary
from tests.transforms.corpora import write_parquet
from tests.transforms.rule_method import Rules
from transforms.formats.contract import Document
from transforms.repair import model
from transforms.repair.documents import DocumentRepair
from transforms.repair.model import DocumentTooSlow, ModelOptions, ModelProcess, repairer_with_limit, shared_repairer
from transforms.shards.killable import Stopped

HOSTILE = "tests.transforms.rule_method:Hostile"
OPTIONS = ModelOptions(model=HOSTILE, all_text=True)


@pytest.fixture
def process(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModelProcess]:
    monkeypatch.setattr(model, "_COMPILE_SECONDS", 0.0)
    made = ModelProcess(OPTIONS, seconds=1.5)
    yield made
    made._process.close()


def test_the_same_repairs_as_in_this_process(process: ModelProcess) -> None:
    here = Repairer(Rules(), join_hyphenated=True, all_text=True)
    texts = ["one ofthe others", "a x", "", "nothing"]
    assert process.repair_with_edits(texts) == here.repair_with_edits(texts)
    assert process.repair_with_edits(texts[0]) == here.repair_with_edits(texts[0])
    assert process.method.identity == Rules().identity
    assert process.method.context == Rules.context


def test_what_takes_too_long_is_stopped_and_what_fails_says_why(process: ModelProcess) -> None:
    with pytest.raises(DocumentTooSlow, match=r"took more than 1\.5 s, which --max_document_seconds allows it"):
        process.repair_with_edits("⌛ ofthe")
    with pytest.raises(Stopped, match="the process died"):
        process.repair_with_edits("💣 ofthe")
    with pytest.raises(RuntimeError, match="this method cannot read an interrobang"):
        process.repair_with_edits("why‽")
    assert process.repair_with_edits("ofthe").text == "of the"


def test_longer_texts_may_take_longer(process: ModelProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "CHARACTERS_PER_LIMIT", 2)
    with pytest.raises(DocumentTooSlow, match=r"took more than 4\.5 s"):
        process.repair_with_edits(["⌛1", "3456"])


def test_one_document_does_not_condemn_its_batch(process: ModelProcess) -> None:
    repair = DocumentRepair(process, "a", batch_characters=1000, max_document_bytes=1 << 20)
    texts = ["one ofthe", "⌛ ofthe", "two ofthe", "💣 ofthe", "why‽", "three ofthe"]
    outcomes = repair.repair([Document(row, text) for row, text in enumerate(texts)])
    assert [outcome.text for outcome in outcomes] == [
        "one of the",
        texts[1],
        "two of the",
        texts[3],
        texts[4],
        "three of the",
    ]
    letters = [outcome.dead_letter for outcome in outcomes if outcome.dead_letter is not None]
    assert [(one.row, one.stage, one.error) for one in letters] == [
        (1, "repair", "DocumentTooSlow"),
        (3, "repair", "Stopped"),
        (4, "repair", "RuntimeError"),
    ]
    assert letters[0].original == texts[1]


def test_the_first_texts_may_be_compiled_for(process: ModelProcess, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model, "_COMPILE_SECONDS", 1.0)
    for seconds in (2.5, 2.5):  # again after the process was ended, and with it what was compiled
        started = time.monotonic()
        with pytest.raises(DocumentTooSlow, match=r"took more than 1\.5 s"):
            process.repair_with_edits("⌛ ofthe")
        assert time.monotonic() - started > seconds


def test_one_process_for_all_shards_and_none_without_a_limit() -> None:
    assert repairer_with_limit(OPTIONS, 7.0) is repairer_with_limit(OPTIONS, 7.0)
    assert repairer_with_limit(OPTIONS, 0) is shared_repairer(OPTIONS)


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_night_with_a_hostile_document(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: str) -> None:
    monkeypatch.setattr(model, "_COMPILE_SECONDS", 0.0)  # of the only worker that is this process
    write_parquet(tmp_path / "in/a.parquet", ["one ofthe", "💣 ofthe", "two ofthe"])
    write_parquet(tmp_path / "in/b.parquet", ["b ofthe"])
    if workers == "1":
        write_parquet(tmp_path / "in/c.parquet", ["⌛ ofthe", "c ofthe"])
    options = ["--max_document_seconds", "1.5", "--max_error_fraction", "1", "--local_workers", workers]
    assert run(tmp_path / "in", tmp_path / "out", "--model", HOSTILE, *options) == 0
    totals, letters = summary(tmp_path / "out")["totals"], summary(tmp_path / "out")["dead_letters"]
    assert totals["dead_letters"] == (2 if workers == "1" else 1)
    assert totals["insertions"] == (4 if workers == "1" else 3)
    assert letters[0]["message"] == "the process died (EOFError)"
    if workers == "1":
        assert letters[1]["message"] == "took more than 1.5 s, which --max_document_seconds allows it"
