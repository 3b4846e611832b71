"""What operators say outside a request, and what binds beyond one: holds, messages, rules, obligations."""

from __future__ import annotations

from collections.abc import Mapping

from cas_tui.ledger.audit import Audit
from cas_tui.ledger.store import Store
from cas_tui.protocol.decisions import Operator
from cas_tui.protocol.decode import Json, decode_strict
from cas_tui.protocol.encode import canonical


def _text(value: Mapping[str, Json]) -> str:
    return canonical(dict(value)).decode("utf-8")


class Holds:
    """Runs that start nothing new (PROTOCOL §5.5 hold, resume)."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store = store
        self._audit = audit

    def hold(self, root: str, operator: Operator, reason: str = "") -> None:
        """Hold a run; holding it again changes nothing."""
        with self._store.write():
            self._store.execute(
                "INSERT OR IGNORE INTO holds VALUES (?, ?, ?, ?)", (root, operator.name, reason, self._store.now())
            )
            self._audit.append("hold", {"root": root, "operator": operator.as_json(), "reason": reason})

    def resume(self, root: str, operator: Operator) -> None:
        """Let it go on; never implied by anything else."""
        with self._store.write():
            self._store.execute("DELETE FROM holds WHERE root = ?", (root,))
            self._audit.append("resume", {"root": root, "operator": operator.as_json()})

    def is_held(self, root: str) -> bool:
        return self._store.one("SELECT 1 FROM holds WHERE root = ?", (root,)) is not None

    def holder(self, root: str) -> str:
        """Who holds it, or nothing."""
        row = self._store.one("SELECT operator FROM holds WHERE root = ?", (root,))
        return str(row[0]) if row else ""


class Messages:
    """Words on their way to the host or the agent: message, answer, hold, resume, revert, yield."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store = store
        self._audit = audit

    def add(
        self,
        root: str,
        kind: str,
        text: str,
        operator: Operator,
        *,
        data: Mapping[str, Json] | None = None,
        key: str | None = None,
    ) -> int:
        """Add a message; one with a `key` that is known is not added again. Returns its number."""
        with self._store.write():
            known = None if key is None else self._store.one("SELECT id FROM messages WHERE key = ?", (key,))
            if known is not None:
                return int(known[0])
            self._store.execute(
                "INSERT INTO messages (root, kind, text, operator, data, at, key) VALUES (?, ?, ?, ?, ?, ?, ?)",
                (root, kind, text, _text(operator.as_json()), _text(data or {}), self._store.now(), key),
            )
            number = self._store.inserted()
            self._audit.append("message", {"id": number, "kind": kind, "operator": operator.as_json()})
            return number

    def undelivered(self, root: str) -> tuple[Mapping[str, Json], ...]:
        """{id, kind, text, operator, data, at, delivered_to} of every message that waits, oldest first."""
        return self._select("root = ? AND delivered_to IS NULL", (root,))

    def list(self, root: str, newest: int = 200) -> tuple[Mapping[str, Json], ...]:
        """The newest messages of a root, oldest of them first."""
        return self._select("root = ?", (root,))[-newest:]

    def delivered(self, message_id: int, to: str) -> None:
        """It arrived: at a trigger, by its id, or at the host, by the message's kind."""
        with self._store.write():
            self._store.execute(
                "UPDATE messages SET delivered_to = ? WHERE id = ? AND delivered_to IS NULL", (to, message_id)
            )

    def _select(self, where: str, parameters: tuple[object, ...]) -> tuple[Mapping[str, Json], ...]:
        rows = self._store.query(
            f"SELECT id, kind, text, operator, data, at, delivered_to FROM messages WHERE {where} ORDER BY id",
            parameters,
        )
        return tuple(
            {
                "id": row[0],
                "kind": row[1],
                "text": row[2],
                "operator": decode_strict(row[3]),
                "data": decode_strict(row[4]),
                "at": row[5],
                "delivered_to": row[6],
            }
            for row in rows
        )


class Rules:
    """Remembered permissions: listed here; none is made yet, so none can allow anything (E10)."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def list(self) -> tuple[Mapping[str, Json], ...]:
        """Every rule as recorded, oldest first."""
        return tuple(
            decode_strict(row[0]) for row in self._store.query("SELECT document FROM rules ORDER BY created_at")
        )


class Obligations:
    """Standing obligations as recorded (PROTOCOL §3.1)."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store = store
        self._audit = audit

    def list(self, root: str) -> tuple[Mapping[str, Json], ...]:
        """Every obligation of a root."""
        rows = self._store.query("SELECT document FROM obligations WHERE root = ? ORDER BY obligation_id", (root,))
        return tuple(decode_strict(row[0]) for row in rows)

    def insert(self, root: str, record: Mapping[str, Json]) -> None:
        """Record one obligation under its `obligation_id`."""
        with self._store.write():
            self._store.execute(
                "INSERT INTO obligations VALUES (?, ?, ?, ?)",
                (record["obligation_id"], root, record.get("state", "registered"), _text(record)),
            )
            self._audit.append("obligation", {"obligation_id": record["obligation_id"]})
