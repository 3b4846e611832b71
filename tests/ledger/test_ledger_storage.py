"""The file: durable, private, chained; a disk that does not take a row is a failure in words (D1, D6, D8, A2)."""

from __future__ import annotations

import os
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from ledger_kit import ANA, ROOT, Zone, decision, request

from cas_tui.ledger import AlreadyStarted, LeaseHeld, NewerLedger, NoLedger, StorageFailure
from cas_tui.ledger.verify import verify
from cas_tui.protocol.requests import RequestState


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    return Zone(tmp_path / "zone" / "ledger.db")


def filled(zone: Zone) -> Path:
    with zone.create() as ledger:
        epoch = zone.lease(ledger)
        for number in range(4):
            ledger.requests.insert_pass([request(f"r-{number}")])
            ledger.decisions.decide(decision(f"r-{number}"))
            ledger.effects.start(f"r-{number}", f"d-r-{number}-approve", lease_epoch=epoch)
            ledger.effects.finish(f"r-{number}", RequestState.SUCCEEDED, {"status": "ok"})
        ledger.messages.add(ROOT, "message", "héllo ☃ \U0001f600", ANA)
    return zone.path


def test_the_zone_is_private_and_a_link_is_refused(zone: Zone, tmp_path: Path) -> None:
    """S2."""
    zone.create().close()
    assert zone.path.stat().st_mode & 0o777 == 0o600 and zone.path.parent.stat().st_mode & 0o777 == 0o700
    link = Zone(tmp_path / "other" / "ledger.db")
    link.path.parent.mkdir()
    link.path.symlink_to(zone.path)
    with pytest.raises(StorageFailure, match="symbolic link"):
        link.create()


def test_no_ledger_and_a_newer_one_are_two_different_words(zone: Zone) -> None:
    with pytest.raises(NoLedger):
        zone.open()
    filled(zone)
    connection = sqlite3.connect(zone.path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    for opener in (zone.open, zone.create):
        with pytest.raises(NewerLedger, match="newer cas-tui"):
            opener()
    with zone.open(read_only=True) as ledger:
        assert len(ledger.requests.list()) == 4


def test_a_file_that_is_no_database_is_one_clear_line(zone: Zone) -> None:
    """D6."""
    zone.path.parent.mkdir(parents=True)
    zone.path.write_bytes(b"this is not a database at all, not even close" * 100)
    with pytest.raises(StorageFailure, match=r"ledger\.db: .*not a database"):
        zone.open()


def test_a_full_disk_refuses_the_decision_and_the_old_rows_stand(zone: Zone) -> None:
    """D6, A2: what cannot be recorded does not happen, and says so."""
    filled(zone)
    with zone.open() as ledger:
        ledger.requests.insert_pass([request("r-9")])
        limit = resource.getrlimit(resource.RLIMIT_FSIZE)
        old = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (1024, limit[1]))
            with pytest.raises(StorageFailure, match="nothing was recorded"):
                ledger.decisions.decide(decision("r-9", comment="x" * 100_000))
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, old)
        assert ledger.requests.get("r-9").state is RequestState.PENDING
        ledger.decisions.decide(decision("r-9"))
    assert verify(zone.path) == ()


WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {kit!r})
from ledger_kit import Zone, request, decision
zone = Zone(Path({path!r}))
with zone.create() as ledger:
    for number in range(100000):
        ledger.requests.insert_pass([request(f"r-{{number}}")])
        ledger.decisions.decide(decision(f"r-{{number}}"))
        print(number, flush=True)
"""


@pytest.mark.parametrize("after", [1, 7, 40])
def test_what_was_acknowledged_survives_kill_9(zone: Zone, after: int) -> None:
    """D1, D2: every number that was printed is a row, and the chain is whole."""
    code = WRITER.format(kit=str(Path(__file__).parent), path=str(zone.path))
    process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    told = -1
    for line in process.stdout:
        told = int(line)
        if told >= after:
            process.kill()
            break
    rest = process.stdout.read().split()
    process.wait()
    told = max([told, *map(int, rest)])
    with zone.open() as ledger:
        for number in range(told + 1):
            assert ledger.requests.get(f"r-{number}").state is RequestState.APPROVED
        ledger.requests.insert_pass([request("after")])
    assert verify(zone.path) == ()


COLUMNS = ("at", "monotonic_ns", "boot_id", "kind", "data", "prev_sha256", "sha256")


def test_every_changed_column_of_every_row_is_found(zone: Zone, tmp_path: Path) -> None:
    """D8."""
    path = filled(zone)
    assert verify(path) == ()
    count = sqlite3.connect(path).execute("SELECT count(*) FROM audit").fetchone()[0]
    copy = tmp_path / "copy.db"
    for seq in range(1, count + 1):
        for column in COLUMNS:
            shutil.copy(path, copy)
            connection = sqlite3.connect(copy)
            changed = "monotonic_ns + 1" if column == "monotonic_ns" else f"{column} || 'x'"
            connection.execute(f"UPDATE audit SET {column} = {changed} WHERE seq = ?", (seq,))
            connection.commit()
            connection.close()
            findings = verify(copy)
            assert findings and findings[0].seq in (seq, seq + 1), (seq, column)


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM audit WHERE seq = 3",
        "UPDATE audit SET seq = CASE seq WHEN 3 THEN 1004 WHEN 4 THEN 1003 ELSE seq END",
        "INSERT INTO audit SELECT seq + 1000, at, monotonic_ns, boot_id, kind, data, prev_sha256, sha256 || 'y' FROM audit WHERE seq = 2",
        "UPDATE decisions SET document = replace(document, 'approve', 'deny') WHERE number = 2",
        "DELETE FROM marks; DELETE FROM effects; DELETE FROM decisions WHERE number = 1",
    ],
    ids=["delete", "swap", "insert", "decision changed", "decision removed"],
)
def test_rows_that_go_move_or_come_are_found(zone: Zone, statement: str) -> None:
    """D8."""
    path = filled(zone)
    connection = sqlite3.connect(path)
    connection.executescript(statement)
    connection.close()
    assert verify(path)


def test_two_ledgers_spliced_together_are_found(zone: Zone, tmp_path: Path) -> None:
    """D8."""
    other = Zone(tmp_path / "other" / "ledger.db")
    other.forward(3600)
    filled(zone)
    filled(other)
    connection = sqlite3.connect(zone.path)
    connection.execute("ATTACH ? AS other", (str(other.path),))
    connection.execute("DELETE FROM audit WHERE seq > 5")
    connection.execute("INSERT INTO audit SELECT * FROM other.audit WHERE seq > 5")
    connection.commit()
    connection.close()
    assert verify(zone.path)


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.text(max_size=20) | st.integers(-(2**63), 2**63 - 1) | st.floats(allow_nan=False, allow_infinity=False),
        max_size=4,
    )
)
def test_the_checker_reads_whatever_the_writer_can_write(
    tmp_path_factory: pytest.TempPathFactory, data: dict[str, object]
) -> None:
    """D8: two codes, one chain."""
    try:
        str(data).encode("utf-8")
    except UnicodeEncodeError:
        return
    zone = Zone(tmp_path_factory.mktemp("zone") / "ledger.db")
    with zone.create() as ledger:
        ledger.audit.append("note", data)
    assert verify(zone.path) == ()


def test_paths_with_odd_characters_are_opened_and_verified(tmp_path: Path) -> None:
    zone = Zone(tmp_path / "a?b#c%20d" / "ledger.db")
    filled(zone)
    assert verify(zone.path) == ()
    with zone.open(read_only=True) as ledger:
        assert len(ledger.requests.list()) == 4


def test_a_reader_sees_the_writers_rows_while_it_writes_and_after_it_closed(zone: Zone) -> None:
    writer = zone.create()
    with zone.open(read_only=True) as reader:
        before = reader.data_version()
        writer.requests.insert_pass([request("r-1")])
        assert reader.data_version() != before and reader.requests.get("r-1")
        mine = writer.data_version()
        writer.requests.insert_pass([request("r-2")])
        assert writer.data_version() == mine, "one's own writes are no news"
    writer.close()
    with zone.open(read_only=True) as reader:
        assert len(reader.requests.list()) == 2


def test_one_ledger_serves_two_threads_one_at_a_time(zone: Zone) -> None:
    with zone.create() as ledger:

        def work(name: str) -> None:
            for number in range(30):
                ledger.requests.insert_pass([request(f"{name}-{number}")])

        threads = [threading.Thread(target=work, args=(name,)) for name in ("a", "b")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(ledger.requests.list()) == 60
    assert verify(zone.path) == ()


def test_a_living_host_keeps_its_lease_and_a_silent_one_loses_it(zone: Zone) -> None:
    with zone.create() as ledger:
        first = zone.lease(ledger, pid=os.getpid(), hostname="elsewhere")
        with pytest.raises(LeaseHeld, match="holds the lease"):
            zone.lease(ledger, pid=2)
        zone.forward(4)
        ledger.lease.beat(first, "agent")
        zone.forward(4)
        with pytest.raises(LeaseHeld):
            zone.lease(ledger, pid=2)
        zone.forward(2)
        assert zone.lease(ledger, pid=2) > first
        ledger.lease.release(first)
        row = ledger.lease.read(ROOT)
        assert row is not None and row.pid == 2 and not row.released


def test_planned_steps_are_kept_under_their_key_once(zone: Zone) -> None:
    with zone.create() as ledger:
        ledger.appends.plan("k", "f", b"one\n")
        assert ledger.appends.plan("k", "f", b"two\n").line == b"one\n"
        assert [row.key for row in ledger.appends.undone()] == ["k"]
        ledger.appends.done("k")
        assert ledger.appends.undone() == ()
        assert ledger.patches.plan("p", {"a": 1}) == ledger.patches.plan("p", {"a": 2}) == {"a": 1}
        first = ledger.messages.add(ROOT, "answer", "x", ANA, key="d-1")
        assert ledger.messages.add(ROOT, "answer", "y", ANA, key="d-1") == first
        ledger.messages.delivered(first, "t")
        assert ledger.messages.undelivered(ROOT) == ()


def test_errors_of_the_journal_leave_the_state_as_it_was(zone: Zone) -> None:
    """E1."""
    with zone.create() as ledger:
        epoch = zone.lease(ledger)
        ledger.requests.insert_pass([request()])
        ledger.decisions.decide(decision())
        ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
        head = ledger.audit.head()
        with pytest.raises(AlreadyStarted):
            ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
        assert ledger.audit.head() == head
