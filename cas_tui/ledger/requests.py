"""Requests as rows: inserted a pass at a time, moved only along the table of PROTOCOL §5.4."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from cas_tui.ledger.audit import Audit
from cas_tui.ledger.errors import NotFound, NotTaken
from cas_tui.ledger.store import Row, Store
from cas_tui.protocol.decode import Json, decode_strict
from cas_tui.protocol.digest import normalised_fields
from cas_tui.protocol.encode import canonical, parse_timestamp
from cas_tui.protocol.machines import NEXT, is_terminal, may_follow
from cas_tui.protocol.requests import Request, RequestKind, RequestState

_COLUMNS = "SELECT document FROM requests"
UNDECIDED = tuple(sorted({str(state) for table in NEXT.values() for state in table}))


class Requests:
    """The requests of one ledger."""

    def __init__(self, store: Store, audit: Audit) -> None:
        self._store = store
        self._audit = audit

    def insert_pass(self, requests: Sequence[Request]) -> None:
        """Insert requests together or not at all."""
        with self._store.write():
            for request in requests:
                self.insert(request)

    def insert(self, request: Request) -> None:
        """Insert one, inside the present transaction."""
        if self._store.one("SELECT 1 FROM requests WHERE request_id = ?", (request.request_id,)):
            raise NotTaken(f"{request.request_id}: a request of this id is there already")
        self._store.execute(
            "INSERT INTO requests (request_id, root, kind, state, trigger_id, pass, ordinal, prediction, act_sha256,"
            " expires_at, document) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                request.request_id,
                request.root,
                str(request.kind),
                str(request.state),
                request.trigger_id,
                request.pass_no,
                request.ordinal,
                request.prediction,
                act_hash(request.op_kind, request.fields),
                request.expires_at,
                canonical(request.as_json()).decode("utf-8"),
            ),
        )
        self._audit.append(
            "request", {"request_id": request.request_id, "kind": str(request.kind), "digest": request.digest}
        )

    def get(self, request_id: str) -> Request:
        """One request. Raises NotFound."""
        row = self._store.one(f"{_COLUMNS} WHERE request_id = ?", (request_id,))
        if row is None:
            raise NotFound(f"{request_id}: no such request")
        return _request(row)

    def find(self, prefix: str) -> Request:
        """One request by its id or a prefix only it has. Raises NotFound, in words when several have it."""
        row = self._store.one(f"{_COLUMNS} WHERE request_id = ?", (prefix,))
        if row is not None:
            return _request(row)
        end = prefix + "\U0010ffff"
        rows = self._store.query(f"{_COLUMNS} WHERE request_id >= ? AND request_id < ? LIMIT 3", (prefix, end))
        if not prefix or not rows:
            raise NotFound(f"{prefix or '(empty id)'}: no such request")
        if len(rows) > 1:
            raise NotFound(f"{prefix}: more than one request begins like this")
        return _request(rows[0])

    def list(
        self,
        *,
        root: str | None = None,
        states: Iterable[RequestState] | None = None,
        kinds: Iterable[RequestKind] | None = None,
        undecided: bool = False,
        newest: int | None = None,
    ) -> tuple[Request, ...]:
        """Requests in the order they were made; `newest` keeps only so many of the last ones."""
        where: list[str] = []
        parameters: list[object] = []
        if root is not None:
            where.append("root = ?")
            parameters.append(root)
        wanted = UNDECIDED if undecided else None if states is None else tuple(str(state) for state in states)
        for column, values in (("state", wanted), ("kind", None if kinds is None else tuple(str(k) for k in kinds))):
            if values is not None:
                where.append(f"{column} IN ({', '.join('?' * len(values))})")
                parameters += values
        condition = f" WHERE {' AND '.join(where)}" if where else ""
        parameters.append(-1 if newest is None else newest)
        rows = self._store.query(f"{_COLUMNS}{condition} ORDER BY number DESC LIMIT ?", parameters)
        found = (_request(row) for row in reversed(rows))
        if undecided:
            # Which states are open depends on the kind; `succeeded` of one is no state of another.
            return tuple(item for item in found if not is_terminal(item.kind, item.state))
        return tuple(found)

    def of_pass(self, root: str, trigger_id: str, pass_no: int) -> tuple[Request, ...]:
        """The effect requests of one pass, in manifest order."""
        rows = self._store.query(
            f"{_COLUMNS} WHERE root = ? AND trigger_id = ? AND pass = ? ORDER BY ordinal, number",
            (root, trigger_id, pass_no),
        )
        return tuple(_request(row) for row in rows)

    def claims(self, root: str, action_id: str) -> bool:
        """Whether some request of this root goes with this prediction already."""
        return bool(self._store.one("SELECT 1 FROM requests WHERE root = ? AND prediction = ?", (root, action_id)))

    def same_act(self, root: str, op_kind: str, fields: Mapping[str, Json]) -> Request | None:
        """The newest earlier request for the very same act, by kind and fields (F03)."""
        row = self._store.one(
            f"{_COLUMNS} WHERE root = ? AND act_sha256 = ? AND kind = 'effect' ORDER BY number DESC LIMIT 1",
            (root, act_hash(op_kind, fields)),
        )
        return None if row is None else _request(row)

    def show(self, request: Request, *, was: RequestState) -> Request:
        """Make `request`, as it is given, the pending one: its digest is what an approval is bound to from now on (E3).

        Args:
            was: `waiting` for one that is shown for the first time, `pending` for one whose world has changed.

        Raises:
            NotFound, NotTaken: it is not in that state any more.
        """
        with self._store.write():
            current = self.get(request.request_id)
            if current.state is not was:
                raise NotTaken(f"{request.request_id}: is {current.state}, not {was}")
            fresh = replace(request, state=RequestState.PENDING)
            self.put(fresh)
            self._audit.append("shown", {"request_id": fresh.request_id, "digest": fresh.digest})
            return fresh

    def move(
        self,
        request_id: str,
        to: RequestState,
        *,
        outcome: Mapping[str, Json] | None = None,
        from_states: Iterable[RequestState] | None = None,
    ) -> Request:
        """Take a request to another state, if its table allows it. Raises NotFound, NotTaken."""
        with self._store.write():
            request = self.get(request_id)
            allowed = from_states is None or request.state in tuple(from_states)
            if not allowed or not may_follow(request.kind, request.state, to):
                raise NotTaken(f"{request_id}: is {request.state}; it cannot become {to}")
            settled = self._store.now() if is_terminal(request.kind, to) else None
            fresh = replace(
                request, state=to, settled_at=settled, outcome=request.outcome if outcome is None else dict(outcome)
            )
            self.put(fresh)
            self._audit.append("state", {"request_id": request_id, "from": str(request.state), "to": str(to)})
            return fresh

    def put(self, request: Request) -> None:
        """Write a changed request back, inside the present transaction."""
        self._store.execute(
            "UPDATE requests SET state = ?, expires_at = ?, document = ? WHERE request_id = ?",
            (
                str(request.state),
                request.expires_at,
                canonical(request.as_json()).decode("utf-8"),
                request.request_id,
            ),
        )

    def expire_due(self, root: str) -> tuple[Request, ...]:
        """Pending requests whose time is over become expired; returns them (E5)."""
        now = self._store.clock()
        rows = self._store.query(f"{_COLUMNS} WHERE root = ? AND state = 'pending' AND expires_at IS NOT NULL", (root,))
        expired: list[Request] = []
        for row in rows:
            request = _request(row)
            end = parse_timestamp(request.expires_at or "")
            if end is not None and end <= now:
                try:
                    expired.append(
                        self.move(request.request_id, RequestState.EXPIRED, from_states=(RequestState.PENDING,))
                    )
                except NotTaken:
                    continue  # decided in between, and a decision wins
        return tuple(expired)


def act_hash(op_kind: str, fields: Mapping[str, Json]) -> str:
    """What makes two acts the same: kind and fields, paths normalised."""
    return hashlib.sha256(canonical({"kind": op_kind, "fields": normalised_fields(fields)})).hexdigest()


def _request(row: Row) -> Request:
    return Request.from_json(decode_strict(row[0]))
