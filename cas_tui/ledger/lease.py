"""Who hosts a root now: a row with a heartbeat and a fencing number (PROTOCOL §5.3, SAFETY D05, D08).

The lease says who is alive; it never makes an effect safe by itself. What does is the number: every start of an effect
names it, and a holder that was replaced cannot start anything.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

import orjson

from cas_tui.ledger.audit import Audit
from cas_tui.ledger.errors import LeaseHeld, StaleLease
from cas_tui.ledger.store import Store
from cas_tui.protocol.encode import parse_timestamp

LEASE_STALE_S = 5.0
"""A heartbeat older than this means that the host is gone (or frozen, which is the same for a reader)."""


@dataclass(frozen=True, slots=True)
class HostRow:
    """The lease of one root as it stands."""

    root: str
    epoch: int
    role: str
    pid: int
    hostname: str
    boot_id: str
    workspace: str
    confinement: str
    agent: str
    command: tuple[str, ...]
    heartbeat_at: str
    phase: str
    phase_since: str
    released: bool


def is_alive(row: HostRow, now: datetime) -> bool:
    """Whether the holder lives: not released, heartbeat fresh and, on this machine, its process there."""
    if row.released:
        return False
    if row.hostname == socket.gethostname() and not _process_exists(row.pid):
        return False
    beat = parse_timestamp(row.heartbeat_at)
    return beat is not None and (now - beat).total_seconds() < LEASE_STALE_S


def _process_exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    # A zombie is not a host: it can do nothing any more.
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            return file.read().rpartition(b")")[2].split()[:1] != [b"Z"]
    except OSError:
        return True


class Leases:
    """The leases of one ledger (one row a root)."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store = store
        self._audit = audit

    def acquire(
        self,
        root: str,
        *,
        role: str,
        pid: int,
        hostname: str,
        boot_id: str,
        workspace: str = "",
        confinement: str = "",
        agent: str = "",
        command: Sequence[str] = (),
    ) -> int:
        """Become the host of `root`; returns the new fencing number. Raises LeaseHeld while another one lives."""
        with self._store.write():
            held = self.read(root)
            if held is not None and held.pid != pid and is_alive(held, self._store.clock()):
                raise LeaseHeld(f"{root}: {held.role} {held.pid} on {held.hostname} holds the lease")
            epoch = self._next_epoch()
            now = self._store.now()
            self._store.execute("DELETE FROM lease WHERE root = ?", (root,))
            self._store.execute(
                "INSERT INTO lease VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 0)",
                (
                    root,
                    epoch,
                    role,
                    pid,
                    hostname,
                    boot_id,
                    workspace,
                    confinement,
                    agent,
                    orjson.dumps(list(command)).decode("utf-8"),
                    now,
                    "idle",
                    now,
                ),
            )
            self._audit.append("lease", {"root": root, "epoch": epoch, "role": role, "pid": pid, "hostname": hostname})
            return epoch

    def _next_epoch(self) -> int:
        row = self._store.one("SELECT value FROM cursors WHERE name = 'lease-epoch'")
        epoch = int(row[0]) + 1 if row else 1
        self._store.execute("INSERT OR REPLACE INTO cursors VALUES ('lease-epoch', ?)", (str(epoch),))
        return epoch

    def beat(self, epoch: int, phase: str = "") -> None:
        """Say that the holder lives, and what it does. Raises StaleLease when it is not the holder any more."""
        with self._store.write():
            now = self._store.now()
            changed = self._store.execute(
                "UPDATE lease SET heartbeat_at = ?, phase_since = CASE WHEN phase = ? THEN phase_since ELSE ? END,"
                " phase = ? WHERE epoch = ? AND released = 0",
                (now, phase, now, phase, epoch),
            )
        if not changed:
            raise StaleLease(f"lease {epoch} is not held any more")

    def release(self, epoch: int) -> None:
        """Give the lease back; one that is not held any more is fine."""
        with self._store.write():
            if self._store.execute("UPDATE lease SET released = 1 WHERE epoch = ? AND released = 0", (epoch,)):
                self._audit.append("lease_released", {"epoch": epoch})

    def require(self, epoch: int) -> None:
        """Inside a transaction: raise StaleLease unless this number is the one that counts."""
        if not self._store.one("SELECT 1 FROM lease WHERE epoch = ? AND released = 0", (epoch,)):
            raise StaleLease(f"lease {epoch} is not held any more; this host starts nothing")

    def read(self, root: str) -> HostRow | None:
        """The lease of a root, whether its holder lives or not; None when nobody ever hosted it."""
        row = self._store.one("SELECT * FROM lease WHERE root = ?", (root,))
        if row is None:
            return None
        (
            root_,
            epoch,
            role,
            pid,
            hostname,
            boot,
            workspace,
            confinement,
            agent,
            command,
            beat,
            phase,
            since,
            released,
        ) = row
        words = tuple(orjson.loads(command))
        return HostRow(
            root_,
            epoch,
            role,
            pid,
            hostname,
            boot,
            workspace,
            confinement,
            agent,
            words,
            beat,
            phase,
            since,
            bool(released),
        )
