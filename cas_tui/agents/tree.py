"""Finding and ending every process of a call that has no process namespace of its own.

A process group is not enough: a descendant can leave it with `setsid`, and can outlive its parent. Here a process
belongs to the call when it descends from the command, shares its session, or carries the call's mark in its
environment. Best effort by nature: a process that drops the mark and its parents escapes (SAFETY §0.8).
"""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Final

MARK: Final = "CAS_TUI_CALL"
"""The environment variable whose value is unique to one call."""

_PROC: Final = Path("/proc")


def members(leader: int, mark: str) -> set[int]:
    """Every live process of the call, without this one. Empty where there is no /proc."""
    parents: dict[int, int] = {}
    found: set[int] = set()
    wanted = f"{MARK}={mark}".encode()
    for entry in _PROC.glob("[0-9]*"):
        pid = int(entry.name)
        try:
            # The command name may hold spaces and brackets: the fields start after the last one.
            fields = (entry / "stat").read_bytes().rpartition(b")")[2].split()
            if fields[0] in (b"Z", b"X"):
                continue
            parents[pid] = int(fields[1])
            if int(fields[3]) == leader or wanted in (entry / "environ").read_bytes().split(b"\0"):
                found.add(pid)
        except (OSError, IndexError, ValueError):
            continue
    found.update(pid for pid in parents if _descends(pid, leader, parents))
    return found - {os.getpid()}


def _descends(pid: int, leader: int, parents: dict[int, int]) -> bool:
    for _ in range(len(parents)):
        if pid == leader:
            return True
        if pid not in parents:
            return False
        pid = parents[pid]
    return False


def send(number: signal.Signals, leader: int, mark: str, *, leader_alive: bool) -> int:
    """Signal every member, and the leader's group; returns how many members there were.

    `leader_alive` is false once the leader was reaped: its number may then belong to someone else.
    """
    pids = members(leader, mark)
    if leader_alive:
        try:
            os.killpg(leader, number)
        except OSError:
            pass
    for pid in pids:
        try:
            os.kill(pid, number)
        except OSError:
            pass
    return len(pids)
