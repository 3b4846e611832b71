"""A prepared world that can be put back to its first state, and a real host that is killed at its N-th disk call."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from cas_tui.ledger import Ledger
from cas_tui.loop.operator import Door

DISK_CALLS = "fsync,fdatasync,rename,renameat,renameat2,unlink,unlinkat"
"""Where a step ends: a kill at each of these, before it happens, leaves each state a crash can leave."""


@dataclass
class Prepared:
    """A stage whose decision is on record and not yet carried out; `home` holds root, workspace and runtime zone."""

    home: Path
    door: Door

    def __post_init__(self) -> None:
        self.copy = self.home.with_name(self.home.name + ".first")
        shutil.copytree(self.home, self.copy, symlinks=True)

    def put_back(self) -> None:
        shutil.rmtree(self.home)
        shutil.copytree(self.copy, self.home, symlinks=True)

    def host(self, *, kill_at: int | None = None) -> int:
        """Run `host --drain`; returns its exit code, negative when a signal ended it."""
        words = [sys.executable, "-m", "cas_tui", "host", str(self.door.root), "--drain"]
        if kill_at is not None:
            # The call is not carried out and the process dies in it: -f, because the lease has a thread of its own.
            inject = f"inject={DISK_CALLS}:signal=KILL:when={kill_at}"
            words = ["strace", "-f", "-qq", "-o", os.devnull, "-e", f"trace={DISK_CALLS}", "-e", inject, *words]
        environ = {**self.door.environ, "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(words, env=environ, capture_output=True, timeout=120, check=False)
        return done.returncode

    def ledger(self) -> Ledger:
        return Ledger.open(self.door._runtime.ledger, clock=self.door.clock, ids=self.door.ids, read_only=True)

    def kills(self) -> Iterator[int]:
        """Kill a fresh host at its first disk call, its second, …, until one comes through; yields each N."""
        number = 0
        while True:
            number += 1
            self.put_back()
            code = self.host(kill_at=number)
            yield number
            if code == 0:
                return
            assert code in (-9, 137), (number, code)
            assert number < 500, "the host never comes through"
