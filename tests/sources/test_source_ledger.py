"""The ledger as one consistent read, looked at rarely and read only when it grew (PROTOCOL §5.2, CONSOLE §4.3.13)."""

from __future__ import annotations

import os
import socket
import sqlite3
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path

import pytest
from sources_kit import source

from cas_tui.ledger import Ledger
from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.events import LedgerRead
from cas_tui.protocol.requests import Request, RequestKind, RequestState
from cas_tui.sources.ledger import LedgerSource

ROOT = "/memory"
ALICE = Operator("alice", 1000, "here", "cli")


class Desk:
    """A ledger that is written by hand, and a source on it whose time is moved by hand."""

    def __init__(self, path: Path) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)
        self.ticks = 0.0
        self.numbers = count(1)
        self.path = path
        self.ledger: Ledger | None = None
        self.source = LedgerSource(path, root=ROOT, clock=lambda: self.time, tick=lambda: self.ticks)

    def create(self) -> Ledger:
        self.ledger = Ledger.create(self.path, clock=lambda: self.time, ids=lambda: f"id-{next(self.numbers)}")
        return self.ledger

    def look(self) -> LedgerRead | None:
        """A look after enough time for one to be allowed."""
        self.ticks += 1
        return self.source.look()

    def must(self) -> LedgerRead:
        event = self.look()
        assert event is not None
        return event

    def request(self, request_id: str, kind: RequestKind = RequestKind.QUESTION, root: str = ROOT) -> None:
        assert self.ledger is not None
        made = Request(
            request_id=request_id,
            kind=kind,
            state=RequestState.PENDING,
            root=root,
            agent="echo",
            session_id="s",
            created_at=timestamp(self.time),
            title=f"title of {request_id}",
            digest="sha256:00" if kind is RequestKind.EFFECT else "",
        )
        self.ledger.requests.insert_pass([made])

    def decide(self, request_id: str, verdict: Verdict, digest: str = "") -> str:
        assert self.ledger is not None
        decision = Decision(f"d-{request_id}", request_id, digest, verdict, ALICE, timestamp(self.time))
        self.ledger.decisions.decide(decision)
        return decision.decision_id

    def lease(self, **changes: object) -> int:
        assert self.ledger is not None
        fields = {"role": "run", "pid": os.getpid(), "hostname": socket.gethostname(), "boot_id": "b"} | changes
        return self.ledger.lease.acquire(ROOT, **fields)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    desk = Desk(tmp_path / "zone" / "ledger.db")
    yield desk
    desk.source.close()
    if desk.ledger is not None:
        desk.ledger.close()


def test_no_ledger_is_said_once_and_one_that_comes_is_read(desk: Desk) -> None:
    assert desk.must().fault == "none yet" and desk.look() is None
    desk.create()
    event = desk.must()
    assert (event.fault, event.requests, event.host.role) == ("", (), "")


def test_requests_decisions_hold_and_messages_are_read_as_they_come(desk: Desk) -> None:
    ledger = desk.create()
    desk.must()
    desk.request("q1")
    desk.request("q2")
    desk.request("other", root="/elsewhere")
    event = desk.must()
    assert [request.request_id for request in event.requests] == ["q1", "q2"]
    desk.decide("q1", Verdict.ANSWER)
    ledger.holds.hold(ROOT, ALICE)
    ledger.messages.add(ROOT, "message", "hello", ALICE)
    event = desk.must()
    assert [request.state for request in event.requests] == [RequestState.ANSWERED, RequestState.PENDING]
    assert [decision.request_id for decision in event.decisions] == ["q1"]
    assert (event.held, event.held_by) == (True, "alice")
    assert [message["text"] for message in event.messages] == ["hello"]
    assert event.audit_rows == ledger.audit.head()[0] and event.read_at == timestamp(desk.time)


def test_an_unchanged_ledger_says_nothing(desk: Desk) -> None:
    desk.create()
    desk.must()
    assert [desk.look() for _ in range(5)] == [None] * 5


def test_a_look_too_soon_is_put_off_and_then_due(desk: Desk) -> None:
    """At most every 100 ms; and only a look that was put off asks to be called again."""
    desk.create()
    desk.must()
    assert desk.source.due_in() is None
    desk.request("q1")
    desk.ticks += 0.04
    assert desk.source.look() is None
    assert desk.source.due_in() == pytest.approx(0.06)
    desk.ticks += 0.07
    assert desk.source.due_in() == 0
    event = desk.source.look()
    assert event is not None and len(event.requests) == 1 and desk.source.due_in() is None


def test_every_undecided_request_is_read_beside_the_newest_settled_ones(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cas_tui.sources.ledger.NEWEST_REQUESTS", 3)
    desk.create()
    for number in range(8):
        desk.request(f"q{number}")
    for number in (1, 2, 3, 6):
        desk.decide(f"q{number}", Verdict.DISMISS)
    event = desk.must()
    assert [request.request_id for request in event.requests] == ["q0", "q4", "q5", "q6", "q7"]


def test_the_progress_of_an_approval_goes_from_written_to_observed(desk: Desk) -> None:
    ledger = desk.create()
    desk.request("e1", RequestKind.EFFECT)
    decision = desk.decide("e1", Verdict.APPROVE, "sha256:00")

    def progress() -> tuple[bool, bool, bool, str]:
        (one,) = desk.must().progress
        assert one.request_id == "e1"
        return (one.picked_up, one.ran, one.observed, one.outcome)

    assert progress() == (False, False, False, "")
    ledger.decisions.mark(decision, "picked_up")
    assert progress() == (True, False, False, "")
    epoch = desk.lease()
    ledger.effects.start("e1", decision, lease_epoch=epoch)
    ledger.effects.finish("e1", RequestState.SUCCEEDED, {"summary": "done"})
    assert progress() == (True, True, False, "succeeded")
    ledger.decisions.mark(decision, "ran")
    ledger.decisions.mark(decision, "observed")
    assert progress() == (True, True, True, "succeeded")


def test_the_host_lives_by_heartbeat_and_by_pid(desk: Desk) -> None:
    """PROTOCOL §5.3: 5 s without a beat, or a process that is gone on this machine."""
    ledger = desk.create()
    epoch = desk.lease(workspace="/work", confinement="bubblewrap", agent="echo", command=("sh", "-c", "true"))
    host = desk.must().host
    assert (host.role, host.pid, host.alive, host.workspace) == ("run", os.getpid(), True, "/work")
    assert (host.confinement, host.command) == ("bubblewrap", ("sh", "-c", "true"))
    desk.time += timedelta(seconds=4)
    ledger.lease.beat(epoch, "agent")
    event = desk.must()
    assert (event.host.phase, event.host.heartbeat_at) == ("agent", timestamp(desk.time))
    desk.time += timedelta(seconds=6)
    event = desk.must()
    assert not event.host.alive, "nothing was written, and still it is said"
    assert desk.look() is None


def test_a_host_whose_process_is_gone_is_not_alive(desk: Desk) -> None:
    desk.create()
    gone = os.fork()
    if gone == 0:
        os._exit(0)
    os.waitpid(gone, 0)
    desk.lease(pid=gone)
    assert not desk.must().host.alive


def test_a_heartbeat_alone_reads_no_request(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    ledger = desk.create()
    desk.request("q1")
    epoch = desk.lease()
    before = desk.must()
    connection = desk.source._ledger
    assert connection is not None

    def refused(*_: object, **__: object) -> None:
        raise AssertionError("read although the audit chain did not grow")

    monkeypatch.setattr(connection.requests, "list", refused)
    desk.time += timedelta(seconds=1)
    ledger.lease.beat(epoch, "idle")
    event = desk.must()
    assert event.requests is before.requests and event.host.heartbeat_at != before.host.heartbeat_at


def test_a_newer_ledger_is_marked_and_viewed(desk: Desk) -> None:
    desk.create()
    desk.request("q1")
    with sqlite3.connect(desk.path) as other:
        other.execute("PRAGMA user_version = 99")
    other.close()
    event = desk.must()
    assert event.fault == "newer than this program" and len(event.requests) == 1


def test_a_newer_ledger_whose_rows_mean_nothing_here_is_marked_without_a_crash(desk: Desk) -> None:
    desk.create()
    with sqlite3.connect(desk.path) as other:
        other.execute("PRAGMA user_version = 99")
        other.execute("DROP TABLE requests")
    other.close()
    assert desk.must().fault == "newer than this program"


def test_a_damaged_ledger_says_so_and_keeps_what_was_read(desk: Desk) -> None:
    desk.create()
    desk.request("q1")
    desk.must()
    assert desk.ledger is not None
    desk.ledger.close()
    desk.ledger = None
    for file in desk.path.parent.glob("ledger.db*"):
        file.unlink()
    desk.path.write_bytes(b"this is no database, not even a little one" * 100)
    event = desk.must()
    assert event.fault.startswith("unreadable: ") and len(event.requests) == 1
    assert desk.look() is None


def test_a_ledger_that_is_replaced_is_opened_anew(desk: Desk) -> None:
    desk.create().close()
    desk.must()
    for file in desk.path.parent.glob("ledger.db*"):
        file.unlink()
    desk.create()
    desk.request("q9")
    assert [request.request_id for request in desk.must().requests] == ["q9"]


def test_reads_under_a_busy_writer_are_consistent(desk: Desk) -> None:
    """Every decision that is read names a request that is read in the state it led to."""
    desk.create()
    assert desk.ledger is not None
    done = threading.Event()

    def write() -> None:
        with Ledger.open(desk.path, clock=lambda: desk.time, ids=lambda: f"w-{next(desk.numbers)}") as ledger:
            writer = Desk(desk.path)
            writer.ledger = ledger
            for number in range(60):
                writer.request(f"q{number}")
                writer.decide(f"q{number}", Verdict.DISMISS)
        done.set()

    thread = threading.Thread(target=write)
    thread.start()
    reads = 0
    while not done.is_set() or reads < 2:
        event = desk.look()
        reads += 1
        if event is not None and desk.source._version is not None:
            states = {request.request_id: request.state for request in event.requests}
            assert all(states[decision.request_id] is RequestState.DISMISSED for decision in event.decisions)
    thread.join()
    event = desk.look()
    last = event or desk.source._last
    assert last is not None and len(last.decisions) == 60


def test_the_run_reports_its_ledger(tmp_path: Path) -> None:
    root, zone = tmp_path / "memory", tmp_path / "zone"
    root.mkdir()
    run = source(root, zone)
    assert [event.fault for event in run.first() if isinstance(event, LedgerRead)] == ["none yet"]
    desk = Desk(zone / "ledger.db")
    with desk.create():
        run._ledger._tick = lambda: 1e9  # the next look is allowed at once
        (event,) = [event for event in run.poll() if isinstance(event, LedgerRead)]
        assert replace(event, read_at="") == LedgerRead(str(root))
    run.close()
