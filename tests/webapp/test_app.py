"""The application through its HTTP interface, with a real model."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from respace.repairer import Repairer
from tests.webapp.serving import client_of, loaded
from webapp.__main__ import _methods, main
from webapp.app import Limits, Settings
from webapp.catalogue import Catalogue
from webapp.workers import RepairWorkers

TEXT = "Thealgo rithm isfast."


@pytest.fixture(scope="module")
def benchmarks(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("dev")
    folder = root / "Wiki" / "predictions"
    folder.mkdir(parents=True)
    (root / "Wiki" / "corrupt.txt").write_text("thec at\n<b>a b\n")
    (root / "Wiki" / "correct.txt").write_text("the cat\n<b>a b\n")
    (folder / "good.txt").write_text("the cat\n<b>a b\n")
    (folder / "broken.txt").write_text("the dog\n<b>a b\n")
    return root


@pytest.fixture(scope="module")
def repairs() -> Iterator[RepairWorkers]:
    with loaded("fast", "do_nothing") as found:
        yield found


@pytest.fixture(scope="module")
def client(benchmarks: Path, repairs: RepairWorkers) -> Iterator[TestClient]:
    settings = Settings(
        catalogue=Catalogue.find([str(benchmarks)], []),
        repairs=repairs,
        limits=Limits(most_bytes=100_000),
    )
    with client_of(settings) as found:
        yield found


def test_repair_is_that_of_the_library(client: TestClient) -> None:
    expected = Repairer.load().repair_with_edits(TEXT)
    answer = client.post("/api/repair", json={"text": TEXT}).json()
    assert answer["text"] == expected.text == "The algorithm is fast."
    assert [(one["gap"], one["kind"]) for one in answer["edits"]] == [(one.gap, one.kind) for one in expected.edits]
    several = client.post("/api/repair", json={"text": [TEXT, ""], "method": "do_nothing"}).json()
    assert [one["text"] for one in several["repairs"]] == [TEXT, ""]


def test_penalties_belong_to_the_request(client: TestClient) -> None:
    cautious = client.post("/api/repair", json={"text": TEXT, "insertion_penalty": 1000, "deletion_penalty": 1000})
    assert cautious.json()["text"] == TEXT
    assert client.post("/api/repair", json={"text": TEXT}).json()["text"] != TEXT
    assert client.get("/api/methods").json()["fast"]["insertion"] > 0
    assert client.get("/api/methods").json()["do_nothing"] is None


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "the body is not JSON"),
        (b"\xff", "the body is not JSON"),
        (b"[" * 50_000, "the body is not JSON"),
        (b"[]", "expected an object"),
        (b"{}", "'text' is missing"),
        (b'{"text": [1]}', "expected a string, or a list of strings"),
        (b'{"text": "a", "colour": 1}', "unknown member 'colour'"),
        (b'{"text": "a", "method": "/etc/passwd"}', "method '/etc/passwd': expected one of fast, do_nothing"),
        (b'{"text": "a", "method": "os:system"}', "method 'os:system': expected one of"),
        (b'{"text": "a", "method": []}', "method list: expected one of"),
        (b'{"text": "a", "insertion_penalty": NaN}', "insertion_penalty nan: expected a number from 0 to 1000"),
        (b'{"text": "a", "insertion_penalty": 1e999}', "insertion_penalty inf: expected"),
        (b'{"text": "a", "deletion_penalty": -1}', "deletion_penalty -1: expected"),
        (b'{"text": "a", "deletion_penalty": true}', "deletion_penalty True: expected"),
        (b'{"text": "a", "all_text": 1}', "all_text 1: expected true or false"),
        (b'{"text": "a", "method": "do_nothing", "insertion_penalty": 1}', "do_nothing has no penalties"),
    ],
)
def test_bad_requests(client: TestClient, body: bytes, message: str) -> None:
    response = client.post("/api/repair", content=body)
    assert response.status_code == 400
    assert message in response.json()["error"]


def test_ten_megabytes_are_too_many(client: TestClient) -> None:
    response = client.post("/api/repair", content=b'{"text": "' + b"a" * 10_000_000 + b'"}')
    assert response.status_code == 413
    assert "more than 100000 bytes" in response.json()["error"]


def test_lone_surrogates_come_back(client: TestClient) -> None:
    assert client.post("/api/repair", content=b'{"text": "a \\ud800 b"}').json()["text"] == "a \ud800 b"


@pytest.mark.parametrize("requests", [500, pytest.param(10_000, marks=pytest.mark.slow)])
def test_hostile_requests(client: TestClient, requests: int) -> None:
    source = random.Random(0)
    whole = json.dumps({"text": "a b", "method": "do_nothing", "insertion_penalty": None, "all_text": False}).encode()
    for _ in range(requests):
        body = bytearray(whole)
        for _ in range(source.randint(1, 4)):
            body[source.randrange(len(body))] = source.randrange(256)
        status = client.post("/api/repair", content=bytes(body)).status_code
        assert status in (200, 400), bytes(body)


@pytest.mark.parametrize(
    "path",
    ["/data/Wiki/../../secret", "/data/%2e%2e/passwd", "/data/Wiki/%2e%2e%2fcorrect.txt", "/..%2fapp.py", "/app.py",
     "/data/none/corrupt.txt", "/data/Wiki/predictions/none.txt", "/static/style.css", "/api/corpus",
     "/corpus/_report/index.html", "/corpus/../app.py"],
)  # fmt: skip
def test_nothing_else_is_served(client: TestClient, path: str) -> None:
    response = client.get(path)
    assert response.status_code == 404
    assert "error" in response.json()


def test_pages_and_data(client: TestClient) -> None:
    for page in ("/", "/index.html", "/try.html", "/corpus.html", "/style.css", "/common.js", "/analysis.js"):
        response = client.get(page)
        assert response.status_code == 200
        assert "default-src 'self'" in response.headers["content-security-policy"]
    index = client.get("/data/index.json").json()
    assert index["benchmarks"] == [{"name": "Wiki", "sequences": 2, "methods": ["good"], "best": "good"}]
    assert "1 of 2 predictions differ from the given text in more than their spaces: line 1" in index["left_out"][0]
    data = client.get("/data/Wiki/corrupt.txt")
    assert (data.text, data.headers["content-type"]) == ("thec at\n<b>a b\n", "text/plain; charset=utf-8")
    assert client.get("/api/repair").status_code == 405


def test_fast_and_default_are_one_name(client: TestClient, tmp_path: Path) -> None:
    answer = client.post("/api/repair", json={"text": TEXT, "method": "default"}).json()
    assert (answer["text"], answer["method"]) == ("The algorithm is fast.", "fast")
    assert list(client.get("/api/methods").json()) == ["fast", "do_nothing"]
    assert _methods("default, fast,greedy") == ("fast", "greedy")
    folder = tmp_path / "Wiki" / "predictions"
    folder.mkdir(parents=True)
    for file in ("corrupt.txt", "correct.txt", "predictions/default.txt", "predictions/fast.txt"):
        (tmp_path / "Wiki" / file).write_text("a b\n")
    (shown,) = Catalogue.find([str(tmp_path)], []).index()["benchmarks"]
    assert shown["methods"] == ["fast"]


def test_the_best_method_has_the_highest_f_score(tmp_path: Path) -> None:
    folder = tmp_path / "Wiki" / "predictions"
    folder.mkdir(parents=True)
    lines = {"corrupt": "thec at sat", "correct": "the cat sat", "predictions/a": "thec at sat",
             "predictions/b": "the c at sat", "predictions/c": "the cat sat",
             "predictions/d": "the cats at"}  # fmt: skip
    for file, line in lines.items():
        (tmp_path / "Wiki" / f"{file}.txt").write_text(line + "\n")
    (shown,) = Catalogue.find([str(tmp_path)], []).index()["benchmarks"]
    assert shown["best"] == "c"


def test_openapi_names_what_there_is(client: TestClient) -> None:
    document = client.get("/api/openapi.json").json()
    assert document["openapi"].startswith("3.1")
    request = document["paths"]["/api/repair"]["post"]["requestBody"]["content"]["application/json"]["schema"]
    assert request["properties"]["method"]["enum"] == ["fast", "do_nothing"]


def test_pdf(client: TestClient) -> None:
    assert client.post("/api/pdf", content=b"hello").json()["error"].startswith("this is not a PDF")
    assert client.post("/api/pdf", content=b"%PDF-1.4 broken").status_code == 400


def test_export(benchmarks: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--benchmarks", str(benchmarks), "--export", str(tmp_path / "site")]) == 0
    assert "left out: " in capsys.readouterr().err
    files = {str(path.relative_to(tmp_path / "site")) for path in (tmp_path / "site").rglob("*") if path.is_file()}
    assert {"index.html", "analysis.js", "data/index.json", "data/Wiki/predictions/good.txt"} <= files
    assert json.loads((tmp_path / "site" / "data" / "index.json").read_text())["static"] is True


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--port", "70000"], "--port 70000: expected a number from 0 to 65535"),
        (["--seconds", "0"], "--seconds 0.0: expected a number from 0.1 to 3600"),
        (["--methods", "magic"], "--methods magic: expected some of do_nothing"),
        (["--benchmarks", "/nowhere"], "--benchmarks /nowhere: no corrupt.txt there"),
        (["--corpus", "/nowhere"], "--corpus /nowhere: not found"),
        (["--predictions", "/nowhere"], "--predictions /nowhere: not found"),
    ],
)
def test_bad_options(capsys: pytest.CaptureFixture[str], options: list[str], message: str) -> None:
    assert main(options) in (1, 2)
    assert message in capsys.readouterr().err
