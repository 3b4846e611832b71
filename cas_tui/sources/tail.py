"""Follows one telemetry file through everything that can happen to its name (SAFETY D2, D7, B01-B05, CRAFT C32).

Each record is reported once. What cannot be followed is said, never smoothed over:

* renamed away and begun anew (rotation): the old file is read to its end, then the new one from its start;
* deleted, replaced, truncated or edited in what was read already: `rewritten`, then the new content;
* no permission, a link out of the root, not a regular file: `unreadable`, tried again at every look.

Limits, said honestly: a file that is rotated twice between two looks hides the one in the middle; what is written
and truncated away between two looks is gone; of long files only the newest 4 MiB read are compared as a whole.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from cas_tui.protocol.events import Event, FileStatus, RecordsRead
from cas_tui.protocol.journal import RecordKind
from cas_tui.sources.cursor import PAGE, SLICE, Cursor, Page, identity_of
from cas_tui.sources.folder import Fault, Folder, Signature, fault_of, signature

FRESH_BYTES: Final = 1 << 20
"""A file that takes another's place and repeats nothing of it is read from its start up to this size."""

LINGER_LOOKS: Final = 64
"""How many looks a renamed file is still read for: a writer may hold it open a little longer than its name."""

_UNFINISHED: Final = "an unfinished last line of"


class Tail:
    """One file of a root. Both `newest` and `more` return events; neither raises OSError."""

    def __init__(self, folder: Folder, file: str, kind: RecordKind, *, root: str = "") -> None:
        self.file = file
        self.kind = kind
        self.behind = False
        """Whether more is ready to be read right now."""
        self._root = root or str(folder.root)
        self._folder = folder
        self._current: Cursor | None = None
        self._previous: Cursor | None = None
        self._linger = 0
        self._signature: Signature | None = None
        self._mode: tuple[int, int, int] | None = None
        self._said: tuple[str, str] | None = None
        self._bytes_of_closed = 0

    @property
    def bytes_read(self) -> int:
        """How many bytes this tail has read so far, comparisons included."""
        open_ones = (cursor for cursor in (self._current, self._previous) if cursor)
        return self._bytes_of_closed + sum(cursor.bytes_read for cursor in open_ones)

    def newest(self, limit: int = PAGE) -> tuple[Event, ...]:
        """The first look: the newest `limit` bytes, as history."""
        found = self._folder.stat(self.file)
        if isinstance(found, Fault):
            return tuple(self._say(found.status, found.detail))
        fd = self._folder.open(self.file)
        if isinstance(fd, Fault):
            return tuple(self._say(fd.status, fd.detail, size=found.st_size))
        self._remember(found)
        return tuple(self._guard(lambda: self._begin(fd, limit)))

    def more(self, budget: int = SLICE) -> tuple[Event, ...]:
        """What changed since the last look, reading at most `budget` new bytes of each open file."""
        self.behind = False
        events = self._guard(lambda: self._drain_previous(budget))
        found = self._folder.stat(self.file)
        if isinstance(found, Fault):
            events += self._guard(lambda: self._gone(found, budget))
        elif self._signature != signature(found) or self._unread():
            events += self._guard(lambda: self._look(found, budget))
        return tuple(events)

    def older(self, before: int, limit: int = PAGE) -> Page:
        """About `limit` bytes of lines that end at `before`: `unread_before`, or the `start` of the page after.

        A file that is not open gives an empty page that says nothing lies before.
        """
        if self._current is None or self._current.fd < 0 or before <= 0:
            return Page((), (), 0, before)
        try:
            return self._current.before(before, limit)
        except OSError:
            return Page((), (), 0, before)

    def close(self) -> None:
        """Close what is open."""
        self._retire(self._previous)
        self._previous = None
        if self._current is not None:
            self._current.close()

    # -- the looks ---------------------------------------------------------------------------------------------------

    def _unread(self) -> bool:
        """Whether the last look left something to do although nothing has changed since."""
        current = self._current
        if current is None or current.fd < 0 or self._said is None or self._said[0] in ("missing", "unreadable"):
            return True
        return self._signature is not None and self._signature[2] > current.position

    def _look(self, found: os.stat_result, budget: int) -> list[Event]:
        mode = (found.st_mode, found.st_uid, found.st_gid)
        current = self._current
        same = current is not None and current.fd >= 0 and current.identity == identity_of(found)
        if same and self._mode == mode and self._said and self._said[0] != "unreadable":
            self._remember(found)
            return self._say_present(found.st_size) + self._grow(found.st_size, budget)
        events: list[Event] = []
        if current is not None and current.fd >= 0 and not same:
            # Another file has the name: first the open one is read to its end.
            events = self._grow(current.size(), budget)
            if self.behind:
                return events
        fd = self._folder.open(self.file)
        if isinstance(fd, Fault):
            # What stands there is remembered only once it could be opened: until then every look tries again.
            return events + self._say(fd.status, fd.detail, size=found.st_size)
        self._remember(found)
        if same and current is not None:
            current.move_to(fd)
            return events + self._say_present(found.st_size) + self._grow(found.st_size, budget)
        return events + self._adopt(fd, budget)

    def _gone(self, fault: Fault, budget: int) -> list[Event]:
        """The name is not there, or may not be looked at. A renamed file that is still open is read on."""
        self._signature = None
        events: list[Event] = []
        current = self._current
        if current is not None and current.fd >= 0 and fault.status == "missing":
            if current.size() != current.position:
                events = self._grow(current.size(), budget)
            current = self._current
            if current is not None and not self.behind and not current.linked():
                # Deleted and read to the end. Its content stays remembered, its disk space is given back.
                current.close()
        return events + self._say(fault.status, fault.detail)

    def _begin(self, fd: int, limit: int, *, history: bool = True, rewritten: str = "") -> list[Event]:
        """Start on a file at its newest page, and say how it stands before its records."""
        try:
            cursor = Cursor(fd, self.file, self.kind)
            page = cursor.open_at_newest(limit)
            size = cursor.size()
        except OSError:
            os.close(fd)
            raise
        self._replace(cursor)
        self.behind = size > cursor.position
        if rewritten:
            said = self._say("rewritten", rewritten, size=size, unread_before=page.start, again=True)
        else:
            held = cursor.unfinished_bytes
            said = self._say("live", f"{_UNFINISHED} {held} bytes" if held else "", size=size, unread_before=page.start)
        return said + self._records(page, history=history)

    def _begin_at_start(self, fd: int, size: int, budget: int, status: str, detail: str) -> list[Event]:
        """Start on a file that holds only news: from its first byte, a slice at a time."""
        self._replace(Cursor(fd, self.file, self.kind))
        return self._say(status, detail, size=size, again=bool(detail)) + self._grow(size, budget)

    def _grow(self, size: int, budget: int) -> list[Event]:
        current = self._current
        assert current is not None
        if size < current.position:
            return self._rewritten_in_place(f"truncated from {current.position} to {size} bytes", budget)
        page = current.step(budget)
        if isinstance(page, int):
            return self._rewritten_in_place(f"what was read before has changed, at byte {page} or after", budget)
        self.behind = self.behind or size > current.position
        said: list[Event] = []
        if self._said and self._said[1].startswith(_UNFINISHED) and not current.unfinished_bytes:
            said = self._say("live", "", size=size)
        return said + self._records(page)

    def _adopt(self, fd: int, budget: int) -> list[Event]:
        """Another file stands under the name: the same content saved anew, a successor, or a changed past."""
        old = self._current
        size = os.fstat(fd).st_size
        if old is None or old.position == 0:
            if size <= FRESH_BYTES:
                return self._begin_at_start(fd, size, budget, "live", "")
            return self._begin(fd, PAGE, history=False)
        differs = old.same_in(fd) if size >= old.position else size
        if differs is None:
            old.move_to(fd)
            return self._say_present(size) + self._grow(size, budget)
        repeats = old.shares_with(fd)
        if old.fd >= 0 and old.linked() and not repeats:
            events = self._leave_previous()
            self._previous, self._current, self._linger = old, None, LINGER_LOOKS
            return events + self._begin_at_start(fd, size, budget, "live", "rotated: goes on in a new file")
        what = f"replaced by another file, different from byte {differs} or after"
        return self._restart(fd, budget, what, repeats=repeats)

    def _rewritten_in_place(self, what: str, budget: int) -> list[Event]:
        current = self._current
        assert current is not None
        repeats = current.shares_with(current.fd)
        return self._restart(os.dup(current.fd), budget, what, repeats=repeats)

    def _restart(self, fd: int, budget: int, what: str, *, repeats: bool) -> list[Event]:
        """Report a changed past, then the new content: its newest page, or all of it when it is short and all new."""
        events = self._set_aside(self._current)
        size = os.fstat(fd).st_size
        if repeats or size > FRESH_BYTES:
            return events + self._begin(fd, PAGE, history=repeats, rewritten=what)
        return events + self._begin_at_start(fd, size, budget, "rewritten", what)

    # -- the files that are left behind ------------------------------------------------------------------------------

    def _drain_previous(self, budget: int) -> list[Event]:
        """Read on in the file that was rotated away, for a while; a change of its past ends that."""
        previous = self._previous
        if previous is None:
            return []
        if previous.size() > previous.position:
            page = previous.step(budget)
            if isinstance(page, int):
                return self._leave_previous()
            self.behind = self.behind or previous.size() > previous.position
            self._linger = LINGER_LOOKS
            return self._records(page)
        self._linger -= 1
        return self._leave_previous() if self._linger <= 0 else []

    def _leave_previous(self) -> list[Event]:
        previous, self._previous = self._previous, None
        self._retire(previous)
        return self._set_aside(previous)

    def _set_aside(self, cursor: Cursor | None) -> list[Event]:
        """An unfinished line whose end cannot come any more is set aside visibly (A01, D2)."""
        torn = cursor.unfinished if cursor else None
        return [RecordsRead(self._root, self.file, (), (torn,))] if torn else []

    def _replace(self, cursor: Cursor) -> None:
        self._retire(self._current)
        self._current = cursor

    def _retire(self, cursor: Cursor | None) -> None:
        if cursor is not None:
            cursor.close()
            self._bytes_of_closed += cursor.bytes_read
            cursor.bytes_read = 0

    # -- what is said ------------------------------------------------------------------------------------------------

    def _remember(self, found: os.stat_result) -> None:
        self._signature = signature(found)
        self._mode = (found.st_mode, found.st_uid, found.st_gid)

    def _guard(self, look: Callable[[], list[Event]]) -> list[Event]:
        try:
            return look()
        except OSError as error:
            fault = fault_of(error)
            self._signature = None
            return self._say("unreadable", fault.detail or "it vanished while it was read")

    def _say_present(self, size: int) -> list[Event]:
        """`live` again after `missing` or `unreadable`; a standing `rewritten` is left to stand."""
        if self._said and self._said[0] in ("missing", "unreadable"):
            return self._say("live", "", size=size)
        return []

    def _say(
        self, status: str, detail: str, *, size: int = 0, unread_before: int = 0, again: bool = False
    ) -> list[Event]:
        if (status, detail) == self._said and not again:
            return []
        self._said = (status, detail)
        return [FileStatus(self._root, self.file, status, detail, size, unread_before)]

    def _records(self, page: Page, *, history: bool = False) -> list[Event]:
        if not page.records and not page.malformed:
            return []
        return [RecordsRead(self._root, self.file, page.records, page.malformed, history)]
