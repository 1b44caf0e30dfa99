"""Work that is done one after the other: refused above the bound, answered late, and going on afterwards."""

from __future__ import annotations

import asyncio
import threading

import pytest

from webapp.bounded import BoundedQueue, Busy, TooSlow


def test_above_the_bound_it_refuses_and_recovers() -> None:
    go_on = threading.Event()

    def action() -> bool:
        return go_on.wait(20)

    async def check() -> None:
        queue = BoundedQueue(2, 20, "Wait")
        there = [asyncio.create_task(queue.run(action)) for _ in range(2)]
        await asyncio.sleep(0)
        with pytest.raises(Busy):
            await queue.run(action)
        go_on.set()
        assert await asyncio.gather(*there) == [True, True]
        assert await queue.run(action)
        queue.close()

    asyncio.run(check())


def test_what_takes_too_long_keeps_its_place_until_it_has_ended() -> None:
    go_on = threading.Event()

    async def check() -> None:
        queue = BoundedQueue(1, 0.05, "Send a smaller file")
        with pytest.raises(TooSlow, match=r"no answer within 0\.05 s\. Send a smaller file"):
            await queue.run(lambda: go_on.wait(20))
        with pytest.raises(Busy):
            await queue.run(lambda: True)
        go_on.set()
        while True:
            try:
                assert await queue.run(lambda: True)
                break
            except Busy:
                await asyncio.sleep(0.01)
        queue.close()

    asyncio.run(check())
