"""The whole job, in this process: options, graph, report, exit codes."""

from __future__ import annotations

import json
import os
import re
import signal
from pathlib import Path
from typing import Any

import fsspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pipelines import revert_corpus
from pipelines.repair_corpus import RepairOptions, main, repair_work
from respace.storage.files import remove
from respace.storage.listing import walk_files
from respace.storage.lock import LOCK_NAME, run_lock
from tests.shared_data import SHARED
from tests.transforms.corpora import AFTER, BEFORE, RULES, tree, write_parquet
from tests.transforms.rule_method import Rules

ACL = SHARED / "corpora/acl_ocr.parquet"


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for number in range(3):
        write_parquet(tmp_path / f"in/{number}.parquet", BEFORE * 4)
    (tmp_path / "in/lines.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in BEFORE))
    return tmp_path / "in"


def run(source: Path | str, output: Path | str, *options: str, model: str = RULES) -> int:
    return main(["--input", str(source), "--output", str(output), "--model", model, "--local_workers", "1", *options])


def revert(source: Path, output: Path) -> int:
    return revert_corpus.main(["--input", str(source), "--output", str(output), "--local_workers", "1"])


def summary(output: Path) -> Any:
    return json.loads((output / "_report/summary.json").read_text())


def test_from_shards_to_report(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(corpus, out) == 0
    assert sorted(name for name in tree(out) if not name.startswith("_")) == [
        "0.parquet",
        "1.parquet",
        "2.parquet",
        "lines.jsonl",
    ]
    assert pq.read_table(out / "1.parquet")["text"].to_pylist() == AFTER * 4
    totals = summary(out)["totals"]
    assert totals == {
        "files": 4,
        "unreadable_files": 0,
        "documents": 65,
        "edited_documents": 39,
        "bytes": 13 * sum(len(text.encode()) for text in BEFORE),
        "insertions": 26,
        "deletions": 26,
        "dead_letters": 0,
        "edits_per_1000_bytes": totals["edits_per_1000_bytes"],
    }
    assert summary(out)["this_run"]["documents"] == 65
    assert summary(out)["words"]["split"][0] == ["ofthe → of the", 26]
    printed = capsys.readouterr().out
    # So little text says nothing of the speed.
    assert f"this run               65 documents, {totals['bytes']:,} bytes in " in printed
    assert "KB/s" not in printed
    before = tree(out, without=("_report",))
    assert run(corpus, out) == 0
    assert "4 done before, 0 in this run" in capsys.readouterr().out
    assert tree(out, without=("_report",)) == before
    assert summary(out)["totals"] == totals


def test_dry_run_writes_nothing_and_says_why(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(corpus, out, "--dry_run") == 0
    assert not out.exists()
    assert "do           0.parquet" in capsys.readouterr().out
    run(corpus, out, "--limit", "2")
    (corpus / "broken.parquet").write_bytes(b"PAR1")
    before = tree(out)
    assert run(corpus, out, "--dry_run") == 1  # as the run would, which the bad file ends
    assert run(corpus, out, "--dry_run", "--on_bad_file", "skip") == 0
    assert tree(out) == before
    shown = capsys.readouterr().out
    assert "skip         0.parquet  (done, and nothing it depends on has changed)" in shown
    assert "do           2.parquet" in shown
    assert "cannot read" in shown


def test_a_dry_run_sums_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "in").mkdir()
    for number in range(60):
        (tmp_path / f"in/{number:02}.txt").write_text("one ofthe others " * 2000)
    out = tmp_path / "out"
    assert run(tmp_path / "in", out, "--limit", "4") == 0
    (tmp_path / "in/00.txt").write_text("changed")
    (out / "01.txt").write_text("damaged")
    (out / "02.txt").unlink()
    capsys.readouterr()
    assert run(tmp_path / "in", out, "--dry_run") == 0
    shown = capsys.readouterr().out
    assert len([line for line in shown.splitlines() if line.startswith(("do   ", "skip  "))]) == 50
    assert "... and 10 more; --verbose lists all of them" in shown
    lines = [" ".join(line.split()) for line in shown.splitlines()]
    for wanted in (
        "to do 59 files, 2.0 MB",
        "its input has changed 1 file, 7 bytes",
        "its output is missing or was changed 2 files, 68.0 KB",
        "new 56 files, 1.9 MB",
        "to skip 1 file, 34.0 KB",
    ):
        assert wanted in lines
    assert re.search(r"time  about \d+:\d\d \(\d+ process(es)? at [\d.,]+ [KMG]B/s, as in a short sample\)", shown)
    assert run(tmp_path / "in", out, "--dry_run", "--verbose") == 0
    assert capsys.readouterr().out.count("\ndo   ") >= 58


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.json"])
def test_a_text_column_inside_of_a_struct_is_found_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    rows = [{"id": 1, "doc": {"lang": "en", "parts": [{"text": "one ofthe"}]}}]
    (tmp_path / "in").mkdir()
    if name == "a.parquet":
        pq.write_table(pa.Table.from_pylist(rows), tmp_path / "in" / name)
    else:
        (tmp_path / "in" / name).write_text(json.dumps(rows[0]) + "\n")
    for more in ((), ("--dry_run",)):
        assert run(tmp_path / "in", tmp_path / "out", *more) == 1
        shown = capsys.readouterr().err
        assert shown.count("--text_column") == 1
        assert "; did you mean --text_column doc.parts.text? Give --on_bad_file skip" in shown
    assert run(tmp_path / "in", tmp_path / "out", "--text_column", "doc.parts.text") == 0


def test_limit_and_going_on(corpus: Path, tmp_path: Path) -> None:
    assert run(corpus, tmp_path / "out", "--limit", "1") == 0
    assert [name for name in tree(tmp_path / "out") if not name.startswith("_")] == ["0.parquet"]
    assert run(corpus, tmp_path / "out") == 0
    assert summary(tmp_path / "out")["totals"]["files"] == 4


def test_bundles_run_again_and_inputs_given_twice(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "once", "--provenance")
    assert (
        run(
            corpus,
            tmp_path / "again",
            "--provenance",
            "--direct_runner_bundle_repeat=2",
            "--input",
            f"{corpus}/*.parquet",
        )
        == 0
    )
    aside = ("_manifest", "_report")
    assert tree(tmp_path / "again", without=aside) == tree(tmp_path / "once", without=aside)


@pytest.mark.parametrize("policy", ["error", "warn", "skip"])
def test_unreadable_files(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], policy: str) -> None:
    (corpus / "a.parquet").write_bytes((corpus / "0.parquet").read_bytes()[:100])
    (corpus / "b.jsonl.gz").write_bytes(b"\x1f\x8b\x08no gzip at all, sorry")
    code = run(corpus, tmp_path / "out", "--on_bad_file", policy)
    shown = capsys.readouterr()
    if policy == "error":
        assert code == 1
        assert "a.parquet: cannot be read as Parquet" in shown.err
        assert "(1 more files cannot be read either)" in shown.err
        assert "Traceback" not in shown.err
        assert not (tmp_path / "out/0.parquet").exists()
    else:
        assert code == 0
        assert ("warning: " in shown.err) == (policy == "warn")
        assert "6 files: 0 done before, 4 in this run, 2 unreadable" in shown.out
        assert summary(tmp_path / "out")["totals"]["unreadable_files"] == 2
        assert summary(tmp_path / "out")["totals"]["files"] == 4
        assert not (tmp_path / "out/a.parquet").exists()


def test_a_file_found_bad_only_while_reading(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    packed = gzip.compress(b'{"text": "ofthe"}\n' * 20_000)
    (corpus / "late.jsonl.gz").write_bytes(packed[: len(packed) // 2])
    assert run(corpus, tmp_path / "out") == 1
    assert "late.jsonl.gz: cannot be decompressed after" in capsys.readouterr().err
    assert not (tmp_path / "out/late.jsonl.gz").exists()
    assert run(corpus, tmp_path / "out", "--on_bad_file", "skip") == 0
    assert summary(tmp_path / "out")["unreadable"].keys() == {"late.jsonl.gz"}


def test_a_bad_file_in_several_shards_is_one_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("transforms.repair.plan.SMALLEST_SHARD", 10_000)
    write_parquet(tmp_path / "in/a.parquet", [f"{row} ofthe" * 20 for row in range(500)])
    content = bytearray((tmp_path / "in/a.parquet").read_bytes())
    content[500 : len(content) - 3000] = bytes(len(content) - 3500)
    (tmp_path / "in/a.parquet").write_bytes(content)
    assert run(tmp_path / "in", tmp_path / "out", "--on_bad_file", "warn") == 0
    assert capsys.readouterr().err.count("warning: ") == 1
    assert summary(tmp_path / "out")["unreadable"].keys() == {"a.parquet"}
    assert len(os.listdir(tmp_path / "out/_failed/a.parquet")) > 1
    assert run(tmp_path / "in", tmp_path / "out") == 1
    assert "more files" not in capsys.readouterr().err


def test_interrupted_in_the_middle(
    corpus: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patched:
        patched.setattr("transforms.repair.work.repairer_with_limit", lambda *_: signal.raise_signal(signal.SIGINT))
        assert run(corpus, tmp_path / "out") == 130
    shown = capfd.readouterr().err
    assert "stopped. Rerun the same command" in shown
    assert "Traceback" not in shown
    assert tree(tmp_path / "out") == {}
    assert run(corpus, tmp_path / "out") == 0


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("NotForModels", "repairs nothing by itself. Fix this"),
        (
            "DiesWhileLoading",
            "its process ended while it was loaded (the process died (EOFError)). Most often the memory",
        ),
    ],
)
def test_a_model_that_cannot_be_loaded(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], method: str, message: str
) -> None:
    model = f"tests.transforms.rule_method:{method}"
    assert run(corpus, tmp_path / "out", "--model", model) == 1
    assert f"error: --model {model}: {message}" in capsys.readouterr().err


def test_a_decompression_bomb(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import gzip

    with gzip.open(corpus / "bomb.txt.gz", "wb") as stream:
        for _ in range(80):
            stream.write(bytes(1 << 20))
    assert run(corpus, tmp_path / "out") == 1
    assert "bomb.txt.gz: grows more than 400-fold when decompressed" in capsys.readouterr().err


@pytest.mark.parametrize("kind", ["plain", "dictionary"])
def test_a_parquet_bomb(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    """All rows refer to one long text, which is in the file once."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 300, pa.int32()), pa.array(["word " * 100_000]))
    (tmp_path / "in").mkdir()
    pq.write_table(
        pa.table({"text": texts if kind == "dictionary" else texts.cast(pa.string())}), tmp_path / "in/a.parquet"
    )
    assert run(tmp_path / "in", tmp_path / "out") == 1
    assert "row group 0 grows more than 400-fold when decoded" in capsys.readouterr().err


def test_too_many_failures_fail_the_job_at_the_end(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_parquet(tmp_path / "in/a.parquet", ["ofthe", "why‽"] * 10)
    assert run(tmp_path / "in", tmp_path / "out") == 1
    assert "10 of 20 documents failed, more than --max_error_fraction 0.01" in capsys.readouterr().err
    assert pq.read_table(tmp_path / "out/a.parquet")["text"].to_pylist() == ["of the", "why‽"] * 10
    assert run(tmp_path / "in", tmp_path / "out", "--max_error_fraction", "0.5") == 0
    assert run(tmp_path / "in", tmp_path / "out", "--max_error_fraction", "0.5", "--retry_dead_letters") == 0
    assert summary(tmp_path / "out")["totals"]["dead_letters"] == 10
    assert summary(tmp_path / "out")["dead_letters"][0]["message"] == "this method cannot read an interrobang"


def test_revert(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(corpus, tmp_path / "out", "--provenance")
    assert revert(tmp_path / "out", tmp_path / "back") == 0
    for name in ("0.parquet", "1.parquet", "2.parquet"):
        assert pq.read_table(tmp_path / "back" / name).equals(pq.read_table(corpus / name), check_metadata=True)
    assert (tmp_path / "back/lines.jsonl").read_bytes() == (corpus / "lines.jsonl").read_bytes()
    run(corpus, tmp_path / "bare")
    capsys.readouterr()
    assert revert(tmp_path / "bare", tmp_path / "back2") == 1
    assert "was not written with --provenance" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--text_unit", "page"], "--text_unit page: expected one of document, line"),
        (["--insertion_penalty", "-1"], "--insertion_penalty -1.0: expected at least 0"),
        (["--deletion_penalty", "nan"], "--deletion_penalty nan: expected at least 0"),
        (["--model", "json:loads"], "--model json:loads: loads takes other arguments. Expected (insertion_penalty"),
        (["--batch_characters", "10"], "--batch_characters 10: expected at least 1000"),
        (["--model", "no_such_model"], "--model no_such_model: unknown"),
        (["--model", "no.such.module:Name"], "--model no.such.module:Name: No module named 'no'"),
        (["--revert"], "--revert: unknown option. Run: python -m pipelines.revert_corpus"),
        (["--sample", "2", "--dry_run"], "--sample writes only a report: expected no --retry_dead_letters or --dry"),
    ],
)
def test_bad_options_fail_before_anything_is_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], options: list[str], message: str
) -> None:
    assert run(tmp_path / "missing", tmp_path / "out", *options) == 2
    shown = capsys.readouterr().err
    assert message in shown
    assert "Traceback" not in shown
    assert not (tmp_path / "out").exists()


def test_changed_options_are_refused(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(corpus, tmp_path / "out")
    assert run(corpus, tmp_path / "out", "--insertion_penalty", "2") == 1
    assert (
        "model was 'rules (None, None)' and is now 'rules (2.0, None)' (3 more shards differ" in capsys.readouterr().err
    )
    assert run(corpus, tmp_path / "out", "--insertion_penalty", "2", "--overwrite") == 0


def test_two_runs_into_one_output(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("respace.storage.lock._PATIENCE_SECONDS", 0.1)
    with run_lock(str(tmp_path / "out")):
        assert run(corpus, tmp_path / "out") == 1
    assert f"is in use by another run (process {os.getpid()}" in capsys.readouterr().err


@pytest.mark.parametrize("place", ["local", "store"])
def test_a_lock_that_is_lost_during_a_run(
    corpus: Path, tmp_path: Path, place: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Removed, or taken over because the run was paused: it publishes nothing more, and ends with one line."""
    out = str(tmp_path / "out") if place == "local" else "memory://lost/out"
    decide = Rules.decide

    def remove_lock(self: Rules, sequences: Any) -> Any:
        remove(f"{out}/{LOCK_NAME}")
        return decide(self, sequences)

    monkeypatch.setattr(Rules, "decide", remove_lock)
    assert run(corpus, out, "--max_document_seconds", "0") == 1  # without a limit, in this process
    said = capsys.readouterr().err
    assert "Traceback" not in said
    assert said.splitlines()[-1].startswith(f"error: {out}/{LOCK_NAME} was removed, or taken over by another run")
    assert [file.name for file in walk_files(out)] == []
    monkeypatch.setattr(Rules, "decide", decide)
    assert run(corpus, out) == 0


def test_unwritable_output(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert run(corpus, tmp_path / "file/out") == 1
    assert "cannot be written" in capsys.readouterr().err


def test_a_full_disk_is_no_stack_trace(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from transforms.repair import outputs

    def full(url: str) -> Any:
        raise OSError(28, "No space left on device", url)

    monkeypatch.setattr(outputs, "publish", full)
    assert run(corpus, tmp_path / "out") == 1
    shown = capsys.readouterr().err
    assert "No space left on device" in shown
    assert "Fix this and rerun the same command" in shown


def test_a_remote_store(corpus: Path) -> None:
    store = fsspec.filesystem("memory")
    store.put(str(corpus), "/remote/in", recursive=True)
    assert run("memory://remote/in", "memory://remote/out", "--provenance") == 0
    names = {name.removeprefix("/remote/out/") for name in store.find("/remote/out")}
    assert names == {
        *(
            f"{kind}{name}{end}"
            for name in ("0.parquet", "1.parquet", "2.parquet", "lines.jsonl")
            for kind, end in (("", ""), ("_manifest/", ".json"))
        ),
        "_report/summary.json",
        "_report/index.html",
    }
    with store.open("/remote/out/0.parquet") as stream:
        assert pq.read_table(stream)["text"].to_pylist() == AFTER * 4
    assert run("memory://remote/in", "memory://remote/out", "--provenance") == 0


def test_a_200_megabyte_document_is_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path with a small document and small pieces; `performance.repair_memory` measures the real size."""
    monkeypatch.setattr("transforms.repair.documents.SEGMENT_LENGTH", 100)
    (tmp_path / "in").mkdir()
    (tmp_path / "in/long.txt").write_text("one ofthe others\n" * 500)
    assert run(tmp_path / "in", tmp_path / "out") == 0
    assert (tmp_path / "out/long.txt").read_text() == "one of the others\n" * 500


@pytest.mark.skipif(not ACL.exists(), reason="$RESPACE_DATA/corpora/acl_ocr.parquet is not here")
def test_real_ocr_text_keeps_every_row_column_and_character(tmp_path: Path) -> None:
    assert run(ACL, tmp_path / "out", "--provenance", "--id_column", "id") == 0
    before, after = pq.read_table(ACL), pq.read_table(tmp_path / "out/acl_ocr.parquet")
    assert after.num_rows == 240
    assert after.select(["id", "year"]).equals(before.select(["id", "year"]))
    for old, new in zip(before["text"].to_pylist(), after["text"].to_pylist(), strict=True):
        assert "".join(old.split()) == "".join(new.split())
    assert pa.compute.sum(after["respace_deletions"]).as_py() == summary(tmp_path / "out")["totals"]["deletions"] > 0


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, 262_144),
        ({"preset": "dataflow-gpu"}, 1_048_576),
        ({"preset": "dataflow-gpu", "batch_characters": 5000}, 5000),
    ],
)
def test_an_engine_with_a_graphics_card_gets_more_at_once(
    corpus: Path, tmp_path: Path, options: dict[str, Any], wanted: int
) -> None:
    given = ("--project=project", "--region=europe-west1", "--temp_location=gs://bucket/tmp", "--setup_file=./setup.py")
    told = RepairOptions(
        input=(str(corpus),), output=str(tmp_path / "out"), model=RULES, beam_arguments=given, **options
    )
    work = repair_work(told)
    assert (work.batch_characters, work.formats.chunk_bytes) == (wanted, wanted)
