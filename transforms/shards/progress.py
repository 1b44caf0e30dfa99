"""Live progress of a job: one line that redraws itself on a terminal, plain lines elsewhere.

Work calls `report` from wherever it runs; the counts reach the line of this process, if one is shown.

>>> import io
>>> out = io.StringIO()
>>> with ProgressLine(shards=2, stream=out):
...     report(shards=1, documents=10, bytes=5000, edits=3)
>>> out.getvalue().split(",")[0]
'1/2 shards'
"""

from __future__ import annotations

import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from types import TracebackType
from typing import TextIO

from respace.loops import on_compilation

_TERMINAL_SECONDS = 0.5
_PLAIN_SECONDS = 30.0
# What the time left is estimated from: so much of all and so many seconds, or more seconds.
_LEAST_SHARE = 0.02
_LEAST_SECONDS = 2.0
_ENOUGH_SECONDS = 30.0
_listeners: list[Callable[[dict[str, int]], None]] = []


def report(**counts: int) -> None:
    """Adds to the counts of the job: ``shards``, ``documents``, ``bytes``, ``edits``, or any other name.

    ``bytes`` are those of texts, ``around`` those of the input between them: the time left depends on both.
    """
    for listener in list(_listeners):
        listener(counts)


on_compilation(lambda: report(loops_compiled=1))


def listen(listener: Callable[[dict[str, int]], None]) -> Callable[[], None]:
    """Hears every report of this process, until the returned function is called."""
    _listeners.append(listener)
    return lambda: _listeners.remove(listener)


class ProgressLine:
    """Shows the reports of this process while the block runs.

    Args:
        shards: how many there are to do.
        total_bytes: of all of them; the estimate of the time left needs it.
        stream: where to write; default: standard error.
        listening: to the reports of this process; otherwise only to what `add` is told.
    """

    def __init__(self, shards: int, total_bytes: int = 0, stream: TextIO | None = None, listening: bool = True):
        self._listening = listening
        self._shards, self._total_bytes = shards, total_bytes
        self._stream = stream if stream is not None else sys.stderr
        self._terminal = self._stream.isatty()
        self.counts: Counter[str] = Counter()
        self._first: tuple[float, int] | None = None
        self._started = time.monotonic()
        self._done = threading.Event()
        self._lock = threading.Lock()

    def __enter__(self) -> ProgressLine:
        self._started = time.monotonic()
        self._stop_listening = listen(self.add) if self._listening else lambda: None
        self._thread = threading.Thread(target=self._redraw, name="respace-progress", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done.set()
        self._thread.join()
        self._stop_listening()
        if self.counts:
            self._show(last=True)

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def line(self, last: bool = False) -> str:
        counts, seconds = self.counts, max(self.seconds, 1e-6)
        parts = [f"{counts['shards']}/{self._shards} shards"]
        if counts["loops_compiled"] and not counts["documents"]:
            parts.append(f"first run on this machine: compiling, {counts['loops_compiled']} loops")
        if counts["documents"]:
            speed = f" ({counts['documents'] / seconds:,.0f}/s)" if counts["documents"] >= seconds else ""
            parts.append(f"{counts['documents']:,} documents{speed}")
        if counts["bytes"] >= 1000 * seconds:
            parts.append(f"{counts['bytes'] / seconds / 1000:,.0f} KB/s")
        if counts["edits"]:
            parts.append(f"{counts['edits']:,} edits")
        if counts["dead_letters"]:
            parts.append(f"{counts['dead_letters']:,} dead letters")
        left = None if last else self._seconds_left()
        parts.append(duration(seconds) if left is None else f"{duration(left)} left")
        return ", ".join(parts)

    def add(self, counts: dict[str, int]) -> None:
        with self._lock:
            first_compiled = "loops_compiled" in counts and not self.counts["loops_compiled"]
            self.counts.update(counts)
            if self._first is None and self._read:
                self._first = self.seconds, self._read
        if first_compiled and not self._terminal:  # until the next line, half a minute may pass
            self._show()

    @property
    def _read(self) -> int:
        """Bytes of the input that are done."""
        return self.counts["bytes"] + self.counts["around"]

    def _seconds_left(self) -> float | None:
        """By the speed since the first report: what came before it is the start, which happens once.

        None as long as too little is known: an estimate that is wrong a thousandfold is worse than none.
        """
        if self._first is None or self._read >= self._total_bytes:
            return None
        since, read = self.seconds - self._first[0], self._read - self._first[1]
        enough = read >= _LEAST_SHARE * self._total_bytes and since >= _LEAST_SECONDS
        if not read or not (enough or since >= _ENOUGH_SECONDS):
            return None
        return since * (self._total_bytes - self._read) / read

    def _redraw(self) -> None:
        while not self._done.wait(_TERMINAL_SECONDS if self._terminal else _PLAIN_SECONDS):
            self._show()

    def _show(self, last: bool = False) -> None:
        end = "\n" if last or not self._terminal else ""
        start = "\r\x1b[K" if self._terminal else ""
        self._stream.write(f"{start}{self.line(last)}{end}")
        self._stream.flush()


def duration(seconds: float) -> str:
    """
    >>> duration(75), duration(7300)
    ('1:15', '2:01:40')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
