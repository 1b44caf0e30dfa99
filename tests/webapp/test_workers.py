"""Processes that repair: loaded at the start, ended at the time limit, replaced, and never in the way of the server."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

pytest.importorskip("starlette")

from starlette.testclient import TestClient

from performance.web_server import running_server, with_children
from tests.webapp.hostile_methods import BROKEN, HOSTILE
from tests.webapp.serving import client_of, loaded, wait_until_ready
from webapp.app import Settings
from webapp.workers import RepairWorkers


@contextmanager
def served(repairs: RepairWorkers) -> Iterator[TestClient]:
    with client_of(Settings(repairs=repairs), raise_server_exceptions=False) as client:
        yield client


def repair(client: TestClient, text: str) -> tuple[int, str]:
    response = client.post("/api/repair", json={"text": text})
    content = response.json()
    return response.status_code, content["text"] if "text" in content else content["error"]


class Background:
    """A request that is sent while others are."""

    def __init__(self, client: TestClient, text: str):
        self.found: list[tuple[int, str]] = []
        self._thread = threading.Thread(target=lambda: self.found.append(repair(client, text)))
        self._thread.start()

    def answer(self) -> tuple[int, str]:
        self._thread.join(60)
        return self.found[0]


def wait_until(condition: object) -> None:
    until = time.monotonic() + 30
    while not condition():  # type: ignore[operator]
        assert time.monotonic() < until
        time.sleep(0.01)


def test_while_the_model_loads_it_says_so() -> None:
    with RepairWorkers(("do_nothing",)) as repairs, served(repairs) as client:
        for response in (client.get("/api/ready"), client.post("/api/repair", json={"text": "a"})):
            assert response.status_code == 503
            assert int(response.headers["retry-after"]) > 0
            assert "still loading" in response.json()["error"]
        assert client.get("/").status_code == 200
        wait_until_ready(repairs)
        assert client.get("/api/ready").json() == {"ready": True}
        assert repair(client, "a b") == (200, "a b")


def test_the_first_request_finds_everything_compiled() -> None:
    text, seconds = "Thealgo rithm isfast, and so on.\n" * 100, []
    with loaded("fast") as repairs, served(repairs) as client:
        for _ in range(3):
            began = time.monotonic()
            assert repair(client, text) == (200, "The algorithm is fast, and so on.\n" * 100)
            seconds.append(time.monotonic() - began)
    assert seconds[0] < 5 * min(seconds) + 0.3


def test_a_regular_expression_that_never_ends_costs_its_process_only() -> None:
    with loaded(HOSTILE, seconds=0.5) as repairs, served(repairs) as client:
        (first,) = repairs.process_ids
        stuck = Background(client, "hang")
        wait_until(lambda: repairs._places == 1)
        waiting = Background(client, "later")
        assert client.get("/").status_code == 200  # the interpreter of the server is free
        assert stuck.answer() == (504, "no answer within 0.5 s. Send less text at a time")
        assert waiting.answer()[0] == 503
        wait_until_ready(repairs)
        assert repairs.process_ids != [first]
        assert repair(client, "a b") == (200, "a b")
    with pytest.raises(ProcessLookupError):
        os.kill(first, 0)


def test_other_processes_go_on() -> None:
    with loaded(HOSTILE, processes=2, seconds=3) as repairs, served(repairs) as client:
        wait_until(lambda: len(repairs.process_ids) == 2)
        stuck = Background(client, "hang")
        wait_until(lambda: repairs._places == 1)
        for _ in range(20):
            assert repair(client, "a b") == (200, "a b")
        assert not stuck.found
        assert stuck.answer()[0] == 504


def test_a_process_that_dies_is_replaced() -> None:
    with loaded(HOSTILE) as repairs, served(repairs) as client:
        assert repair(client, "die")[0] == 503
        wait_until_ready(repairs)
        (idle,) = repairs.process_ids
        os.kill(idle, signal.SIGKILL)  # the system's memory ran out, say
        wait_until(lambda: repairs.process_ids != [idle])
        wait_until_ready(repairs)
        assert repair(client, "a b") == (200, "a b")


def test_a_fault_is_told_as_json_and_the_process_goes_on(capfd: pytest.CaptureFixture[str]) -> None:
    with loaded(HOSTILE) as repairs, served(repairs) as client:
        before = repairs.process_ids
        assert repair(client, "fail") == (500, "a fault of the application. It printed what happened")
        assert repair(client, "a b") == (200, "a b")
        assert repairs.process_ids == before
    assert "KeyError: 'a fault of the program'" in capfd.readouterr().err


def test_a_model_that_cannot_be_loaded_is_told(capfd: pytest.CaptureFixture[str]) -> None:
    with RepairWorkers((BROKEN,)) as repairs, served(repairs) as client:
        wait_until(lambda: repairs._failure)
        status, message = repair(client, "a b")
        assert status == 503
        assert "cannot be loaded (its weights are gone)" in message
        assert client.get("/api/ready").status_code == 503
    assert capfd.readouterr().err.count("its weights are gone") == 1


def test_above_the_bound_it_answers_429_and_recovers() -> None:
    with loaded(HOSTILE, waiting=2, seconds=2) as repairs, served(repairs) as client:
        there = [Background(client, "hang"), Background(client, "hang")]
        wait_until(lambda: repairs._places == 2)
        refused = client.post("/api/repair", json={"text": "a"})
        assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
        assert sorted(one.answer()[0] for one in there) == [503, 504]
        wait_until_ready(repairs)
        assert repair(client, "a b") == (200, "a b")


def has_ended(process: int) -> bool:
    try:
        with open(f"/proc/{process}/stat") as stream:
            return stream.read().rpartition(")")[2].split()[0] == "Z"
    except FileNotFoundError:
        return True


def test_a_server_that_is_ended_ends_its_processes() -> None:
    with running_server("--methods", "do_nothing") as (_, server):
        (_, *children) = with_children(server)
        assert children
        os.kill(server, signal.SIGTERM)
        wait_until(lambda: all(map(has_ended, [server, *children])))


def test_nothing_stays_when_the_application_ends() -> None:
    with loaded(HOSTILE, processes=2) as repairs, served(repairs) as client:
        wait_until(lambda: len(repairs.process_ids) == 2)
        processes = repairs.process_ids
        stuck = Background(client, "hang")
        wait_until(lambda: repairs._places == 1)
        repairs.__exit__(None, None, None)
        assert stuck.answer()[0] == 503
        for process in processes:
            with pytest.raises(ProcessLookupError):
                os.kill(process, 0)
