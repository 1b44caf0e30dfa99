"""Fuzzed requests to a running application: no 5xx but 503 and 504, memory flat, other clients answered.

python -m performance.web_fuzz --requests 20000
"""

from __future__ import annotations

import argparse
import json
import random
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from performance.web_server import memory_megabytes, post, running_server

METHODS = ["GET", "POST", "PUT", "DELETE", "PATCH", "HEAD", "OPTIONS", "BREW"]
TYPES = [
    "application/json",
    "text/plain",
    "application/x-www-form-urlencoded",
    "application/json; charset=utf-16",
    "\x7f",
]
VALUES: list[object] = [
    None, True, -1, 1e308, 10**400, "", "a b", "\x00", "\ud800", "\u202e", "<script>", "\n" * 50, [], [[]], {},
    {"a": {}}, "fast", "../../etc/passwd", "x" * 5000, ["a"] * 1001, ["\u0301" * 200], float("nan"), float("inf"),
]  # fmt: skip
MEMBERS = [
    "text", "method", "insertion_penalty", "deletion_penalty", "all_text", "shard", "row", "gap", "kind", "decision",
]  # fmt: skip
PATHS = [
    "/", "/api/repair", "/api/pdf", "/api/methods", "/api/openapi.json", "/api/corpus", "/api/corpus/review",
    "/api/ready", "/corpus/_report/index.html", "/corpus/a.jsonl",
    "/data/index.json", "/data/Wiki/corrupt.txt", "/data/Wiki/predictions/good.txt", "/style.css",
]  # fmt: skip
PIECES = ["..", "%2e%2e", "%00", "%ff", "a" * 300, "\u00e9", "%0d%0aX: y", "//", "\\", "?x=" + "y" * 300, "#", "*"]
HEADERS = [
    "Host: evil.example", "Host: 127.0.0.1", "Origin: null", "Origin: http://evil.example", "Authorization: Bearer x",
    "Cookie: respace_token=\xff", "Accept-Encoding: gzip", "Expect: 100-continue", "Upgrade: websocket",
    "X: " + "y" * 9000, "Transfer-Encoding: chunked", "Content-Length: 5", "Range: bytes=0-", "If-None-Match: *",
    "\x00: \x00", ": ",
]  # fmt: skip
# Long runs of what patterns of protected text begin with, and what takes the most of a model's time.
HOSTILE = ["0f" * 50_000 + "@", "a." * 50_000, "a-" * 50_000, "./" * 50_000, "+a/" * 30_000, "(a" * 50_000 + "=",
           "\u0301" * 100_000, "a " * 50_000, "ab" * 50_000, "\n" * 100_000, "\U0001f600" * 25_000]  # fmt: skip
_SECONDS = 3.0  # that the application gives a request
_PATIENCE = 20.0  # of the clients that send nothing unusual: a process may have to be ended and loaded before them
_PLAIN = "Thealgo rithm isfast."


def any_path(source: random.Random) -> str:
    path = source.choice(PATHS)
    if source.random() < 0.3:
        cut = source.randrange(len(path) + 1)
        path = "/" + (path[:cut] + source.choice(PIECES) + path[cut:]).lstrip("/")
    return path


def any_body(source: random.Random) -> bytes:
    members = source.sample(MEMBERS, source.randint(0, 6))
    kind = source.random()
    if kind < 0.6:
        body = json.dumps({member: source.choice(VALUES) for member in members}).encode("utf-8", "surrogatepass")
    elif kind < 0.7:
        body = b"%PDF-" + source.randbytes(source.randint(0, 500))
    elif kind < 0.8:
        body = source.choice([b"", b"null", b"[" * 10_000, b'{"text": "' * 1000, b"\xef\xbb\xbf{}", b"a" * 30_000])
    else:
        body = source.randbytes(source.randint(0, 200))
    if body and source.random() < 0.2:
        body = body[: source.randrange(len(body))]
    return body


def any_request(source: random.Random) -> bytes:
    """A request as bytes: from nearly right to not HTTP at all."""
    kind = source.random()
    if kind < 0.001:
        body = json.dumps({"text": source.choice(HOSTILE), "all_text": source.random() < 0.5}).encode()
        return raw_request("POST", "/api/repair", body)
    if kind < 0.02:
        return source.randbytes(source.randint(1, 300)) + b"\r\n\r\n"
    headers = [f"Content-Type: {source.choice(TYPES)}", *(source.sample(HEADERS, 1) if source.random() < 0.2 else ())]
    method = "POST" if source.random() < 0.5 else source.choice(METHODS)
    request = raw_request(method, any_path(source), any_body(source), headers)
    if kind < 0.05:
        cut = source.randrange(len(request))
        request = request[:cut] + source.randbytes(3) + request[cut:]
    return request


def raw_request(method: str, path: str, body: bytes, headers: list[str] | None = None) -> bytes:
    own = headers or []
    host = [] if any(one.startswith("Host") for one in own) else ["Host: 127.0.0.1"]
    lines = [f"{method} {path} HTTP/1.1", *host, "Connection: close", f"Content-Length: {len(body)}", *own]
    return "\r\n".join(lines).encode("utf-8", "surrogatepass") + b"\r\n\r\n" + body


@dataclass
class Seen:
    """What clients saw."""

    fuzzed: Counter[str] = field(default_factory=Counter)
    plain: Counter[str] = field(default_factory=Counter)
    slowest_page: float = 0.0
    slowest_repair: float = 0.0
    bad: list[bytes] = field(default_factory=list)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--clients", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    return run(options.requests, options.clients, options.seed)


def run(requests: int, clients: int = 4, seed: int = 0) -> int:
    """Exit code 0 if all of it held."""
    seen, done = Seen(), threading.Event()
    with tempfile.TemporaryDirectory(prefix="respace-") as folder:
        shown = write_shown(Path(folder))
        with running_server(*shown, "--methods", "fast,do_nothing", "--seconds", str(_SECONDS)) as (port, pid):
            others = [threading.Thread(target=one, args=(port, seen, done)) for one in (_look, _repair)]
            for other in others:
                other.start()
            began = time.monotonic()
            _send(port, requests // 4, clients, seed, seen)  # until everything was loaded and used once
            before = memory_megabytes(pid)
            _send(port, requests - requests // 4, clients, seed + clients, seen)
            after, seconds = memory_megabytes(pid), time.monotonic() - began
            done.set()
            for other in others:
                other.join()
    print(f"{requests} fuzzed requests in {seconds:.0f} s: {dict(sorted(seen.fuzzed.items()))}")
    print(f"others: {dict(seen.plain)}; slowest page {seen.slowest_page:.2f} s, repair {seen.slowest_repair:.1f} s")
    print(f"memory of the server {before} MB after a quarter, {after} MB at the end")
    for request in seen.bad[:10]:
        print(f"bad: {request[:300]!r}")
    answered = {"page 200", "repair 200"} <= seen.plain.keys() <= {"page 200", "repair 200", "repair 429", "repair 503"}
    return int(bool(seen.bad) or not answered or seen.slowest_repair > _PATIENCE or after > 1.2 * before)


def write_shown(root: Path) -> list[str]:
    """A benchmark and a corpus, as small as they can be; the options that show them."""
    (root / "dev" / "Wiki" / "predictions").mkdir(parents=True)
    for file in ("corrupt.txt", "correct.txt", "predictions/good.txt"):
        (root / "dev" / "Wiki" / file).write_text("the cat\n")
    (root / "out" / "_report").mkdir(parents=True)
    lists: dict[str, object] = {name: [] for name in ("least_certain", "samples", "dead_letters")}
    summary = {**lists, "made": "today", "output": str(root), "settings": {}, "totals": {}}
    (root / "out" / "_report" / "summary.json").write_text(json.dumps(summary))
    (root / "out" / "_report" / "index.html").write_text("<p>report")
    (root / "out" / "a.jsonl").write_text(json.dumps({"text": "a b"}) + "\n")
    return ["--benchmarks", str(root / "dev"), "--corpus", str(root / "out")]


def _send(port: int, requests: int, clients: int, seed: int, seen: Seen) -> None:
    def client(number: int) -> None:
        source = random.Random(seed + number)
        for _ in range(requests // clients + (number < requests % clients)):
            request = any_request(source)
            # What waits for more has its limits, which have tests of their own; here it is ended.
            status = send(port, request, 60 if request.startswith(b"POST /api/") else 1)
            seen.fuzzed[status] += 1
            if status[0] == "5" and status not in ("503", "504"):
                seen.bad.append(request)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def send(port: int, request: bytes, patience: float = 60) -> str:
    """The status that comes back, or how the connection ended without one."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=patience) as connection:
            connection.sendall(request)
            answer = b""
            while len(answer) < 12 and (piece := connection.recv(1 << 16)):
                answer += piece
    except TimeoutError:
        return "waiting for more"
    except OSError as error:
        return type(error).__name__
    return answer[9:12].decode("ascii", "replace") or "closed"


def _look(port: int, seen: Seen, done: threading.Event) -> None:
    while not done.wait(0.1):
        began = time.monotonic()
        seen.plain[f"page {send(port, raw_request('GET', '/', b''))}"] += 1
        seen.slowest_page = max(seen.slowest_page, time.monotonic() - began)


def _repair(port: int, seen: Seen, done: threading.Event) -> None:
    """Texts as people send them, sent again as long as they are told to come back."""
    while not done.wait(0.2):
        began = time.monotonic()
        status = 0
        while status != 200 and time.monotonic() - began < _PATIENCE:
            status, answer = post(port, {"text": _PLAIN})
            right = status != 200 or answer["text"] == "The algorithm is fast."
            seen.plain[f"repair {status}{'' if right else ' wrong'}"] += 1
            if status != 200 and done.wait(0.5):
                return
        seen.slowest_repair = max(seen.slowest_repair, time.monotonic() - began)


if __name__ == "__main__":
    sys.exit(main())
