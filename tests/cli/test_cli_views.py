"""`status`, `tail`, `issues` and `obligations`: the picture, without a terminal."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

Desk = Any


def prediction(action_id: str) -> str:
    return json.dumps(
        {
            "action_id": action_id,
            "agent": "demo",
            "session_id": "s-1",
            "timestamp": "2026-01-01T00:00:00.000Z",
            "action": "fs_read README.md",
            "expected_observation": "it is there",
            "confidence": 0.9,
        }
    )


def test_status_is_one_object_with_runs_and_requests(desk: Desk) -> None:
    desk.put()
    value = desk.json("status", str(desk.root))
    assert [run["root"] for run in value["runs"]] == [str(desk.root)]
    assert [request["request_id"] for request in value["requests"]] == ["r-aaa1"]


def test_status_in_words_names_what_waits(desk: Desk) -> None:
    desk.put()
    desk.question()
    code, told, _ = desk("status", str(desk.root))
    assert code == 0 and told.startswith("2 wait for you")
    assert "Change README.md +1 -1" in told and '"Which Python?"' in told and "no host" in told


def test_a_root_without_any_file_has_a_status(desk: Desk, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    assert desk("status", str(tmp_path / "empty"))[0] == 0


def test_without_any_root_the_line_says_what_to_do(desk: Desk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "nowhere").mkdir()
    monkeypatch.chdir(tmp_path / "nowhere")
    monkeypatch.setenv("HOME", str(tmp_path / "nowhere"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("CURSOR_AGENTS_ROOT", raising=False)
    code, _, err = desk("status")
    assert code == 6 and "cas-tui demo" in err


def test_the_root_around_the_current_directory_is_found(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    (desk.root / "STATE.json").write_text("{}")
    (desk.root / "raw").mkdir()
    monkeypatch.chdir(desk.root / "raw")
    assert str(desk.root) in [run["root"] for run in desk.json("status")["runs"]]


def test_tail_prints_one_line_a_change(desk: Desk) -> None:
    (desk.root / "predictions.jsonl").write_text(prediction("a-1") + "\n")
    code, told, _ = desk("tail", str(desk.root), "--once")
    assert code == 0 and any("fs_read README.md" in line for line in told.splitlines())
    code, told, _ = desk("tail", str(desk.root), "--once", "--json")
    assert all(json.loads(line).keys() == {"at", "change"} for line in told.splitlines()) and told


def test_tail_follows_until_it_is_interrupted(desk: Desk, tmp_path: Path) -> None:
    told, errors = tmp_path / "told", tmp_path / "errors"
    with told.open("w") as out, errors.open("w") as err:
        process = subprocess.Popen(
            [sys.executable, "-m", "cas_tui", "tail", str(desk.root)], env=dict(os.environ), stdout=out, stderr=err
        )
    try:
        deadline, wrote = time.monotonic() + 20, 0
        while "fs_read README.md" not in told.read_text():
            assert time.monotonic() < deadline and process.poll() is None
            with (desk.root / "predictions.jsonl").open("a") as file:
                wrote += 1
                file.write(prediction(f"a-{wrote}") + "\n")
            time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == 0
        assert errors.read_text() == ""
    finally:
        process.kill()
        process.wait()


def test_an_issue_is_listed_and_shown_whole(desk: Desk) -> None:
    place = desk.root / "state" / "mca"
    place.mkdir(parents=True)
    for name, status in (("one", "open"), ("two", "resolved")):
        (place / f"{name}.md").write_text(
            f"---\nid: {name}-id\nsurfaced-by: demo\ncreated: now\nstatus: {status}\n---\n\n"
            f"# MCA\n\n{name} is broken\nbadly\n"
        )
    root = str(desk.root)
    assert [issue["file"] for issue in desk.json("issues", "list", root)["issues"]] == ["one.md"]
    assert len(desk.json("issues", "list", root, "--all")["issues"]) == 2
    issue = desk.json("issues", "show", root, "one")["issue"]
    assert (issue["title"], issue["description"]) == ("one is broken", "one is broken\nbadly")
    assert "surfaced_by: demo" in desk("issues", "show", root, "one.md")[1]
    assert desk("issues", "show", root, "three")[0] == 6


def test_obligations_are_what_the_ledger_holds(desk: Desk) -> None:
    assert desk.json("obligations", "list", str(desk.root)) == {"obligations": []}
    record = {
        "obligation_id": "O-3",
        "owner": "docs",
        "state": "registered",
        "trigger": {"type": "file.changed"},
        "wake_owner": None,
    }
    desk.ledger.obligations.insert(str(desk.root), record)
    (found,) = desk.json("obligations", "list", str(desk.root))["obligations"]
    assert found["obligation_id"] == "O-3"
    assert "no automatic wake" in desk("obligations", "list", str(desk.root))[1]
