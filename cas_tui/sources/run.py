"""Everything there is to read about one run: its telemetry, STATE, issues, exchange and ledger, as events.

Opening reads only the newest part of each file, so it costs the same for every size. A later look costs a few system
calls when nothing changed. Nothing here raises for what a file system or an agent may do.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Final

from cas_tui.locations import RootPaths, RuntimePaths
from cas_tui.protocol.events import Event, RecordsRead
from cas_tui.protocol.journal import FILE_OF, RecordKind
from cas_tui.sources.cursor import PAGE
from cas_tui.sources.exchange import Exchange
from cas_tui.sources.folder import Folder
from cas_tui.sources.issues import Issues
from cas_tui.sources.ledger import LedgerSource
from cas_tui.sources.snapshot import Snapshot
from cas_tui.sources.tail import Tail

KINDS: Final[tuple[RecordKind, ...]] = ("prediction", "observation", "learning")


class RunSource:
    """One memory root and its runtime zone. `root` is resolved (`locations.resolve_root`)."""

    def __init__(self, root: Path, runtime: RuntimePaths, *, clock: Callable[[], datetime]) -> None:
        self.root = root
        self.runtime = runtime
        key = str(root)
        self._key = key
        self._folder = Folder(root)
        self._tails = {FILE_OF[kind]: Tail(self._folder, FILE_OF[kind], kind, root=key) for kind in KINDS}
        self._snapshot = Snapshot(self._folder, root=key, clock=clock)
        self._issues = Issues(self._folder, root=key)
        self._exchange = Exchange(self._folder, root=key)
        self._ledger = LedgerSource(runtime.ledger, root=key, clock=clock)
        self._opened = False

    @property
    def bytes_read(self) -> int:
        """How many bytes of the memory root were read so far."""
        small = self._snapshot.bytes_read + self._issues.bytes_read + self._exchange.bytes_read
        return small + sum(tail.bytes_read for tail in self._tails.values())

    @property
    def behind(self) -> bool:
        """Whether another `poll` right now would read more."""
        return any(tail.behind for tail in self._tails.values())

    @property
    def due_in(self) -> float | None:
        """Seconds after which `poll` has something left to look at; 0 when `behind`, None when only a change can."""
        return 0.0 if self.behind else self._ledger.due_in()

    def first(self) -> tuple[Event, ...]:
        """The first look: file statuses, the newest page of each telemetry file (as history), and all that is small."""
        self._opened = True
        self._folder.refresh()
        events: list[Event] = []
        for tail in self._tails.values():
            events += tail.newest()
        return tuple(events + self._small())

    def poll(self) -> tuple[Event, ...]:
        """What changed since the last look: at most one slice of each file; `behind` says that more waits."""
        if not self._opened:
            return self.first()
        self._folder.refresh()
        events: list[Event] = []
        for tail in self._tails.values():
            events += tail.more()
        return tuple(events + self._small())

    def older(self, file: str, before: int, limit: int = PAGE) -> tuple[RecordsRead, int]:
        """A page of history of one telemetry file, about `limit` bytes that end at offset `before`.

        `before` is `FileStatus.unread_before`, or the second value of the call before; that value is where this page
        begins, 0 when nothing lies before it.
        """
        page = self._tails[file].older(before, limit)
        return RecordsRead(self._key, file, page.records, page.malformed, history=True), page.start

    def directories(self) -> tuple[Path, ...]:
        """The directories whose changes are worth a look, there or not yet."""
        paths = RootPaths(self.root)
        zone = self.runtime.directory
        return (paths.root, paths.exchange, paths.issues, paths.queue, paths.root / "STATE", zone, zone.parent)

    def close(self) -> None:
        """Close every file and the ledger."""
        for tail in self._tails.values():
            tail.close()
        self._ledger.close()
        self._folder.close()

    def _small(self) -> list[Event]:
        looks = (self._snapshot.look(), *self._issues.look(), self._exchange.look(), self._ledger.look())
        return [event for event in looks if event is not None]
