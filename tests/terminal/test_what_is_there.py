"""A console on a root that is empty, unreadable, or laid out by another tool opens and says what is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import Stage, stage
from run_kit import console
from terminal_kit import PROGRAM, terminal

WITHOUT_OVERRIDE = ("setpriv", "--bounding-set", "-dac_override,-dac_read_search")
"""Root reads everything; a process without these capabilities meets permissions as anybody does."""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_a_root_without_any_file_says_that_nothing_is_there_yet(here: Stage) -> None:
    with console(here) as shown:
        shown.see("Nothing needs you", "No act yet", "ledger none yet", "host none")


def test_a_root_that_cannot_be_read_opens_and_says_so(here: Stage) -> None:
    (here.root / "predictions.jsonl").write_text("{}\n")
    here.root.chmod(0)
    try:
        words = [*WITHOUT_OVERRIDE, PROGRAM, str(here.root)]
        with terminal(words, environ=here.environ, size=(80, 24), cwd=here.base) as shown:
            shown.see("cannot be read", "Nothing needs you")
    finally:
        here.root.chmod(0o755)


def test_a_root_with_its_state_in_a_directory_shows_acts_mismatch_and_lesson(here: Stage) -> None:
    place = here.root / "STATE"
    place.mkdir()
    state = {"state_version": "1.0", "updated_at": "2026-02-11T04:09:22Z", "tool_models": {"shaky": {}}}
    (place / "STATE.json").write_text(json.dumps(state))
    head = {"agent": "echo", "session_id": "s-1", "run_nonce": "n-1"}
    acts = (("one", True, "write note.txt"), ("two", False, "run shaky"), ("three", True, "run shaky again"))
    for second, (name, good, action) in enumerate(acts):
        at = f"2026-02-11T04:09:1{second}Z"
        record = head | {"action_id": name, "timestamp": at}
        said = {"action": action, "expected_observation": "it works", "confidence": 0.9}
        if name == "three":
            said |= {"tool_model_refs": ["shaky"], "citation_mode": "auto_pending_queue"}
        match = "matched" if good else "mismatched"
        learned = {"update_type": "confirmation_no_update" if good else "tool_model", "error_class": None}
        if not good:
            learned |= {"error_class": "TOOL_ERROR", "persistent_ref": "shaky"}
        for file, more in (
            ("predictions", said),
            ("observations", {"success": good, "match": match, "observation_summary": "exit 0" if good else "exit 1"}),
            ("learning", learned),
        ):
            with (here.root / f"{file}.jsonl").open("a") as sink:
                sink.write(json.dumps(record | more) + "\n")
    with console(here, size=(200, 60)) as shown:
        shown.see("write note.txt", "run shaky again", "mismatched", "shaky")
        shown.see("in STATE", "cited")
