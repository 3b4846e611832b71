"""What the ledger may answer instead of a result, each as one clear line.

LedgerError
├── NoLedger          nothing was ever asked for this root
├── NewerLedger       written by a newer program: view only
├── StorageFailure    the disk did not take it: nothing was acknowledged
├── NotFound          no such row
├── AlreadyDecided    somebody was first
├── ChangedSinceShown another digest is pending now
├── Expired           the time to answer is over
├── NotTaken          this verdict or transition does not fit the state
├── AlreadyStarted    an effect is started once (E1)
├── LeaseHeld         another host is alive
└── StaleLease        this host is not the holder any more (D05)
"""

from __future__ import annotations

from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.requests import Request


class LedgerError(Exception):
    """Any of the above."""


class NoLedger(LedgerError):
    pass


class NewerLedger(LedgerError):
    pass


class StorageFailure(LedgerError):
    pass


class NotFound(LedgerError):
    pass


class AlreadyDecided(LedgerError):
    """`winner` is the decision that came first."""

    def __init__(self, winner: Decision) -> None:
        who = f"{winner.operator.name} decided {winner.verdict} at {winner.decided_at}"
        super().__init__(f"{winner.request_id}: already decided: {who}")
        self.winner = winner


class ChangedSinceShown(LedgerError):
    """`request` is what is pending now."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"{request.request_id}: changed since shown; look again, its digest is {request.digest[:15]}")
        self.request = request


class Expired(LedgerError):
    """`request` is the expired one."""

    def __init__(self, request: Request) -> None:
        super().__init__(f"{request.request_id}: expired at {request.expires_at}; no answer is not a denial")
        self.request = request


class NotTaken(LedgerError):
    pass


class AlreadyStarted(LedgerError):
    pass


class LeaseHeld(LedgerError):
    pass


class StaleLease(LedgerError):
    pass
