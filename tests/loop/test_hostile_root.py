"""An agent that plants links, pipes and nonsense in its memory root: the host stays in it, and goes on (S1, T4, D5)."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from loop_kit import World, only, ops, predict

from cas_tui.loop import files
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.requests import RequestState


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


PLACES = (
    "state/receipts", "state/artifacts", "state/mca", "state/finalized", "state/queue", "logs", "logs/output",
    "logs/input", "raw", "threads", "threads/adhoc",
)  # fmt: skip


@pytest.mark.parametrize("place", PLACES)
def test_a_directory_that_became_a_link_is_never_followed(world: World, place: str) -> None:
    """S1: nothing is written outside the memory root, wherever the agent points a directory."""
    outside = world.base / "outside"
    outside.mkdir()

    def plant(w: World, given: str) -> str:
        path = w.root / place
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            path.rename(path.with_name("old"))
        path.symlink_to(outside)
        return ops(
            {"kind": "fs_write", "op_id": "w", "path": "README.md", "content": "x\n", "predict": predict()},
            extra="surface: an issue\nreply: msg-1|hello",
        )

    host, _ = world.run(plant, lambda w, given: ops({"kind": "fs_read", "path": "README.md"}))
    for _ in range(60):
        host._looked = 0.0
        host._stop.wait = lambda timeout=None: host._stop.is_set()  # type: ignore[method-assign]
        host._tick()
        for request in world.pending():
            if request.kind == "effect":
                world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    assert list(outside.iterdir()) == []


def test_files_that_became_links_pipes_or_devices_neither_leak_nor_hang(world: World) -> None:
    secret = world.base / "secret.txt"
    secret.write_text('{"action_id": "x"}\n')

    def plant(w: World, given: str) -> str:
        (w.root / "predictions.jsonl").unlink(missing_ok=True)
        os.mkfifo(w.root / "predictions.jsonl")
        (w.root / "learning.jsonl").unlink(missing_ok=True)
        (w.root / "learning.jsonl").symlink_to(secret)
        (w.root / "STATE.json").unlink(missing_ok=True)
        (w.root / "STATE.json").symlink_to("/dev/zero")
        (w.root / "state" / "mca").mkdir(exist_ok=True)
        os.mkfifo(w.root / "state" / "mca" / "a.md")
        os.mkfifo(w.root / "state" / "queue" / "a.md")
        return ops({"kind": "fs_write", "op_id": "w", "path": "README.md", "content": "x\n"})

    host, _ = world.run(plant)
    host._stop.wait = lambda timeout=None: host._stop.is_set()  # type: ignore[method-assign]
    for _ in range(30):
        host._looked = 0.0
        host._tick()
    request = only(world.pending())
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    for _ in range(30):
        host._tick()
    # The record cannot be written, so the effect must not have happened (E7, D6).
    assert (world.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"
    assert any("cannot go on" in line for line in world.lines)
    assert secret.read_text() == '{"action_id": "x"}\n'
    for name in ("predictions.jsonl", "learning.jsonl", "STATE.json"):
        (world.root / name).unlink()
    world.settle(host)
    assert world.door.find(request.request_id).state is RequestState.SUCCEEDED


def test_an_output_that_is_a_link_is_no_output(world: World) -> None:
    def plant(w: World, given: str) -> None:
        (w.root / "state" / "output.md").symlink_to(w.workspace / "README.md")

    host, agent = world.run(plant, plant, plant)  # type: ignore[arg-type]
    for _ in range(10):
        world.settle(host)
        world.clock.forward(60)
    assert world.pending() == () and not (world.root / "logs").exists()
    assert len(agent.calls) == 3, "it is set aside after as many attempts as policy gives"
    assert host.work() == 1


NONSENSE: tuple[dict[str, object], ...] = (
    {"rationale": "\ud800 lone"},
    {"rationale": "x", "query": {"text": "t", "type": "one", "options": ["\udcff", "b"]}},
    {"rationale": "x", "query": {"n": 10**40}},
    {"rationale": "x", "persistent_ref": "\ud834"},
)


@pytest.mark.parametrize("extra", NONSENSE, ids=range(len(NONSENSE)))
def test_text_that_cannot_be_encoded_is_asked_about_all_the_same(world: World, extra: dict[str, object]) -> None:
    """T4: no record of an agent stops the host."""
    base = {"action_id": "q\ud800", "agent": "echo", "session_id": "s", "timestamp": "2026-11-30T12:00:00.000Z"}

    def ask(w: World, given: str) -> str:
        with (w.root / "learning.jsonl").open("a") as file:
            file.write(json.dumps(base | {"update_type": "user_query", "error_class": None} | extra) + "\n")
        with (w.root / "observations.jsonl").open("a") as file:
            seen = {"success": False, "match": "mismatched", "observation_summary": "\udc80 NaN"}
            file.write(json.dumps(base | seen) + "\n")
        return ""

    host, _ = world.run(ask)
    world.settle(host)
    kinds = sorted(str(request.kind) for request in world.pending())
    assert kinds == ["mismatch", "question"]
    question = next(item for item in world.pending() if item.kind == "question")
    world.door.decide(question.request_id, Verdict.ANSWER, digest=question.digest, arguments={"text": "yes"})
    world.settle(host)
    assert world.state()["beliefs"]


def test_policy_is_read_again_before_an_effect_starts(world: World) -> None:
    """E9: tightened between the approval and the start, it refuses; broken, nothing starts."""
    host, _ = world.run(
        lambda w, given: ops(
            {"kind": "fs_write", "op_id": "w", "path": "README.md", "content": "x\n", "predict": predict()}
        )
    )
    world.settle(host)
    request = only(world.pending())
    policy = host.ctx.runtime.policy
    policy.write_text("nonsense =")
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    host._stop.wait = lambda timeout=None: host._stop.is_set()  # type: ignore[method-assign]
    for _ in range(5):
        host._tick()
    assert world.door.find(request.request_id).state is RequestState.APPROVED
    policy.write_text('denied_kinds = ["fs_write"]\n')
    world.settle(host)
    ended = world.door.find(request.request_id)
    assert ended.state is RequestState.DENIED and ended.outcome["reason"] == "policy_rejected"
    assert (world.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"


@pytest.mark.parametrize("make", [files.append_line, files.replace_file], ids=["append", "replace"])
def test_a_write_that_fails_is_said_and_leaves_no_litter(tmp_path: Path, make: Callable[[Path, bytes], None]) -> None:
    """D6: a directory that takes no file is a failure in words."""
    place = tmp_path / "is-a-file"
    place.write_text("")
    with pytest.raises(files.WriteFailed, match=r"x\.jsonl"):
        make(place / "x.jsonl", b"{}\n")
    assert [path.name for path in tmp_path.iterdir()] == ["is-a-file"]
