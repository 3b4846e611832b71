"""A terminal for the real program: a pty of a given size, keys in, bytes out, and the screen those bytes draw.

Nothing is mocked and nothing answers the program's questions to its terminal. There is no sleep in here: what is waited
for is a condition on the screen, on the bytes or on the process, within a deadline.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import select
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import pyte

PROGRAM = str(Path(sys.executable).with_name("cas-tui"))
PATIENCE_S = 30.0
"""How long a condition may take; long, because a machine under load is no fault of the program."""

KEYS = {
    "enter": "\r",
    "esc": "\x1b",
    "tab": "\t",
    "space": " ",
    "up": "\x1b[A",
    "down": "\x1b[B",
    "pagedown": "\x1b[6~",
    "pageup": "\x1b[5~",
    "focus-out": "\x1b[O",
    "focus-in": "\x1b[I",
    **{f"ctrl+{letter}": chr(ord(letter) & 0x1F) for letter in "abcdefghijklmnopqrstuvwxyz"},
}
"""What a terminal without extensions sends for a key, by its name."""

# The emulator takes this for text.
_UNKNOWN_TO_PYTE = re.compile(rb"\x1b\[[<>][0-9]*u")
Found = TypeVar("Found")


class Terminal:
    """One program on one pty."""

    def __init__(
        self,
        words: Sequence[str],
        *,
        environ: Mapping[str, str],
        size: tuple[int, int] = (80, 24),
        cwd: Path | None = None,
        before: Callable[[], None] | None = None,
    ) -> None:
        self.size = size
        self.screen = pyte.Screen(*size)
        self._stream = pyte.ByteStream(self.screen)
        self._news = threading.Condition()
        self._bytes = bytearray()
        self._drawn = 0
        self._over = False
        self.master, slave = os.openpty()
        self._wake, self._waker = os.pipe()
        self._set_size(*size)

        def take_terminal() -> None:
            # The terminal becomes the one that controls the new session, as a terminal window does it.
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)
            if before is not None:
                before()

        self.process = subprocess.Popen(
            list(words),
            env={"TERM": "xterm-256color", "COLORTERM": "truecolor", **environ},
            cwd=cwd,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=take_terminal,
        )
        os.close(slave)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    # Bytes

    def _read(self) -> None:
        """Take what the program writes at once, so that it never waits for the test."""
        while True:
            ready, _, _ = select.select([self.master, self._wake], [], [])
            try:
                some = b"" if self._wake in ready else os.read(self.master, 65_536)
            except OSError:
                some = b""
            with self._news:
                self._bytes += some
                self._over = not some
                self._news.notify_all()
            if not some:
                return

    @property
    def transcript(self) -> bytes:
        """Every byte the program wrote so far."""
        with self._news:
            return bytes(self._bytes)

    def settle(self, quiet: float = 0.08, seconds: float = PATIENCE_S) -> None:
        """Wait until nothing was written for `quiet` seconds."""
        end = time.monotonic() + seconds
        with self._news:
            while time.monotonic() < end and not self._over:
                if not self._news.wait(quiet):
                    return

    def wait_s(self, seconds: float) -> None:
        """Let real time go by, for guards that count it; ends early when the program does."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    # The screen

    def rows(self) -> list[str]:
        """The rows of the screen now, without blanks at their ends."""
        with self._news:
            new, self._drawn = bytes(self._bytes[self._drawn :]), len(self._bytes)
        if new:
            self._stream.feed(_UNKNOWN_TO_PYTE.sub(b"", new))
        return [row.rstrip() for row in self.screen.display]

    def text(self) -> str:
        """The whole screen as one string."""
        return "\n".join(self.rows())

    def until(self, look: Callable[[str], Found], what: str, seconds: float = PATIENCE_S) -> Found:
        """The first truthy thing `look` finds on the screen's text."""
        end = time.monotonic() + seconds
        while True:
            found = look(self.text())
            if found:
                return found
            with self._news:
                if self._drawn == len(self._bytes):
                    if self._over or time.monotonic() > end:
                        raise AssertionError(f"not on the screen within {seconds} s: {what}\n{self.text()}")
                    self._news.wait(0.05)

    def see(self, *words: str, seconds: float = PATIENCE_S) -> str:
        """Wait until all of these words are on the screen; returns its text."""
        return self.until(lambda text: text if all(word in text for word in words) else "", f"{words}", seconds)

    def gone(self, word: str, seconds: float = PATIENCE_S) -> None:
        """Wait until these words are not on the screen."""
        self.until(lambda text: word not in text, f"{word!r} gone", seconds)

    # What an operator does

    def send(self, words: str | bytes) -> None:
        """Bytes as they are."""
        os.write(self.master, words.encode() if isinstance(words, str) else words)

    def press(self, *keys: str) -> None:
        """Keys by name, or single letters, each read by the program before the next one is sent."""
        for key in keys:
            self.send(KEYS.get(key, key))
            # A letter that follows Esc at once would be an alt key: no hand is that fast.
            self.settle(0.15 if key == "esc" else 0.05)

    def resize(self, width: int, height: int) -> None:
        """Another size; the program gets the signal a terminal causes."""
        self.size = (width, height)
        self.rows()
        self.screen.resize(height, width)
        self._set_size(width, height)

    def _set_size(self, width: int, height: int) -> None:
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", height, width, 0, 0))

    # Its life

    def signal(self, number: int) -> None:
        """Send a signal to the program alone."""
        self.process.send_signal(number)

    def stopped(self, seconds: float = 10.0) -> bool:
        """Whether the program is stopped within this time (by ctrl+z)."""
        return self._in_state("T", seconds)

    def _in_state(self, letter: str, seconds: float) -> bool:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
            if words[0] == letter:
                return True
            with self._news:
                self._news.wait(0.02)
        return False

    def ended(self, seconds: float = 15.0) -> int:
        """Wait for the end; the exit code as a shell would say it: 128 + n when signal n ended it."""
        code = self.process.wait(seconds)
        self._reader.join(5)
        return code if code >= 0 else 128 - code

    def cpu_s(self) -> float:
        """Seconds of processor time this program has used."""
        words = Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / os.sysconf("SC_CLK_TCK")

    def hang_up(self) -> None:
        """Close the terminal's own end, as a window that is closed does."""
        # The reader goes first: a read that is going on would keep the device open.
        os.write(self._waker, b".")
        self._reader.join(5)
        os.close(self.master)
        self.master = -1

    def close(self) -> None:
        """End the program if it still runs."""
        if self.process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
                self.process.kill()
            self.process.wait(10)
        if self.master >= 0:
            self.hang_up()
        os.close(self._wake)
        os.close(self._waker)


@contextlib.contextmanager
def terminal(words: Sequence[str], **more: Any) -> Iterator[Terminal]:
    """A program on a pty, ended at the end."""
    made = Terminal(words, **more)
    try:
        yield made
    finally:
        made.close()
