"""Work that is done one after the other, with a bounded number of requests waiting: beyond it, they are refused."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

Answer = TypeVar("Answer")


class Busy(Exception):
    """As many requests as may wait are waiting."""


class TooSlow(Exception):
    """The answer took longer than allowed; the message says what to do."""


class BoundedQueue:
    """Runs functions in one thread.

    A function that takes too long cannot be stopped; it keeps its place until it has ended, so that the work that is
    going on is bounded too.

    Args:
        waiting: functions that may be there at once.
        seconds: time for one, with the time that it waited.
        advice: what who asked for too much should do.
    """

    def __init__(self, waiting: int, seconds: float, advice: str):
        self.waiting, self.seconds, self.advice = waiting, seconds, advice
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="queue")
        self._places = 0

    async def run(self, action: Callable[[], Answer]) -> Answer:
        """
        Raises:
            Busy: too many are waiting.
            TooSlow: it took more than the allowed seconds.
        """
        if self._places >= self.waiting:
            raise Busy
        self._places += 1
        future = self._thread.submit(action)
        future.add_done_callback(self._done(asyncio.get_running_loop()))
        try:
            return await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(future)), self.seconds)
        except TimeoutError:
            future.cancel()  # if it has not begun
            raise TooSlow(f"no answer within {self.seconds:g} s. {self.advice}") from None

    def _done(self, loop: asyncio.AbstractEventLoop) -> Callable[[object], None]:
        def free() -> None:
            self._places -= 1

        def done(future: object) -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(free)

        return done

    def close(self) -> None:
        self._thread.shutdown(wait=False, cancel_futures=True)
