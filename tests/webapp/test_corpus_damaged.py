"""What a corpus leads to is served, and nothing else: links of the report, damaged outputs, paths that lead out."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urljoin, urlsplit

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from pipelines.repair_corpus import main as repair_corpus
from pipelines.revert_corpus import main as revert_corpus
from respace.storage.errors import UserError
from tests.transforms.corpora import RULES
from tests.webapp.serving import client_of
from webapp.__main__ import main as webapp
from webapp.app import Settings
from webapp.corpus import Corpus

SECRET = "nobody may see ofthe this"
HTML = "<script>alert(1)</script> & <u>ofthe</u> </blockquote>"
ODD = "folder #1/what? 100% \u00fc&'.jsonl"
REPORT = "/corpus/_report/index.html"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Names that have to be quoted, texts that look like markup, dead letters."""
    root = tmp_path_factory.mktemp("damaged")
    (root / "in" / "folder #1").mkdir(parents=True)
    rows = [{"text": HTML}, {"text": f"what\u203d {HTML}"}, {"text": "one ofthe others"}]
    (root / "in" / ODD).write_text("".join(json.dumps(row) + "\n" for row in rows))
    (root / "in" / "a.csv").write_text("id,text\n1,one ofthe others\n2,what\u203d\n")
    (root / "in" / "b.txt").write_text("one ofthe others")
    arguments = ["--input", str(root / "in"), "--output", str(root / "out"), "--model", RULES, "--all_text"]
    assert repair_corpus([*arguments, "--provenance", "--local_workers", "1", "--max_error_fraction", "1"]) == 0
    return root / "out"


@pytest.fixture
def output(made: Path, tmp_path: Path) -> Path:
    """A copy to be damaged."""
    shutil.copytree(made, tmp_path / "out")
    return tmp_path / "out"


@contextmanager
def served(output: Path) -> Iterator[TestClient]:
    settings = Settings(corpus=Corpus(str(output)))
    with client_of(settings) as client:
        yield client


class Page(HTMLParser):
    def __init__(self, content: str):
        super().__init__()
        self.links: set[str] = set()
        self.ids: set[str] = set()
        self.tags: set[str] = set()
        self.feed(content)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        self.tags.add(tag)
        self.links |= {found["href"] or ""} if "href" in found else set()
        self.ids |= {found["id"] or ""} if "id" in found else set()


def test_every_link_of_a_served_report_answers(made: Path) -> None:
    with served(made) as client:
        page = Page(client.get(REPORT).text)
        files = {link for link in page.links if not link.startswith("#")}
        assert len(files) == 5  # three files, dead letters of two
        for link in files:
            response = client.get(urljoin(REPORT, link))
            assert response.status_code == 200, link
            on_disk = made / "_report" / unquote(link)
            assert response.content == on_disk.read_bytes()
            assert response.headers["content-disposition"].startswith("attachment")
            assert response.headers["x-content-type-options"] == "nosniff"
        assert {link[1:] for link in page.links - files} <= page.ids


def test_the_report_from_disk(made: Path) -> None:
    page = Page((made / "_report" / "index.html").read_text())
    for link in page.links:
        parts = urlsplit(link)
        assert (made / "_report" / unquote(parts.path)).exists()
        assert not parts.fragment or parts.fragment in page.ids


def test_text_is_text(made: Path) -> None:
    with served(made) as client:
        page = Page(client.get(REPORT).text)
        assert not page.tags & {"script", "u"}
        shown = [one["before"] + one["after"] for one in client.get("/api/corpus").json()["edits"]]
        assert any("<script>alert(1)</script>" in one for one in shown)  # the page makes a text node of it


def test_the_exported_report_leads_nowhere_else(made: Path, tmp_path: Path) -> None:
    assert webapp(["--corpus", str(made), "--export", str(tmp_path / "site")]) == 0
    files = [path.relative_to(tmp_path / "site").as_posix() for path in (tmp_path / "site").rglob("*")]
    assert files == ["report.html"]
    page = Page((tmp_path / "site" / "report.html").read_text())
    assert page.links
    assert {link[1:] for link in page.links} <= page.ids


def test_a_report_of_another_version_is_not_exported(
    output: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    summary = json.loads((output / "_report" / "summary.json").read_text())
    del summary["confidence"]
    (output / "_report" / "summary.json").write_text(json.dumps(summary))
    assert webapp(["--corpus", str(output), "--export", str(tmp_path / "site")]) == 1
    assert (
        "its report was written by another version, or is damaged (KeyError('confidence'))" in capsys.readouterr().err
    )


def test_the_exported_analysis_leads_to_the_report(made: Path, tmp_path: Path) -> None:
    (tmp_path / "dev" / "Wiki").mkdir(parents=True)
    for name in ("corrupt.txt", "correct.txt"):
        (tmp_path / "dev" / "Wiki" / name).write_text("the cat\n")
    site = tmp_path / "site"
    assert webapp(["--benchmarks", str(tmp_path / "dev"), "--corpus", str(made), "--export", str(site)]) == 0
    assert (site / json.loads((site / "data" / "index.json").read_text())["report"]).exists()


@pytest.mark.parametrize(
    "name",
    ["b.txt/../../in/b.txt", "../in/b.txt", "%2e%2e/in/b.txt", "..%2fin%2fb.txt", "_manifest/a.csv.json", "_provenance",
     "_provenance/b.txt.parquet", "_report/summary.json", "_report/", "", "_review.jsonl", "/etc/passwd", "%00"],
)  # fmt: skip
def test_what_the_report_does_not_lead_to(made: Path, name: str) -> None:
    with served(made) as client:
        response = client.get(f"/corpus/{name}")
        assert response.status_code == 404
        assert "error" in response.json()


def test_a_link_that_leads_out(output: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    (output / "b.txt").unlink()
    (output / "b.txt").symlink_to(tmp_path / "secret.txt")
    with served(output) as client:
        response = client.get("/corpus/b.txt")
        assert (response.status_code, response.json()) == (
            404,
            {"error": "b.txt: leads out of the output, and is not opened"},
        )
        found = client.get("/api/corpus").json()
        assert found["notes"] == ["b.txt: leads out of the output, and is not opened"]
        assert {one["shard"] for one in found["edits"]} == {"a.csv", ODD}
        assert "nobody" not in json.dumps(found)


def test_a_summary_that_leads_out(output: Path, tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text(SECRET)
    summary = json.loads((output / "_report" / "summary.json").read_text())
    summary["samples"][0]["shard"] = "../secret.txt"
    (output / "_report" / "summary.json").write_text(json.dumps(summary))
    with served(output) as client:
        for path in ("/corpus/../secret.txt", "/corpus/%2e%2e/secret.txt", "/corpus/..%2fsecret.txt"):
            response = client.get(path)
            assert response.status_code == 404
            assert "nobody" not in response.text


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "expected the summary of a repair"),
        ("[]", "expected the summary of a repair"),
        ('{"totals": {}}', r"found something else \('made'\)"),
        ("[" * 100_000, "expected the summary of a repair"),
        ("\x00\xff", "expected the summary of a repair"),
    ],
)
def test_a_damaged_summary(output: Path, content: str, message: str) -> None:
    with served(output) as client:
        (output / "_report" / "summary.json").write_text(content, encoding="latin-1")
        assert client.get("/api/corpus").status_code == 503
        assert client.get("/corpus/b.txt").status_code == 503
    with pytest.raises(UserError, match=message):
        Corpus(str(output))


def damage_manifest(output: Path) -> None:
    (output / "_manifest" / "b.txt.json").write_text("{")


def damage_kinds_of_members(output: Path) -> None:
    path = output / "_manifest" / "b.txt.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "fingerprint": "x"}))


def cut_provenance(output: Path) -> None:
    path = output / "_provenance" / "b.txt.parquet"
    path.write_bytes(path.read_bytes()[:100])


def remove_provenance(output: Path) -> None:
    (output / "_provenance" / "b.txt.parquet").unlink()


def other_provenance(output: Path) -> None:
    pq.write_table(pa.table({"respace_edits": [17]}), output / "_provenance" / "b.txt.parquet")


def more_provenance(output: Path) -> None:
    path = output / "_provenance" / "b.txt.parquet"
    pq.write_table(pa.concat_tables([pq.read_table(path)] * 2), path)


def change_text(output: Path) -> None:
    (output / "b.txt").write_text("one")


def remove_text(output: Path) -> None:
    (output / "b.txt").unlink()


def other_job(output: Path) -> None:
    path = output / "_manifest" / "b.txt.json"
    content = json.loads(path.read_text())
    del content["fingerprint"]["taken for"]
    path.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (damage_manifest, "b.txt.json is not a manifest"),
        (damage_kinds_of_members, "b.txt.json is not a manifest"),
        (cut_provenance, "b.txt.parquet: cannot be read as Parquet"),
        (remove_provenance, "b.txt.parquet is missing: it was not written with --provenance"),
        (other_provenance, "what should be edits is something else"),
        (more_provenance, "its provenance has 2 rows"),
        (change_text, "Was it changed since?"),
        (remove_text, "b.txt: its manifest is there, and the file is gone"),
        (other_job, "b.txt: its manifest is not one of pipelines.repair_corpus"),
    ],
)
def test_one_damaged_file_is_told_and_all_others_shown(output: Path, damage: object, message: str) -> None:
    damage(output)  # type: ignore[operator]
    with served(output) as client:
        response = client.get("/api/corpus")
        assert response.status_code == 200
        (note,) = response.json()["notes"]
        assert message in note
        assert {one["shard"] for one in response.json()["edits"]} == {"a.csv", ODD}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"gap": ', '"gap": 9', "the text has"),
        ('"gap": ', '"gap": null, "x": ', "what should be edits is something else"),
        ('"kind": "insertion"', '"kind": "magic"', "expected an insertion or a deletion"),
        ('"confidence": ', '"confidence": NaN, "x": ', "expected an insertion or a deletion, and a confidence"),
        ('"respace_edits"', '"edits"', "no member 'respace_edits'"),
    ],
)
def test_damaged_provenance_in_lines(output: Path, old: str, new: str, message: str) -> None:
    path = output / ODD
    path.write_text(path.read_text().replace(old, new))
    with served(output) as client:
        (note,) = client.get("/api/corpus").json()["notes"]
        assert message in note


def test_without_provenance(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "a.txt").write_text("one ofthe others")
    arguments = ["--input", str(tmp_path / "in"), "--output", str(tmp_path / "out"), "--model", RULES, "--all_text"]
    assert repair_corpus([*arguments, "--local_workers", "1"]) == 0
    corpus = Corpus(str(tmp_path / "out"))
    assert corpus.edits() == []
    assert corpus.notes() == ["Single edits are not known: the corpus was repaired without --provenance."]


def test_outputs_of_other_jobs(made: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert revert_corpus(["--input", str(made), "--output", str(tmp_path / "back"), "--local_workers", "1"]) == 0
    capsys.readouterr()
    assert webapp(["--corpus", str(tmp_path / "back")]) == 1
    assert capsys.readouterr().err.count("\n") == 1
    arguments = ["--input", str(made.parent / "in"), "--output", str(tmp_path / "sample"), "--model", RULES]
    assert repair_corpus([*arguments, "--sample", "2", "--max_error_fraction", "1"]) == 0
    with pytest.raises(UserError, match="only a sample was repaired"):
        Corpus(str(tmp_path / "sample"))


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_review_that_cannot_be_written(output: Path) -> None:
    output.chmod(0o500)
    with served(output) as client:
        edit = client.get("/api/corpus").json()["edits"][0]
        entry = {key: edit[key] for key in ("shard", "row", "gap", "kind")} | {"decision": "reject"}
        assert client.post("/api/corpus/review", json=entry).status_code == 503
    output.chmod(0o700)
