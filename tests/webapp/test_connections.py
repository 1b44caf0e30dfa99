"""Connections of clients that say nothing, say it slowly, or do not listen."""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator

import pytest

pytest.importorskip("uvicorn")

import uvicorn

from tests.webapp.serving import free_port
from webapp import connections
from webapp.app import Settings, make_app
from webapp.catalogue import Catalogue
from webapp.connections import LimitedConnection

GET = b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.fixture(scope="module")
def port() -> Iterator[int]:
    found = free_port()
    texts = {"Wiki": {"corrupt.txt": ["x" * 1000] * 30_000}}
    app = make_app(Settings(catalogue=Catalogue(texts)))
    server = uvicorn.Server(
        uvicorn.Config(app, port=found, http=LimitedConnection, ws="none", log_level="error", timeout_keep_alive=30)
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield found
    server.should_exit = True
    thread.join(20)


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(connections, "READING_SECONDS", 0.3)


def connect(port: int, content: bytes = b"") -> socket.socket:
    found = socket.create_connection(("127.0.0.1", port), timeout=10)
    found.sendall(content)
    return found


def rest(connection: socket.socket) -> bytes:
    """What comes until the server closes the connection."""
    content = b""
    try:
        while piece := connection.recv(1 << 16):
            content += piece
    except ConnectionResetError:
        pass
    return content


def test_silence_is_ended(port: int) -> None:
    began = time.monotonic()
    assert rest(connect(port)) == b""
    assert time.monotonic() - began < 5


def test_a_header_that_never_ends(port: int) -> None:
    connection = connect(port, b"GET / HTTP/1.1\r\n")
    stop = threading.Event()

    def drip() -> None:
        while not stop.wait(0.05):
            try:
                connection.sendall(b"X-Drip: 1\r\n")
            except OSError:
                return

    thread = threading.Thread(target=drip)
    thread.start()
    head, _, body = rest(connection).partition(b"\r\n\r\n")
    stop.set()
    thread.join()
    assert head.startswith(b"HTTP/1.1 408 ")
    assert json.loads(body) == {"error": "the header of the request did not arrive within 0.3 s"}


def test_silence_after_an_answer_is_ended(port: int) -> None:
    for after in (b"", b"G"):  # a byte ends uvicorn's own limit for connections that are kept
        connection = connect(port, GET)
        assert connection.recv(1 << 16).startswith(b"HTTP/1.1 200 ")
        connection.sendall(after)
        rest(connection)


def test_requests_one_after_the_other_are_answered(port: int) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    connection.connect()
    first = connection.sock
    for _ in range(4):
        time.sleep(0.15)  # more than the limit in all, less each
        connection.request("GET", "/")
        assert connection.getresponse().read().startswith(b"<!doctype html>")
    assert connection.sock is first


def test_a_client_that_does_not_read(port: int) -> None:
    connection = connect(port, GET.replace(b"/", b"/data/Wiki/corrupt.txt", 1))
    time.sleep(1)
    assert len(rest(connection)) < 30_000_000  # the server did not wait for it


def test_silent_connections_are_in_nobodys_way(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "HEADER_SECONDS", 60)
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 20)
    silent = [connect(port) for _ in range(60)]
    for _ in range(5):
        assert connect(port, GET).recv(1 << 16).startswith(b"HTTP/1.1 200 ")
    silent[0].settimeout(5)
    assert rest(silent[0]) == b""  # the oldest made room
    for one in silent:
        one.close()


def test_where_nobody_can_make_room_the_answer_is_503(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "MOST_CONNECTIONS", 2)
    upload = b"POST /api/pdf HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9\r\n\r\n"
    busy = [connect(port, upload) for _ in range(2)]
    time.sleep(0.2)  # until their handlers wait for the rest
    head, _, body = rest(connect(port, GET)).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 503 ")
    assert b"retry-after: 5" in head
    assert json.loads(body) == {"error": "too many connections. Try again in a few seconds"}
    for one in busy:
        one.close()


def test_a_body_that_is_not_one_is_one_error(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    connection = connect(port, b"POST /api/pdf HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n")
    time.sleep(0.1)  # its handler is waiting for the body
    connection.sendall(b"not a chunk\r\n")
    answer = rest(connection)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1") == 1
    assert capfd.readouterr().err == ""


def test_what_has_no_body_has_an_error(port: int, capfd: pytest.CaptureFixture[str]) -> None:
    head = b"HEAD / HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    assert rest(connect(port, head + b"not a chunk\r\n")).startswith(b"HTTP/1.1 400 ")
    assert capfd.readouterr().err == ""


def test_no_request_is_an_error_as_json(port: int) -> None:
    for content in (
        b"\x16\x03\x01\x02\x00\x01\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"BREW\r\n\r\n",
    ):
        head, _, body = rest(connect(port, content)).partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"application/json" in head
        assert json.loads(body) == {"error": "this is not an HTTP request"}
