"""Exactly-once appends to the agent's telemetry files, over any crash (SAFETY D1, D2, E1).

Each line is first planned in the ledger under a key that names the step it belongs to, then appended, then marked
done. A host that comes back after a crash looks whether a planned line is in the file before it appends it. The same
key always yields the same line: a step may simply be run again.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from cas_tui.ledger import Ledger
from cas_tui.loop.files import append_line, newest_part
from cas_tui.loop.records import Record
from cas_tui.protocol.decode import Json, decode_strict
from cas_tui.protocol.encode import encode_line

SEARCH_BYTES = 16 << 20
"""How far back a planned line is looked for; far more than a host can append between planning and crashing."""


class Journal:
    """The telemetry files of one root, as this host appends to them."""

    def __init__(self, root: Path, ledger: Ledger) -> None:
        self._root = root
        self._ledger = ledger

    def write(self, key: str, file: str, make: Callable[[], Record]) -> Record:
        """Append the record of step `key` to `file` once, and return it as it stands in the file.

        `make` is called only when the step was never planned; a repeated step returns the record planned first.

        Raises:
            WriteFailed: the line is planned but not known to be in the file; `settle` finishes it.
            LedgerError: nothing was planned, nothing was appended.
        """
        row = self._ledger.appends.get(key)
        if row is None:
            row = self._ledger.appends.plan(key, file, encode_line(make()))
            self._put(row.key, row.file, row.line, look=False)
        elif not row.done:
            self._put(row.key, row.file, row.line, look=True)
        value: dict[str, Json] = decode_strict(row.line.decode("utf-8"))
        return value

    def written(self, key: str) -> bool:
        """Whether step `key` is known to be in its file."""
        row = self._ledger.appends.get(key)
        return row is not None and row.done

    def settle(self) -> int:
        """Finish every planned append of an earlier host, in order; returns how many lines were still missing."""
        missing = 0
        for row in self._ledger.appends.undone():
            missing += self._put(row.key, row.file, row.line, look=True)
        return missing

    def _put(self, key: str, file: str, line: bytes, *, look: bool) -> bool:
        path = self._root / file
        needed = not (look and _holds(path, line))
        if needed:
            append_line(path, line)
        self._ledger.appends.done(key)
        return needed


def _holds(path: Path, line: bytes) -> bool:
    """Whether `line` stands whole in the newest part of the file (its entry_id makes it unlike any other)."""
    return line in newest_part(path, SEARCH_BYTES)[1]
