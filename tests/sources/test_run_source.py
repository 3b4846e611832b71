"""One run as events: what opening says, what later looks cost, and what is said about roots that are not there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from sources_kit import FILE, bad, detail, ids, line, lines, said, source, unprivileged_folder

from cas_tui.locations import TELEMETRY
from cas_tui.protocol.events import FileStatus, IssuesRead, LedgerRead, LoopFiles, RecordsRead, StateRead


def test_opening_a_root_without_any_file_says_what_is_missing(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.mkdir()
    events = source(root).first()
    assert [said(events, file) for file in TELEMETRY] == [["missing"]] * 3
    assert [event.fault for event in events if isinstance(event, StateRead)] == ["missing"]
    assert [event.fault for event in events if isinstance(event, LedgerRead)] == ["none yet"]
    assert [event for event in events if isinstance(event, IssuesRead | LoopFiles)]


def test_opening_a_root_that_is_not_there_works_and_it_may_come(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    run = source(root)
    events = run.first()
    assert said(events) == ["missing"] and detail(events) == "the memory root is not there"
    root.mkdir()
    (root / FILE).write_bytes(line(1))
    events = run.poll()
    assert said(events) == ["live"] and ids(events) == ["a1"]


def test_opening_an_unreadable_root_says_why() -> None:
    with unprivileged_folder() as folder:
        root = folder / "memory"
        root.mkdir(0o000)
        events = source(root).first()
        assert [said(events, file) for file in TELEMETRY] == [["unreadable"]] * 3
        assert detail(events) == "the memory root: permission denied"
        root.chmod(0o700)


def test_a_root_that_is_a_file_says_so(tmp_path: Path) -> None:
    root = tmp_path / "memory"
    root.write_text("")
    events = source(root).first()
    assert said(events) == ["unreadable"] and "not a directory" in detail(events)


def test_every_event_names_the_root(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(lines(0, 3))
    (tmp_path / "STATE.json").write_text("{}")
    assert {event.root for event in source(tmp_path).first()} == {str(tmp_path)}


def test_opening_marks_history_and_what_comes_later_is_not_history(tmp_path: Path) -> None:
    """A root of old records raises no request from its history: only what comes later is news."""
    (tmp_path / FILE).write_bytes(lines(0, 3))
    run = source(tmp_path)
    first = [event for event in run.first() if isinstance(event, RecordsRead)]
    with (tmp_path / FILE).open("ab") as file:
        file.write(line(3))
    later = [event for event in run.poll() if isinstance(event, RecordsRead)]
    assert [event.history for event in first] == [True] and [event.history for event in later] == [False]


def test_a_root_of_a_million_old_records_is_not_read(tmp_path: Path) -> None:
    """What is read at opening is bounded, whatever lies before (sparse history: 1 TB costs the same)."""
    for name in TELEMETRY:
        with (tmp_path / name).open("wb") as file:
            file.truncate(1 << 40 if name == FILE else 1 << 30)
            file.seek(0, os.SEEK_END)
            file.write(b"\n" + lines(0, 400))
    run = source(tmp_path)
    events = run.first()
    status = next(event for event in events if isinstance(event, FileStatus) and event.file == FILE)
    assert status.size > 1 << 40 and status.unread_before > (1 << 40) - 65536
    assert ids(event for event in events if isinstance(event, RecordsRead) and event.file == FILE)[-1] == "a399"
    assert run.bytes_read < 3 * 80_000
    run.poll()
    assert run.bytes_read < 3 * 80_000


def test_the_count_of_bytes_read_agrees_with_the_calls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / FILE).write_bytes(lines(0, 5000))
    counted = 0
    pread = os.pread

    def counting(fd: int, length: int, offset: int) -> bytes:
        nonlocal counted
        data = pread(fd, length, offset)
        counted += len(data)
        return data

    monkeypatch.setattr(os, "pread", counting)
    run = source(tmp_path)
    run.first()
    assert counted == run.bytes_read


def test_a_look_at_an_unchanged_root_reads_nothing_and_says_nothing(tmp_path: Path) -> None:
    for name in TELEMETRY:
        (tmp_path / name).write_bytes(lines(0, 50))
    (tmp_path / "STATE.json").write_text("{}")
    os.utime(tmp_path / "STATE.json", ns=(1, 1))
    run = source(tmp_path)
    run.first()
    before = run.bytes_read
    assert [run.poll() for _ in range(20)] == [()] * 20
    assert run.bytes_read == before and run.due_in != 0


def test_history_is_paged_through_the_run(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(lines(0, 2000))
    run = source(tmp_path)
    events = run.first()
    before = next(event.unread_before for event in events if isinstance(event, FileStatus) and event.file == FILE)
    found = ids(events)
    while before:
        page, before = run.older(FILE, before)
        assert page.history and not page.malformed
        found = ids([page]) + found
    assert found == [f"a{n}" for n in range(2000)]
    assert run.older(FILE, 0) == (RecordsRead(str(tmp_path), FILE, (), (), True), 0)


def test_a_bad_line_is_named_by_file_offset_and_reason_and_the_rest_is_read(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(line(0) + b'{"action_id": 3}\n' + line(1))
    (tmp_path / "learning.jsonl").write_bytes(line(0))
    events = source(tmp_path).first()
    assert ids(events) == ["a0", "a1"]
    assert [(item.file, item.offset) for item in bad(events)] == [(FILE, len(line(0))), ("learning.jsonl", 0)]
    assert "action_id" in bad(events)[0].reason and "update_type" in bad(events)[1].reason


def test_many_roots_are_read_side_by_side(tmp_path: Path) -> None:
    runs = []
    for number in range(40):
        root = tmp_path / f"r{number}"
        root.mkdir()
        (root / FILE).write_bytes(line(number))
        runs.append(source(root))
    assert [ids(run.first()) for run in runs] == [[f"a{n}"] for n in range(40)]
    (tmp_path / "r7" / FILE).write_bytes(line(7) + line(70))
    assert [ids(run.poll()) for run in runs] == [["a70"] if n == 7 else [] for n in range(40)]
    for run in runs:
        run.close()


OPENING = """
import sys
from datetime import UTC, datetime
from pathlib import Path
from cas_tui.locations import RuntimePaths
from cas_tui.sources.run import RunSource

root = Path(sys.argv[1])
RunSource(root, RuntimePaths(root / "zone"), clock=lambda: datetime.now(UTC)).first()
heavy = ("watchfiles", "asyncinotify", "sqlite3", "asyncio", "pygit2", "textual")
print([name for name in heavy if name in sys.modules])
"""


def test_opening_loads_no_watcher_and_no_database(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(line(0))
    arguments = [sys.executable, "-c", OPENING, str(tmp_path)]
    assert subprocess.run(arguments, capture_output=True, text=True, check=True).stdout == "[]\n"
