"""`run` and `demo` for real: a host, an agent process behind walls, decisions from other processes."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from cas_tui.cli import demo, entry
from cas_tui.locations import resolve_root, runtime_paths
from cas_tui.protocol.decode import Place
from cas_tui.protocol.journal import FILE_OF, decode_record

PYTHON = sys.executable


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    kept = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
    return {**kept, "HOME": str(tmp_path), "XDG_STATE_HOME": str(tmp_path / "state")}


def cas(environ: Mapping[str, str], *words: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PYTHON, "-m", "cas_tui", *words],
        env=dict(environ),
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def place(tmp_path: Path, environ: Mapping[str, str]) -> tuple[Path, Path]:
    root, workspace = tmp_path / "memory", tmp_path / "workspace"
    assert cas(environ, "init", str(root)).returncode == 0
    workspace.mkdir()
    (workspace / "README.md").write_text("as it was\n")
    return root, workspace


def records(root: Path, kind: str) -> list[Any]:
    name = FILE_OF[kind]  # type: ignore[index]
    return [decode_record(line, kind, Place(name, 0)) for line in (root / name).read_bytes().splitlines()]  # type: ignore[arg-type]


@pytest.mark.parametrize("surprise", [False, True])
def test_the_demo_plays_to_its_end(tmp_path: Path, environ: dict[str, str], surprise: bool) -> None:
    """Two approved and executed, one denied, one answered; every action predicted before and learned from after."""
    done = cas(environ, "demo", "--headless", "--keep", "--json", *(["--surprise"] if surprise else []), cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    value = json.loads(done.stdout)
    root, workspace = Path(value["root"]), Path(value["workspace"])
    assert root.is_relative_to(tmp_path)
    counts = {name: value[name] for name in ("approved", "denied", "executed", "answered", "mismatched")}
    assert counts == {"approved": 2, "denied": 1, "executed": 2, "answered": 1, "mismatched": 2 if surprise else 1}
    assert not (workspace / "scripts").exists()
    assert "python 3.11 or newer" in (workspace / "README.md").read_text()
    predicted = {record.action_id: record for record in records(root, "prediction")}
    learned = {record.action_id: record for record in records(root, "learning")}
    for observed in records(root, "observation"):
        assert observed.flags == ()
        stamps = [item.timestamp for item in (predicted[observed.action_id], observed, learned[observed.action_id])]
        assert stamps == sorted(stamps)
    refusal = next(item for item in learned.values() if item.error_class == "GOAL_ERROR")
    assert refusal.persistent_ref in predicted["act-log"].belief_refs
    patch = next(item for item in predicted.values() if item.action == "fs_patch README.md")
    assert patch.belief_refs == (("B-8",) if surprise else ())


def test_the_demo_in_words_names_the_folders(tmp_path: Path, environ: dict[str, str]) -> None:
    done = cas(environ, "demo", "--headless", "--keep", cwd=tmp_path)
    assert done.returncode == 0 and "approved 2, denied 1, executed 2, answered 1" in done.stdout


def test_a_story_that_does_not_end_is_one_clear_line(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(demo, "DEADLINE_S", 1.0)
    assert entry.run(["demo", "--headless", "--keep", "--pace", "30"]) == 1
    told = capsys.readouterr()
    assert told.out == "" and told.err.count("\n") == 1
    assert "did not end in 1 s" in told.err and "before the first scene" in told.err


REACH = """
reach() { "$@" >> tried 2>&1; echo "code $?" >> tried; }
echo x 2>> tried > "$CAS_WORKSPACE/README.md" || echo "no write" >> tried
id=$(sed -n 's/.*"request_id":"\\([^"]*\\)".*/\\1/p' asked 2>/dev/null)
if [ "$CAS_PASS" = 1 ]; then
  op='{"kind":"fs_write","op_id":"w","path":"new.txt","content":"x",'
  op="$op\\"predict\\":{\\"expected_observation\\":\\"new.txt is there\\",\\"confidence\\":0.9}}"
  printf -- '---\\nid: %s\\nops: [%s]\\n---\\n\\nasking\\n' "$CAS_TRIGGER" "$op" > state/output.md
  exit
fi
reach cas requests approve "$CAS_ROOT" r- --digest 00
reach env -u CAS_TUI_AGENT sh -c '. ./cas; cas requests approve "$CAS_ROOT" r- --digest 00'
reach cas requests list "$CAS_ROOT" --json
printf -- '---\\nid: %s\\n---\\n\\nover\\n' "$CAS_TRIGGER" > state/output.md
"""


def test_an_agent_can_neither_write_the_workspace_nor_approve_itself(tmp_path: Path, environ: dict[str, str]) -> None:
    """PROTOCOL §5.1, §5.3: its command line refuses it, and without that mark it finds no ledger."""
    root, workspace = place(tmp_path, environ)
    (root / "cas").write_text(f'cas() {{ {PYTHON} -m cas_tui "$@"; }}\n')
    (root / "agent.sh").write_text(". ./cas\n" + REACH)
    words = ["run", str(root), "--workspace", str(workspace), "--message", "go", "--once", "--", "sh", "agent.sh"]
    host = subprocess.Popen([PYTHON, "-m", "cas_tui", *words], env=environ, stderr=subprocess.PIPE, text=True)
    try:
        request = wait_for_request(environ, root)
        assert cas(environ, "requests", "deny", str(root), request["request_id"], "--reason", "no").returncode == 0
        _, said = host.communicate(timeout=60)
        assert host.returncode == 0, said
    finally:
        host.kill()
        host.wait()
    tried = (root / "tried").read_text()
    assert tried.count("no write") == 2 and (workspace / "README.md").read_text() == "as it was\n"
    assert "does not decide\ncode 7\n" in tried
    assert "no ledger" in tried and "code 6\n" in tried
    assert '"requests": []' in tried
    assert not (workspace / "new.txt").exists()


def wait_for_request(environ: Mapping[str, str], root: Path) -> dict[str, Any]:
    deadline = time.monotonic() + 30
    while True:
        done = cas(environ, "requests", "list", str(root), "--json")
        assert done.returncode == 0 and time.monotonic() < deadline, done.stderr
        for request in json.loads(done.stdout)["requests"]:
            if request["state"] == "pending":
                found: dict[str, Any] = request
                return found
        time.sleep(0.1)


def test_a_second_run_is_refused_and_a_host_gives_way(tmp_path: Path, environ: dict[str, str]) -> None:
    """PROTOCOL §5.3, D08: one host a root; exit 8."""
    root, workspace = place(tmp_path, environ)
    words = [PYTHON, "-m", "cas_tui", "run", str(root), "--workspace", str(workspace), "--", "true"]
    first = subprocess.Popen(words, env=environ, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 20
        ledger = runtime_paths(resolve_root(root), environ).ledger
        while not (ledger.exists() and "host ok" in cas(environ, "status", str(root)).stdout):
            assert time.monotonic() < deadline and first.poll() is None
            time.sleep(0.1)
        second = cas(environ, *words[3:])
        assert second.returncode == 8 and "lease is held by run" in second.stderr and second.stderr.count("\n") == 1
        first.terminate()
        assert first.wait(20) == 0
    finally:
        first.kill()
        first.wait()


def test_a_root_that_is_not_there_and_directories_that_cannot_be_kept_apart_are_refused(
    tmp_path: Path, environ: dict[str, str]
) -> None:
    root, workspace = place(tmp_path, environ)
    for words, code in (
        (["run", str(tmp_path / "none"), "--workspace", str(workspace), "--", "true"], 6),
        (["run", str(root), "--workspace", str(tmp_path / "none"), "--", "true"], 6),
        (["run", str(root), "--workspace", str(root), "--", "true"], 2),
        (["host", str(tmp_path / "none"), "--drain"], 6),
    ):
        done = cas(environ, *words)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (code, "", 1), done.stderr
