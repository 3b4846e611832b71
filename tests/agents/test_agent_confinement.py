"""An agent command behind walls: what it cannot reach, tried by a command that really tries."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from cas_tui.agents import process
from cas_tui.agents.process import ProcessAgent
from cas_tui.loop.agent import Call, Ended


@dataclass
class Run:
    base: Path
    root: Path
    workspace: Path
    runtime: Path

    def agent(self, *argv: str, writable: tuple[Path, ...] = ()) -> ProcessAgent:
        built = ProcessAgent(
            argv,
            workspace=self.workspace,
            root=self.root,
            runtime_home=self.runtime,
            environ={"PATH": os.environ["PATH"], "XDG_STATE_HOME": str(self.runtime.parent)},
            writable=writable,
            cwd_of_caller=self.base,
        )
        assert built.confinement == "bubblewrap"
        return built

    def call(self, timeout_s: float = 30.0) -> Call:
        return Call(self.root, self.workspace, "t-1", 1, "s-1", "echo", timeout_s)

    def sh(self, script: str, *words: object, writable: tuple[Path, ...] = ()) -> Ended:
        running = self.agent("sh", "-c", script, "sh", *map(str, words), writable=writable).start(self.call())
        return finish(running)


def finish(running: process.ProcessRunning | process.NotStarted) -> Ended:
    deadline = time.monotonic() + 30
    while (ended := running.poll()) is None:
        assert time.monotonic() < deadline, "the call did not end"
        time.sleep(0.01)
    return ended


def lay_out(base: Path, root: str, workspace: str, runtime: str) -> Run:
    run = Run(base, base / root, base / workspace, base / runtime)
    for directory in (run.root, run.workspace, run.runtime):
        directory.mkdir(parents=True, exist_ok=True)
    (run.workspace / "README.md").write_text("as it was\n")
    (run.runtime / "ledger.db").write_text("the decisions\n")
    return run


@pytest.fixture
def outside_tmp() -> Iterator[Path]:
    """A directory that no mask covers: under the home directory, as real roots are."""
    base = Path.home().resolve() / f".cas-tui-test-{os.getpid()}-{time.monotonic_ns()}"
    base.mkdir()
    yield base
    shutil.rmtree(base)


LAYOUTS = {
    "side by side": ("root", "workspace", "state/cas-tui"),
    "memory root inside the workspace": ("workspace/.agent/memory", "workspace", "state/cas-tui"),
    "workspace inside the memory root": ("root", "root/work/deep/tree", "state/cas-tui"),
    "runtime zone inside the workspace": ("root", "workspace", "workspace/.local/state/cas-tui"),
}


@pytest.fixture(params=[(layout, where) for layout in LAYOUTS for where in ("tmp", "home")], ids=str)
def run(request: pytest.FixtureRequest, tmp_path: Path, outside_tmp: Path) -> Run:
    layout, where = request.param
    return lay_out(tmp_path if where == "tmp" else outside_tmp, *LAYOUTS[layout])


@pytest.fixture
def plain(tmp_path: Path) -> Run:
    return lay_out(tmp_path, *LAYOUTS["side by side"])


def test_the_zones_are_as_promised_in_every_layout(run: Run) -> None:
    """PROTOCOL §5.3: memory root writable, workspace read-only, runtime zone absent; tried every way in."""
    ended = run.sh(
        """
        cat "$1/README.md"
        echo x 2>/dev/null > "$1/README.md" || echo "workspace file kept"
        touch "$1/new" 2>/dev/null || echo "workspace closed"
        mv "$1/README.md" "$1/gone" 2>/dev/null || echo "no rename"
        rm -rf "$1" 2>/dev/null || echo "no removal"
        echo remembered > "$CAS_ROOT/note" && echo "root written"
        cat "$2/ledger.db" 2>/dev/null || echo "no ledger"
        ls -A "$2"
        touch "$2/planted" 2>/dev/null || echo "runtime zone closed"
        mkdir "$2/0123456789abcdef" 2>/dev/null || echo "no second zone"
        """,
        run.workspace,
        run.runtime,
    )
    assert ended.output.decode().splitlines() == [
        "as it was",
        "workspace file kept",
        "workspace closed",
        "no rename",
        "no removal",
        "root written",
        "no ledger",
        "runtime zone closed",
        "no second zone",
    ]
    assert (run.root / "note").read_text() == "remembered\n"
    assert (run.workspace / "README.md").read_text() == "as it was\n"
    assert (run.runtime / "ledger.db").read_text() == "the decisions\n"


def test_a_directory_above_the_workspace_cannot_be_moved_away(tmp_path: Path) -> None:
    """S1, K14: with the workspace inside the memory root, a renamed parent would put another tree in its place."""
    run = lay_out(tmp_path, *LAYOUTS["workspace inside the memory root"])
    ended = run.sh("mv work other 2>/dev/null || mv work/deep work/other 2>/dev/null || echo kept")
    assert ended.output == b"kept\n"


def test_more_walls_cannot_be_taken_down_from_inside(plain: Run) -> None:
    """K14: nor with a user namespace of its own, in which it is root."""
    ended = plain.sh(
        """
        umount "$2" 2>/dev/null && echo "unmasked"
        mount -o remount,rw,bind "$1" 2>/dev/null && echo "writable"
        tries='umount "$2"; mount -o remount,rw,bind "$1"; touch "$1/new"; cat "$2/ledger.db"'
        unshare -Urm sh -c "$tries" sh "$1" "$2" 2>/dev/null
        echo tried
        """,
        plain.workspace,
        plain.runtime,
    )
    assert ended.output == b"tried\n"
    assert not (plain.workspace / "new").exists()


def test_other_places_are_read_only_and_scratch_places_are_its_own(plain: Run, outside_tmp: Path) -> None:
    (outside_tmp / "theirs").write_text("x")
    (plain.base / "socket-like").write_text("x")
    stray = Path(f"/var/tmp/cas-tui-stray-{os.getpid()}")
    stray.write_text("x")
    try:
        ended = plain.sh(
            """
            touch "$1/new" 2>/dev/null || echo "home closed"
            ls -A /var/tmp; ls -A /dev/shm
            echo mine > "$TMPDIR/scratch" && echo "scratch"
            ls "$TMPDIR"/tmux-* 2>/dev/null
            [ -w /proc/sys/kernel/core_pattern ] || echo "kernel closed"
            unshare -Urpfm --mount-proc [ -w /proc/sys/kernel/core_pattern ] 2>/dev/null || echo "still closed"
            """,
            outside_tmp,
        )
    finally:
        stray.unlink()
    assert ended.output.decode().splitlines() == ["home closed", "scratch", "kernel closed", "still closed"]
    assert not Path("/tmp/scratch").exists()


def test_extra_writable_directories_are_writable(plain: Run, outside_tmp: Path) -> None:
    assert plain.sh('echo built > "$1/out"', outside_tmp, writable=(outside_tmp,)).ok
    assert (outside_tmp / "out").read_text() == "built\n"


def test_no_process_outside_can_be_seen_or_signalled(plain: Run) -> None:
    """S3, K09: neither ours nor anyone's."""
    victim = subprocess.Popen(["sleep", "60"])
    try:
        ended = plain.sh(
            'kill -9 "$1" 2>/dev/null || echo unknown; [ -e "/proc/$1" ] || echo unseen; kill -9 -1; echo over',
            victim.pid,
        )
        assert victim.poll() is None
        assert ended.output.decode().splitlines()[:2] == ["unknown", "unseen"]
    finally:
        victim.kill()
        victim.wait()


def test_no_descriptor_and_no_terminal_is_inherited(plain: Run) -> None:
    """K11, K12: not even bubblewrap's own; and typing into a terminal has nothing to type into."""
    code = (
        "import fcntl, os, termios\n"
        "listed = os.listdir('/proc/self/fd')\n"
        "print([fd for fd in listed if int(fd) > 2 and os.path.exists('/proc/self/fd/' + fd)])\n"
        "for path in ('/dev/tty', '/dev/console', '/dev/tty1'):\n"
        "    try: os.open(path, os.O_RDWR); print(path)\n"
        "    except OSError: pass\n"
        "for fd in (0, 1, 2):\n"
        "    try: fcntl.ioctl(fd, termios.TIOCSTI, b'a'); print('typed')\n"
        "    except OSError: pass\n"
    )
    with open(plain.base / "secret", "w") as secret:
        os.set_inheritable(secret.fileno(), True)
        ended = finish(plain.agent(sys.executable, "-c", code).start(plain.call()))
    assert ended.output.decode().splitlines() == ["[]"]


def alive_with(mark: str) -> list[str]:
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if mark.encode() in (entry / "cmdline").read_bytes() and int(entry.name) != os.getpid():
                found.append(entry.name)
        except OSError:
            continue
    return found


def test_a_daemon_dies_with_the_call_that_made_it(plain: Run) -> None:
    """S3: a grandchild that left its session, dropped its environment and closed its output is dead at the end."""
    mark = f"left-{os.getpid()}-{time.monotonic_ns()}"
    daemon = 'env -i setsid sh -c "echo > up; while :; do sleep 0.1; done; : $1" >/dev/null 2>&1 </dev/null &'
    script = daemon + " while [ ! -s up ]; do :; done"
    ended = plain.sh(script, mark)
    assert ended.exit_code == 0 and (plain.root / "up").exists()
    assert alive_with(mark) == []


def test_time_over_kills_everything(plain: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """M03: TERM is heard inside; what does not listen is killed, with all that it started."""
    monkeypatch.setattr(process, "TERM_GRACE_S", 0.3)
    mark = f"deaf-{os.getpid()}-{time.monotonic_ns()}"
    script = (
        "setsid sh -c \"trap '' TERM; while :; do sleep 0.1; done; : $1\" & "
        "trap 'echo heard' TERM; while :; do sleep 0.05; done"
    )
    ended = finish(plain.agent("sh", "-c", script, "sh", mark).start(plain.call(timeout_s=0.7)))
    assert ended.timed_out and ended.exit_code is None and ended.signal == signal.SIGKILL
    assert b"heard" in ended.output
    assert alive_with(mark) == []


def test_the_end_of_the_host_is_the_end_of_the_agent(plain: Run) -> None:
    """S3: a killed host leaves no agent running."""
    mark = f"orphan-{os.getpid()}-{time.monotonic_ns()}"
    program = (
        "import os, pathlib, time\n"
        "from cas_tui.agents.process import ProcessAgent\n"
        "from cas_tui.loop.agent import Call\n"
        f"root, ws = pathlib.Path({str(plain.root)!r}), pathlib.Path({str(plain.workspace)!r})\n"
        f"argv = ['sh', '-c', 'echo > up; while :; do sleep 0.1; done', {mark!r}]\n"
        f"agent = ProcessAgent(argv, workspace=ws, root=root,\n"
        f"    runtime_home=pathlib.Path({str(plain.runtime)!r}), environ=dict(os.environ), cwd_of_caller=root)\n"
        "running = agent.start(Call(root, ws, 't', 1, 's', 'echo', 60))\n"
        "while running.poll() is None: time.sleep(0.05)\n"
    )
    host = subprocess.Popen([sys.executable, "-c", program])
    deadline = time.monotonic() + 20
    while not (plain.root / "up").exists():
        assert time.monotonic() < deadline and host.poll() is None
        time.sleep(0.02)
    host.kill()
    host.wait()
    while alive_with(mark):
        assert time.monotonic() < deadline, "the agent outlived its host"
        time.sleep(0.02)


def test_exit_codes_come_through(plain: Run) -> None:
    """K17."""
    assert plain.sh("exit 9").exit_code == 9
    assert plain.sh("exit 137").exit_code == 137


def test_scripts_and_interpreters_under_tmp_are_brought_back(plain: Run) -> None:
    """A command that lives in a scratch place still starts, and can read but not change itself."""
    tools = plain.base / "tools"
    tools.mkdir()
    (tools / "helper.txt").write_text("beside it\n")
    script = tools / "agent.sh"
    script.write_text('#!/bin/sh\ncat "$(dirname "$0")/helper.txt"; echo x 2>/dev/null >> "$0" || echo kept\n')
    script.chmod(0o755)
    assert finish(plain.agent("tools/agent.sh").start(plain.call())).output == b"beside it\nkept\n"


def test_the_names_of_hosts_can_be_looked_up(plain: Run) -> None:
    """The network stays on for the agent's model: what /etc/resolv.conf points at is there."""
    assert plain.sh("cat /etc/resolv.conf").output == Path("/etc/resolv.conf").read_bytes()
