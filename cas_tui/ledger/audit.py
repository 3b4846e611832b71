"""The append-only chain: every row holds the SHA-256 of the one before (PROTOCOL §5.2, SAFETY D8, A1)."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from cas_tui.ledger.store import Row, Store
from cas_tui.protocol.decode import Json, decode_strict
from cas_tui.protocol.encode import canonical

GENESIS = "0" * 64


@dataclass(frozen=True, slots=True)
class AuditRow:
    """One row: what happened, when by the wall and by the boot's own clock, and the chain."""

    seq: int
    at: str
    monotonic_ns: int
    boot_id: str
    kind: str
    data: Mapping[str, Json]
    prev_sha256: str
    sha256: str


class Audit:
    """The chain of one ledger."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def append(self, kind: str, data: Mapping[str, Json]) -> str:
        """Add a row inside the present transaction (or one of its own); returns the hash it is chained to."""
        with self._store.write():
            seq, previous = self.head()
            at, tick = self._store.now(), self._store.monotonic_ns()
            text = canonical(dict(data)).decode("utf-8")
            material = {
                "seq": seq + 1,
                "at": at,
                "monotonic_ns": tick,
                "boot_id": self._store.boot,
                "kind": kind,
                "data": text,
                "prev_sha256": previous,
            }
            digest = hashlib.sha256(canonical(material)).hexdigest()
            self._store.execute(
                "INSERT INTO audit VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (seq + 1, at, tick, self._store.boot, kind, text, previous, digest),
            )
            return previous

    def head(self) -> tuple[int, str]:
        """(seq, sha256) of the newest row; (0, zeros) of an empty chain."""
        row = self._store.one("SELECT seq, sha256 FROM audit ORDER BY seq DESC LIMIT 1")
        return (int(row[0]), str(row[1])) if row else (0, GENESIS)

    def rows(self, newest: int | None = None) -> tuple[AuditRow, ...]:
        """Rows in order; only the newest ones when a number is given."""
        limit = -1 if newest is None else newest
        found = self._store.query("SELECT * FROM audit ORDER BY seq DESC LIMIT ?", (limit,))
        return tuple(_row(row) for row in reversed(found))


def _row(row: Row) -> AuditRow:
    return AuditRow(row[0], row[1], row[2], row[3], row[4], decode_strict(row[5]), row[6], row[7])
