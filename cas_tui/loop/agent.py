"""What the loop asks of an agent: to be called once a pass, to be watched, to be stopped.

The loop knows nothing about how an agent runs; `cas_tui.agents` does. An agent reads `state/input.md`, writes
`state/output.md` and ends; that file, and nothing in `Ended`, is its answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Call:
    """One call of the agent, for one pass of one trigger. `timeout_s` is in seconds, counted from the start."""

    root: Path
    workspace: Path
    trigger_id: str
    pass_no: int
    session_id: str
    agent: str
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """How a call ended. When it is given, every process of the call is dead (SAFETY S3).

    Attributes:
        exit_code: what the command exited with, or None when a signal ended it.
        signal: the number of that signal, or None.
        timed_out: whether it was stopped because its time was over.
        output: the last bytes of standard output and standard error together, raw and untrusted.
        duration_s: seconds from start to end.
        note: why it was stopped or could not be started, in words of ours; empty otherwise.
    """

    exit_code: int | None
    signal: int | None
    timed_out: bool
    output: bytes
    duration_s: float
    note: str = ""

    @property
    def ok(self) -> bool:
        """Whether it ended by itself with exit code 0."""
        return self.exit_code == 0 and not self.timed_out and not self.note


class Running(Protocol):
    """A call that was started."""

    def poll(self) -> Ended | None:
        """How it ended, or None while it runs. Enforces the time limit, so it has to be called regularly."""
        ...

    def stop(self) -> Ended:
        """End it now: first asking, then killing, the whole tree. Returns when all of it is dead."""
        ...


class Agent(Protocol):
    """Something that can be called once a pass."""

    @property
    def confinement(self) -> str:
        """`bubblewrap`, or `unconfined: <why>`: what stands between the agent and the workspace (PROTOCOL §5.3)."""
        ...

    def start(self, call: Call) -> Running:
        """Begin a call. Never raises for a command that cannot be started: that is an `Ended` with a note.

        Call it from a thread that outlives the call: where the kernel ties a child to its parent, it ties it to the
        thread that started it.
        """
        ...
