"""What an old root asks for when a host comes to it for the first time: nothing (PROTOCOL §5.4)."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from loop_kit import World


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def write(world: World, count: int, at: str) -> None:
    head = {"agent": "echo", "session_id": "s", "timestamp": at, "run_nonce": "n"}
    with (world.root / "observations.jsonl").open("a") as seen, (world.root / "learning.jsonl").open("a") as learned:
        for number in range(count):
            record = head | {"action_id": f"a{number}"}
            seen.write(json.dumps(record | {"success": False, "match": "mismatched"}) + "\n")
            asked = {"update_type": "user_query", "error_class": None, "rationale": f"question {number}?"}
            learned.write(json.dumps(record | asked) + "\n")


def test_a_root_of_many_old_records_raises_no_request_from_its_history(world: World) -> None:
    write(world, 20_000, "2026-02-11T04:09:12Z")
    host, _ = world.run()
    world.settle(host)
    assert world.door.requests() == ()


def test_what_was_written_lately_before_the_first_host_is_asked_about(world: World) -> None:
    write(world, 2, "2026-11-30T11:59:00Z")
    host, _ = world.run()
    world.settle(host)
    assert sorted(str(request.kind) for request in world.pending()) == ["mismatch", "mismatch", "question", "question"]


def test_records_are_read_once_whatever_happens_to_the_host(world: World) -> None:
    write(world, 1, "2026-11-30T11:59:00Z")
    for _ in range(3):
        host, _ = world.run()
        world.settle(host)
        world.close()
    assert len(world.door.requests()) == 2
