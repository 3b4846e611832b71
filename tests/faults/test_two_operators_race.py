"""Two operators approve the same request at once: one wins, the other is told who did (E1, SAFETY D04, F14)."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from datetime import UTC, datetime
from multiprocessing.connection import Connection
from multiprocessing.synchronize import Barrier
from pathlib import Path
from uuid import uuid4

import pytest
from loop_kit import World, ops, predict

from cas_tui.loop.operator import AlreadyDecided, Door
from cas_tui.protocol.decisions import Operator, Verdict
from cas_tui.protocol.requests import RequestState

ROUNDS = 200
PER_PASS = 25


def _operator(name: str, root: Path, environ: dict[str, str], barrier: Barrier, pipe: Connection) -> None:
    """One operator in a process of their own: approves what the pipe names, when both are ready."""
    door = Door(root, environ, lambda: datetime.now(UTC), lambda: uuid4().hex, Operator(name, 1, "desk", "cli"), False)
    while (work := pipe.recv()) is not None:
        request_id, digest = work
        barrier.wait(30)
        try:
            door.decide(request_id, Verdict.APPROVE, digest=digest)
            pipe.send(("won", name))
        except AlreadyDecided as refused:
            pipe.send(("lost", refused.winner.operator.name if refused.winner else "", refused.exit_code))


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def test_of_two_approvals_at_once_one_wins_and_the_effect_runs_once(world: World) -> None:
    world.clock.now = datetime.now(UTC)

    def many(w: World, given: str) -> str:
        start = len(list(w.workspace.glob("f*.txt")))
        names = [f"f{start + n:03}.txt" for n in range(PER_PASS)]
        return ops(
            *(
                {"kind": "fs_write", "op_id": name, "path": name, "content": name, "predict": predict()}
                for name in names
            )
        )

    host, _ = world.run(*([many] * (ROUNDS // PER_PASS)))
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(2)
    pipes = []
    workers = []
    for name in ("ana", "bob"):
        ours, theirs = context.Pipe()
        worker = context.Process(target=_operator, args=(name, world.root, world.environ, barrier, theirs), daemon=True)
        worker.start()
        pipes.append(ours)
        workers.append(worker)
    rounds = 0
    while rounds < ROUNDS:
        world.settle(host, 2000)
        waiting = world.pending()
        assert waiting, world.lines[-3:]
        for request in waiting:
            for pipe in pipes:
                pipe.send((request.request_id, request.digest))
            answers = [pipe.recv() for pipe in pipes]
            winner = next(answer[1] for answer in answers if answer[0] == "won")
            assert sorted(answer[0] for answer in answers) == ["lost", "won"]
            assert next(answer for answer in answers if answer[0] == "lost") == ("lost", winner, 5)
            rounds += 1
    for pipe, worker in zip(pipes, workers, strict=True):
        pipe.send(None)
        worker.join(10)
    world.settle(host, 5000)
    assert all(request.state is RequestState.SUCCEEDED for request in world.door.requests())
    assert len(list(world.workspace.glob("f*.txt"))) == ROUNDS
    mine = [record["action_id"] for record in world.records("observations") if record["agent"] == "echo"]
    assert len(mine) == len(set(mine)) == ROUNDS
