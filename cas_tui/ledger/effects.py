"""The effect journal: intent durable before the act, completion after (E1, E7, E8)."""

from __future__ import annotations

from collections.abc import Mapping

from cas_tui.ledger.audit import Audit
from cas_tui.ledger.errors import AlreadyStarted, NotTaken
from cas_tui.ledger.lease import Leases
from cas_tui.ledger.requests import Requests
from cas_tui.ledger.store import Store
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import canonical
from cas_tui.protocol.requests import RequestState


class Effects:
    """What was started in one ledger, and how it ended."""

    def __init__(self, store: Store, audit: Audit, requests: Requests, leases: Leases) -> None:
        self._store = store
        self._audit = audit
        self._requests = requests
        self._leases = leases

    def start(self, request_id: str, decision_id: str, *, lease_epoch: int) -> None:
        """Make the start of an approved effect durable, once; only after this may it touch anything.

        Raises:
            AlreadyStarted: it was started before. StaleLease: another host holds the lease. NotTaken, StorageFailure.
        """
        with self._store.write():
            self._leases.require(lease_epoch)
            known = self._store.one(
                "SELECT 1 FROM effects WHERE request_id = ? OR decision_id = ?", (request_id, decision_id)
            )
            if known:
                raise AlreadyStarted(f"{request_id}: was started before; an effect is started once")
            request = self._requests.get(request_id)
            if self._store.one("SELECT 1 FROM holds WHERE root = ?", (request.root,)):
                raise NotTaken(f"{request_id}: the run is held")
            self._requests.move(request_id, RequestState.STARTED, from_states=(RequestState.APPROVED,))
            self._store.execute(
                "INSERT INTO effects (request_id, decision_id, epoch, started_at) VALUES (?, ?, ?, ?)",
                (request_id, decision_id, lease_epoch, self._store.now()),
            )
            self._audit.append("effect_started", {"request_id": request_id, "decision_id": decision_id})

    def finish(self, request_id: str, state: RequestState, outcome: Mapping[str, Json]) -> None:
        """Make the completion durable: `succeeded` or `failed`, with what the effect left behind."""
        if state not in (RequestState.SUCCEEDED, RequestState.FAILED):
            raise ValueError("an effect finishes as succeeded or failed")
        self._end(request_id, state, outcome)

    def mark_unknown(self, request_id: str, reason: str) -> None:
        """A start without a completion: not done, not failed, unknown, until an operator reconciles it (E8)."""
        self._end(request_id, RequestState.UNKNOWN, {"status": "error", "reason": reason, "outcome": "unknown"})

    def _end(self, request_id: str, state: RequestState, outcome: Mapping[str, Json]) -> None:
        with self._store.write():
            self._requests.move(request_id, state, outcome=outcome, from_states=(RequestState.STARTED,))
            self._store.execute(
                "UPDATE effects SET finished_at = ?, outcome = ? WHERE request_id = ?",
                (self._store.now(), canonical(dict(outcome)).decode("utf-8"), request_id),
            )
            self._audit.append("effect_ended", {"request_id": request_id, "state": str(state)})

    def unfinished(self) -> tuple[str, ...]:
        """Requests whose effect was started and has no completion."""
        rows = self._store.query("SELECT request_id FROM effects WHERE finished_at IS NULL ORDER BY started_at")
        return tuple(str(row[0]) for row in rows)
