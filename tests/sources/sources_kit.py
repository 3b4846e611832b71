"""What the tests of sources share: records as bytes, a clock, and ways to read a batch of events."""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from cas_tui.locations import RuntimePaths, resolve_root
from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.encode import encode_line
from cas_tui.protocol.events import FileStatus, RecordsRead
from cas_tui.sources.folder import Folder
from cas_tui.sources.run import RunSource
from cas_tui.sources.tail import Tail

FILE = "predictions.jsonl"


def now() -> datetime:
    return datetime.now(UTC)


def line(number: int, action: str = "look", pad: int = 0) -> bytes:
    """One valid prediction, told apart by its action_id."""
    return encode_line(
        {
            "action_id": f"a{number}",
            "agent": "echo",
            "session_id": "s",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "action": action + "x" * pad,
            "expected_observation": "it is there",
            "confidence": 0.5,
        }
    )


def lines(first: int, after: int, pad: int = 0) -> bytes:
    return b"".join(line(number, pad=pad) for number in range(first, after))


def ids(events: Iterable[object]) -> list[str]:
    """The action_ids of all records, in the order reported."""
    return [record.action_id for event in events if isinstance(event, RecordsRead) for record in event.records]


def bad(events: Iterable[object]) -> list[Malformed]:
    return [item for event in events if isinstance(event, RecordsRead) for item in event.malformed]


def said(events: Iterable[object], file: str = FILE) -> list[str]:
    return [event.status for event in events if isinstance(event, FileStatus) and event.file == file]


def detail(events: Iterable[object], file: str = FILE) -> str:
    return next(event.detail for event in events if isinstance(event, FileStatus) and event.file == file)


class Root:
    """A memory root with one tail on its predictions, opened and polled by hand."""

    def __init__(self, path: Path) -> None:
        self.path = resolve_root(path)
        self.file = self.path / FILE
        self.folder = Folder(self.path)
        self.tail = Tail(self.folder, FILE, "prediction")

    def open(self) -> list[object]:
        self.folder.refresh()
        return list(self.tail.newest())

    def look(self) -> list[object]:
        """Look until nothing more is ready to be read."""
        events: list[object] = []
        while True:
            self.folder.refresh()
            events += self.tail.more()
            if not self.tail.behind:
                return events

    def append(self, data: bytes) -> None:
        with self.file.open("ab") as file:
            file.write(data)


def source(root: Path, zone: Path | None = None) -> RunSource:
    return RunSource(resolve_root(root), RuntimePaths(zone or root.parent / f"zone-{root.name}"), clock=now)


def until(true: Callable[[], bool], seconds: float = 10.0) -> None:
    """Ask again and again until it is true, or fail at the deadline."""
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "the deadline passed"


@contextmanager
def unprivileged_folder() -> Iterator[Path]:
    """A directory in which permissions count for this process, even when the tests run as root."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if os.geteuid() != 0:
            yield folder
            return
        folder.chmod(0o777)
        os.seteuid(65534)
        try:
            yield folder
        finally:
            os.seteuid(0)
