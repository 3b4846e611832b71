"""STATE.json as the last good document and when it was read (SAFETY D02, D9, §5.2 rule 4).

The agent may write it in place at any time, so a read counts only if the file was the same before and after it. Bytes
that do not parse are taken for a write in progress (`torn`) once; when the same bytes still stand there at the next
look, they are what the file says, and the reason is given.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from datetime import datetime
from typing import Final

from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.events import StateRead
from cas_tui.protocol.state import State, decode_state
from cas_tui.sources.folder import Fault, Folder, Signature, fault_of, read_at, signature

STATE_FILES: Final = ("STATE.json", "STATE/STATE.json")
"""Where the document may be, in order; the second is how the author's sandbox keeps it (PROTOCOL §1.7)."""

MAX_STATE_BYTES: Final = 64 << 20
_TRIES: Final = 3
_SETTLE_NS: Final = 50_000_000


class Snapshot:
    """STATE.json of one root. `look` returns an event when there is something new to say."""

    def __init__(self, folder: Folder, *, root: str, clock: Callable[[], datetime]) -> None:
        self.bytes_read = 0
        self._folder = folder
        self._root = root
        self._clock = clock
        self._file = STATE_FILES[0]
        self._signature: Signature | None = None
        self._state: State | None = None
        self._raw: bytes | None = None
        self._read_at = ""
        self._fault: str | None = None

    def look(self) -> StateRead | None:
        """What is new about the document, or None."""
        found = self._find()
        if isinstance(found, Fault):
            self._signature = None
            words = found.status if found.status == "missing" else f"unreadable: {found.detail}"
            return self._say(words)
        if self._signature == signature(found):
            return None
        if found.st_size > MAX_STATE_BYTES:
            self._signature = signature(found)
            return self._say(f"unreadable: {self._file}: {found.st_size} bytes, over the limit of {MAX_STATE_BYTES}")
        for _ in range(_TRIES):
            whole = self._read_whole()
            if isinstance(whole, tuple):
                return self._take(*whole)
            if isinstance(whole, Fault):
                self._signature = None
                return self._say("missing" if whole.status == "missing" else f"unreadable: {whole.detail}")
        self._signature = None
        return self._say("torn")

    def _find(self) -> os.stat_result | Fault:
        first: Fault | None = None
        for name in STATE_FILES:
            found = self._folder.stat(name)
            if not isinstance(found, Fault):
                self._file = name
                return found
            if first is None or first.status == "missing":
                first = found
        assert first is not None
        return first

    def _read_whole(self) -> tuple[bytes, Signature] | Fault | None:
        """The bytes and what the file was like; None when it changed while it was read."""
        fd = self._folder.open(self._file)
        if isinstance(fd, Fault):
            return fd
        try:
            before = os.fstat(fd)
            data = read_at(fd, before.st_size + 1, 0)
            after = signature(os.fstat(fd))
        except OSError as error:
            return fault_of(error)
        finally:
            os.close(fd)
        self.bytes_read += len(data)
        if after != signature(before) or len(data) != before.st_size:
            return None
        return data, after

    def _take(self, data: bytes, found: Signature) -> StateRead | None:
        # A file written within the last tick may be written again without a visible change: look once more then.
        settled = abs(time.time_ns() - found[3]) > _SETTLE_NS
        self._signature = found if settled else None
        if data == self._raw and self._fault == "":
            return None
        decoded = decode_state(data)
        if isinstance(decoded, Malformed):
            repeated = data == self._raw and self._fault is not None
            self._raw = data
            if repeated and settled:
                return self._say(f"unreadable: {self._file}: {decoded.reason}")
            self._signature = None
            return self._say("torn")
        self._raw = data
        self._state = decoded
        self._read_at = timestamp(self._clock())
        self._fault = None
        return self._say("")

    def _say(self, fault: str) -> StateRead | None:
        if fault == self._fault:
            return None
        self._fault = fault
        return StateRead(self._root, self._state, self._read_at, fault)
