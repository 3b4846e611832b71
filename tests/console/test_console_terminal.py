"""In a real pty: every way to end gives the terminal back, and a suspended console comes back with a picture."""

from __future__ import annotations

import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from collections.abc import Iterator
from fcntl import ioctl
from pathlib import Path

import pytest

SCRIPT = """
import sys
from datetime import UTC, datetime
sys.path.insert(0, {here!r})
from console_stage import Stage, console
class Broken(Stage):
    def truth(self, picture, now):
        import os
        if os.path.exists({flag!r}):
            raise RuntimeError("broken \\x1b]0;owned\\x07 view")
        return super().truth(picture, now)
app = console(Broken())
app.clock = lambda: datetime.now(UTC)
app.run()
sys.exit(app.return_code or 0)
"""


class Terminal:
    """A console in a pty of 80×24."""

    def __init__(self, flag: Path) -> None:
        self.flag = flag
        self.seen = b""
        self.status: int | None = None
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            script = SCRIPT.format(here=str(Path(__file__).parent), flag=str(flag))
            os.environ["TERM"] = "xterm-256color"
            os.execv(sys.executable, [sys.executable, "-c", script])
        ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))

    def read(self, seconds: float, until: bytes = b"\0\0") -> bytes:
        """What comes within this time, or until these bytes came."""
        new = b""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and until not in new:
            if not select.select([self.master], [], [], 0.05)[0]:
                if self.ended():
                    break
                continue
            try:
                new += os.read(self.master, 65536)
            except OSError:
                break
        self.seen += new
        return new

    def send(self, keys: bytes) -> None:
        """Type."""
        os.write(self.master, keys)

    def ended(self) -> bool:
        """Whether it is gone."""
        if self.status is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.status = os.waitstatus_to_exitcode(status)
        return self.status is not None

    def wait(self, seconds: float = 20) -> int | None:
        """The exit code."""
        deadline = time.monotonic() + seconds
        while not self.ended() and time.monotonic() < deadline:
            self.read(0.1)
        self.read(0.2)
        return self.status


@pytest.fixture
def terminal(tmp_path: Path) -> Iterator[Terminal]:
    """A console that has painted."""
    opened = Terminal(tmp_path / "break")
    assert b"Needs you" in opened.read(30, b"Needs you")
    opened.read(1.0)
    yield opened
    if not opened.ended():
        os.kill(opened.pid, signal.SIGKILL)
        os.waitpid(opened.pid, 0)
    os.close(opened.master)


RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?2004l", b"\x1b[?25h")


@pytest.mark.parametrize(("number", "code"), [(signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_a_signal_restores_the_terminal(terminal: Terminal, number: int, code: int) -> None:
    """TERM and HUP end it with their codes and every mode undone (C19)."""
    os.kill(terminal.pid, number)
    assert terminal.wait() == code
    for mode in RESTORED:
        assert mode in terminal.seen


def test_ctrl_q_twice_leaves_with_zero(terminal: Terminal) -> None:
    """The ordinary way out."""
    terminal.send(b"\x11")
    assert b"Leave?" in terminal.read(10, b"Leave?")
    terminal.send(b"\x11")
    assert terminal.wait() == 0
    for mode in RESTORED:
        assert mode in terminal.seen


def test_an_exception_restores_the_terminal_and_prints_one_line(terminal: Terminal) -> None:
    """No traceback, no local variables, and the message made safe (E16)."""
    terminal.flag.touch()
    assert terminal.wait() == 1
    for mode in RESTORED:
        assert mode in terminal.seen
    tail = terminal.seen.rpartition(b"\x1b[?1049l")[2]
    assert b"cas-tui stopped: RuntimeError" in tail
    assert b"Traceback" not in tail
    assert b"\x1b]0;" not in terminal.seen


def test_a_suspended_console_comes_back_with_a_picture(terminal: Terminal) -> None:
    """ctrl+z gives the terminal back; going on repaints everything (C21)."""
    terminal.send(b"\x1a")
    assert b"\x1b[?1049l" in terminal.read(10, b"\x1b[?1049l")
    terminal.read(0.5)
    os.kill(terminal.pid, signal.SIGCONT)
    shown = terminal.read(10, b"ledger ok")
    assert b"Needs you" in shown
    assert b"ledger ok" in shown
    terminal.send(b"\x11\x11")
    assert terminal.wait() == 0


def test_idle_costs_next_to_nothing_on_the_wire(terminal: Terminal) -> None:
    """Five quiet seconds: at most two hundred bytes a second (C15)."""
    terminal.read(1.0)
    assert len(terminal.read(5.0)) <= 1000
