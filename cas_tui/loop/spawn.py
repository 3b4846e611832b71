"""Starting a host as a process of its own, so that it outlives the console or command that needed it (§5.3)."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path


def spawn_host(root: Path, *, environ: Mapping[str, str], log: Path) -> int:
    """Start `host ROOT --drain` detached from this terminal; returns its pid. It ends when nothing is undone."""
    return _spawn(["host", str(root), "--drain"], environ, log)


def spawn_run(root: Path, workspace: Path, argv: Sequence[str], *, environ: Mapping[str, str], log: Path) -> int:
    """Start `run ROOT --workspace DIR …` detached; `argv` is what follows the workspace, options first."""
    return _spawn(["run", str(root), "--workspace", str(workspace), *argv], environ, log)


def _spawn(words: Sequence[str], environ: Mapping[str, str], log: Path) -> int:
    log.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with log.open("ab") as sink:
        process = subprocess.Popen(
            [sys.executable, "-m", "cas_tui", *words],
            stdin=subprocess.DEVNULL,
            stdout=sink,
            stderr=sink,
            env=dict(environ),
            start_new_session=True,
            close_fds=True,
        )
    return process.pid
