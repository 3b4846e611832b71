"""Short ways to say what a run's files and ledger hold, for tests of the picture."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import orjson

from cas_tui.model.fold import fold
from cas_tui.model.picture import Picture, empty
from cas_tui.model.shapes import Card, ContractRow
from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.decode import Malformed, Place
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.events import Event, HostStatus, LedgerRead, Progress, RecordsRead, StateRead
from cas_tui.protocol.journal import FILE_OF, Record, RecordKind, decode_record
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier
from cas_tui.protocol.state import State, decode_state

NOW = datetime(2026, 11, 30, 14, 32, 7, tzinfo=UTC)
ROOT = "/home/ana/agents/docs/memory"
ANA = Operator("ana", 1000, "desk", "tui")


def ago(seconds: float) -> str:
    """The instant `seconds` before NOW, as it is written."""
    return timestamp(NOW - timedelta(seconds=seconds))


class Files:
    """The three telemetry files of one run, written line by line."""

    def __init__(self, root: str = ROOT, session: str = "s-1", agent: str = "docs") -> None:
        self.root, self.session, self.agent = root, session, agent
        self.ends = dict.fromkeys(FILE_OF.values(), 0)
        self.lines: list[tuple[str, Record | Malformed]] = []

    def line(self, kind: RecordKind, raw: bytes) -> Record | Malformed:
        """One line as it stands in its file."""
        file = FILE_OF[kind]
        record = decode_record(raw, kind, Place(file, self.ends[file], len(raw) + 1))
        self.ends[file] += len(raw) + 1
        self.lines.append((file, record))
        return record

    def _write(self, kind: RecordKind, values: dict[str, Any]) -> Record | Malformed:
        common = {"agent": self.agent, "session_id": self.session, "timestamp": ago(60)}
        return self.line(kind, orjson.dumps(common | {name: item for name, item in values.items() if item is not None}))

    def said(self, action_id: str, action: str = "fs_read README.md", expects: str = "text", **more: Any) -> None:
        """A prediction."""
        base = {"action_id": action_id, "action": action, "expected_observation": expects, "confidence": 0.9}
        self._write("prediction", base | more)

    def came(self, action_id: str, summary: str = "text", match: str | None = "matched", **more: Any) -> None:
        """An observation."""
        base = {
            "action_id": action_id,
            "success": match != "mismatched",
            "match": match,
            "observation_summary": summary,
        }
        self._write("observation", base | more)

    def learned(self, action_id: str, update_type: str = "confirmation_no_update", **more: Any) -> None:
        """A learning record."""
        self._write("learning", {"action_id": action_id, "update_type": update_type} | more)

    def act(self, action_id: str, **more: Any) -> None:
        """A whole act that went as expected."""
        self.said(action_id, **more)
        self.came(action_id)
        self.learned(action_id)

    def events(self) -> tuple[RecordsRead, ...]:
        """One event a file, as at opening."""
        return tuple(event(self.root, file, [item for name, item in self.lines if name == file]) for file in self.ends)


def event(root: str, file: str, items: Iterable[Record | Malformed]) -> RecordsRead:
    """Lines of one file as a source reports them."""
    held = list(items)
    good = tuple(item for item in held if not isinstance(item, Malformed))
    return RecordsRead(root, file, good, tuple(item for item in held if isinstance(item, Malformed)))


def state(root: str = ROOT, **values: Any) -> StateRead:
    """STATE.json with these sections, read a second ago."""
    found = decode_state(orjson.dumps({"state_version": "1.0", "updated_at": ago(30)} | values))
    assert isinstance(found, State)
    return StateRead(root, found, ago(1))


def alive(**more: Any) -> HostStatus:
    """A living host."""
    return replace(
        HostStatus(
            role="run",
            pid=4127,
            hostname="desk",
            heartbeat_at=ago(1),
            alive=True,
            workspace="/home/ana/src/docs",
            confinement="bubblewrap",
            phase="gate",
            agent="docs",
        ),
        **more,
    )


def ledger(
    requests: Sequence[Request] = (),
    decisions: Sequence[Decision] = (),
    progress: Sequence[Progress] = (),
    *,
    root: str = ROOT,
    host: HostStatus | None = None,
    **more: Any,
) -> LedgerRead:
    """The ledger as read just now."""
    read = LedgerRead(root, tuple(requests), tuple(decisions), tuple(progress), host or alive(), read_at=ago(0.2))
    return replace(read, **more)


def effect(request_id: str = "r-1", path: str = "README.md", **more: Any) -> Request:
    """A pending fs_patch."""
    rows = [["-", 12, None, "python 3.9 or newer"], ["+", None, 12, "python 3.11 or newer"]]
    request = Request(
        request_id=request_id,
        kind=RequestKind.EFFECT,
        state=RequestState.PENDING,
        root=ROOT,
        agent="docs",
        session_id="s-1",
        created_at=ago(180),
        title=f"Change {path} +1 -1",
        digest="sha256:9c41e07b" + "0" * 56,
        op_id="op-1",
        op_kind="fs_patch",
        action_id="act-1",
        prediction="act-1",
        fields={"path": path, "unified_diff": "…"},
        display={
            "kind": "diff",
            "path": path,
            "rows": rows,
            "foot": "end of file, newline kept",
            "summary": "Change it",
        },
        tier=Tier.T1,
        reasons=("reversible", "inside the workspace", "predicted"),
    )
    return replace(request, **more)


def other(kind: RequestKind, request_id: str, fields: dict[str, Any], **more: Any) -> Request:
    """A pending request of another kind."""
    request = Request(request_id, kind, RequestState.PENDING, ROOT, "docs", "s-1", ago(60), "a title", fields=fields)
    return replace(request, **more)


def decided(request_id: str, verdict: Verdict, at: float = 5, **more: Any) -> Decision:
    """Ana's decision, `at` seconds ago."""
    decision = Decision(f"d-{request_id}", request_id, "sha256:0", verdict, ANA, ago(at))
    return replace(decision, **more)


def picture(*events: Event | Files) -> Picture:
    """The picture of these events."""
    made = empty()
    for item in events:
        for one in item.events() if isinstance(item, Files) else (item,):
            made = fold(made, one)
    return made


def row(card: Card | None, label: str) -> ContractRow:
    """The first contract row with this label."""
    assert card is not None
    return next(item for item in card.contract if item.label == label)
