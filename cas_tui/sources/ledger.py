"""The ledger of one root, read only, as one consistent read (PROTOCOL §5.2).

Looks at the data version at most every 100 ms and reads rows only when the audit chain has grown; a heartbeat alone
costs one row. Loads the ledger package only when there is a ledger. Must not write and must not decide.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.events import HostStatus, LedgerRead, Progress
from cas_tui.protocol.requests import Request, RequestState

if TYPE_CHECKING:
    from cas_tui.ledger import HostRow, Ledger

LOOK_EVERY_S: Final = 0.1
NEWEST_REQUESTS: Final = 200
NEWEST_DECISIONS: Final = 200
NEWER: Final = "newer than this program"
_TRIES: Final = 3

_RAN: Final = frozenset({RequestState.SUCCEEDED, RequestState.FAILED, RequestState.RECONCILED})
_ENDED: Final = frozenset({RequestState.SUCCEEDED, RequestState.FAILED, RequestState.UNKNOWN, RequestState.RECONCILED})


class LedgerSource:
    """One ledger. `look` returns an event when it has something new to say; it never raises LedgerError."""

    def __init__(
        self,
        path: Path,
        *,
        root: str,
        clock: Callable[[], datetime],
        tick: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._root = root
        self._clock = clock
        self._tick = tick
        self._ledger: Ledger | None = None
        self._identity: tuple[int, int] | None = None
        self._looked: float | None = None
        self._put_off = False
        self._newer = False
        self._version: int | None = None
        self._head: tuple[int, str] | None = None
        self._lease: HostRow | None = None
        self._last: LedgerRead | None = None
        self._settled: dict[str, Progress] = {}

    def due_in(self) -> float | None:
        """Seconds until a look that was put off is allowed (0: now); None when none was put off."""
        return max(0.0, self._left()) if self._put_off else None

    def _left(self) -> float:
        return 0.0 if self._looked is None else self._looked + LOOK_EVERY_S - self._tick()

    def look(self) -> LedgerRead | None:
        """What is new in the ledger, or None. Puts itself off when the last look was under 100 ms ago."""
        self._put_off = self._left() > 0
        if self._put_off:
            return None
        self._looked = self._tick()
        try:
            found = self._path.stat()
        except FileNotFoundError:
            self.close()
            return self._fault("none yet")
        except OSError as error:
            self.close()
            return self._fault(f"unreadable: {os.strerror(error.errno or 0).lower()}")
        from cas_tui.ledger import LedgerError, NoLedger

        try:
            return self._read((found.st_dev, found.st_ino))
        except NoLedger:
            self.close()
            return self._fault("none yet")
        except LedgerError as error:
            return self._broken(str(error))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            # A row that does not decode: damage, or a newer program's words.
            return self._broken(f"a row that this program cannot read ({type(error).__name__}: {error})")

    def _broken(self, why: str) -> LedgerRead | None:
        newer = self._newer
        self.close()
        return self._fault(NEWER if newer else f"unreadable: {why}")

    def close(self) -> None:
        """Close the connection; the next look opens it again."""
        ledger, self._ledger = self._ledger, None
        self._version = None
        self._head = None
        if ledger is not None:
            ledger.close()

    def _read(self, identity: tuple[int, int]) -> LedgerRead | None:
        from cas_tui.ledger import Ledger

        if self._ledger is not None and self._identity != identity:
            self.close()
        if self._ledger is None:
            self._ledger = Ledger.open(self._path, clock=self._clock, ids=_no_ids, read_only=True)
            self._identity = identity
            self._newer = self._ledger.is_newer()
            self._settled.clear()
        ledger = self._ledger
        version = ledger.data_version()
        if version == self._version and self._last is not None:
            return self._only_host()
        for _ in range(_TRIES):
            before, version = version, self._read_rows(ledger)
            if before == version:
                break
        # When it never held still the newest rows stand, and the next look reads again.
        self._version = version if before == version else None
        return self._last

    def _read_rows(self, ledger: Ledger) -> int:
        """Read everything that can have changed; returns the data version after it."""
        self._lease = ledger.lease.read(self._root)
        host = self._host()
        now = timestamp(self._clock())
        head = ledger.audit.head()
        if self._last is not None and head == self._head:
            self._last = replace(self._last, host=host, read_at=now)
            return ledger.data_version()
        undecided = ledger.requests.list(root=self._root, undecided=True)
        newest = ledger.requests.list(root=self._root, newest=NEWEST_REQUESTS)
        requests = _merged(undecided, newest)
        decisions = ledger.decisions.newest(NEWEST_DECISIONS)
        held = ledger.holds.is_held(self._root)
        self._last = LedgerRead(
            root=self._root,
            requests=requests,
            decisions=decisions,
            progress=self._progress(ledger, requests, decisions),
            host=host,
            held=held,
            held_by=ledger.holds.holder(self._root) if held else "",
            obligations=tuple(ledger.obligations.list(self._root)),
            messages=tuple(ledger.messages.list(self._root)),
            read_at=now,
            audit_rows=head[0],
            fault=NEWER if self._newer else "",
        )
        self._head = head
        return ledger.data_version()

    def _only_host(self) -> LedgerRead | None:
        """Nothing was written; a host can still have fallen silent meanwhile."""
        last = self._last
        if last is None:
            return None
        host = self._host()
        if host == last.host:
            return None
        self._last = replace(last, host=host)
        return self._last

    def _host(self) -> HostStatus:
        from cas_tui.ledger import is_alive

        row = self._lease
        if row is None:
            return HostStatus()
        return HostStatus(
            role=row.role,
            pid=row.pid,
            hostname=row.hostname,
            heartbeat_at=row.heartbeat_at,
            alive=is_alive(row, self._clock()),
            workspace=row.workspace,
            confinement=row.confinement,
            phase=row.phase,
            phase_since=row.phase_since,
            agent=row.agent,
            command=row.command,
        )

    def _progress(
        self, ledger: Ledger, requests: tuple[Request, ...], decisions: tuple[Decision, ...]
    ) -> tuple[Progress, ...]:
        """One entry a request: of its newest decision, in the order of decisions."""
        by_id = {request.request_id: request for request in requests}
        result: dict[str, Progress] = {}
        for decision in decisions:
            known = self._settled.get(decision.decision_id)
            if known is None:
                stages = ledger.decisions.stages(decision.decision_id)
                known = progress_of(decision, by_id.get(decision.request_id), stages)
                if "done" in stages:
                    self._settled[decision.decision_id] = known
            result.pop(decision.request_id, None)
            result[decision.request_id] = known
        return tuple(result.values())

    def _fault(self, fault: str) -> LedgerRead | None:
        last = self._last
        if last is not None and last.fault == fault:
            return None
        now = timestamp(self._clock())
        if last is None or fault == "none yet":
            self._last = LedgerRead(self._root, read_at=now, fault=fault)
        else:
            # What was read last still stands on the screen, marked with the reason why it is not newer (D9).
            self._last = replace(last, fault=fault, host=replace(last.host, alive=False))
        return self._last


def progress_of(decision: Decision, request: Request | None, stages: frozenset[str]) -> Progress:
    """How far one decision got, by the host's durable marks and the state its request is in (CONSOLE §4.3.13)."""
    state = request.state if request is not None else None
    acts = decision.verdict is Verdict.APPROVE
    done = "done" in stages
    return Progress(
        request_id=decision.request_id,
        picked_up=bool(stages) or (acts and state is not None and state not in (RequestState.APPROVED,)),
        ran="ran" in stages or (acts and (state in _RAN or done)),
        observed="observed" in stages or done,
        outcome=str(state) if state in _ENDED else "",
    )


def _merged(undecided: tuple[Request, ...], newest: tuple[Request, ...]) -> tuple[Request, ...]:
    """Both lists as one, each request once, in the order they were created."""
    old = {request.request_id for request in newest}
    return (*(request for request in undecided if request.request_id not in old), *newest)


def _no_ids() -> str:
    raise AssertionError("a reader makes no identifiers")
