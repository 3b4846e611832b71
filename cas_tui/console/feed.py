"""From sources to one picture: reads, folds, and says when there is something new to draw. Draws nothing.

At most ten repaints a second come of it, however fast the files grow (CRAFT C10); a single change is drawn at once.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import Any, Protocol

FRAME_S = 0.1
SLICE = 64
"""Events folded before other work gets its turn (C16)."""


class Source(Protocol):
    """What `sources.run.RunSource` offers here."""

    def first(self) -> Sequence[Any]: ...
    def poll(self) -> Sequence[Any]: ...
    def close(self) -> None: ...


Watch = Callable[[Sequence[Source], asyncio.Event], AsyncIterator[Sequence[Any]]]
Fold = Callable[[Any, Any], Any]


class Feed:
    """The picture, kept current."""

    def __init__(self, picture: Any, fold: Fold, sources: Sequence[Source], watch: Watch | None) -> None:
        self.picture = picture
        self.fault = ""
        self._fold = fold
        self._sources = tuple(sources)
        self._watch = watch
        self._stop = asyncio.Event()
        self._dirty = asyncio.Event()

    def first(self) -> None:
        """Read the newest part of every file, so that the first paint has something to show."""
        for source in self._sources:
            self._take(source.first())

    def again(self) -> None:
        """Look at every file now, whatever the watch says (ctrl+r, and after a suspension)."""
        for source in self._sources:
            self._take(source.poll())

    def _take(self, events: Iterable[Any]) -> None:
        for event in events:
            self.picture = self._fold(self.picture, event)

    async def run(self, draw: Callable[[], None]) -> None:
        """Watch until stopped; call `draw` after changes, never more often than ten times a second."""
        if self._watch is None:
            return
        painter = asyncio.create_task(self._paint(draw))
        try:
            async for events in self._watch(self._sources, self._stop):
                for begin in range(0, len(events), SLICE):
                    self._take(events[begin : begin + SLICE])
                    if len(events) > SLICE:
                        await asyncio.sleep(0)
                self._dirty.set()
        finally:
            painter.cancel()

    async def _paint(self, draw: Callable[[], None]) -> None:
        while True:
            await self._dirty.wait()
            self._dirty.clear()
            draw()
            await asyncio.sleep(FRAME_S)

    def close(self) -> None:
        """Stop watching and close the files."""
        self._stop.set()
        for source in self._sources:
            source.close()
