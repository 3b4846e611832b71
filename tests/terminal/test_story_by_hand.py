"""The whole story by hand, in a real terminal: see the request, read it, approve it with the keys, see it done."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from grammar import not_restored, violations
from journey_kit import Stage, stage, until, well_formed
from run_kit import PREDICT, console, decided, patch, start
from terminal_kit import PROGRAM

STORY = (
    patch("README.md", "python 3.9", "python 3.11", line=3),
    {"kind": "git_stage", "op_id": "s", "paths": ["README.md"], "predict": PREDICT},
    {"kind": "git_commit", "op_id": "c", "message": "Require 3.11", "predict": PREDICT},
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


@pytest.mark.parametrize("size", [(80, 24), (200, 60)], ids=["80x24", "200x60"])
def test_an_operator_reads_the_change_approves_it_and_sees_it_observed(here: Stage, size: tuple[int, int]) -> None:
    with console(here, size=size) as shown:
        shown.see("Nothing needs you")
        start(here, *STORY)
        shown.see("Change README.md")
        shown.press("n", "enter")
        text = shown.see("READY", "approve once")
        assert "- python 3.9" in text and "+ python 3.11" in text and "it is done" in text
        shown.press("a")
        shown.see("observed")
        assert "3.11" in (here.workspace / "README.md").read_text()
        shown.press("n")
        shown.see("Stage", "READY")
        shown.press("a")
        shown.see("observed")
        shown.press("n")
        shown.see("Require 3.11", "READY", "T2")
        assert "Require 3.11" not in here.git("log", "--oneline")
        shown.press("a")
        shown.see("press y")
        # A confirmation has to be a second thought: y is deaf for a moment.
        shown.wait_s(0.4)
        shown.press("y")
        shown.see("observed")
        assert "Require 3.11" in here.git("log", "--oneline")
        assert decided(here) == ["approve"] * 3
        shown.press("ctrl+q", "ctrl+q")
        assert shown.ended() == 0
        assert not_restored(shown.transcript) == []
        assert violations(shown.transcript, bells=10, lines=True) == []
    well_formed(here)


def test_a_refusal_needs_a_reason_and_leaves_no_trace(here: Stage) -> None:
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    with console(here) as shown:
        shown.see("Change README.md")
        shown.press("n", "enter")
        shown.see("READY")
        shown.press("d", "enter")
        assert decided(here) == []
        shown.press("2", "enter")
        until(lambda: decided(here) == ["deny"], f"the refusal is on record\n{shown.text()}")
    assert "python 3.9\n" in (here.workspace / "README.md").read_text()
    assert here.git("status", "--porcelain") == ""


def test_the_same_story_in_tmux(here: Stage) -> None:
    socket = str(here.base / "tmux.sock")

    def tmux(*words: str) -> str:
        done = subprocess.run(
            ["tmux", "-S", socket, "-f", "/dev/null", *words],
            env=here.environ | {"TERM": "xterm-256color"},
            check=True,
            capture_output=True,
            text=True,
        )
        return done.stdout

    def screen() -> str:
        return tmux("capture-pane", "-p", "-t", "cas")

    def see(*words: str) -> None:
        until(lambda: all(word in screen() for word in words), f"{words} in tmux")

    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    tmux("new-session", "-d", "-s", "cas", "-x", "100", "-y", "30", PROGRAM, str(here.root))
    try:
        see("Change README.md")
        tmux("send-keys", "-t", "cas", "n")
        tmux("send-keys", "-t", "cas", "Enter")
        see("READY", "+ python 3.11")
        tmux("send-keys", "-t", "cas", "a")
        see("observed")
    finally:
        tmux("kill-server")
    assert "python 3.11" in (here.workspace / "README.md").read_text()
    assert decided(here) == ["approve"]
