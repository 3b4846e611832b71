"""One verdict from the command line: through the one door, with the answer printed in words or as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import door, refuse_agents
from cas_tui.cli.errors import FAILED, CliError
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import Request, RequestState

if TYPE_CHECKING:
    from cas_tui.loop.operator import Sent

PAST: Final = {
    Verdict.APPROVE: "approved",
    Verdict.DENY: "denied",
    Verdict.EDIT: "edited",
    Verdict.RECONCILE: "reconciled",
    Verdict.ANSWER: "answered",
    Verdict.DISMISS: "dismissed",
    Verdict.ACCEPT: "accepted",
    Verdict.DISPUTE: "disputed",
    Verdict.REVERT: "reverted",
}

_NOT_DONE: Final = frozenset({RequestState.FAILED, RequestState.UNKNOWN, RequestState.DENIED, RequestState.EXPIRED})


def decide(
    root: Path,
    request_id: str,
    verdict: Verdict,
    *,
    as_json: bool,
    digest: str | None = None,
    comment: str = "",
    arguments: Mapping[str, Json] | None = None,
    wait: bool = False,
    timeout_s: float | None = None,
) -> None:
    """Commit one verdict and print what was committed; with `wait`, also what became of it.

    Raises:
        OperatorError: the verdict was not taken.
        CliError: it was, but what was waited for did not come or did not succeed (1).
    """
    refuse_agents()
    at = door(root)
    sent = at.decide(request_id, verdict, digest=whole_digest(digest), comment=comment, arguments=arguments or {})
    if not wait:
        tell(sent, as_json)
        return
    request = at.wait(sent.request.request_id, timeout_s)
    tell(sent, as_json, request)
    if request.state in (RequestState.APPROVED, RequestState.STARTED):
        raise CliError(
            f"{request.request_id}: still {request.state} after {timeout_s:g} s; the decision stands", FAILED
        )
    if request.state in _NOT_DONE and verdict is Verdict.APPROVE:
        why = text.line(str(request.outcome.get("summary") or request.outcome.get("reason") or ""))
        raise CliError(f"{request.request_id}: {request.state}{': ' + why if why else ''}", FAILED)


def tell(sent: Sent, as_json: bool, ended: Request | None = None) -> None:
    """Print a decision that is durable."""
    request = ended or sent.request
    value = {"decision": sent.decision.as_json(), "request": request.as_json(), "host": sent.host}
    title = text.line(request.title)
    lines = [f"{PAST[sent.decision.verdict]} {request.request_id}: {title} ({sent.host})"]
    if ended is not None:
        lines.append(f"{request.state}: {text.line(str(request.outcome.get('summary') or title))}")
    out.emit(as_json, value, lines)


def whole_digest(digest: str | None) -> str | None:
    """A digest as the files write it: `sha256:` may be left out, digits may not."""
    if digest is None:
        return None
    digest = digest.strip().lower()
    return digest if digest.startswith("sha256:") else f"sha256:{digest}"
