"""What the console is made of outside itself: sources, the fold, the rows. Loaded when it starts, replaced in tests."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from cas_tui import locations
from cas_tui.console.feed import Feed
from cas_tui.console.view import Rows

Clock = Callable[[], datetime]
Doors = Callable[[Path], Any]
"""Memory root → `loop.operator.Door`: the one way to a decision."""


@dataclass(frozen=True, slots=True)
class Wiring:
    """A feed and the functions that make rows of its picture."""

    feed: Feed
    rows: Rows


def wire(roots: Sequence[Path], environ: Mapping[str, str], clock: Clock) -> Wiring:
    """The real thing: one source a root, watched together."""
    from cas_tui.model import rows
    from cas_tui.model.fold import fold
    from cas_tui.model.picture import empty
    from cas_tui.sources.run import RunSource

    sources = [RunSource(root, locations.runtime_paths(root, environ), clock=clock) for root in roots]

    def watched(given: Sequence[Any], stop: asyncio.Event) -> AsyncIterator[Sequence[Any]]:
        # Watchers are loaded after the first paint.
        from cas_tui.sources.watch import watch

        return watch(given, stop=stop)

    return Wiring(Feed(empty(), fold, sources, watched), rows)
