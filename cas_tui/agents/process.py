"""An agent that is a command: started once a pass, behind walls where there are any, watched and always ended.

The command reads `state/input.md` and writes `state/output.md` in its current directory, the memory root. It gets no
terminal, no open file of ours and no way to ours; what it prints is drained and its tail kept (SAFETY S3, K11, K12,
M01-M03). This module reads no answer and decides nothing.
"""

from __future__ import annotations

import json
import os
import select
import shutil
import signal
import subprocess
import threading
import time
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Final, Literal

from cas_tui.agents import confine, tree
from cas_tui.loop.agent import Call, Ended

OUTPUT_TAIL_BYTES: Final = 64 * 1024
"""How much of what the command printed is kept."""

OUTPUT_CAP_BYTES: Final = 64 * 1024 * 1024
"""A command that prints more than this in one call is stopped (SAFETY M01)."""

TERM_GRACE_S: Final = 2.0
"""Seconds between asking a command to end and killing it."""

_DROPPED: Final = ("TMUX", "TMUX_PANE", "TMUX_TMPDIR", "STY", "DBUS_SESSION_BUS_ADDRESS", "SSH_AUTH_SOCK")


class ProcessAgent:
    """Runs `argv` once a pass.

    Args:
        argv: the command; words that name a file from the caller's directory keep meaning that file.
        workspace, root: the run's directories; the command starts in `root`.
        runtime_home: the runtime zones of all roots (`locations.state_home`); the command finds it empty.
        environ: the caller's environment.
        confine: `auto` builds walls when bubblewrap works, `off` never does.
        writable: further directories the command may write.
        cwd_of_caller: what relative words of `argv` are relative to.

    Raises:
        confine.BadLayout: the directories cannot be kept apart.
        ValueError: `argv` is empty.
    """

    def __init__(
        self,
        argv: Sequence[str],
        *,
        workspace: Path,
        root: Path,
        runtime_home: Path,
        environ: Mapping[str, str],
        confine: Literal["auto", "off"] = "auto",
        writable: Sequence[Path] = (),
        cwd_of_caller: Path,
    ) -> None:
        if not argv:
            raise ValueError("the agent command is empty")
        self._root = root.resolve()
        self._environ = dict(environ)
        self.argv = absolute_words(argv, cwd_of_caller, self._root)
        self._layout = _layout(self.argv, self._root, workspace, runtime_home, environ, writable, cwd_of_caller)
        self._layout.check()
        self._bwrap, self._confinement = self._walls(confine)

    def _walls(self, wanted: str) -> tuple[str | None, str]:
        if wanted == "off":
            return None, "unconfined: switched off"
        bwrap = confine.find_bwrap(self._environ)
        if bwrap is not None:
            # The mask of the runtime zone needs a directory to lie on, whether or not a ledger was made yet.
            self._layout.runtime_home.mkdir(mode=0o700, parents=True, exist_ok=True)
        if reason := confine.probe(bwrap, self._layout):
            return None, f"unconfined: {reason}"
        return bwrap, "bubblewrap"

    @property
    def confinement(self) -> str:
        """`bubblewrap`, or `unconfined: <why>`."""
        return self._confinement

    def start(self, call: Call) -> ProcessRunning | NotStarted:
        """Begin one call. A command that cannot be started is a call that has ended, with exit code 127."""
        mark = uuid.uuid4().hex
        environ = agent_environ(self._environ, call, mark)
        if self._bwrap is not None:
            environ["TMPDIR"] = "/tmp"
        if not _runnable(self.argv[0], self._root, environ):
            return NotStarted(f"no such program: {self.argv[0]}")
        try:
            if self._bwrap is None:
                return _start(self.argv, self._root, environ, call.timeout_s, mark)
            return _start_behind_walls(self._bwrap, self._layout, self.argv, environ, call.timeout_s, mark)
        except (OSError, ValueError) as error:
            return NotStarted(f"cannot start {self.argv[0]}: {error}")


def absolute_words(argv: Sequence[str], cwd_of_caller: Path, root: Path) -> tuple[str, ...]:
    """`argv` with every word that names a file from the caller's directory, and none from `root`, made absolute.

    The program itself is touched only when it is written as a path: a bare name is found through PATH.
    """
    words = []
    for index, word in enumerate(argv):
        bare_program = index == 0 and "/" not in word
        if word and not bare_program and not word.startswith(("/", "-")) and "\0" not in word:
            there = cwd_of_caller / word
            if there.is_file() and not (root / word).exists():
                word = os.path.normpath(there)
        words.append(word)
    return tuple(words)


def agent_environ(environ: Mapping[str, str], call: Call, mark: str) -> dict[str, str]:
    """The caller's environment without the ways to its terminal, keys and repositories, plus what a call is about."""
    result = {name: value for name, value in environ.items() if name not in _DROPPED and not name.startswith("GIT_")}
    result |= {
        "CAS_ROOT": str(call.root),
        "CAS_WORKSPACE": str(call.workspace),
        "CAS_TRIGGER": call.trigger_id,
        "CAS_PASS": str(call.pass_no),
        "CAS_SESSION_ID": call.session_id,
        "CAS_AGENT": call.agent,
        "CAS_TUI_AGENT": "1",
        tree.MARK: mark,
    }
    return result


def _layout(
    argv: Sequence[str],
    root: Path,
    workspace: Path,
    runtime_home: Path,
    environ: Mapping[str, str],
    writable: Sequence[Path],
    cwd_of_caller: Path,
) -> confine.Layout:
    return confine.Layout(
        root=root,
        workspace=workspace.resolve(),
        runtime_home=runtime_home.resolve(),
        writable=tuple(path.resolve() for path in writable),
        readable=confine.needed_to_start(argv, environ, cwd_of_caller.resolve()),
    )


def _runnable(program: str, root: Path, environ: Mapping[str, str]) -> bool:
    if "/" in program:
        return os.access(root / program, os.X_OK)
    return shutil.which(program, path=environ.get("PATH", os.defpath)) is not None


def _popen(argv: Sequence[str], root: Path, environ: Mapping[str, str], *fds: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        argv,
        cwd=root,
        env=dict(environ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        pass_fds=fds,
        bufsize=0,
    )


def _start(argv: Sequence[str], root: Path, environ: Mapping[str, str], timeout_s: float, mark: str) -> ProcessRunning:
    return ProcessRunning(_popen(argv, root, environ), timeout_s=timeout_s, mark=mark)


def _start_behind_walls(
    bwrap: str,
    layout: confine.Layout,
    argv: Sequence[str],
    environ: Mapping[str, str],
    timeout_s: float,
    mark: str,
) -> ProcessRunning:
    info, info_for_child = os.pipe()
    try:
        full = [*confine.arguments(bwrap, layout, info_fd=info_for_child), *argv]
        process = _popen(full, layout.root, environ, info_for_child)
    except BaseException:
        os.close(info)
        raise
    finally:
        os.close(info_for_child)
    return ProcessRunning(process, timeout_s=timeout_s, mark=mark, init=_namespace_init(info))


def _namespace_init(info: int) -> int | None:
    """A pidfd of the first process in the call's own process namespace, from what bubblewrap tells about it.

    That process ends only after every other one of the namespace is dead, so waiting for it is waiting for them all.
    """
    with os.fdopen(info, "rb", buffering=0) as pipe:
        told = b""
        while _readable(info, confine.PROBE_TIMEOUT_S):
            more = pipe.read(4096)
            if not more:
                break
            told += more
    try:
        return os.pidfd_open(int(json.loads(told)["child-pid"]))
    except (ValueError, KeyError, TypeError, OSError):
        return None


def _readable(fd: int, within_s: float) -> bool:
    """Whether `fd` has something to read, or has ended, within so many seconds. No limit on the number of `fd`."""
    waiting = select.poll()
    waiting.register(fd, select.POLLIN)
    return bool(waiting.poll(within_s * 1000))


class _Drain(threading.Thread):
    """Reads everything the command prints, so that it never blocks, and keeps the tail."""

    def __init__(self, pipe: IO[bytes]) -> None:
        super().__init__(name="agent-output", daemon=True)
        self._pipe = pipe
        self._tail = bytearray()
        self.total = 0

    def run(self) -> None:
        while True:
            try:
                piece = os.read(self._pipe.fileno(), 65536)
            except (OSError, ValueError):
                return
            if not piece:
                return
            self.total += len(piece)
            self._tail += piece
            del self._tail[:-OUTPUT_TAIL_BYTES]

    def tail(self) -> bytes:
        return bytes(self._tail)


class NotStarted:
    """A call that ended before it began."""

    def __init__(self, note: str) -> None:
        self._ended = Ended(127, None, False, note.encode("utf-8", "replace"), 0.0, note)

    def poll(self) -> Ended:
        """How it ended."""
        return self._ended

    def stop(self) -> Ended:
        """How it ended; there is nothing to stop."""
        return self._ended


class ProcessRunning:
    """One started command. `init` is a pidfd of its process namespace's first process, where it has one."""

    def __init__(
        self, process: subprocess.Popen[bytes], *, timeout_s: float, mark: str, init: int | None = None
    ) -> None:
        assert process.stdout is not None
        self._process, self._mark, self._init = process, mark, init
        self._began = time.monotonic()
        self._deadline = self._began + timeout_s
        self._kill_at: float | None = None
        self._timed_out = False
        self._note = ""
        self._ended: Ended | None = None
        self._drain = _Drain(process.stdout)
        self._drain.start()

    def poll(self) -> Ended | None:
        """How it ended, or None while any of it may live. Asks, then kills, when its time or its output is over."""
        if self._ended is not None:
            return self._ended
        if self._process.poll() is not None:
            return self._finish()
        now = time.monotonic()
        if self._kill_at is not None:
            if now >= self._kill_at:
                self._signal(signal.SIGKILL)
        elif now >= self._deadline:
            self._timed_out = True
            self._ask(now, f"stopped: not done after {self._deadline - self._began:g} s")
        elif self._drain.total > OUTPUT_CAP_BYTES:
            self._ask(now, f"stopped: printed more than {OUTPUT_CAP_BYTES >> 20} MiB")
        return None

    def stop(self) -> Ended:
        """End it now: TERM, then KILL after a grace, the whole tree."""
        if self._ended is None and self._kill_at is None and self._process.poll() is None:
            self._ask(time.monotonic(), "stopped")
        while (ended := self.poll()) is None:
            try:
                self._process.wait(0.02)
            except subprocess.TimeoutExpired:
                pass
        return ended

    def _ask(self, now: float, note: str) -> None:
        self._note = note
        self._kill_at = now + TERM_GRACE_S
        self._signal(signal.SIGTERM)

    def _signal(self, number: signal.Signals) -> None:
        if self._init is None:
            tree.send(number, self._process.pid, self._mark, leader_alive=self._process.returncode is None)
        elif number is signal.SIGKILL:
            self._kill_namespace()
            self._process.kill()
        else:
            # Not to bubblewrap itself: its end is the end of everything inside, without a word to the command.
            for pid in tree.members(self._process.pid, self._mark) - {self._process.pid}:
                try:
                    os.kill(pid, number)
                except OSError:
                    pass

    def _kill_namespace(self) -> None:
        if self._init is not None:
            try:
                signal.pidfd_send_signal(self._init, signal.SIGKILL)
            except OSError:
                pass

    def _finish(self) -> Ended:
        self._end_the_rest()
        self._drain.join(1.0)
        if self._process.stdout is not None:
            self._process.stdout.close()
        code = self._process.returncode
        number = -code if code < 0 else None
        if self._init is not None and code > 128 and self._note:
            # bubblewrap reports the signal that ended the command as an exit code.
            number = code - 128
        self._ended = Ended(
            exit_code=code if number is None else None,
            signal=number,
            timed_out=self._timed_out,
            output=self._drain.tail(),
            duration_s=time.monotonic() - self._began,
            note=self._note,
        )
        if self._init is not None:
            os.close(self._init)
            self._init = None
        return self._ended

    def _end_the_rest(self) -> None:
        """The command has ended; nothing it left behind may outlive it (SAFETY S3)."""
        if self._init is not None:
            self._kill_namespace()
            _readable(self._init, 10.0)
            return
        for _ in range(50):
            if not tree.send(signal.SIGKILL, self._process.pid, self._mark, leader_alive=False):
                return
            time.sleep(0.02)
