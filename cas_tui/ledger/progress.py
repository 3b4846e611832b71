"""Where the host stands: cursors, passes, planned appends, planned changes of STATE (PROTOCOL §5.2).

All of it is bookkeeping that makes a step repeatable after a crash; nothing here is a decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cas_tui.ledger.store import Row, Store
from cas_tui.protocol.decode import Json, decode_strict
from cas_tui.protocol.encode import canonical


def _text(value: Mapping[str, Json]) -> str:
    return canonical(dict(value)).decode("utf-8")


class Cursors:
    """Named small values of the host."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, name: str) -> Mapping[str, Json] | None:
        row = self._store.one("SELECT value FROM cursors WHERE name = ?", (name,))
        return None if row is None else decode_strict(row[0])

    def set(self, name: str, value: Mapping[str, Json]) -> None:
        with self._store.write():
            self._store.execute("INSERT OR REPLACE INTO cursors VALUES (?, ?)", (name, _text(value)))


@dataclass(frozen=True, slots=True)
class PassRow:
    """Where one pass of one trigger stands."""

    root: str
    trigger_id: str
    pass_no: int
    phase: str
    data: Mapping[str, Json]


class Passes:
    """The passes of every trigger; the one in hand is the newest that is not `finished`."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def put(self, root: str, trigger_id: str, pass_no: int, phase: str, data: Mapping[str, Json]) -> None:
        """Save where a pass stands, making its row if there is none."""
        with self._store.write():
            self._store.execute(
                "INSERT INTO passes (root, trigger_id, pass, phase, data) VALUES (?, ?, ?, ?, ?)"
                " ON CONFLICT (root, trigger_id, pass) DO UPDATE SET phase = excluded.phase, data = excluded.data",
                (root, trigger_id, pass_no, phase, _text(data)),
            )

    def current(self, root: str) -> PassRow | None:
        """The pass in hand, or None when the loop is idle."""
        return _pass(
            self._store.one(
                "SELECT root, trigger_id, pass, phase, data FROM passes WHERE root = ? AND phase != 'finished'"
                " ORDER BY number DESC LIMIT 1",
                (root,),
            )
        )

    def get(self, root: str, trigger_id: str, pass_no: int) -> PassRow | None:
        """One pass, or None."""
        return _pass(
            self._store.one(
                "SELECT root, trigger_id, pass, phase, data FROM passes WHERE root = ? AND trigger_id = ? AND pass = ?",
                (root, trigger_id, pass_no),
            )
        )

    def of_trigger(self, root: str, trigger_id: str) -> tuple[PassRow, ...]:
        """Every pass of one trigger, in order."""
        rows = self._store.query(
            "SELECT root, trigger_id, pass, phase, data FROM passes WHERE root = ? AND trigger_id = ? ORDER BY pass",
            (root, trigger_id),
        )
        return tuple(_row(row) for row in rows)

    def list(self, root: str) -> tuple[PassRow, ...]:
        """Every pass of a root, in the order they began."""
        rows = self._store.query(
            "SELECT root, trigger_id, pass, phase, data FROM passes WHERE root = ? ORDER BY number", (root,)
        )
        return tuple(_row(row) for row in rows)


def _pass(row: Row | None) -> PassRow | None:
    return None if row is None else _row(row)


def _row(row: Row) -> PassRow:
    return PassRow(row[0], row[1], row[2], row[3], decode_strict(row[4]))


@dataclass(frozen=True, slots=True)
class AppendRow:
    """One planned line of one file. The line planned first under a key is the one that counts."""

    key: str
    file: str
    line: bytes
    done: bool


class Appends:
    """Lines that are to be in a file exactly once."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def get(self, key: str) -> AppendRow | None:
        row = self._store.one("SELECT key, file, line, done FROM appends WHERE key = ?", (key,))
        return None if row is None else AppendRow(row[0], row[1], bytes(row[2]), bool(row[3]))

    def plan(self, key: str, file: str, line: bytes) -> AppendRow:
        """Plan a line; a key that is known returns what was planned first."""
        with self._store.write():
            self._store.execute(
                "INSERT OR IGNORE INTO appends (key, file, line, done) VALUES (?, ?, ?, 0)", (key, file, line)
            )
            row = self.get(key)
        assert row is not None
        return row

    def done(self, key: str) -> None:
        """The line is in its file, durably."""
        with self._store.write():
            self._store.execute("UPDATE appends SET done = 1 WHERE key = ?", (key,))

    def undone(self) -> tuple[AppendRow, ...]:
        """Lines not known to be in their files, in the order they were planned."""
        rows = self._store.query("SELECT key, file, line, done FROM appends WHERE done = 0 ORDER BY number")
        return tuple(AppendRow(row[0], row[1], bytes(row[2]), bool(row[3])) for row in rows)


class Patches:
    """Changes of STATE.json that are to be made."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def plan(self, key: str, patch: Mapping[str, Json]) -> Mapping[str, Json]:
        """Plan a change; a key that is known returns what was planned first."""
        with self._store.write():
            self._store.execute("INSERT OR IGNORE INTO patches (key, data, done) VALUES (?, ?, 0)", (key, _text(patch)))
            row = self._store.one("SELECT data FROM patches WHERE key = ?", (key,))
        assert row is not None
        found: Mapping[str, Json] = decode_strict(row[0])
        return found

    def is_done(self, key: str) -> bool:
        row = self._store.one("SELECT done FROM patches WHERE key = ?", (key,))
        return row is not None and bool(row[0])

    def done(self, key: str) -> None:
        """The change is in STATE.json, durably."""
        with self._store.write():
            self._store.execute("UPDATE patches SET done = 1 WHERE key = ?", (key,))

    def undone(self) -> tuple[tuple[str, Mapping[str, Json]], ...]:
        """(key, change) of every change not made yet, in order."""
        rows = self._store.query("SELECT key, data FROM patches WHERE done = 0 ORDER BY number")
        return tuple((str(row[0]), decode_strict(row[1])) for row in rows)
