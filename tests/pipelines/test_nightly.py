"""The same command, night after night, while inputs and outputs change."""

from __future__ import annotations

import gzip
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from tests.permissions import as_anybody
from tests.pipelines.test_repair_corpus import run, summary
from tests.transforms.corpora import tree, write_parquet
from transforms.repair.reopened import finished_files


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    for name in ("a", "b", "c"):
        write(tmp_path / f"in/{name}.jsonl", f"{name} ofthe others")
    return tmp_path / "in"


def write(path: Path, *texts: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))


def texts(path: Path) -> list[str]:
    return [json.loads(line)["text"] for line in path.read_text().splitlines()]


def runs(output: Path) -> dict[str, Any]:
    """Which run made each shard: one that was done again has another."""
    found = (output / "_manifest").rglob("*.json")
    return {path.name.removesuffix(".json"): json.loads(path.read_text())["run"] for path in sorted(found)}


def done_again(output: Path, before: dict[str, Any]) -> list[str]:
    return [name for name, made in runs(output).items() if before.get(name) != made]


def test_nights(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(corpus, out) == 0
    known = runs(out)
    for path in corpus.iterdir():
        os.utime(path, (1e9, 1e9))
    assert run(corpus, out) == 0
    assert done_again(out, known) == []
    write(corpus / "b.jsonl", "b ofthe changed")
    write(corpus / "d.jsonl", "d ofthe new")
    assert run(corpus, out) == 0
    assert done_again(out, known) == ["b.jsonl", "d.jsonl"]
    assert texts(out / "b.jsonl") == ["b of the changed"]
    (corpus / "a.jsonl").unlink()
    capsys.readouterr()
    assert run(corpus, out) == 0
    assert "inputs gone" in capsys.readouterr().out
    assert (out / "a.jsonl").exists()
    assert run(corpus, out, "--dry_run", "--prune") == 0
    assert "remove       a.jsonl  (its input is gone)" in capsys.readouterr().out
    assert (out / "a.jsonl").exists()
    assert run(corpus, out, "--prune") == 0
    assert sorted(name for name in tree(out) if not name.startswith("_")) == ["b.jsonl", "c.jsonl", "d.jsonl"]
    assert summary(out)["totals"]["files"] == 3
    assert "a.jsonl" not in runs(out)


def test_a_copy_of_corpus_and_output(corpus: Path, tmp_path: Path) -> None:
    run(corpus, tmp_path / "out")
    for path in (corpus, tmp_path / "out"):
        shutil.copytree(path, tmp_path / "copy" / path.name, copy_function=shutil.copyfile)
    known = runs(tmp_path / "out")
    assert run(tmp_path / "copy/in", tmp_path / "copy/out") == 0
    assert runs(tmp_path / "copy/out") == known


def test_a_damaged_output_is_found_and_mended(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    run(corpus, out)
    whole, known, times = tree(out, without=("_manifest", "_report")), runs(out), os.stat(out / "b.jsonl")
    (out / "b.jsonl").write_bytes(bytes(len(whole["b.jsonl"])))
    os.utime(out / "b.jsonl", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(corpus, out) == 0
    assert done_again(out, known) == []
    assert run(corpus, out, "--verify") == 0
    assert done_again(out, known) == ["b.jsonl"]
    assert tree(out, without=("_manifest", "_report")) == whole


def test_a_file_that_became_unreadable(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_parquet(corpus / "p.parquet", ["one ofthe"])
    run(corpus, out)
    (corpus / "p.parquet").write_bytes(b"PAR1")
    assert run(corpus, out, "--on_bad_file", "skip", "--prune") == 0
    assert (summary(out)["totals"]["unreadable_files"], summary(out)["totals"]["files"]) == (1, 3)
    write_parquet(corpus / "p.parquet", ["two ofthe"])
    assert run(corpus, out) == 0
    assert pq.read_table(out / "p.parquet")["text"].to_pylist() == ["two of the"]


def test_report_and_review_page_agree_about_unreadable_files(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    write_parquet(corpus / "p.parquet", ["one ofthe"])
    assert run(corpus, out, "--provenance") == 0
    content, times = (corpus / "p.parquet").read_bytes(), os.stat(corpus / "p.parquet")
    (corpus / "p.parquet").write_bytes(b"PAR1")
    capsys.readouterr()
    assert run(corpus, out, "--provenance", "--on_bad_file", "skip") == 0
    assert "4 files: 3 done before, 0 in this run, 1 unreadable" in capsys.readouterr().out
    assert finished_files(str(out)) == ["a.jsonl", "b.jsonl", "c.jsonl"]
    assert (summary(out)["totals"]["files"], summary(out)["totals"]["insertions"]) == (3, 3)
    (corpus / "p.parquet").write_bytes(content)
    os.utime(corpus / "p.parquet", ns=(times.st_atime_ns, times.st_mtime_ns))
    assert run(corpus, out, "--provenance") == 0
    assert "4 files: 4 done before, 0 in this run\n" in capsys.readouterr().out
    assert finished_files(str(out)) == ["a.jsonl", "b.jsonl", "c.jsonl", "p.parquet"]
    assert summary(out)["unreadable"] == {}
    assert summary(out)["totals"]["files"] == 4


def test_overwrite_redoes_only_what_differs(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    run(corpus / "a.jsonl", out)
    known = runs(out)
    assert run(corpus, out, "--keep_original") == 1
    assert "keep original was False and is now True" in capsys.readouterr().err
    assert run(corpus, out, "--overwrite") == 0
    assert done_again(out, known) == ["b.jsonl", "c.jsonl"]


def test_retry_takes_a_file_that_was_mended(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write(corpus / "b.jsonl", "b ofthe", "why‽ ofthe")
    assert run(corpus, out, "--max_error_fraction", "1") == 0
    known = runs(out)
    write(corpus / "a.jsonl", "changed, without dead letters ofthe")
    write(corpus / "b.jsonl", "b ofthe", "why? ofthe", "more")
    assert run(corpus, out, "--retry_dead_letters") == 0
    assert done_again(out, known) == ["b.jsonl"]
    assert texts(out / "b.jsonl") == ["b of the", "why? of the", "more"]
    assert summary(out)["totals"]["dead_letters"] == 0


def test_what_is_not_read_is_told(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (corpus / "paper.pdf").write_bytes(b"%PDF-1.7 \xff ofthe")
    os.mkfifo(corpus / "pipe.jsonl")
    for more in ("--dry_run", "--limit=9"):
        assert run(corpus, tmp_path / "out", more) == 0
        shown = capsys.readouterr().out
        assert "1 files ending in .pdf" in shown
        assert "1 pipes, sockets and devices" in shown
    assert summary(tmp_path / "out")["not_read"] == {"files ending in .pdf": 1, "pipes, sockets and devices": 1}
    assert "files ending in .pdf" in (tmp_path / "out/_report/index.html").read_text()


def test_other_files_are_copied_along(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, content = tmp_path / "out", b"%PDF-1.7 \xff ofthe"
    (corpus / "sub").mkdir()
    (corpus / "sub/paper.pdf").write_bytes(content)
    assert run(corpus, out, "--copy_others") == 0
    assert (out / "sub/paper.pdf").read_bytes() == content
    assert "left out" not in capsys.readouterr().out
    known = runs(out)
    (corpus / "sub/paper.pdf").write_bytes(content[::-1])
    assert run(corpus, out, "--copy_others") == 0
    assert done_again(out, known) == ["paper.pdf"]
    assert (out / "sub/paper.pdf").read_bytes() == content[::-1]


def test_a_folder_that_cannot_be_listed(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    write(corpus / "sub/d.jsonl", "d ofthe")
    assert run(corpus, out) == 0
    (corpus / "sub").chmod(0)
    try:
        with as_anybody():
            assert run(corpus, out, "--prune") == 1
            assert "in/sub: the folder cannot be listed (Permission denied). Give --on_bad" in capsys.readouterr().err
            assert run(corpus, out, "--prune", "--on_bad_file", "skip") == 0
    finally:
        (corpus / "sub").chmod(0o755)
    assert (out / "sub/d.jsonl").exists()  # it may still be there tomorrow
    assert "unreadable files       1" in capsys.readouterr().out


def test_links(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(tmp_path / "far/d.jsonl", "d ofthe")
    (corpus / "far").symlink_to(tmp_path / "far")
    assert run(corpus, tmp_path / "out") == 0
    assert not (tmp_path / "out/far").exists()
    assert "1 links that lead out of the input (--follow_links)" in capsys.readouterr().out
    assert run(corpus, tmp_path / "out", "--follow_links") == 0
    assert texts(tmp_path / "out/far/d.jsonl") == ["d of the"]
    assert run(corpus, tmp_path / "far/out", "--follow_links") == 2
    write(corpus / "sub/e.jsonl", "e ofthe")
    (tmp_path / "out/sub").symlink_to(corpus / "sub")
    assert run(corpus, tmp_path / "out") == 2
    assert "Remove the link" in capsys.readouterr().err
    assert texts(corpus / "sub/e.jsonl") == ["e ofthe"]


def test_other_suffixes_of_text(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    content = "# One ofthe\n\n\N{ZERO WIDTH NO-BREAK SPACE}a x".encode()
    (corpus / "README.md").write_bytes(b"\xef\xbb\xbf" + content)
    assert run(corpus, out, "--copy_others") == 0
    assert (out / "README.md").read_bytes() == b"\xef\xbb\xbf" + content
    capsys.readouterr()
    assert run(corpus, out, "--text_suffix", ".md") == 1  # it was copied, and is to be repaired now
    assert "taken for was 'copied' and is now 'text'" in capsys.readouterr().err
    assert run(corpus, out, "--text_suffix", ".md", "--overwrite") == 0
    assert (out / "README.md").read_bytes() == b"\xef\xbb\xbf" + content.replace(b"ofthe", b"of the").replace(
        b"a x", b"ax"
    )
    for suffix in ("md", ".jsonl", ".gz", ".MD"):
        assert run(corpus, out, "--text_suffix", suffix) == 2
        assert f"--text_suffix {suffix}: expected a suffix such as .md" in capsys.readouterr().err


def test_what_was_copied_once_is_not_pruned_while_it_is_there(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    (corpus / "paper.pdf").write_bytes(b"%PDF-1.7")
    assert run(corpus, out, "--copy_others") == 0
    assert run(corpus, out, "--prune") == 0
    assert (out / "paper.pdf").exists()
    (corpus / "paper.pdf").unlink()
    assert run(corpus, out, "--prune") == 0
    assert not (out / "paper.pdf").exists()


@pytest.mark.parametrize("again", ["good", "gone"])
def test_a_file_that_fails_while_it_is_worked_on_keeps_what_it_had(corpus: Path, tmp_path: Path, again: str) -> None:
    out = tmp_path / "out"
    with gzip.open(corpus / "z.jsonl.gz", "wt") as stream:
        stream.write('{"text": "z ofthe"}\n{"text": "why‽"}\n' * 100)
    assert run(corpus, out, "--max_error_fraction", "1") == 0
    whole, known = tree(out, without=("_report", "_failed")), runs(out)
    content = (corpus / "z.jsonl.gz").read_bytes()
    (corpus / "z.jsonl.gz").write_bytes(content[:-9])  # its beginning is as good as before
    for _ in range(2):
        assert run(corpus, out, "--on_bad_file", "skip", "--max_error_fraction", "1") == 0
        assert tree(out, without=("_report", "_failed")) == whole
        assert summary(out)["totals"]["unreadable_files"] == 1
    if again == "good":
        (corpus / "z.jsonl.gz").write_bytes(content)
        assert run(corpus, out, "--max_error_fraction", "1") == 0
        assert done_again(out, known) == []
    else:
        (corpus / "z.jsonl.gz").unlink()
        assert run(corpus, out, "--prune") == 0
        assert not (out / "z.jsonl.gz").exists()


def test_a_manifest_that_names_a_file_elsewhere_removes_nothing(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, victim = tmp_path / "out", tmp_path / "victim"
    victim.write_text("of somebody else")
    assert run(corpus, out) == 0
    path = out / "_manifest/a.jsonl.json"
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps({**manifest, "outputs": {**manifest["outputs"], "../victim": 16}}))
    (corpus / "a.jsonl").unlink()
    assert run(corpus, out, "--prune") == 1
    assert "its file '../victim' is not inside of the output" in capsys.readouterr().err
    assert victim.exists()
    path.unlink()
    assert run(corpus, out, "--prune") == 0


def test_folders_of_ours_that_are_links(corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "out"
    assert run(corpus, out) == 0
    (out / "_manifest").rename(tmp_path / "elsewhere")
    (out / "_manifest").symlink_to(tmp_path / "elsewhere")
    (corpus / "a.jsonl").unlink()
    assert run(corpus, out, "--prune") == 2
    assert "_manifest is a link to " in capsys.readouterr().err
    assert (out / "a.jsonl").exists()


@pytest.mark.parametrize("prune", [True, False])
@pytest.mark.parametrize("name", ["z.parquet", "z.jsonl", "z.txt"])
def test_a_renamed_file_is_not_repaired_again(
    corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, prune: bool
) -> None:
    out, new = tmp_path / "out", f"folder/new-{name}"
    if name == "z.parquet":
        write_parquet(corpus / name, ["one ofthe", "why‽", "a x"])
    elif name == "z.txt":
        (corpus / name).write_text("one ofthe, why‽")
    else:
        write(corpus / name, "one ofthe", "why‽", "a x")
    options = ["--provenance", "--max_error_fraction", "1"]
    assert run(corpus, out, *options) == 0
    made, known = tree(out, without=("_report",)), runs(out)
    (corpus / "folder").mkdir()
    (corpus / name).rename(corpus / new)
    assert run(corpus, out, *options, "--dry_run") == 0
    assert f"{name} was renamed, and is taken over" in capsys.readouterr().out
    assert run(corpus, out, *options, *(["--prune"] if prune else [])) == 0
    assert "4 files: 4 done before, 0 in this run" in capsys.readouterr().out
    assert runs(out)[f"new-{name}"] == known[name]
    now = tree(out, without=("_report",))
    assert now[new] == made[name]
    assert (name in now) != prune
    assert new in (out / "_report/summary.json").read_text()
    if prune:
        assert f'"{name}"' not in (out / "_report/summary.json").read_text()
    letters = pq.read_table(out / f"_dead_letters/{new}.parquet")
    assert set(letters["shard"].to_pylist()) == {new}
    assert run(corpus, out, *options) == 0
    assert done_again(out, {**known, f"new-{name}": known[name]}) == []
    assert run(tmp_path / "in" / "folder", tmp_path / "again", *options) == 0
    assert (tmp_path / f"again/new-{name}").read_bytes() == now[new]


def test_a_renamed_file_whose_output_was_damaged_is_repaired(corpus: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run(corpus, out) == 0
    known = runs(out)
    (out / "a.jsonl").write_text("damaged")
    (corpus / "a.jsonl").rename(corpus / "d.jsonl")
    (corpus / "b.jsonl").rename(corpus / "e.jsonl")
    write(corpus / "e.jsonl", "b ofthe otherS")  # of the same size
    assert run(corpus, out) == 0
    assert done_again(out, known) == ["d.jsonl", "e.jsonl"]
    assert texts(out / "d.jsonl") == ["a of the others"]
    assert texts(out / "e.jsonl") == ["b of the otherS"]
