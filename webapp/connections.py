"""Connections that may not be silent: without a limit on the time of a request's header, anybody can hold them all."""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Callable
from http import HTTPStatus

import h11
from starlette.types import Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from webapp.access import error

HEADER_SECONDS = 10.0  # for the header of a request, from its connection or the answer before it
READING_SECONDS = 30.0  # in which a client must take something of its answer
MOST_CONNECTIONS = 500


class LimitedConnection(H11Protocol):
    """HTTP/1.1 as uvicorn speaks it, with these limits. A newcomer takes the place of who is silent for longest."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.silence = _Timer(self.loop, HEADER_SECONDS, self._end_silence)
        self.stalled = _Timer(self.loop, READING_SECONDS, transport.abort)
        if len(self.connections) > MOST_CONNECTIONS:
            others = [one for one in self.connections if isinstance(one, LimitedConnection) and one is not self]
            silent = min(others, key=lambda one: one.silence.when, default=self)
            if silent.silence.is_running:
                silent.silence.stop()  # the next newcomer takes another's place
                silent.transport.abort()
            else:
                self.app = _full
        self.silence.start()

    def connection_lost(self, exc: Exception | None) -> None:
        self.silence.stop()
        super().connection_lost(exc)
        self.stalled.stop()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self.silence.stop()

    def on_response_complete(self) -> None:
        self.silence.start()
        super().on_response_complete()
        if self._is_answering() or self.transport.is_closing():
            self.silence.stop()

    def pause_writing(self) -> None:
        super().pause_writing()
        self.stalled.start()

    def resume_writing(self) -> None:
        super().resume_writing()
        self.stalled.stop()

    def send_400_response(self, msg: str) -> None:
        self._send_error(400, "this is not an HTTP request")

    def _is_answering(self) -> bool:
        return self.cycle is not None and not self.cycle.response_complete

    def _end_silence(self) -> None:
        if self.conn.trailing_data[0]:
            self._send_error(408, f"the header of the request did not arrive within {HEADER_SECONDS:g} s")
        else:
            self.transport.abort()

    def _send_error(self, status: int, message: str) -> None:
        if self.conn.our_state not in (h11.IDLE, h11.SEND_RESPONSE):  # there was an answer already
            self.transport.abort()
            return
        if self.cycle is not None:  # its answer, if it is still to come, has no connection any more
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        # Not by way of h11, which is in a state of error, and refuses what does not answer its last request.
        content = json.dumps({"error": message})
        head = f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\ncontent-type: application/json\r\n"
        self.transport.write(f"{head}content-length: {len(content)}\r\nconnection: close\r\n\r\n{content}".encode())
        self.transport.close()


class _Timer:
    """Calls a function after some seconds, unless it is stopped before."""

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, action: Callable[[], None]):
        self._loop, self._seconds, self._action = loop, seconds, action
        self._handle: asyncio.TimerHandle | None = None

    @property
    def is_running(self) -> bool:
        return self._handle is not None

    @property
    def when(self) -> float:
        return self._handle.when() if self._handle else math.inf

    def start(self) -> None:
        self.stop()
        self._handle = self._loop.call_later(self._seconds, self._call)

    def stop(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
            self._handle = None

    def _call(self) -> None:
        self._handle = None
        self._action()


async def _full(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "http":
        message = "too many connections. Try again in a few seconds"
        await error(503, message, {"retry-after": "5", "connection": "close"})(scope, receive, send)
