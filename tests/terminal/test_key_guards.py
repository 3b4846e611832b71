"""What keys cannot do, with a real terminal, a real host and real time: decide by accident (SAFETY T5, E4; CONSOLE §4.3)."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import Stage, stage
from run_kit import PREDICT, console, decided, files, patch, pending, start, take_up

ASKS_THEN_WORKS = r"""
id=$(sed -n 's/^id: //p' state/input.md | head -n 1); n=$(cat step 2>/dev/null || echo 0); echo $((n + 1)) > step
head='"action_id":"mine","agent":"shell","session_id":"sh","timestamp":"2026-11-30T10:00:00.000Z"'
ops='[]'; more="done: $id"
case $n in
0) echo "{$head,\"action\":\"ask\",\"expected_observation\":\"an answer\",\"confidence\":0.8}" >> predictions.jsonl
   echo "{$head,\"success\":true,\"match\":\"matched\",\"observation_summary\":\"asked\"}" >> observations.jsonl
   echo "{$head,\"update_type\":\"user_query\",\"error_class\":\"MODEL_ERROR\",\"persistent_ref\":\"user_query\",\"rationale\":\"Where to start?\"}" >> learning.jsonl ;;
1) ops=$(cat ops.json); more='x:' ;;
esac
printf -- '---\nid: %s\nops: %s\n%s\n---\nstep\n' "$id" "$ops" "$more" > state/output.md
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_words_typed_into_the_answer_form_while_requests_arrive_decide_nothing(here: Stage) -> None:
    (here.base / "agent.sh").write_text(ASKS_THEN_WORKS)
    (here.root / "ops.json").write_text(json.dumps(files(here, 3)))
    here.run(["sh", "agent.sh"])
    with console(here) as shown:
        shown.see("Where to start?")
        take_up(shown)
        shown.press("i", *"wait, ")
        shown.see("> wait,")
        here.cas("message", str(here.root), "go on")
        for number, letter in enumerate("start at a"):
            shown.press(letter)
            if number == 4:
                pending(here, 3)
        shown.see("> wait, start at a")
        shown.press("esc", "ctrl+r")
        pending(here, 3)
        assert decided(here) == []


def test_a_held_approve_key_decides_at_most_once_over_a_queue_of_five(here: Stage) -> None:
    start(here, *files(here, 5))
    pending(here, 5)
    with console(here) as shown:
        shown.see("5 wait for you")
        take_up(shown)
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            shown.send("a")
            shown.wait_s(0.03)
        shown.settle()
        shown.press("n")
        assert len(decided(here)) <= 1
        changed = [path.name for path in here.workspace.glob("f*.txt") if path.read_text().startswith("new")]
        assert len(changed) <= 1


@pytest.mark.parametrize("place", ["home", "card"])
def test_keys_that_a_terminal_buffered_while_it_was_out_of_focus_decide_nothing(here: Stage, place: str) -> None:
    start(here, *files(here, 2))
    pending(here, 2)
    with console(here) as shown:
        shown.see("2 wait for you")
        shown.press("n")
        if place == "card":
            shown.press("enter")
            shown.see("READY")
        shown.press("focus-out")
        shown.send("\r" * 10 + "a\ry\r")
        shown.press("focus-in")
        shown.send("\r" * 10)
        shown.wait_s(1.2)
        shown.settle()
        assert decided(here) == []


def test_the_end_of_a_long_patch_is_not_its_whole(here: Stage) -> None:
    words = "".join(f"+line {number}\n" for number in range(500))
    long = {
        "kind": "fs_patch",
        "op_id": "long",
        "path": "README.md",
        "unified_diff": f"@@ -3 +3,501 @@\n python 3.9\n{words}",
    }
    start(here, long | {"predict": PREDICT})
    pending(here)
    with console(here) as shown:
        shown.see("Change README.md")
        shown.press("n", "enter")
        shown.see("unseen")
        shown.press("G")
        shown.see("line 499", "unseen")
        # Long past the time in which a card that was seen whole is ready.
        shown.wait_s(1.0)
        shown.press("a")
        shown.see("unseen, space")
        shown.press("y")
        assert "READY" not in shown.text()
        assert decided(here) == []
        shown.press("g")
        for _ in range(80):
            shown.press("space")
            if "READY" in shown.text():
                break
        shown.see("READY")


INERT = ("A", "ctrl+r", "ctrl+c", "q", "esc", "r", "enter", "space", "y", "\x1b[200~aaaa\x1b[201~", "ctrl+s", "R", "x")


@pytest.mark.parametrize("size", [(80, 24), (120, 40)], ids=["80x24", "120x40"])
def test_no_other_key_decides_on_a_ready_card_and_then_the_approve_key_does(here: Stage, size: tuple[int, int]) -> None:
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    pending(here)
    with console(here, size=size) as shown:
        take_up(shown)
        for key in INERT:
            shown.press(key)
            shown.settle(0.1)
            assert decided(here) == [], key
            if "READY" not in shown.text():
                # It led elsewhere, or the card arms anew.
                shown.press("esc", "esc", "enter")
                shown.see("READY")
        shown.press("a")
        shown.see("observed")
    assert decided(here) == ["approve"]


def test_an_approve_key_that_was_typed_ahead_of_the_card_decides_nothing(here: Stage) -> None:
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    pending(here)
    with console(here) as shown:
        shown.see("Change README.md")
        shown.send("n\raaaa")
        shown.see("READY")
        assert decided(here) == []


def test_answers_of_a_terminal_that_come_late_decide_nothing(here: Stage) -> None:
    """Replies to questions that a terminal was asked look like input (C29)."""
    start(here, patch("README.md", "python 3.9", "python 3.11", line=3))
    pending(here)
    with console(here) as shown:
        shown.see("Change README.md")
        take_up(shown)
        for reply in ("\x1b[?62;22c", "\x1b[?2026;2$y", "\x1b[?1u", "\x1b]11;rgb:aaaa/aaaa/aaaa\x1b\\", "\x1b[12;40R"):
            shown.press(reply)
        shown.settle(0.2)
        assert shown.process.poll() is None
        assert decided(here) == []
