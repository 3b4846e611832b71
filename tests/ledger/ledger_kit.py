"""A ledger in a scratch zone, a clock a test can move, and requests to put in it."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from cas_tui.ledger import Ledger
from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.requests import Request, RequestKind, RequestState

ANA = Operator("ana", 1000, "desk", "cli")
BOB = Operator("bob", 1001, "desk", "tui")
ROOT = "/r"


@dataclass
class Zone:
    """Where a ledger lives and when it is."""

    path: Path
    now: datetime = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)
    numbers: Any = field(default_factory=lambda: itertools.count(1))

    def clock(self) -> datetime:
        return self.now

    def ids(self) -> str:
        return f"{next(self.numbers):04}"

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)

    def open(self, **options: Any) -> Ledger:
        return Ledger.open(self.path, clock=self.clock, ids=self.ids, **options)

    def create(self) -> Ledger:
        return Ledger.create(self.path, clock=self.clock, ids=self.ids)

    def lease(self, ledger: Ledger, **options: Any) -> int:
        chosen = {"role": "run", "pid": 1, "hostname": "elsewhere", "boot_id": "b"} | options
        return ledger.lease.acquire(ROOT, **chosen)


def request(name: str = "r-1", **options: Any) -> Request:
    chosen: dict[str, Any] = {
        "kind": RequestKind.EFFECT,
        "state": RequestState.PENDING,
        "root": ROOT,
        "agent": "echo",
        "session_id": "s",
        "created_at": "2026-11-30T12:00:00.000Z",
        "title": f"Change {name}",
        "digest": f"sha256:{name}",
        "op_kind": "fs_write",
        "op_id": name,
        "fields": {"path": name, "content": "x"},
    }
    return Request(request_id=name, **(chosen | options))


def decision(name: str = "r-1", verdict: Verdict = Verdict.APPROVE, **options: Any) -> Decision:
    chosen: dict[str, Any] = {"decision_id": f"d-{name}-{verdict}", "digest": f"sha256:{name}", "operator": ANA}
    chosen |= {"decided_at": timestamp(datetime(2026, 11, 30, 12, 1, tzinfo=UTC))}
    return Decision(request_id=name, verdict=verdict, **(chosen | options))
