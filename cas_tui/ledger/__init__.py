"""Our own truth, in the runtime zone: SQLite in WAL mode with synchronous=FULL (PROTOCOL §5.2).

The only package that knows SQLite. It records and refuses; it decides no policy and touches no file of the agent.
"""

from cas_tui.ledger.errors import (
    AlreadyDecided,
    AlreadyStarted,
    ChangedSinceShown,
    Expired,
    LeaseHeld,
    LedgerError,
    NewerLedger,
    NoLedger,
    NotFound,
    NotTaken,
    StaleLease,
    StorageFailure,
)
from cas_tui.ledger.lease import LEASE_STALE_S, HostRow, is_alive
from cas_tui.ledger.ledger import Ledger
from cas_tui.ledger.store import boot_id

__all__ = [
    "LEASE_STALE_S",
    "AlreadyDecided",
    "AlreadyStarted",
    "ChangedSinceShown",
    "Expired",
    "HostRow",
    "LeaseHeld",
    "Ledger",
    "LedgerError",
    "NewerLedger",
    "NoLedger",
    "NotFound",
    "NotTaken",
    "StaleLease",
    "StorageFailure",
    "boot_id",
    "is_alive",
]
