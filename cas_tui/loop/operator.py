"""The one door through which an operator acts, for the console and the command line alike (DESIGN, PROTOCOL §5.3).

A verdict becomes one row of the ledger in one transaction, in the caller's own process, and that is all: the host does
the rest, and what happened comes back through the sources. If no host lives, one is started to drain what is undone.
"""

from __future__ import annotations

import contextlib
import os
import pwd
import socket
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from cas_tui import ledger as ledgers
from cas_tui.ledger import Ledger
from cas_tui.locations import RuntimePaths, runtime_paths
from cas_tui.loop.spawn import spawn_host
from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.machines import VERDICTS
from cas_tui.protocol.requests import Request, RequestKind, RequestState

REASON_NEEDED = frozenset({Verdict.DENY, Verdict.RECONCILE})
REVERTABLE = frozenset({"fs_write", "fs_patch", "fs_restore"})


class OperatorError(Exception):
    """An act of an operator that was not taken. `str(error)` is one clear line; see PROTOCOL §5.6 for the codes."""

    exit_code = 1


class UsageError(OperatorError):
    """The act is not complete: a reason is missing, the verdict does not fit the request."""

    exit_code = 2


class ChangedSinceShown(OperatorError):
    """The digest is not the one that is pending now."""

    exit_code = 3


class Expired(OperatorError):
    """The request expired before this decision."""

    exit_code = 4


class AlreadyDecided(OperatorError):
    """Somebody was first; `winner` is their decision."""

    exit_code = 5

    def __init__(self, message: str, winner: Decision | None = None) -> None:
        super().__init__(message)
        self.winner = winner


class NotFound(OperatorError):
    """No such request, or no ledger for this root."""

    exit_code = 6


class RefusedByPolicy(OperatorError):
    """Policy does not allow this act."""

    exit_code = 7


class NotNow(OperatorError):
    """The ledger is newer than this program, or the lease is held elsewhere."""

    exit_code = 8


class StorageFailure(OperatorError):
    """The decision could not be made durable: it was not taken."""

    exit_code = 9


@dataclass(frozen=True, slots=True)
class Sent:
    """A decision that is durable. `host` says who will carry it out, in words."""

    decision: Decision
    request: Request
    host: str


def current_operator(surface: str) -> Operator:
    """Who is at the keyboard, by the operating system (SAFETY Q04); `surface` is tui, cli, web or fleet."""
    uid = os.getuid()
    try:
        name = pwd.getpwuid(uid).pw_name
    except KeyError:
        name = f"uid{uid}"
    return Operator(name, uid, socket.gethostname(), surface)


@dataclass(frozen=True, slots=True)
class Door:
    """An operator in front of one root. Methods block on the disk; call them from a thread where that matters."""

    root: Path
    environ: Mapping[str, str]
    clock: Callable[[], datetime]
    ids: Callable[[], str]
    operator: Operator
    start_hosts: bool = True
    _runtime: RuntimePaths = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_runtime", runtime_paths(self.root, self.environ))

    def requests(self, *, undecided: bool = False) -> tuple[Request, ...]:
        """The requests of this root, oldest first."""
        with self._open(read_only=True) as ledger:
            return ledger.requests.list(root=str(self.root), undecided=undecided)

    def find(self, request_id: str) -> Request:
        """One request by its id or a prefix that is unique. Raises NotFound."""
        with self._open(read_only=True) as ledger:
            return ledger.requests.find(request_id)

    def decisions(self, request_id: str) -> tuple[Decision, ...]:
        """What was decided about one request, oldest first."""
        with self._open(read_only=True) as ledger:
            return ledger.decisions.of_request(request_id)

    def decide(
        self,
        request_id: str,
        verdict: Verdict,
        *,
        digest: str | None,
        comment: str = "",
        arguments: Mapping[str, Json] | None = None,
        shown_at: str | None = None,
        full_view: bool = False,
    ) -> Sent:
        """Commit one verdict, once (E1, E2, A1).

        Args:
            digest: what was shown; None means "as it is pending now" and is refused for an approval.
            arguments: what the verdict carries (see `Decision.arguments`).
            shown_at: when the card was painted, as an instant of ours.
            full_view: whether every payload row had been on screen (E4).

        Raises:
            OperatorError: the decision was not taken; the subclass says why.
        """
        self._refuse_agents()
        if verdict in REASON_NEEDED and not comment.strip():
            raise UsageError(f"{verdict} needs a reason")
        if verdict is Verdict.APPROVE and digest is None:
            raise UsageError("an approval names the digest of what was shown")
        with self._open() as ledger:
            request = ledger.requests.find(request_id)
            if verdict is Verdict.REVERT and request.kind is RequestKind.EFFECT:
                raise UsageError("an executed effect is put back with `revert`, which asks for a new effect")
            decision = Decision(
                decision_id=f"d-{self.ids()}",
                request_id=request.request_id,
                digest=request.digest if digest is None else digest,
                verdict=verdict,
                operator=self.operator,
                decided_at=timestamp(self.clock()),
                shown_at=shown_at,
                full_view=full_view,
                comment=comment.strip(),
                policy_version=request.policy_version,
                arguments=dict(arguments or {}),
            )
            _check(request, decision)
            request = ledger.decisions.decide(decision)
        return Sent(decision, request, self.ensure_host())

    def revert(self, request_id: str, comment: str = "") -> Sent | str:
        """Ask to put something back: an unapproved change by its verdict, an executed effect by a new request.

        Returns the decision, or for an executed effect the id of the message that the host turns into a request.
        """
        self._refuse_agents()
        request = self.find(request_id)
        if request.kind is RequestKind.UNAPPROVED:
            return self.decide(request.request_id, Verdict.REVERT, digest=None, comment=comment)
        if request.kind is not RequestKind.EFFECT or request.state is not RequestState.SUCCEEDED:
            raise UsageError(f"{request.request_id} is {request.state}: only an executed effect can be put back")
        if request.op_kind not in REVERTABLE:
            raise RefusedByPolicy(f"{request.op_kind} cannot be put back from here; undo it with git")
        return self._message("revert", comment, {"request_id": request.request_id})

    def message(self, text: str) -> str:
        """Queue an input for the agent; returns the message's id."""
        self._refuse_agents()
        if not text.strip():
            raise UsageError("an empty message is not sent")
        return self._message("message", text, {})

    def hold(self, reason: str = "") -> None:
        """Start no new effect of this root until it is resumed; kills nothing."""
        self._refuse_agents()
        with self._open() as ledger:
            ledger.holds.hold(str(self.root), self.operator, reason)
        self._message("hold", reason, {})

    def resume(self) -> None:
        """Let effects of this root start again."""
        self._refuse_agents()
        with self._open() as ledger:
            ledger.holds.resume(str(self.root), self.operator)
        self._message("resume", "", {})

    def wait(self, request_id: str, timeout_s: float | None = None, step_s: float = 0.05) -> Request:
        """Wait until a request has ended and is written back; returns it as it is when the time is over."""
        end = None if timeout_s is None else time.monotonic() + timeout_s
        with self._open(read_only=True) as ledger:
            while True:
                request = ledger.requests.get(request_id)
                undone = any(decision.request_id == request.request_id for decision in ledger.decisions.unprocessed())
                ended = request.state not in (RequestState.PENDING, RequestState.WAITING, *_UNDER_WAY)
                if (ended and not undone) or (end is not None and time.monotonic() > end):
                    return request
                time.sleep(step_s)

    def ensure_host(self) -> str:
        """Make sure a host lives for this root; returns who, in words."""
        with self._open(read_only=True) as ledger:
            row = ledger.lease.read(str(self.root))
            if row is not None and ledgers.is_alive(row, self.clock()):
                return f"{row.role} {row.pid}"
        if not self.start_hosts:
            return "no host"
        pid = spawn_host(self.root, environ=self.environ, log=self._runtime.host_log)
        return f"host {pid} (started)"

    def _message(self, kind: str, text: str, data: Mapping[str, Json]) -> str:
        with self._open() as ledger:
            message_id = str(ledger.messages.add(str(self.root), kind, text, self.operator, data=dict(data)))
        self.ensure_host()
        return message_id

    def _refuse_agents(self) -> None:
        if self.environ.get("CAS_TUI_AGENT"):
            raise RefusedByPolicy("an agent's own process does not decide")

    @contextlib.contextmanager
    def _open(self, *, read_only: bool = False) -> Iterator[Ledger]:
        """The ledger of this root; every error of it leaves as an OperatorError."""
        try:
            with Ledger.open(self._runtime.ledger, clock=self.clock, ids=self.ids, read_only=read_only) as ledger:
                yield ledger
        except ledgers.LedgerError as error:
            raise _translate(self.root, error) from None


_UNDER_WAY = (RequestState.APPROVED, RequestState.STARTED)


def _check(request: Request, decision: Decision) -> None:
    if decision.verdict not in VERDICTS[request.kind]:
        raise UsageError(f"{decision.verdict} is no answer to a {request.kind} ({request.request_id})")
    if decision.verdict is Verdict.ANSWER:
        arguments = decision.arguments
        if not (str(arguments.get("text", "")).strip() or arguments.get("choices") or arguments.get("fields")):
            raise UsageError("an empty answer is not sent")
        if arguments.get("as", "belief") not in ("belief", "policy", "uncertainty"):
            raise UsageError("an answer is kept as belief, policy or uncertainty")
    if decision.verdict is Verdict.RECONCILE and not isinstance(decision.arguments.get("happened"), bool):
        raise UsageError("say whether it happened or did not")
    if decision.verdict is Verdict.EDIT and not isinstance(decision.arguments.get("fields"), dict):
        raise UsageError("an edit carries the changed fields")


def _translate(root: Path, error: ledgers.LedgerError) -> OperatorError:
    if isinstance(error, ledgers.NoLedger):
        return NotFound(f"{root}: nothing was ever asked here (no ledger); `cas-tui run` or `host` starts one")
    if isinstance(error, ledgers.AlreadyDecided):
        winner = error.winner
        who = f"{winner.operator.name} decided {winner.verdict} at {winner.decided_at}"
        return AlreadyDecided(f"{winner.request_id}: already decided: {who}", winner)
    if isinstance(error, ledgers.ChangedSinceShown):
        return ChangedSinceShown(f"{error}")
    if isinstance(error, ledgers.Expired):
        return Expired(f"{error}")
    if isinstance(error, ledgers.NotFound):
        return NotFound(f"{error}")
    if isinstance(error, ledgers.NotTaken):
        return AlreadyDecided(f"{error}")
    if isinstance(error, ledgers.NewerLedger):
        return NotNow(f"{error}")
    if isinstance(error, ledgers.LeaseHeld):
        return NotNow(f"{error}")
    return StorageFailure(f"{error}")
