"""Requests that nobody should send: the answer is never a 500, and the next one is answered as before."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from performance.web_fuzz import METHODS, TYPES, any_body, any_path, write_shown
from performance.web_fuzz import run as run_fuzz
from respace.storage.errors import BadOption
from tests.webapp.serving import client_of, loaded
from webapp.access import Access
from webapp.app import Limits, Settings, make_app
from webapp.catalogue import Catalogue
from webapp.corpus import Corpus


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    root = tmp_path_factory.mktemp("hostile")
    write_shown(root)
    with loaded("do_nothing", "greedy") as repairs:
        yield Settings(
            catalogue=Catalogue.find([str(root / "dev")], []),
            corpus=Corpus(str(root / "out")),
            repairs=repairs,
            limits=Limits(most_bytes=20_000, most_pdf_bytes=2_000),
        )


@pytest.fixture(scope="module")
def client(shown: Settings) -> Iterator[TestClient]:
    with client_of(shown, raise_server_exceptions=False) as found:
        yield found


@pytest.mark.parametrize("requests", [400, pytest.param(10_000, marks=pytest.mark.slow)])
def test_fuzzed_requests(client: TestClient, requests: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # A process for each of thousands of broken files is what takes the time; they have tests of their own.
    monkeypatch.setattr("respace.pdf.extract_text", lambda *_: "text")
    source = random.Random(requests)
    seen: dict[int, int] = {}
    for _ in range(requests):
        method, path, body = source.choice(METHODS), any_path(source), any_body(source)
        headers = {"content-type": source.choice(TYPES)}
        status = client.request(method, path, content=body, headers=headers).status_code
        assert status < 500, (method, path, headers, body)
        seen[status] = seen.get(status, 0) + 1
    assert {200, 400, 404, 405, 413, 415} <= seen.keys()  # the requests reach every kind of answer
    assert client.post("/api/repair", json={"text": "a b"}).json()["text"] == "a b"


@pytest.mark.slow
def test_a_server_holds() -> None:
    """The command that makes 20,000, with fewer; requests are bytes here, and some of the texts are hostile."""
    assert run_fuzz(requests=2_000) == 0


def test_generated_from_the_description_of_the_api(shown: Settings) -> None:
    schemathesis = pytest.importorskip("schemathesis")
    from hypothesis import HealthCheck, given, settings
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    named = replace(shown, access=Access(names=frozenset({"testserver"})))  # as schemathesis calls it
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", make_app(named))
    operations = [one.ok() for one in schema.get_all_operations() if "pdf" not in one.ok().path]  # is not generated
    assert {one.label for one in operations} == {
        "POST /api/repair", "GET /api/methods", "GET /api/ready", "GET /api/corpus", "POST /api/corpus/review",
    }  # fmt: skip
    # What the description cannot say (a method without penalties, an edit that is not there) may be refused.
    wanted = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
    ]
    for operation in operations:
        modes = (
            list(schemathesis.GenerationMode) if operation.method == "post" else [schemathesis.GenerationMode.POSITIVE]
        )
        for mode in modes:

            @settings(max_examples=60, deadline=None, database=None, suppress_health_check=list(HealthCheck))
            @given(case=operation.as_strategy(generation_mode=mode))
            def answers(case: object) -> None:
                case.call_and_validate(checks=wanted)  # type: ignore[attr-defined]

            answers()


def test_what_the_machine_lacks_is_told(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(wanted: str = "auto") -> str:
        raise BadOption("--pdf_backend auto: none is installed")

    monkeypatch.setattr("respace.pdf.choose_backend", none)
    response = client.post("/api/pdf", content=b"%PDF-1.4")
    assert (response.status_code, response.json()) == (503, {"error": "--pdf_backend auto: none is installed"})


def test_a_corpus_that_goes_away(tmp_path: Path) -> None:
    write_shown(tmp_path)
    corpus = Corpus(str(tmp_path / "out"))
    for file in ("summary.json", "index.html"):
        (tmp_path / "out" / "_report" / file).unlink()
    with client_of(Settings(corpus=corpus)) as client:
        assert client.get("/corpus/_report/index.html").status_code == 404
        assert client.get("/api/corpus").status_code == 404
