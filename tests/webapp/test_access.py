"""Who may ask: names that lead here, pages of other sites, machines that have the token."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")


from respace.storage.errors import BadOption
from tests.webapp.serving import ADDRESS, client_of, free_port, loaded
from webapp.__main__ import greeting, main
from webapp.access import Access
from webapp.app import Settings
from webapp.corpus import Corpus
from webapp.workers import RepairWorkers

TOKEN = "0123456789abcdef"
PRIVATE = ["/api/corpus", "/api/corpus/review", "/corpus/_report/index.html", "/corpus/a.jsonl", "/corpus/none"]


@pytest.fixture(scope="module")
def repairs() -> Iterator[RepairWorkers]:
    with loaded("do_nothing") as found:
        yield found


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    report = tmp_path / "out" / "_report"
    report.mkdir(parents=True)
    content: dict[str, Any] = {name: [] for name in ("least_certain", "samples", "dead_letters")}
    content |= {"made": "today", "output": "out", "settings": {}, "totals": {}}
    (report / "summary.json").write_text(json.dumps({**content, "samples": [{"shard": "a.jsonl"}]}))
    (report / "index.html").write_text("<p>report")
    for name in ("a.jsonl", "not linked.jsonl"):
        (tmp_path / "out" / name).write_text("{}\n")
    return Corpus(str(tmp_path / "out"))


@pytest.mark.parametrize("path", ["/", "/api/corpus", "/data/index.json", "/corpus/a.jsonl", "/api/openapi.json"])
@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8000", "", "127.0.0.1.evil.example", "[", "xn--localhost"]
)
def test_a_name_that_was_rebound_reads_nothing(corpus: Corpus, host: str, path: str) -> None:
    with client_of(Settings(corpus=corpus)) as client:
        response = client.get(path, headers={"host": host})
        assert response.status_code == 403
        assert response.json()["error"] == (
            f"Host {host!r}: not a name of this application. Start it with --allowed_hosts NAME"
        )


@pytest.mark.parametrize(
    "host", ["127.0.0.1:8000", "localhost", "LOCALHOST:1", "[::1]:8000", "192.168.0.7", "corpus.lan"]
)
def test_names_that_are_its_own(host: str) -> None:
    with client_of(Settings(access=Access.of("127.0.0.1", ("corpus.lan",)))) as client:
        assert client.get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("path", ["/api/repair", "/api/pdf", "/api/corpus/review"])
@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9000", "http://[", ""])
def test_pages_of_other_sites_cannot_post(repairs: RepairWorkers, corpus: Corpus, path: str, origin: str) -> None:
    with client_of(Settings(repairs=repairs, corpus=corpus)) as client:
        response = client.post(path, json={"text": "a"}, headers={"origin": origin})
        assert (response.status_code, response.json()["error"]) == (
            403,
            f"Origin {origin!r}: expected a page of this application",
        )


def test_its_own_pages_and_programs_can_post(repairs: RepairWorkers) -> None:
    with client_of(Settings(repairs=repairs)) as client:
        for headers in ({"origin": ADDRESS}, {"origin": "https://127.0.0.1:8000"}, {}):
            assert client.post("/api/repair", json={"text": "a"}, headers=headers).status_code == 200


@pytest.mark.parametrize("path", PRIVATE)
def test_without_the_token_a_corpus_is_neither_read_nor_reviewed(corpus: Corpus, path: str) -> None:
    with client_of(Settings(corpus=corpus, access=Access.of("0.0.0.0", token=TOKEN))) as client:
        method = "POST" if path.endswith("review") else "GET"
        for headers in (
            {},
            {"authorization": "Bearer wrong"},
            {"cookie": "respace_token=wrong"},
            {"cookie": b"respace_token=\xff"},
        ):
            response = client.request(method, path, headers=headers)
            assert response.status_code == 401
            assert "printed when it started" in response.json()["error"]
            assert response.headers["www-authenticate"] == "Bearer"
        assert client.request(method, path, headers={"authorization": f"Bearer {TOKEN}"}).status_code != 401
        assert client.request(method, path, headers={"cookie": f"respace_token={TOKEN}"}).status_code != 401
        assert client.get("/corpus.html").status_code == 200


def test_the_address_that_was_printed_lets_a_browser_in(corpus: Corpus) -> None:
    with client_of(Settings(corpus=corpus, access=Access.of("0.0.0.0", token=TOKEN))) as client:
        assert "set-cookie" not in client.get("/corpus.html?token=wrong").headers
        first = client.get(f"/corpus.html?token={TOKEN}", follow_redirects=False)
        assert (first.status_code, first.headers["location"]) == (303, "corpus.html")  # no Host, no token
        assert "HttpOnly" in first.headers["set-cookie"]
        assert "SameSite=strict" in first.headers["set-cookie"]
        assert client.get("/api/corpus").status_code == 200
        assert client.get("/corpus/a.jsonl").status_code == 200


def test_tokens() -> None:
    assert Access.of("127.0.0.1").token is None
    assert Access.of("localhost", token=TOKEN).token == TOKEN
    made = {Access.of(host).token for host in ("0.0.0.0", "::", "192.168.0.7", "corpus.lan")}
    assert len(made) == 4
    assert all(re.fullmatch("[0-9a-f]{32}", one or "") for one in made)
    for bad in ("", "short", "white space in it", "semicolon;semicolon", "\u00fc" * 20):
        with pytest.raises(BadOption, match="--token: expected at least 12 letters and digits"):
            Access.of("0.0.0.0", token=bad)


def test_listening_to_other_machines_is_told() -> None:
    assert greeting("127.0.0.1", 8000, None, True) == ["http://127.0.0.1:8000"]
    told = greeting("0.0.0.0", 80, TOKEN, True)
    assert told[0] == f"http://127.0.0.1:80/corpus.html?token={TOKEN}"
    assert "Other machines can reach this" in told[1]
    assert main(["--host", "0.0.0.0", "--token", "short", "--port", str(free_port())]) == 2


def test_nothing_repeats_the_host(repairs: RepairWorkers) -> None:
    with client_of(Settings(repairs=repairs, access=Access(names=frozenset({"elsewhere"})))) as client:
        for path in ("/api/methods/", "/api/repair/", "/elsewhere/", "/index.html/", "/data/index.json/"):
            response = client.get(path, headers={"host": "elsewhere"}, follow_redirects=False)
            assert response.status_code == 404
            assert "location" not in response.headers
            assert response.headers["content-type"] == "application/json"


def test_only_what_the_report_leads_to_is_served(corpus: Corpus) -> None:
    with client_of(Settings(corpus=corpus)) as client:
        assert client.get("/corpus/a.jsonl").status_code == 200
        response = client.get("/corpus/not linked.jsonl")
        assert (response.status_code, response.json()) == (404, {"error": "the report does not lead to such a file"})


def test_what_a_browser_may_do_with_answers(repairs: RepairWorkers, corpus: Corpus) -> None:
    with client_of(Settings(repairs=repairs, corpus=corpus)) as client:
        answers = {
            path: client.get(path)
            for path in ("/", "/common.js", "/api/methods", "/api/corpus", "/corpus/_report/index.html",
                         "/corpus/a.jsonl", "/data/index.json", "/nowhere", "/api/repair")
        }  # fmt: skip
        answers["refused"] = client.get("/", headers={"host": "evil.example"})
        answers["repaired"] = client.post("/api/repair", json={"text": "a"})
    for path, response in answers.items():
        assert response.headers["x-content-type-options"] == "nosniff", path
        assert response.headers["cross-origin-resource-policy"] == "same-origin", path
        assert "frame-ancestors 'none'" in response.headers["content-security-policy"], path
        inline = "content-disposition" not in response.headers
        assert inline == (path != "/corpus/a.jsonl"), path
    download = answers["/corpus/a.jsonl"].headers
    assert download["content-disposition"] == "attachment; filename*=UTF-8''a.jsonl"
    assert download["content-type"] == "application/octet-stream"


def test_the_event_loop_reads_no_file(corpus: Corpus, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever reads a file does it in a thread that may wait."""
    import asyncio
    import builtins

    opened = builtins.open
    in_loop: list[object] = []

    def watched(file: Any, *arguments: Any, **options: Any) -> Any:
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return opened(file, *arguments, **options)
        in_loop.append(file)
        return opened(file, *arguments, **options)

    with client_of(Settings(corpus=corpus)) as client:
        monkeypatch.setattr(builtins, "open", watched)
        monkeypatch.setattr("io.open", watched)
        for path in ("/", "/api/corpus", "/corpus/_report/index.html", "/corpus/a.jsonl", "/corpus/none"):
            client.get(path)
    assert in_loop == []
