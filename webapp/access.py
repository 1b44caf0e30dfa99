"""Who may ask: names under which the application answers, pages that may post to it, and a token for the corpus.

A page of another site can make its visitor's browser send requests to this machine. It cannot read the answers, unless
its own name leads to this machine (DNS rebinding): so the Host header is checked. It can post, though: so the Origin
header is, too. What listens to other machines asks for a token before it shows a corpus.
"""

from __future__ import annotations

import hmac
import ipaddress
import json
import secrets
import socket
from dataclasses import dataclass
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from respace.storage.errors import BadOption

HEADERS = {
    "content-security-policy": (
        "default-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
    ),
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
}
_COOKIE = "respace_token"
_READING = ("GET", "HEAD", "OPTIONS")
_LEAST_TOKEN = 12


@dataclass(frozen=True, kw_only=True)
class Access:
    """
    Args:
        names: host names that lead here, beside addresses, which cannot be rebound.
        token: what a visitor must know to read and review the corpus; None where nobody is asked.
    """

    names: frozenset[str] = frozenset({"localhost"})
    token: str | None = None

    @classmethod
    def of(cls, host: str, names: tuple[str, ...] = (), token: str | None = None) -> Access:
        """For an address to listen on: whatever other machines can reach has a token, made up if none is given.

        Raises:
            BadOption: a token that is easy to guess, or that no header can hold.
        """
        if token is not None and (len(token) < _LEAST_TOKEN or not token.isascii() or not token.isalnum()):
            raise BadOption(
                f"--token: expected at least {_LEAST_TOKEN} letters and digits. Leave it out to have one made"
            )
        if token is None and not is_loopback(host):
            token = secrets.token_hex(16)
        own = {"localhost", host, *names} | (set() if is_loopback(host) else {socket.gethostname()})
        return cls(names=frozenset(name.lower() for name in own), token=token)

    def answers_to(self, host: str) -> bool:
        """Whether a Host header names this application."""
        try:
            name = (urlsplit(f"//{host}").hostname or "").removesuffix(".")
        except ValueError:
            return False
        return name in self.names or _is_address(name)

    def knows(self, request: Request) -> bool:
        """Whether a request has the token."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        known = (given if scheme.lower() == "bearer" else "", request.cookies.get(_COOKIE, ""))
        return self.token is None or any(self._is_token(one) for one in known)

    def keeps(self, request: Request, page: str) -> Response | None:
        """Answers the address that was printed at the start: keep the token, and go to the page without it."""
        given = request.query_params.get("token")
        if given is None or self.token is None or not self._is_token(given):
            return None
        response = Response(status_code=303, headers={**HEADERS, "location": page})
        response.set_cookie(_COOKIE, given, httponly=True, samesite="strict")
        return response

    def _is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "replace"), (self.token or "").encode())


class CheckedRequests:
    """Middleware that refuses requests which other sites' pages made."""

    def __init__(self, app: ASGIApp, access: Access):
        self.app, self.access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refused = self._refused(scope["method"], Headers(scope=scope)) if scope["type"] == "http" else None
        await (refused or self.app)(scope, receive, send)

    def _refused(self, method: str, headers: Headers) -> Response | None:
        host, origin = headers.get("host", ""), headers.get("origin")
        if not self.access.answers_to(host):
            return error(403, f"Host {host[:60]!r}: not a name of this application. Start it with --allowed_hosts NAME")
        if method not in _READING and origin is not None and not _is_same(origin, host):
            return error(403, f"Origin {origin[:60]!r}: expected a page of this application")
        return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there.

    >>> is_loopback("127.0.0.1"), is_loopback("::1"), is_loopback("localhost"), is_loopback("0.0.0.0"), is_loopback("")
    (True, True, True, False, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def error(status: int, message: str, headers: dict[str, str] | None = None) -> Response:
    """Every error of the application has this form."""
    content = json.dumps({"error": message}).encode("ascii")
    return Response(content, status, headers={**HEADERS, **(headers or {})}, media_type="application/json")


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


def _is_same(origin: str, host: str) -> bool:
    """Behind a proxy that adds TLS the schemes differ, names and ports do not."""
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False
