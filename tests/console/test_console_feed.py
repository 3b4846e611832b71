"""The feed folds what sources say and asks for a repaint: at once for one change, ten times a second under a flood."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

from cas_tui.console.feed import Feed


class FakeSource:
    """Has three events at the start."""

    closed = False

    def first(self) -> Sequence[int]:
        """The newest page."""
        return (1, 2, 3)

    def poll(self) -> Sequence[int]:
        """One more."""
        return (10,)

    def close(self) -> None:
        """Note it."""
        self.closed = True


def fold(total: int, event: int) -> int:
    """The picture is a sum."""
    return total + event


async def test_the_first_page_is_folded_before_anything_is_watched() -> None:
    """First paint has data; nothing else was started."""
    feed = Feed(0, fold, [FakeSource()], None)
    feed.first()
    assert feed.picture == 6
    feed.again()
    assert feed.picture == 16


async def test_a_flood_is_folded_whole_and_drawn_at_most_ten_times_a_second() -> None:
    """Two hundred batches in half a second: every event counts, few repaints (CRAFT C10)."""
    drawn: list[int] = []

    async def watch(sources: Any, stop: asyncio.Event) -> AsyncIterator[Sequence[int]]:
        for _ in range(200):
            yield (1,) * 100
            await asyncio.sleep(0.0025)
        await stop.wait()

    source = FakeSource()
    feed = Feed(0, fold, [source], watch)
    began = asyncio.get_running_loop().time()
    task = asyncio.create_task(feed.run(lambda: drawn.append(feed.picture)))
    while feed.picture < 20_000 or drawn[-1] != feed.picture:
        await asyncio.sleep(0.01)
    took = asyncio.get_running_loop().time() - began
    assert len(drawn) <= took * 10 + 2
    feed.close()
    await task
    assert source.closed


async def test_one_change_is_drawn_at_once() -> None:
    """No frame is waited for when none was drawn just before."""
    drawn: list[float] = []
    loop = asyncio.get_running_loop()
    sent: list[float] = []

    async def watch(sources: Any, stop: asyncio.Event) -> AsyncIterator[Sequence[int]]:
        await asyncio.sleep(0.2)
        sent.append(loop.time())
        yield (1,)
        await stop.wait()

    feed = Feed(0, fold, [FakeSource()], watch)
    task = asyncio.create_task(feed.run(lambda: drawn.append(loop.time())))
    while not drawn:
        await asyncio.sleep(0.001)
    assert drawn[0] - sent[0] < 0.05
    feed.close()
    await task
