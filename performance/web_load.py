"""Many clients at once on `POST /api/repair`: no crash, no wrong answer, 429 above the bound, memory flat.

python -m performance.web_load --clients 200 --seconds 60
"""

from __future__ import annotations

import argparse
import http.client
import sys
import threading
import time
from collections import Counter

from performance.web_server import memory_megabytes, post, running_server, with_children
from respace.repairer import Repairer

_TEXTS = [
    f"Thealgo rithm num ber {number} isfast and itdoes not cha nge {'much ' * (number % 20)}." for number in range(50)
]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--waiting", type=int, default=16)
    options = parser.parse_args()
    expected = dict(zip(_TEXTS, Repairer.load().repair(_TEXTS), strict=True))
    with running_server("--waiting", str(options.waiting)) as (port, pid):
        before = _memory(pid)
        seen: Counter[str] = Counter()
        until = time.monotonic() + options.seconds
        clients = [
            threading.Thread(target=_client, args=(port, number, until, expected, seen))
            for number in range(options.clients)
        ]
        for client in clients:
            client.start()
        half = None
        while any(client.is_alive() for client in clients):
            time.sleep(0.5)
            if half is None and time.monotonic() > until - options.seconds / 2:
                half = _memory(pid)
        after = _memory(pid)
    print(f"{options.clients} clients, {options.seconds:g} s, {options.waiting} may wait: {dict(seen)}")
    print(f"memory of the server and its models {before} MB before, {half} MB at half time, {after} MB after")
    wrong = set(seen) - {"200 right", "429"}
    return int(bool(wrong) or not seen["429"] or after > 1.2 * (half or after))


def _client(port: int, number: int, until: float, expected: dict[str, str], seen: Counter[str]) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    while time.monotonic() < until:
        text = _TEXTS[number % len(_TEXTS)]
        number += 1
        try:
            status, answer = post(port, {"text": text}, connection)
        except OSError as error:
            seen[type(error).__name__] += 1
            connection.close()
            continue
        right = " right" if answer.get("text") == expected[text] else " wrong"
        seen[f"{status}{right if status == 200 else ''}"] += 1
        if status == 429:
            time.sleep(0.2)


def _memory(pid: int) -> int:
    return sum(map(memory_megabytes, with_children(pid)))


if __name__ == "__main__":
    sys.exit(main())
