"""kill -9 of the host at every step between a decision and its commit (E1, E5, E8, D1, SAFETY C01, C14)."""

from __future__ import annotations

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

import pytest
from fault_kit import Prepared
from loop_kit import World, only, ops, predict

from cas_tui.ledger.verify import verify
from cas_tui.loop.operator import Door, current_operator
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.requests import RequestState


def prepared(tmp_path: Path, verdict: Verdict, **arguments: object) -> tuple[Prepared, str, World]:
    """A world in which the host asked for a commit, the operator decided, and nobody lives to carry it out."""
    home = tmp_path / "home"
    home.mkdir()
    world = World(home)
    (world.workspace / "new.md").write_text("new\n")
    world.git("add", "new.md")
    world.clock.now = datetime.now(UTC)
    host, _ = world.run(
        lambda w, given: ops({"kind": "git_commit", "op_id": "c", "message": "Add new.md", "predict": predict()})
    )
    world.settle(host)
    request = only(world.pending())
    world.door.decide(request.request_id, verdict, digest=request.digest, **arguments)  # type: ignore[arg-type]
    world.close()
    environ = {**world.environ, "PATH": os.environ["PATH"]}
    door = Door(
        world.root, environ, lambda: datetime.now(UTC), lambda: uuid4().hex[:12], current_operator("cli"), False
    )
    return Prepared(home, door), request.request_id, world


def commits(world: World) -> int:
    done = subprocess.run(["git", "log", "--oneline"], cwd=world.workspace, capture_output=True, text=True, check=True)
    return len([line for line in done.stdout.splitlines() if "Add new.md" in line])


def whole(world: World) -> None:
    """Each line is a record, each action was observed once, after its prediction."""
    seen: dict[str, list[str]] = {}
    for name in ("predictions", "observations", "learning"):
        path = world.root / f"{name}.jsonl"
        lines = path.read_bytes().split(b"\n") if path.exists() else [b""]
        assert lines[-1] == b"", f"{name}.jsonl ends in the middle of a line"
        seen[name] = [json.loads(line)["action_id"] for line in lines[:-1]]
        assert len(seen[name]) == len(set(seen[name])), f"{name}: an action is there twice"
    assert set(seen["observations"]) <= set(seen["predictions"])
    assert set(seen["observations"]) <= set(seen["learning"])


def test_an_approved_commit_runs_at_most_once_whenever_the_host_is_killed(tmp_path: Path) -> None:
    stage, request_id, world = prepared(tmp_path, Verdict.APPROVE)
    ends: dict[str, int] = {}
    for number in stage.kills():
        before = commits(world)
        assert stage.host() == 0, number
        request = stage.door.find(request_id)
        assert commits(world) <= 1 and commits(world) >= before, number
        if request.state is RequestState.SUCCEEDED:
            assert commits(world) == 1, number
        else:
            assert request.state is RequestState.UNKNOWN, (number, request.state)
            assert stage.host() == 0
            assert stage.door.find(request_id).state is RequestState.UNKNOWN, "an unknown outcome was tried again"
            stage.door.decide(
                request_id,
                Verdict.RECONCILE,
                digest=None,
                comment="looked",
                arguments={"happened": commits(world) == 1},
            )
            assert stage.host() == 0
            assert stage.door.find(request_id).state is RequestState.RECONCILED
        assert commits(world) <= 1, number
        whole(world)
        assert verify(stage.door._runtime.ledger) == ()
        ends[request.state] = ends.get(request.state, 0) + 1
    assert ends[RequestState.SUCCEEDED] > 5 and ends[RequestState.UNKNOWN] >= 1, ends


@pytest.mark.nightly
def test_a_denied_commit_never_runs_and_its_lesson_is_kept_once(tmp_path: Path) -> None:
    stage, request_id, world = prepared(tmp_path, Verdict.DENY, comment="not this")
    for number in stage.kills():
        assert stage.host() == 0, number
        assert stage.door.find(request_id).state is RequestState.DENIED
        assert commits(world) == 0
        whole(world)
        state = json.loads((world.root / "STATE.json").read_text())
        assert len(state["beliefs"]) == 1 and len(state["pending_citations"]) == 1, number
