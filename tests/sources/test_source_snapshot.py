"""STATE.json as the last good document with its age (D02, D9, B11)."""

from __future__ import annotations

import os
import threading
from pathlib import Path

from sources_kit import now, unprivileged_folder, until

from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.events import StateRead
from cas_tui.sources.folder import Folder
from cas_tui.sources.snapshot import Snapshot

GOOD = b'{"updated_at": "t", "active_goals": [{"id": "g1", "description": "ship"}]}\n'


def snapshot(path: Path) -> Snapshot:
    folder = Folder(path)
    folder.refresh()
    return Snapshot(folder, root=str(path), clock=now)


def settled(path: Path) -> None:
    """Make a file look as if it was written a while ago."""
    os.utime(path, ns=(1, 1))


def test_a_document_is_read_once_with_the_time_it_was_read(tmp_path: Path) -> None:
    (tmp_path / "STATE.json").write_bytes(GOOD)
    settled(tmp_path / "STATE.json")
    source = snapshot(tmp_path)
    event = source.look()
    assert event is not None and event.state is not None and event.fault == ""
    assert event.state.goals[0].description == "ship" and parse_timestamp(event.read_at)
    read = source.bytes_read
    assert source.look() is None and source.bytes_read == read


def test_the_layout_of_the_sandbox_is_recognised(tmp_path: Path) -> None:
    (tmp_path / "STATE").mkdir()
    (tmp_path / "STATE" / "STATE.json").write_bytes(GOOD)
    event = snapshot(tmp_path).look()
    assert event is not None and event.state is not None


def test_a_missing_document_says_so_and_then_comes(tmp_path: Path) -> None:
    source = snapshot(tmp_path)
    event = source.look()
    assert event == StateRead(str(tmp_path), None, "", "missing")
    assert source.look() is None
    (tmp_path / "STATE.json").write_bytes(GOOD)
    event = source.look()
    assert event is not None and event.state is not None and event.fault == ""


def test_a_half_written_document_keeps_the_last_good_one_and_its_age(tmp_path: Path) -> None:
    file = tmp_path / "STATE.json"
    file.write_bytes(GOOD)
    source = snapshot(tmp_path)
    first = source.look()
    file.write_bytes(GOOD[:30])
    torn = source.look()
    assert first is not None and torn is not None
    assert (torn.state, torn.read_at, torn.fault) == (first.state, first.read_at, "torn")
    file.write_bytes(GOOD.replace(b"ship", b"rest"))
    last = source.look()
    assert last is not None and last.state is not None
    assert last.fault == "" and last.state.goals[0].description == "rest"


def test_a_document_that_stays_bad_is_named_with_the_reason(tmp_path: Path) -> None:
    file = tmp_path / "STATE.json"
    file.write_bytes(b'{"updated_at": ]')
    settled(file)
    source = snapshot(tmp_path)
    first, second, third = source.look(), source.look(), source.look()
    assert first is not None and first.fault == "torn"
    assert second is not None and second.fault.startswith("unreadable: STATE.json: not JSON")
    assert third is None


def test_the_same_bytes_saved_again_say_nothing(tmp_path: Path) -> None:
    """B11: no flicker."""
    file = tmp_path / "STATE.json"
    file.write_bytes(GOOD)
    source = snapshot(tmp_path)
    source.look()
    (tmp_path / "new").write_bytes(GOOD)
    (tmp_path / "new").rename(file)
    assert source.look() is None


def test_two_writes_within_one_tick_of_the_clock_are_both_seen(tmp_path: Path) -> None:
    """The same size, and maybe the same times: the content decides."""
    file = tmp_path / "STATE.json"
    file.write_bytes(GOOD)
    source = snapshot(tmp_path)
    source.look()
    with file.open("r+b") as handle:
        handle.write(GOOD.replace(b"ship", b"slip"))
    event = source.look()
    assert event is not None and event.state is not None and event.state.goals[0].description == "slip"


def test_no_permission_is_said_in_words(tmp_path: Path) -> None:
    with unprivileged_folder() as folder:
        (folder / "STATE.json").write_bytes(GOOD)
        (folder / "STATE.json").chmod(0)
        source = snapshot(folder)
        event = source.look()
        assert event is not None and event.fault == "unreadable: permission denied"
        (folder / "STATE.json").chmod(0o600)
        event = source.look()
        assert event is not None and event.state is not None


def test_under_a_writer_that_tears_it_in_a_hot_loop_goals_are_never_empty(tmp_path: Path) -> None:
    """D02: the writer truncates and writes in two parts; every event shows whole goals, and reads do succeed."""
    file = tmp_path / "STATE.json"
    file.write_bytes(GOOD)
    source = snapshot(tmp_path)
    seen = [source.look()]
    stop = threading.Event()

    def tear() -> None:
        number = 0
        while not stop.is_set():
            number += 1
            whole = GOOD.replace(b"ship", b"ship %d" % number)
            with file.open("wb", buffering=0) as handle:
                handle.write(whole[:40])
                handle.write(whole[40:])

    writer = threading.Thread(target=tear)
    writer.start()
    try:

        def some_good_ones() -> bool:
            seen.append(source.look())
            return sum(1 for event in seen if event is not None and not event.fault) > 5

        until(some_good_ones)
    finally:
        stop.set()
        writer.join()
    for event in seen:
        assert event is None or (event.state is not None and len(event.state.goals) == 1)
