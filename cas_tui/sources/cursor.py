"""One telemetry file, held open and read forwards from its newest page. Knows nothing of names, rotation or statuses.

The descriptor stays open, so the inode it names cannot be given to another file meanwhile (SAFETY B03), and what was
appended before a rename can still be read after it.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Final

from cas_tui.protocol.decode import MAX_LINE_BYTES, Malformed, Place
from cas_tui.protocol.journal import Record, RecordKind, decode_record
from cas_tui.sources.folder import read_at
from cas_tui.sources.lines import EXCERPT_BYTES, Line, LineCutter
from cas_tui.sources.seen import WINDOW, Reader, Seen

PAGE: Final = 48 << 10
"""Bytes of the newest part that is read at opening: a hundred records, more than a screen has rows."""

SLICE: Final = 1 << 16
"""Bytes read in one step afterwards: few enough to decode between two frames (CRAFT C16)."""

_NEAR: Final = 1 << 16
_REACH: Final = MAX_LINE_BYTES + PAGE
TOO_LONG: Final = f"a line over {MAX_LINE_BYTES} bytes, skipped"


@dataclass(frozen=True, slots=True)
class Page:
    """Records and bad lines between two offsets, in file order. `start` of 0 means that nothing lies before."""

    records: tuple[Record, ...]
    malformed: tuple[Malformed, ...]
    start: int
    end: int


class Cursor:
    """A file from the line where reading began. Methods that read raise OSError."""

    def __init__(self, fd: int, file: str, kind: RecordKind) -> None:
        self.fd = fd
        self.file = file
        self.kind = kind
        self.bytes_read = 0
        self.identity = identity_of(os.fstat(fd))
        self._lines = LineCutter(0)
        self._seen = Seen(0, b"")
        self._last_line: Line | None = None

    @property
    def position(self) -> int:
        """Offset of the first byte not read yet."""
        return self._lines.position

    @property
    def unfinished(self) -> Malformed | None:
        """The held last line as it is to be reported when its end can no longer come."""
        held = self._lines.held
        if not held:
            return None
        return Malformed(self.file, self._lines.line_start, "unfinished line: its end never came", held[:EXCERPT_BYTES])

    @property
    def unfinished_bytes(self) -> int:
        """How many bytes of an unfinished last line are held."""
        return len(self._lines.held)

    def size(self) -> int:
        """The size of the open file now, in bytes."""
        return os.fstat(self.fd).st_size

    def linked(self) -> bool:
        """Whether the open file still has a name somewhere (it was renamed, not deleted)."""
        return os.fstat(self.fd).st_nlink > 0

    def open_at_newest(self, limit: int = PAGE) -> Page:
        """Begin with the newest `limit` bytes: whole lines only. More is read only where they hold not one record."""
        size = self.size()
        start, data, found = self._line_start(size, limit)
        self._seen = Seen(start, self._read(min(WINDOW, start), 0))
        self._lines = LineCutter(start, skipping=not found)
        page = self._take(data)
        if found:
            return page
        # All of it lies inside one line that began before any place we are ready to look at.
        bad = Malformed(self.file, start, TOO_LONG, data[:EXCERPT_BYTES])
        return Page(page.records, (bad, *page.malformed), page.start, page.end)

    def step(self, budget: int = SLICE) -> Page | int:
        """The lines that the next `budget` bytes complete; or, when the past has changed, the offset where it has.

        The past is compared after reading, so bytes of a file that was rewritten in between are never taken for a
        continuation of the old one (D7).
        """
        data = self._read(budget, self.position)
        # In a long read the blocks wait: what is compared in turn costs as much as what is read.
        changed = self._seen.differs(self._read, whole=not data, in_turn=len(data) < budget)
        if changed is not None:
            return changed
        return self._take(data)

    def before(self, offset: int, limit: int = PAGE) -> Page:
        """About `limit` bytes of the lines that end at or before `offset`, which is a `start` given earlier."""
        offset = min(offset, self.size())
        start, data, found = self._line_start(offset, limit)
        if not found:
            return Page((), (), start, offset)
        whole, newline, rest = data.rpartition(b"\n")
        lines = LineCutter(start).feed(whole + newline)
        records, malformed = self._decode(lines)
        if rest:
            # `offset` lay inside an oversize line; this is where that line begins.
            malformed.append(Malformed(self.file, start + len(whole) + len(newline), TOO_LONG, rest[:EXCERPT_BYTES]))
        return Page(tuple(records), tuple(malformed), start, offset)

    def same_in(self, fd: int) -> int | None:
        """Where the file behind `fd` differs from what was read here, or None: it says the same, and maybe more."""
        return self._seen.differs(self._reader_of(fd), whole=True)

    def shares_with(self, fd: int) -> bool:
        """Whether another file repeats lines of this one: a rewritten copy rather than a fresh successor."""
        read = self._reader_of(fd)
        first = self._seen.first_line
        if first and read(len(first), 0) == first:
            return True
        last = self._last_line
        if last is None or not last.raw:
            return False
        at = max(0, last.offset - _NEAR)
        return last.raw in read(last.offset - at + len(last.raw) + _NEAR, at)

    def move_to(self, fd: int) -> None:
        """Go on in another file that says the same, or in the same one opened again."""
        self.close()
        self.fd = fd
        self.identity = identity_of(os.fstat(fd))

    def close(self) -> None:
        """Let the file go; what was seen of it is still remembered."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def _read(self, length: int, offset: int) -> bytes:
        data = read_at(self.fd, length, offset) if length > 0 else b""
        self.bytes_read += len(data)
        return data

    def _reader_of(self, fd: int) -> Reader:
        def read(length: int, offset: int) -> bytes:
            data = read_at(fd, length, offset)
            self.bytes_read += len(data)
            return data

        return read

    def _line_start(self, end: int, limit: int) -> tuple[int, bytes, bool]:
        """The start of a line about `limit` bytes before `end`, and the bytes from there.

        Looks further back, up to the longest line there may be, while less than one whole line is found. The last
        value is False when no line begins in that reach; the bytes are then the middle of one.
        """
        reach = limit
        while True:
            start = max(0, end - reach)
            # One byte more, to see whether a line begins exactly at `start`.
            lead = 1 if start else 0
            data = self._read(end - start + lead, start - lead)
            if not start:
                return 0, data, True
            cut = data.find(b"\n") + 1
            if (cut and data.find(b"\n", cut) >= 0) or reach >= _REACH:
                break
            reach = min(reach * 4, _REACH)
        if not cut or cut == len(data):
            return start, data[lead:], False
        return start - 1 + cut, data[cut:], True

    def _take(self, data: bytes) -> Page:
        start = self._lines.line_start
        self._seen.note(data)
        lines = self._lines.feed(data)
        records, malformed = self._decode(lines)
        if lines:
            self._last_line = lines[-1]
        return Page(tuple(records), tuple(malformed), start, self._lines.line_start)

    def _decode(self, lines: list[Line]) -> tuple[list[Record], list[Malformed]]:
        records: list[Record] = []
        malformed: list[Malformed] = []
        for line in lines:
            if line.oversize:
                malformed.append(Malformed(self.file, line.offset, TOO_LONG, line.raw))
                continue
            decoded = decode_record(line.raw, self.kind, Place(self.file, line.offset, len(line.raw)))
            if isinstance(decoded, Malformed):
                malformed.append(decoded)
            else:
                records.append(decoded)
        return records, malformed


def identity_of(found: os.stat_result) -> tuple[int, int, float]:
    """What tells one file from another: device, inode, and the time of its birth where the platform gives it."""
    return (found.st_dev, found.st_ino, getattr(found, "st_birthtime", 0.0))
