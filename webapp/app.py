"""Routes: pages, data of the error analysis, the API. What is served is in tables made at the start, never a path."""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from importlib import resources
from typing import Any
from urllib.parse import quote

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from respace.storage.errors import BadFile, UserError
from respace.storage.files import InputFile, open_input, read_bytes
from webapp.bounded import BoundedQueue, Busy, TooSlow
from webapp.catalogue import Catalogue
from webapp.corpus import PAGE, Corpus
from webapp.openapi import openapi
from webapp.repair_service import BadRequest, RepairRequest, RepairService

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
_HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
# The report of a repair is one page with its style in it, and no script.
_REPORT_POLICY = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
_NO_CORPUS = "no corpus was opened. Start the application with --corpus DIRECTORY"
_BODY_SECONDS = 20


@dataclass(frozen=True, kw_only=True)
class Limits:
    """What a visitor may ask for."""

    most_bytes: int = 1 << 20
    most_pdf_bytes: int = 16 << 20
    waiting: int = 16
    seconds: float = 30.0


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What the application shows."""

    catalogue: Catalogue = field(default_factory=Catalogue)
    corpus: Corpus | None = None
    service: RepairService
    limits: Limits = field(default_factory=Limits)


def static_content(name: str) -> bytes:
    return resources.files("webapp").joinpath("static", name).read_bytes()


def make_app(settings: Settings) -> Starlette:
    """The application. Needs no network and writes nothing but the review file."""
    queue = BoundedQueue(settings.limits.waiting, settings.limits.seconds)
    handlers = _Handlers(settings, queue)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        yield
        queue.close()

    routes = [
        Route("/", handlers.static),
        Route("/api/repair", handlers.repair, methods=["POST"]),
        Route("/api/pdf", handlers.pdf, methods=["POST"]),
        Route("/api/methods", handlers.methods),
        Route("/api/openapi.json", handlers.openapi),
        Route("/api/corpus", handlers.corpus),
        Route("/api/corpus/review", handlers.review, methods=["POST"]),
        Route("/corpus/{name:path}", handlers.corpus_file),
        Route("/data/index.json", handlers.index),
        Route("/data/{benchmark}/{file:path}", handlers.data),
        Route("/{name}", handlers.static),
    ]
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(GZipMiddleware, minimum_size=2000, compresslevel=3)],
        exception_handlers={404: _not_found, 405: _wrong_method},
    )


class _Handlers:
    def __init__(self, settings: Settings, queue: BoundedQueue):
        self.settings, self.queue, self.limits = settings, queue, settings.limits

    async def static(self, request: Request) -> Response:
        name = request.path_params.get("name", "index.html")
        if name not in STATIC:
            return _error(404, f"{name[:60]!r}: there is no such page")
        return _respond(static_content(name), STATIC[name])

    async def index(self, request: Request) -> Response:
        return _json(self.settings.catalogue.index())

    async def data(self, request: Request) -> Response:
        content = self.settings.catalogue.content(request.path_params["benchmark"], request.path_params["file"])
        if content is None:
            return _error(404, "there is no such benchmark or method. /data/index.json lists them")
        return _respond(content.encode("utf-8", "surrogatepass"), "text/plain")

    async def openapi(self, request: Request) -> Response:
        return _json(openapi(self.settings.service.methods, self.limits.most_bytes))

    async def methods(self, request: Request) -> Response:
        service = self.settings.service
        return _json({name: service.penalties(name) for name in service.methods})

    async def repair(self, request: Request) -> Response:
        body = await _body(request, self.limits.most_bytes)
        if isinstance(body, Response):
            return body
        try:
            wanted = RepairRequest.parse(body, self.settings.service.methods)
        except BadRequest as error:
            return _error(400, str(error))
        return await self._in_turn(lambda: self.settings.service.answer(wanted))

    async def pdf(self, request: Request) -> Response:
        """The text of a PDF that was dropped on the page."""
        from respace.pdf import PdfLimits, choose_backend, extract_text

        body = await _body(request, self.limits.most_pdf_bytes)
        if isinstance(body, Response):
            return body
        if not body.startswith(b"%PDF-"):
            return _error(400, "this is not a PDF: expected a file that begins with %PDF-")
        limits = PdfLimits(seconds=self.limits.seconds, output_bytes=self.limits.most_bytes)
        return await self._in_turn(lambda: {"text": extract_text(body, choose_backend(), limits)})

    async def corpus(self, request: Request) -> Response:
        corpus = self.settings.corpus
        if corpus is None:
            return _error(404, _NO_CORPUS)

        def content() -> dict[str, Any]:
            return {"summary": corpus.summary(), "edits": corpus.edits(), "notes": corpus.notes()}

        try:
            return await self._in_turn(content, "The corpus is still being read: reload the page in a minute")
        except FileNotFoundError:
            return _error(404, "the corpus is not there any more. Run pipelines.repair_corpus again")

    async def corpus_file(self, request: Request) -> Response:
        """The report, and the files that it leads to, at the same places to each other as on the disk."""
        corpus, name = self.settings.corpus, request.path_params["name"]
        if corpus is None:
            return _error(404, _NO_CORPUS)
        try:
            file = corpus.linked(name)
        except FileNotFoundError:
            return _error(404, "the corpus has no report any more. Run pipelines.repair_corpus again")
        except BadFile as error:
            return _error(404, str(error))
        except UserError as error:
            return _error(503, str(error))
        if file is None:
            return _error(404, "the report does not lead to such a file")
        if name == PAGE:
            return _respond(read_bytes(file.url), "text/html", {"content-security-policy": _REPORT_POLICY})
        # Whatever it is, it is kept and not shown: what is in a corpus may be a page with a script.
        saved = f"attachment; filename*=UTF-8''{quote(os.path.basename(name), safe='')}"
        headers = {**_HEADERS, "content-disposition": saved, "content-length": str(file.size)}
        return StreamingResponse(_pieces(file), media_type="application/octet-stream", headers=headers)

    async def review(self, request: Request) -> Response:
        corpus = self.settings.corpus
        if corpus is None:
            return _error(404, _NO_CORPUS)
        # A page of another site can post a form without asking, but not this type.
        if request.headers.get("content-type", "").partition(";")[0] != "application/json":
            return _error(415, "expected content-type: application/json")
        body = await _body(request, 10_000)
        if isinstance(body, Response):
            return body
        try:
            entry = json.loads(body)
        except (ValueError, RecursionError):
            return _error(400, "the body is not JSON")

        def decide() -> dict[str, bool]:
            corpus.decide(entry)
            return {"saved": True}

        return await self._in_turn(decide)

    async def _in_turn(
        self, action: Callable[[], dict[str, Any]], advice: str = "Send less text at a time"
    ) -> Response:
        try:
            return _json(await self.queue.run(action))
        except Busy:
            return _error(429, "too many requests are waiting. Try again in a second", {"retry-after": "1"})
        except TooSlow:
            return _error(504, f"no answer within {self.limits.seconds:g} s. {advice}")
        except ValueError as error:  # BadRequest, PdfError, entries of a review
            return _error(400, str(error))
        except UserError as error:  # nothing that the visitor could do: no PDF reader, a review file that was edited
            return _error(503, str(error))


def _pieces(file: InputFile) -> Iterator[bytes]:
    with open_input(file) as stream:
        while piece := stream.read(1 << 18):
            yield piece


async def _body(request: Request, most: int) -> bytes | Response:
    """The body, unless it is too large or comes too slowly."""
    content = bytearray()
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            async for chunk in request.stream():
                content += chunk
                if len(content) > most:
                    return _error(413, f"the request has more than {most} bytes. Send less at a time")
    except TimeoutError:
        return _error(408, f"the request did not arrive within {_BODY_SECONDS} s")
    except ClientDisconnect:
        return _error(400, "the request was not sent to its end")
    return bytes(content)


def _respond(content: bytes, kind: str, headers: dict[str, str] | None = None, status: int = 200) -> Response:
    response = Response(content, status, media_type=kind)
    response.headers.update({**_HEADERS, **(headers or {})})
    return response


def _json(content: object, status: int = 200, headers: dict[str, str] | None = None) -> Response:
    # Escapes keep lone surrogates, which JSON can hold and UTF-8 cannot.
    return _respond(json.dumps(content).encode("ascii"), "application/json", headers, status)


def _error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    return _json({"error": message}, status, headers)


async def _not_found(request: Request, error: Exception) -> Response:
    return _error(404, "there is no such page")


async def _wrong_method(request: Request, error: Exception) -> Response:
    return _error(405, "this address does not take that method. See /api/openapi.json", getattr(error, "headers", None))
