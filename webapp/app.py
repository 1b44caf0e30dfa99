"""Routes: pages, data of the error analysis, the API. What is served is in tables made at the start, never a path.

Nothing here reads a file or computes in the event loop: every other client would wait.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, open_input, read_bytes
from webapp.access import HEADERS, Access, CheckedRequests, error
from webapp.bounded import BoundedQueue, Busy, TooSlow
from webapp.catalogue import Catalogue
from webapp.corpus import PAGE, Corpus
from webapp.openapi import openapi
from webapp.repair_service import BadRequest, RepairRequest, own_penalties
from webapp.workers import Loading, NotLoadable, RepairWorkers

STATIC = {
    "index.html": "text/html",
    "try.html": "text/html",
    "corpus.html": "text/html",
    "style.css": "text/css",
    "common.js": "text/javascript",
    "analysis.js": "text/javascript",
    "try.js": "text/javascript",
    "corpus.js": "text/javascript",
}
# The report of a repair is one page with its style in it, and no script.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_NO_CORPUS = "no corpus was opened. Start the application with --corpus DIRECTORY"
_NO_MODEL = "no method was given. Start the application with --methods A,B"
_NO_TOKEN = (
    "this needs the token. Open the address that the application printed when it started, "
    "or send the header authorization: Bearer TOKEN"
)
_BODY_SECONDS = 20
_PIECE = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a visitor may ask for, beside repairs."""

    most_bytes: int = 1 << 20
    most_pdf_bytes: int = 16 << 20
    waiting: int = 16
    seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the application shows."""

    catalogue: Catalogue = field(default_factory=Catalogue)
    corpus: Corpus | None = None
    repairs: RepairWorkers | None = None
    access: Access = field(default_factory=Access)
    limits: Limits = field(default_factory=Limits)


def static_content(name: str) -> bytes:
    return resources.files("webapp").joinpath("static", name).read_bytes()


def make_app(settings: Settings) -> Starlette:
    """The application. Needs no network and writes nothing but the review file."""
    handlers = _Handlers(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        handlers.close()

    def private(endpoint: Callable[[Request], Awaitable[Response]]) -> Callable[[Request], Awaitable[Response]]:
        """For those who have the token, where there is one."""

        async def asked(request: Request) -> Response:
            if not settings.access.knows(request):
                return error(401, _NO_TOKEN, {"www-authenticate": "Bearer"})
            return await endpoint(request)

        return asked

    routes = [
        Route("/", handlers.static),
        Route("/api/repair", handlers.repair, methods=["POST"]),
        Route("/api/pdf", handlers.pdf, methods=["POST"]),
        Route("/api/methods", handlers.methods),
        Route("/api/ready", handlers.ready),
        Route("/api/openapi.json", handlers.openapi),
        Route("/api/corpus", private(handlers.corpus)),
        Route("/api/corpus/review", private(handlers.review), methods=["POST"]),
        Route("/corpus/{name:path}", private(handlers.corpus_file)),
        Route("/data/index.json", handlers.index),
        Route("/data/{benchmark}/{file:path}", handlers.data),
        Route("/{name}", handlers.static),
    ]
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[
            Middleware(CheckedRequests, access=settings.access),
            Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3),
        ],
        exception_handlers=_RAISED,
    )
    app.router.redirect_slashes = False  # its redirects repeat the Host header
    return app


class _Handlers:
    def __init__(self, settings: Settings):
        self.settings, self.limits = settings, settings.limits
        self.pages = {name: static_content(name) for name in STATIC}
        self.penalties = {name: own_penalties(name) for name in settings.repairs.methods} if settings.repairs else {}
        waiting, seconds = self.limits.waiting, self.limits.seconds
        self.pdf_queue = BoundedQueue(waiting, seconds, "Send a smaller file")
        self.corpus_queue = BoundedQueue(
            waiting, seconds, "The corpus is still being read: reload the page in a minute"
        )

    def close(self) -> None:
        self.pdf_queue.close()
        self.corpus_queue.close()

    async def static(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in STATIC:
            return error(404, f"{name[:60]!r}: there is no such page")
        return self.settings.access.keeps(request, name) or _respond(self.pages[name], STATIC[name])

    async def index(self, request: Request) -> Response:
        return _json(self.settings.catalogue.index())

    async def data(self, request: Request) -> Response:
        content = self.settings.catalogue.content(request.path_params["benchmark"], request.path_params["file"])
        if content is None:
            return error(404, "there is no such benchmark or method. /data/index.json lists them")
        return _respond(content.encode("utf-8", "surrogatepass"), "text/plain")

    async def openapi(self, request: Request) -> Response:
        return _json(openapi(tuple(self.penalties), self.limits.most_bytes))

    async def methods(self, request: Request) -> Response:
        return _json(self.penalties)

    async def ready(self, request: Request) -> Response:
        """For whoever starts the application and wants to know when it repairs."""
        if self.settings.repairs is None:
            return error(404, _NO_MODEL)
        self.settings.repairs.check()
        return _json({"ready": True})

    async def repair(self, request: Request) -> Response:
        repairs = self.settings.repairs
        if repairs is None:
            return error(404, _NO_MODEL)
        body = await _body(request, self.limits.most_bytes)
        if isinstance(body, Response):
            return body
        return _json_response(await repairs.answer(RepairRequest.parse(body, repairs.methods)))

    async def pdf(self, request: Request) -> Response:
        """The text of a PDF that was dropped on the page."""
        from respace.pdf import PdfLimits, choose_backend, extract_text

        body = await _body(request, self.limits.most_pdf_bytes)
        if isinstance(body, Response):
            return body
        if not body.startswith(b"%PDF-"):
            return error(400, "this is not a PDF: expected a file that begins with %PDF-")
        limits = PdfLimits(seconds=self.limits.seconds, output_bytes=self.limits.most_bytes)
        return await _in_turn(self.pdf_queue, lambda: {"text": extract_text(body, choose_backend(), limits)})

    async def corpus(self, request: Request) -> Response:
        corpus = self.settings.corpus
        if corpus is None:
            return error(404, _NO_CORPUS)

        def content() -> dict[str, Any]:
            return {"summary": corpus.summary(), "edits": corpus.edits(), "notes": corpus.notes()}

        try:
            return await _in_turn(self.corpus_queue, content)
        except FileNotFoundError:
            return error(404, "the corpus is not there any more. Run pipelines.repair_corpus again")

    async def corpus_file(self, request: Request) -> Response:
        """The report, and the files that it leads to, at the same places to each other as on the disk."""
        corpus, name = self.settings.corpus, request.path_params["name"]
        if corpus is None:
            return error(404, _NO_CORPUS)
        try:
            file = await run_in_threadpool(corpus.linked, name)
            if file is None:
                return error(404, "the report does not lead to such a file")
            if name != PAGE:
                return _download(file)
            page = await run_in_threadpool(read_bytes, file.url)
        except FileNotFoundError:
            return error(404, "the corpus has no report any more. Run pipelines.repair_corpus again")
        except BadFile as bad:
            return error(404, str(bad))
        except OSError as bad:
            return error(503, f"{name}: cannot be read ({bad.strerror}). Look at its permissions")
        return _respond(page, "text/html", {"content-security-policy": _REPORT_POLICY})

    async def review(self, request: Request) -> Response:
        corpus = self.settings.corpus
        if corpus is None:
            return error(404, _NO_CORPUS)
        # A page of another site can post a form without asking, but not this type.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return error(415, "expected content-type: application/json")
        body = await _body(request, 10_000)
        if isinstance(body, Response):
            return body
        try:
            entry = json.loads(body)
        except (ValueError, RecursionError):
            return error(400, "the body is not JSON")

        def decide() -> dict[str, bool]:
            corpus.decide(entry)
            return {"saved": True}

        return await _in_turn(self.corpus_queue, decide)


async def _in_turn(queue: BoundedQueue, action: Callable[[], dict[str, Any]]) -> Response:
    try:
        return _json_response(await queue.run(lambda: _as_json(action())))
    except ValueError as bad:  # PdfError, entries of a review
        return error(400, str(bad))


def _download(file: InputFile) -> Response:
    """Whatever it is, it is kept and not shown: what is in a corpus may be a page with a script."""
    saved = f"attachment; filename*=UTF-8''{quote(os.path.basename(file.name), safe='')}"
    headers = {**HEADERS, "content-disposition": saved, "content-length": str(file.size)}
    return StreamingResponse(_pieces_of_file(file), media_type="application/octet-stream", headers=headers)


def _pieces_of_file(file: InputFile) -> Iterator[bytes]:
    with open_input(file) as stream:
        while piece := stream.read(_PIECE):
            yield piece


async def _pieces(content: bytes) -> AsyncIterator[bytes]:
    """Long answers are compressed piece by piece, and others have their turn in between."""
    for start in range(0, len(content), _PIECE):
        yield content[start : start + _PIECE]
        await asyncio.sleep(0)


async def _body(request: Request, most: int) -> bytes | Response:
    """The body, unless it is too large or comes too slowly."""
    content = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    return error(413, f"the request has more than {most} bytes. Send less at a time")
    except TimeoutError:
        return error(408, f"the request did not arrive within {_BODY_SECONDS} s")
    except ClientDisconnect:
        return error(400, "the request was not sent to its end")
    return bytes(content)


def _respond(content: bytes, kind: str, headers: dict[str, str] | None = None) -> Response:
    response: Response
    if len(content) <= _PIECE:
        response = Response(content, media_type=kind)
    else:
        response = StreamingResponse(_pieces(content), media_type=kind, headers={"content-length": str(len(content))})
    response.headers.update({**HEADERS, **(headers or {})})
    return response


def _json(content: object) -> Response:
    return _json_response(_as_json(content))


def _json_response(content: bytes) -> Response:
    return _respond(content, "application/json")


def _as_json(content: object) -> bytes:
    # Escapes keep lone surrogates, which JSON can hold and UTF-8 cannot.
    return json.dumps(content).encode("ascii")


def _answers(
    status: int, message: str = "", headers: dict[str, str] | None = None
) -> Callable[[Request, Exception], Awaitable[Response]]:
    """What is answered where an exception was raised; without a message, the exception's own."""

    async def answer(request: Request, raised: Exception) -> Response:
        return error(status, message or str(raised), {**(getattr(raised, "headers", None) or {}), **(headers or {})})

    return answer


_RAISED: dict[Any, Callable[[Request, Exception], Awaitable[Response]]] = {
    404: _answers(404, "there is no such page"),
    405: _answers(405, "this address does not take that method. See /api/openapi.json"),
    BadRequest: _answers(400),
    Busy: _answers(429, "too many requests are waiting. Try again in a second", {"retry-after": "1"}),
    Loading: _answers(503, "the model is still loading. Try again in a few seconds", {"retry-after": "2"}),
    NotLoadable: _answers(503),
    TooSlow: _answers(504),
    # Nothing that the visitor could do: no PDF reader, a review file that was edited.
    UserError: _answers(503),
    Exception: _answers(500, "a fault of the application. It printed what happened"),
}
