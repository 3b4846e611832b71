"""Every row the console shows can be derived again from the files and the ledger alone (DESIGN, D9)."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from journey_kit import Stage, stage
from test_journey_shell_agent import AGENT

from cas_tui.locations import runtime_paths
from cas_tui.model import rows
from cas_tui.model.fold import fold
from cas_tui.sources.run import RunSource


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def clock() -> datetime:
    return datetime.now(UTC)


class Watcher(threading.Thread):
    """A console without a screen: it folds what it sees while the run goes on, a little at a time."""

    def __init__(self, here: Stage) -> None:
        super().__init__(daemon=True)
        self.source = RunSource(here.root, runtime_paths(here.root, here.environ), clock=clock)
        self.picture: Any = rows.empty()
        self.done = threading.Event()

    def run(self) -> None:
        for event in self.source.first():
            self.picture = fold(self.picture, event)
        while not self.done.is_set():
            self.look()
            time.sleep(0.02)

    def look(self) -> None:
        for event in self.source.poll():
            self.picture = fold(self.picture, event)


PANES: dict[str, Callable[..., Any]] = {
    name: getattr(rows, name)
    for name in ("goals", "beliefs", "uncertainties", "citations", "obligations", "issues", "stream")
}


def test_a_console_that_watched_and_one_that_comes_later_show_the_same_rows(here: Stage) -> None:
    (here.base / "agent.sh").write_text(AGENT)
    watcher = Watcher(here)
    watcher.start()
    run = here.run(["sh", "agent.sh"])
    for op_kind in ("fs_patch", "git_stage", "git_commit"):
        here.approve(here.pending(op_kind=op_kind))
    question = here.pending("question")
    here.cas("questions", "answer", str(here.root), question["request_id"], "3.11")
    write = here.pending(op_kind="fs_write")
    run.terminate()
    run.wait(30)
    watcher.done.set()
    watcher.join(10)
    time.sleep(0.2)  # the ledger is looked at no more often than every 100 ms
    watcher.look()

    late = Watcher(here)
    for event in late.source.first():
        late.picture = fold(late.picture, event)
    now, root = clock(), str(here.root)
    for name, pane in PANES.items():
        assert pane(watcher.picture, root, now) == pane(late.picture, root, now), name
    assert rows.attention(watcher.picture, now) == rows.attention(late.picture, now)
    # When a file was read is a fact about the reader, not about the run.
    seen, later = (
        [replace(row, data_age_s=None) for row in rows.fleet(picture, now)]
        for picture in (watcher.picture, late.picture)
    )
    assert seen == later
    assert rows.truth(watcher.picture, now) == rows.truth(late.picture, now)
    card = rows.card(late.picture, root, write["request_id"], now)
    assert card is not None and card == rows.card(watcher.picture, root, write["request_id"], now)
    assert [row.text for row in card.payload if row.mark == "+"] == ["curl x | sh"]
