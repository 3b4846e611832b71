"""Reading the newest part of a telemetry file, for decisions the loop makes about one action.

Bounded: it never reads more than `WINDOW` bytes. Whole histories are the business of `sources`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from cas_tui.loop.files import newest_part
from cas_tui.protocol.decode import Malformed, Place
from cas_tui.protocol.journal import Record, RecordKind, decode_record

WINDOW = 4 << 20


def recent(path: Path, kind: RecordKind, *, window: int = WINDOW) -> Iterator[Record]:
    """The readable records in the last `window` bytes of a file, oldest first; none when there is no file."""
    start, data = newest_part(path, window)
    if start:
        cut = data.find(b"\n") + 1
        data, start = data[cut:], start + cut
    offset = start
    for line in data.split(b"\n")[:-1]:
        record = decode_record(line, kind, Place(path.name, offset, len(line) + 1))
        offset += len(line) + 1
        if not isinstance(record, Malformed):
            yield record
