"""The decision card: everything about one request at one moment, for the operator to decide on (SCREENS §3, §4)."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime

from cas_tui.model import acts
from cas_tui.model.attention import ask, attention, expires_in, settled_words
from cas_tui.model.picture import Picture, RunPicture, name
from cas_tui.model.rows.contract import contract, prediction_of
from cas_tui.model.rows.other_cards import asked_because, contract_of_other
from cas_tui.model.rows.payload import payload
from cas_tui.model.shapes import Card, ContractRow, ReceiptLine
from cas_tui.model.words import clock, ident, since
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.machines import takes
from cas_tui.protocol.requests import Request, RequestKind, RequestState

_OPTION_MODES = ("text", "one", "many", "form")


def find(run: RunPicture, request_id: str) -> Request | None:
    """The request as last read, or None."""
    return next((item for item in run.requests if item.request_id == request_id), None)


def card(picture: Picture, root: str, request_id: str, now: datetime) -> Card | None:
    """The card of a request; None when the ledger, as last read, has no such request."""
    run = picture.runs.get(root)
    request = find(run, request_id) if run else None
    if run is None or request is None:
        return None
    effect = request.kind is RequestKind.EFFECT
    position, total = _position(picture, root, request, now)
    shown = payload(request)
    made = Card(
        request=request,
        run=name(picture, root),
        position=position,
        total=total,
        summary=_summary(request),
        tier_because=_because(run, request),
        tier_flags=request.flags,
        unpredicted=effect and not request.prediction,
        unconfined=run.unconfined,
        predicted_at="",
        prediction_id=request.prediction or "",
        contract=contract(run, request, now) if effect else contract_of_other(run, request, now),
        payload_title=shown.title,
        payload=shown.rows,
        payload_foot=shown.foot,
        payload_id=shown.id,
        left_s=expires_in(request, now),
        age_s=since(request.created_at, now) or 0.0,
        settled=settled_words(request, run.decisions, now),
        verdicts=tuple(str(item) for item in Verdict if takes(request.kind, request.state, item)),
        cwd=run.host.workspace,
        held=run.held,
        host_alive=acts.host_alive(run, now),
        summary_quoted=request.kind in (RequestKind.QUESTION, RequestKind.ISSUE),
        source=source_words(request),
    )
    pair = prediction_of(run, request)
    if pair is not None and pair.prediction is not None:
        made = replace(made, predicted_at=clock(pair.prediction.timestamp, now, seconds=True))
    if request.state is RequestState.UNKNOWN:
        reason = request.outcome.get("reason")
        row = ContractRow("= unknown", f"it was started and its end was not recorded: {_reason(reason)}", flagged=True)
        made = replace(made, contract=(row, *made.contract))
    return _question(made) if request.kind is RequestKind.QUESTION else made


def _reason(reason: Json) -> str:
    return ident(reason) if isinstance(reason, str) and reason else "the host ended in between"


def source_words(request: Request) -> str:
    """`learning.jsonl +8812`, from where the request came; empty when that is not known."""
    file, offset = request.source.get("file"), request.source.get("offset")
    if not isinstance(file, str):
        return ""
    return f"{ident(file)} +{offset}" if isinstance(offset, int) else ident(file)


def _summary(request: Request) -> str:
    text, quoted = ask(request)
    if quoted:
        return text
    summary = request.display.get("summary")
    if request.kind is RequestKind.EFFECT and isinstance(summary, str) and summary:
        return summary
    return text


def _because(run: RunPicture, request: Request) -> str:
    if request.kind is RequestKind.QUESTION:
        return asked_because(run, request)
    if request.kind is not RequestKind.EFFECT:
        return ", ".join(request.reasons)
    tier = str(request.tier) if request.tier else "no tier"
    reasons = ", ".join(request.reasons) or "no reason recorded"
    return f"{tier} because: {reasons}"


def _position(picture: Picture, root: str, request: Request, now: datetime) -> tuple[int, int]:
    """The place of the request among the rows of its band that can be decided, and how many those are."""
    band = "needs" if request.needs_you else "review"
    rows = [row for row in attention(picture, now) if row.band == band and row.request_id and not row.waiting_on]
    for place, row in enumerate(rows, start=1):
        if row.root == root and row.request_id == request.request_id:
            return place, len(rows)
    return 0, len(rows)


def _question(made: Card) -> Card:
    query = made.request.fields.get("query")
    if not isinstance(query, dict):
        return made
    options: Json = query.get("options")
    shown = tuple(item for item in options if isinstance(item, str)) if isinstance(options, list) else ()
    mode = query.get("type")
    fields: Json = query.get("fields")
    form = tuple(item for item in fields if isinstance(item, dict)) if isinstance(fields, list) else ()
    known = mode if isinstance(mode, str) and mode in _OPTION_MODES else "one" if shown else "text"
    if (known == "form" and not form) or (known in ("one", "many") and not shown):
        # Nothing to choose from or fill in: an unusual question is answered by text, never by a default.
        known = "text"
    return replace(made, options=shown, option_mode=known, form_fields=form)


def receipt(picture: Picture, root: str, request_id: str) -> ReceiptLine | None:
    """How far the last decision on a request got; None when nothing was decided."""
    run = picture.runs.get(root)
    request = find(run, request_id) if run else None
    if run is None or request is None:
        return None
    decision = acts.decision_of(request, run.decisions)
    if decision is None:
        return None
    known = next((item for item in run.progress if item.request_id == request_id), None)
    outcome = known.outcome if known else ""
    if not outcome and request.state in (RequestState.FAILED, RequestState.UNKNOWN, RequestState.EXPIRED):
        outcome = str(request.state)
    return ReceiptLine(
        request_id=request_id,
        written=True,
        picked_up=bool(known and known.picked_up),
        ran=bool(known and known.ran),
        observed=bool(known and known.observed),
        outcome=outcome,
    )
