"""The ledger of one runtime zone, put together from its parts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from types import TracebackType

from cas_tui.ledger import store as stores
from cas_tui.ledger.audit import Audit
from cas_tui.ledger.decisions import Decisions
from cas_tui.ledger.effects import Effects
from cas_tui.ledger.lease import Leases
from cas_tui.ledger.operators import Holds, Messages, Obligations, Rules
from cas_tui.ledger.progress import Appends, Cursors, Passes, Patches
from cas_tui.ledger.requests import Requests
from cas_tui.ledger.store import Store
from cas_tui.protocol.requests import Request


class Ledger:
    """The only truth about requests, decisions, effects, leases and cursors (PROTOCOL §5.2).

    Every write is one transaction, durable when the call returns; every error is a `LedgerError`.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self.audit = Audit(store)
        self.requests = Requests(store, self.audit)
        self.decisions = Decisions(store, self.audit, self.requests)
        self.lease = Leases(store, self.audit)
        self.effects = Effects(store, self.audit, self.requests, self.lease)
        self.holds = Holds(store, self.audit)
        self.messages = Messages(store, self.audit)
        self.rules = Rules(store)
        self.obligations = Obligations(store, self.audit)
        self.cursors = Cursors(store)
        self.passes = Passes(store)
        self.appends = Appends(store)
        self.patches = Patches(store)

    @staticmethod
    def create(path: Path, *, clock: Callable[[], datetime], ids: Callable[[], str]) -> Ledger:
        """Open for writing, making the file and its private directory. Raises NewerLedger, StorageFailure."""
        return Ledger(stores.create(path, clock, ids))

    @staticmethod
    def open(path: Path, *, clock: Callable[[], datetime], ids: Callable[[], str], read_only: bool = False) -> Ledger:
        """Open what is there. Raises NoLedger, NewerLedger (for writing only), StorageFailure."""
        return Ledger(stores.open_existing(path, clock, ids, read_only=read_only))

    def expire_due(self, root: str) -> tuple[Request, ...]:
        """Pending requests of `root` whose time is over become expired; returns them."""
        return self.requests.expire_due(root)

    def data_version(self) -> int:
        """A number that changes when another connection has written."""
        row = self._store.one("PRAGMA data_version")
        return int(row[0]) if row else 0

    def is_newer(self) -> bool:
        """Whether a newer program made this ledger: rows may say more than this one understands (view only)."""
        return stores.is_newer(self._store)

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Ledger:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
