"""Decisions as rows: the first one wins, in one transaction (PROTOCOL §5.5, E1, E2, E5, A1)."""

from __future__ import annotations

from dataclasses import replace

from cas_tui.ledger.audit import Audit
from cas_tui.ledger.errors import AlreadyDecided, ChangedSinceShown, Expired, NotTaken
from cas_tui.ledger.requests import Requests
from cas_tui.ledger.store import Row, Store
from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.decode import decode_strict
from cas_tui.protocol.encode import canonical, parse_timestamp
from cas_tui.protocol.machines import AFTER_VERDICT, is_terminal, takes
from cas_tui.protocol.requests import Request, RequestState

_COLUMNS = "SELECT document FROM decisions"
DONE = "done"
"""The mark of a decision that was carried to its end."""


class Decisions:
    """The decisions of one ledger, and how far the host has carried each."""

    def __init__(self, store: Store, audit: Audit, requests: Requests) -> None:
        self._store = store
        self._audit = audit
        self._requests = requests

    def decide(self, decision: Decision, *, replacement: Request | None = None) -> Request:
        """Commit one verdict; returns the request as it is then.

        Raises:
            NotFound, AlreadyDecided, NotTaken, ChangedSinceShown, StorageFailure, Expired (and it is so then).
        """
        with self._store.write():
            expired = self._refuse(decision)
            if expired is None:
                fresh = self._commit(decision)
                if replacement is not None:
                    self._requests.insert(replacement)
        if expired is not None:
            raise Expired(expired)
        return fresh

    def _refuse(self, decision: Decision) -> Request | None:
        """Raise what stands against this verdict; an expired request is made so and returned, to be raised outside."""
        request = self._requests.get(decision.request_id)
        winner = self._winner(decision.request_id, _stage(decision.verdict))
        if winner is not None:
            raise AlreadyDecided(winner)
        if not takes(request.kind, request.state, decision.verdict):
            earlier = self.of_request(decision.request_id)
            if earlier and is_terminal(request.kind, request.state):
                raise AlreadyDecided(earlier[-1])
            raise NotTaken(f"{request.request_id}: is {request.state}; it does not take {decision.verdict}")
        end = parse_timestamp(request.expires_at) if request.expires_at else None
        if end is not None and end <= self._store.clock() and request.state is RequestState.PENDING:
            return self._requests.move(request.request_id, RequestState.EXPIRED)
        if decision.digest != request.digest:
            raise ChangedSinceShown(request)
        return None

    def _commit(self, decision: Decision) -> Request:
        request = self._requests.get(decision.request_id)
        to = AFTER_VERDICT[decision.verdict]
        previous = self._audit.append("decision", decision.as_json())
        self._store.execute(
            "INSERT INTO decisions (decision_id, request_id, stage, document, prev_sha256) VALUES (?, ?, ?, ?, ?)",
            (
                decision.decision_id,
                decision.request_id,
                _stage(decision.verdict),
                canonical(decision.as_json()).decode("utf-8"),
                previous,
            ),
        )
        outcome = dict(request.outcome)
        if decision.verdict is Verdict.RECONCILE:
            outcome |= {"happened": bool(decision.arguments.get("happened")), "found": decision.comment}
        settled = self._store.now() if is_terminal(request.kind, to) else None
        fresh = replace(request, state=to, settled_at=settled, outcome=outcome)
        self._requests.put(fresh)
        return fresh

    def _winner(self, request_id: str, stage: str) -> Decision | None:
        row = self._store.one(f"{_COLUMNS} WHERE request_id = ? AND stage = ?", (request_id, stage))
        return None if row is None else _decision(row)

    def of_request(self, request_id: str) -> tuple[Decision, ...]:
        """What was decided about one request, oldest first."""
        rows = self._store.query(f"{_COLUMNS} WHERE request_id = ? ORDER BY number", (request_id,))
        return tuple(_decision(row) for row in rows)

    def newest(self, count: int) -> tuple[Decision, ...]:
        """The last decisions, oldest of them first."""
        rows = self._store.query(f"{_COLUMNS} ORDER BY number DESC LIMIT ?", (count,))
        return tuple(_decision(row) for row in reversed(rows))

    def unprocessed(self) -> tuple[Decision, ...]:
        """Decisions that the host has not carried to their end, oldest first."""
        rows = self._store.query(f"{_COLUMNS} WHERE done = 0 ORDER BY number")
        return tuple(_decision(row) for row in rows)

    def mark(self, decision_id: str, stage: str) -> None:
        """Say durably how far a decision was carried: picked_up, ran, observed, done. Again is fine."""
        with self._store.write():
            changed = self._store.execute(
                "INSERT OR IGNORE INTO marks VALUES (?, ?, ?)", (decision_id, stage, self._store.now())
            )
            if stage == DONE:
                self._store.execute("UPDATE decisions SET done = 1 WHERE decision_id = ?", (decision_id,))
            if changed:
                self._audit.append("mark", {"decision_id": decision_id, "stage": stage})

    def stages(self, decision_id: str) -> frozenset[str]:
        """How far a decision was carried."""
        return frozenset(
            row[0] for row in self._store.query("SELECT stage FROM marks WHERE decision_id = ?", (decision_id,))
        )


def _stage(verdict: Verdict) -> str:
    """Verdicts of one stage exclude each other; an unknown outcome and a triaged issue are decided a second time."""
    if verdict is Verdict.RECONCILE:
        return "reconcile"
    return "triage" if verdict is Verdict.ASSIGN else "verdict"


def _decision(row: Row) -> Decision:
    return Decision.from_json(decode_strict(row[0]))
