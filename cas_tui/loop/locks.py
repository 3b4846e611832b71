"""One host per root: the locks that see to it, and how a host hands over to a run (PROTOCOL §5.3, SAFETY D07-D09).

Advisory locks of the kernel, in places no agent can replace: they end with their process, and no age breaks them. They
keep honest hosts apart; what makes an effect safe is the lease number that the ledger checks.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

from cas_tui.ledger import Ledger
from cas_tui.loop.operator import current_operator

HAND_OVER_S = 15.0
"""How long a run waits for a host without an agent to let go."""
STEP_S = 0.05


class HostRefused(RuntimeError):
    """This host cannot work here; the message is one clear line. `exit_code` as PROTOCOL §5.6."""

    def __init__(self, message: str, exit_code: int = 8) -> None:
        super().__init__(message)
        self.exit_code = exit_code


def take_locks(root: Path, lock: Path, ledger: Ledger, locks: contextlib.ExitStack, *, run: bool) -> None:
    """The advisory locks of one host per root: one in the runtime zone, one on the root for other users' hosts."""
    deadline = time.monotonic() + (HAND_OVER_S if run else 0.0)
    asked = False
    while True:
        try:
            locks.enter_context(_flock(lock))
            break
        except BlockingIOError:
            row = ledger.lease.read(str(root))
            holder = f"{row.role} {row.pid}" if row is not None else "another host"
            may_wait = run and (row is None or row.role != "run")
            if not may_wait or time.monotonic() > deadline:
                raise HostRefused(f"{root}: the lease is held by {holder}") from None
            if not asked:
                ledger.messages.add(str(root), "yield", "", current_operator("cli"), data={})
                asked = True
            time.sleep(STEP_S)
    try:
        locks.enter_context(_flock(root))
    except BlockingIOError:
        raise HostRefused(f"{root}: a host of another user holds this root; it can only be watched") from None
    except OSError as error:
        raise HostRefused(f"{root}: {error.strerror}", 9) from None


@contextlib.contextmanager
def _flock(path: Path) -> Iterator[None]:
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW
    descriptor = os.open(path, flags) if path.is_dir() else os.open(path, flags | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        yield
    finally:
        os.close(descriptor)
