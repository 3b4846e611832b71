"""A console or a host that is killed takes no decision with it, and the one that is left says so (PROTOCOL §5.3, D1)."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import Stage, stage, until
from run_kit import console, decided, patch, pending, start, take_up


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_a_console_killed_after_its_decision_was_durable_leaves_the_rest_to_the_host(here: Stage) -> None:
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    pending(here)
    with console(here) as shown:
        take_up(shown)
        shown.send("a")
        until(lambda: decided(here) == ["approve"], "the row is durable")
        shown.process.kill()
    until(lambda: "python 3.11" in (here.workspace / "README.md").read_text(), "the host finishes")
    with console(here) as later:
        later.see("fs_patch README.md", "as expected")
    assert decided(here) == ["approve"]


def test_a_killed_host_is_said_within_five_seconds_and_the_console_can_still_decide(here: Stage) -> None:
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    pending(here)
    with console(here) as shown:
        take_up(shown)
        here.runs[0].send_signal(signal.SIGKILL)
        here.runs[0].wait()
        shown.see("host gone", seconds=6.5)
        shown.press("a")
        shown.see("observed")
    assert "python 3.11" in (here.workspace / "README.md").read_text()
