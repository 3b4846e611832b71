"""A root with a ledger, and the command line in this process, without hosts being started behind a test's back."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from cas_tui.cli import entry
from cas_tui.ledger import Ledger
from cas_tui.locations import runtime_paths
from cas_tui.loop import operator
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

DIGEST = "sha256:" + "ab" * 32


def clock() -> datetime:
    return datetime.now(UTC)


@dataclass
class Desk:
    """The root, its ledger, and a command line that answers with code, output and the line of failure."""

    root: Path
    ledger: Ledger
    capsys: pytest.CaptureFixture[str]
    spawned: list[Path]

    def __call__(self, *words: str) -> tuple[int, str, str]:
        code = entry.run([*words])
        told = self.capsys.readouterr()
        return code, told.out, told.err

    def json(self, *words: str) -> Any:
        code, told, err = self(*words, "--json")
        assert code == 0, err
        return json.loads(told)

    def put(self, request_id: str = "r-aaa1", **changes: Any) -> Request:
        """Insert one request, by default a pending T1 patch."""
        made: dict[str, Any] = {
            "request_id": request_id,
            "kind": RequestKind.EFFECT,
            "state": RequestState.PENDING,
            "root": str(self.root),
            "agent": "demo",
            "session_id": "s-1",
            "created_at": "2026-01-01T00:00:00.000Z",
            "title": "Change README.md +1 -1",
            "digest": DIGEST,
            "op_kind": "fs_patch",
            "op_id": "p1",
            "fields": {"path": "README.md", "unified_diff": "x"},
            "display": {
                "kind": "diff",
                "path": "README.md",
                "rows": [["-", 1, None, "old"], ["+", None, 1, "new"]],
                "added": 1,
                "removed": 1,
                "foot": "end of file, newline kept",
                "summary": "Change README.md: 1 line added, 1 removed",
            },
            "tier": Tier.T1,
            "reasons": ("reversible", "predicted"),
            "prediction": "act-1",
        }
        request = Request(**(made | changes))
        self.ledger.requests.insert_pass([request])
        return request

    def question(self, request_id: str = "q-bbb1") -> Request:
        return self.put(
            request_id,
            kind=RequestKind.QUESTION,
            title="Which Python?",
            op_kind="",
            fields={"text": "Which Python?", "query": {"type": "one", "options": ["3.11", "3.12"]}},
            display={},
            tier=None,
            reasons=(),
        )


@pytest.fixture
def counted() -> Callable[[], str]:
    counter = itertools.count(1)
    return lambda: f"id{next(counter)}"


@pytest.fixture
def desk(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    counted: Callable[[], str],
) -> Iterator[Desk]:
    root = tmp_path / "memory"
    root.mkdir()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("CAS_TUI_AGENT", raising=False)
    spawned: list[Path] = []

    def spawn(at: Path, **_: object) -> int:
        spawned.append(at)
        return 4242

    monkeypatch.setattr(operator, "spawn_host", spawn)
    ledger = Ledger.create(
        runtime_paths(root, {"XDG_STATE_HOME": str(tmp_path / "state")}).ledger, clock=clock, ids=counted
    )
    with ledger:
        yield Desk(root, ledger, capsys, spawned)
