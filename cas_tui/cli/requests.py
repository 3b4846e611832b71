"""`cas-tui requests …`: what waits for an operator, and every verdict on it (PROTOCOL §5.4, §5.5)."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import (
    age_of,
    chosen_roots,
    door,
    existing_root,
    id_argument,
    json_option,
    refuse_agents,
    root_argument,
    roots_argument,
)
from cas_tui.cli.deciding import decide, tell
from cas_tui.cli.errors import NOT_FOUND, USAGE, CliError
from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.decode import Json, StrictError, decode_strict
from cas_tui.protocol.machines import is_terminal
from cas_tui.protocol.requests import Request, RequestKind, RequestState

KINDS = click.Choice([str(kind) for kind in RequestKind])
STATES = click.Choice([str(state) for state in RequestState])
reason_option = click.option("--reason", required=True, help="Why; the agent reads it.")


@click.group()
def requests() -> None:
    """What waits for you, and your verdicts on it."""


def all_requests(root: Path) -> tuple[Request, ...]:
    """Every request of a root, oldest first; none where nothing was ever asked."""
    from cas_tui.loop.operator import NotFound

    try:
        return door(root).requests()
    except NotFound:
        return ()


def in_hand(request: Request) -> bool:
    """Whether something can still become of it."""
    return not is_terminal(request.kind, request.state)


@requests.command("list")
@roots_argument
@click.option("--all", "everything", is_flag=True, help="Also what is settled.")
@click.option("--kind", "kinds", multiple=True, type=KINDS, help="Only this kind; may be repeated.")
@click.option("--state", "states", multiple=True, type=STATES, help="Only this state; may be repeated.")
@json_option
def list_(
    roots: tuple[Path, ...], everything: bool, kinds: Sequence[str], states: Sequence[str], as_json: bool
) -> None:
    """List what waits, oldest first."""
    found = [request for root in chosen_roots(roots) for request in all_requests(root)]
    shown = [
        request
        for request in found
        # Programs get every row with its state, people what still waits.
        if (everything or as_json or states or in_hand(request))
        and (not kinds or request.kind in kinds)
        and (not states or request.state in states)
    ]
    lines = out.table(_row(request) for request in shown) or ["Nothing needs you."]
    out.emit(as_json, {"requests": [request.as_json() for request in shown]}, lines)


def _row(request: Request) -> tuple[str, ...]:
    tier = str(request.tier) if request.tier else "-"
    title = text.line(request.title) if request.kind is RequestKind.EFFECT else text.quote(request.title)
    return (text.line(request.request_id), str(request.state), str(request.kind), tier, age_of(request), title)


@requests.command()
@root_argument
@id_argument
@json_option
def show(root: Path, request_id: str, as_json: bool) -> None:
    """Show one request whole: what is asked, why this tier, the exact payload, the digest an approval names."""
    at = door(root)
    request = at.find(request_id)
    decisions = at.decisions(request.request_id)
    value = {"request": request.as_json(), "decisions": [decision.as_json() for decision in decisions]}
    out.emit(as_json, value, _lines(request, decisions))


def _lines(request: Request, decisions: Sequence[Decision]) -> list[str]:
    tier = f"  {request.tier}" if request.tier else ""
    lines = [
        f"{text.line(request.request_id)}  {request.kind} {text.line(request.op_kind)}  {request.state}{tier}",
        text.line(str(request.display.get("summary") or request.title)),
    ]
    if request.reasons:
        lines.append(f"{request.tier} because: {', '.join(text.line(reason) for reason in request.reasons)}")
    if request.kind is RequestKind.EFFECT:
        lines.append(f"prediction: {text.line(request.prediction) if request.prediction else 'UNPREDICTED'}")
    lines += [f"digest: {text.line(request.digest) or '-'}", f"made: {text.line(request.created_at)}"]
    if request.expires_at:
        lines.append(f"expires: {text.line(request.expires_at)}")
    if request.after:
        lines.append(f"waits on: {text.line(request.after)}")
    lines += ["", *payload_lines(request)]
    lines += [_decision_line(decision) for decision in decisions]
    return lines


def payload_lines(request: Request) -> list[str]:
    """The payload as it would be shown: a diff row by row, anything else as exact JSON."""
    display = request.display
    if display.get("kind") in ("diff", "restore") and isinstance(display.get("rows"), list):
        rows = [f"{row[0] or ' '} {text.line(str(row[3]), exact=True)}" for row in display["rows"]]
        return [*rows, text.line(str(display.get("foot", "")))]
    shown = dict(display) if display else dict(request.fields)
    return out.json_text(shown).split("\n")


def _decision_line(decision: Decision) -> str:
    words = f": {text.quote(decision.comment)}" if decision.comment else ""
    return f"{decision.verdict} by {text.line(decision.operator.name)} at {text.line(decision.decided_at)}{words}"


@requests.command()
@root_argument
@id_argument
@click.option("--digest", required=True, help="The digest of what you saw: `requests show` prints it.")
@click.option("--comment", default="", help="Words to go with it.")
@click.option("--wait", is_flag=True, help="Return when it has ended and is written back.")
@click.option("--timeout", "timeout_s", type=click.FloatRange(0), help="Wait at most so many seconds.")
@json_option
def approve(
    root: Path, request_id: str, digest: str, comment: str, wait: bool, timeout_s: float | None, as_json: bool
) -> None:
    """Approve exactly what has this digest, once."""
    decide(
        root,
        request_id,
        Verdict.APPROVE,
        digest=digest,
        comment=comment,
        wait=wait or timeout_s is not None,
        timeout_s=timeout_s,
        as_json=as_json,
    )


@requests.command()
@root_argument
@id_argument
@reason_option
@click.option("--digest", help="Refuse only what has this digest.")
@click.option("--as-policy", is_flag=True, help="Make it a rule for the agent, not only a belief.")
@json_option
def deny(root: Path, request_id: str, reason: str, digest: str | None, as_policy: bool, as_json: bool) -> None:
    """Refuse an effect, for good."""
    arguments: dict[str, Json] = {"as_policy": True} if as_policy else {}
    decide(root, request_id, Verdict.DENY, digest=digest, comment=reason, arguments=arguments, as_json=as_json)


@requests.command()
@root_argument
@id_argument
@click.option("--fields", "source", required=True, metavar="FILE", help="JSON object of changed fields; - reads input.")
@click.option("--digest", help="Edit only what has this digest.")
@click.option("--comment", default="", help="Words to go with it.")
@json_option
def edit(root: Path, request_id: str, source: str, digest: str | None, comment: str, as_json: bool) -> None:
    """Put a changed request in the place of one; it still has to be approved."""
    fields = _object(source)
    decide(
        root,
        request_id,
        Verdict.EDIT,
        digest=digest,
        comment=comment,
        arguments={"fields": fields},
        as_json=as_json,
    )


def _object(source: str) -> dict[str, Json]:
    try:
        raw = sys.stdin.read() if source == "-" else Path(source).read_text("utf-8")
        value = decode_strict(raw)
    except FileNotFoundError:
        raise CliError(f"{source}: no such file", NOT_FOUND) from None
    except (StrictError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise CliError(f"{source}: not the JSON of an object: {error}", USAGE) from None
    if not isinstance(value, dict):
        raise CliError(f"{source}: expected a JSON object", USAGE)
    return value


@requests.command()
@root_argument
@id_argument
@click.option("--comment", default="", help="Words to go with it.")
@json_option
def revert(root: Path, request_id: str, comment: str, as_json: bool) -> None:
    """Ask to put back what an effect or an unapproved change did; a new request, still to be approved."""
    refuse_agents()
    sent = door(root).revert(request_id, comment)
    if isinstance(sent, str):
        out.emit(as_json, {"message_id": sent}, ["asked: a new request puts it back, once you approve it"])
    else:
        tell(sent, as_json)


@requests.command()
@root_argument
@id_argument
@click.option("--happened", is_flag=True, help="You found that it happened.")
@click.option("--did-not", is_flag=True, help="You found that it did not.")
@reason_option
@json_option
def reconcile(root: Path, request_id: str, happened: bool, did_not: bool, reason: str, as_json: bool) -> None:
    """Close an effect whose outcome nobody knows: it happened, or it did not. It is never run again."""
    if happened == did_not:
        raise CliError("say what you found: --happened or --did-not", USAGE)
    decide(
        root,
        request_id,
        Verdict.RECONCILE,
        comment=reason,
        arguments={"happened": happened},
        as_json=as_json,
    )


@requests.command()
@root_argument
@id_argument
@click.option("--comment", default="", help="Words to go with it.")
@json_option
def accept(root: Path, request_id: str, comment: str, as_json: bool) -> None:
    """Say that a mismatch or an unapproved change is seen and stands."""
    decide(root, request_id, Verdict.ACCEPT, comment=comment, as_json=as_json)


@requests.command()
@root_argument
@id_argument
@reason_option
@json_option
def dispute(root: Path, request_id: str, reason: str, as_json: bool) -> None:
    """Say that a mismatch is not one: what was observed does not tell."""
    decide(root, request_id, Verdict.DISPUTE, comment=reason, as_json=as_json)


def find_of_kind(root: Path, request_id: str, kind: RequestKind) -> Request:
    """One request of this kind, by its id or a unique prefix. Raises CliError (6) for one of another kind."""
    request = door(existing_root(root)).find(request_id)
    if request.kind is not kind:
        raise CliError(f"{request_id}: a request of kind {request.kind}, not {kind}", NOT_FOUND)
    return request
