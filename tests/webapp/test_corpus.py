"""A corpus that was really repaired, opened and reviewed."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from pipelines.repair_corpus import main as repair_corpus
from respace.storage.errors import UserError
from tests.webapp.serving import client_of
from transforms.repair.review import read_review
from webapp.app import Settings
from webapp.corpus import Corpus


@pytest.fixture(scope="module")
def output(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("corpus")
    (root / "in").mkdir()
    texts = ["Thealgo rithm isfast.", "Nothing is wrong here.", "Wede scribe a newmethod <b>."]
    (root / "in" / "a.jsonl").write_text("".join(json.dumps({"text": one}) + "\n" for one in texts))
    (root / "in" / "b.txt").write_text("Nothing is wrong here.\n\nThepap er isgood.\n")
    arguments = ["--input", str(root / "in"), "--output", str(root / "out"), "--provenance", "--local_workers", "1"]
    assert repair_corpus(arguments) == 0
    return root / "out"


def test_review(output: Path, tmp_path: Path) -> None:
    review = tmp_path / "review.jsonl"
    settings = Settings(corpus=Corpus(str(output), str(review)))
    with client_of(settings) as client:
        found = client.get("/api/corpus").json()
        assert found["summary"]["totals"]["documents"] == 4
        edits = found["edits"]
        assert {one["shard"] for one in edits} == {"a.jsonl", "b.txt"}
        assert [one["confidence"] for one in edits] == sorted(one["confidence"] for one in edits)
        entry = {key: edits[0][key] for key in ("shard", "row", "gap", "kind")} | {"decision": "reject"}
        assert client.post("/api/corpus/review", json=entry).json() == {"saved": True}
        assert client.get("/api/corpus").json()["edits"][0]["decision"] == "reject"
        assert read_review(str(review)) == {(entry["shard"], entry["row"]): {(entry["gap"], entry["kind"]): "reject"}}
        for bad, message in (
            ({**entry, "gap": 10_000}, "there is no such edit"),
            ({**entry, "shard": "../../x"}, "there is no such edit"),
            ({**entry, "decision": "maybe"}, "expected accept or reject"),
            ([], "expected an object"),
        ):
            response = client.post("/api/corpus/review", json=bad)
            assert response.status_code == 400
            assert message in response.json()["error"]
        form = client.post("/api/corpus/review", content=json.dumps(entry), headers={"content-type": "text/plain"})
        assert form.status_code == 415
        report = client.get("/corpus/_report/index.html")
        assert report.status_code == 200
        assert "<b>." not in report.text


def test_a_rejected_edit_is_not_made_in_the_next_run(output: Path, tmp_path: Path) -> None:
    source, target, review = output.parent / "in", tmp_path / "out", tmp_path / "review.jsonl"
    shutil.copytree(output, target)
    arguments = ["--input", str(source), "--output", str(target), "--provenance", "--local_workers", "1"]
    corpus = Corpus(str(target), str(review))
    rejected = next(one for one in corpus.edits() if one["before"].endswith("pap") and one["shard"] == "b.txt")
    corpus.decide({key: rejected[key] for key in ("shard", "row", "gap", "kind")} | {"decision": "reject"})
    assert repair_corpus([*arguments, "--review", str(review)]) == 0
    assert (target / "b.txt").read_text() == "Nothing is wrong here.\n\nThe pap er is good.\n"
    assert (target / "a.jsonl").read_bytes() == (output / "a.jsonl").read_bytes()
    found = Corpus(str(target), str(review)).edits()
    assert len(found) == len(corpus.edits()) - 1


def test_what_is_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no _report/summary.json there"):
        Corpus(str(tmp_path))
