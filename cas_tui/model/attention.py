"""The one queue over all runs, in two bands: what a run waits for, and what only wants a look (SCREENS §1.2).

Order: *Needs you* before *Review*, oldest first within each; a request that waits on another stands right under it.
Nothing of *Review* ever sorts above, or counts as, *Needs you*.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

from cas_tui.model import acts
from cas_tui.model.keys import key, pair_key
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import Picture, RunPicture, names
from cas_tui.model.shapes import AttentionRow
from cas_tui.model.words import age, clock, quote, since, until
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

STUCK_ROWS = 3
"""Stuck acts of one run that get a row; one that never observes anything would otherwise fill the queue."""

_WORDS = {
    RequestKind.EFFECT: "effect",
    RequestKind.QUESTION: "question",
    RequestKind.UNAPPROVED: "unapproved",
    RequestKind.MISMATCH: "mismatch",
    RequestKind.ISSUE: "issue",
    RequestKind.OBLIGATION: "due",
}
_PAST = {
    "approve": "approved",
    "deny": "denied",
    "edit": "edited",
    "reconcile": "reconciled",
    "answer": "answered",
    "dismiss": "dismissed",
    "accept": "accepted",
    "dispute": "disputed",
    "revert": "reverted",
    "cancel": "cancelled",
    "assign": "assigned",
    "resolve": "resolved",
}
_STATE_WORDS = {
    RequestState.EXPIRED: "expired, no answer",
    RequestState.CANCELLED: "cancelled",
    RequestState.SUPERSEDED: "superseded",
}


def attention(picture: Picture, now: datetime, keep_since: datetime | None = None) -> tuple[AttentionRow, ...]:
    """Every row of the queue, in order.

    `keep_since` adds the requests settled since then, in their old places, for a list that must not move under the
    cursor; their `settled` says who decided what.
    """
    known = names(picture)
    rows: list[AttentionRow] = []
    for root, run in picture.runs.items():
        rows.extend(_requests(run, known[root], now, keep_since))
        rows.extend(_stuck(run, known[root], now))
    needs = _under_what_they_wait_on([row for row in rows if row.band == "needs"], picture)
    review = _oldest_first(row for row in rows if row.band == "review")
    return (*needs, *review)


def settled_words(request: Request, decisions: tuple[Decision, ...], now: datetime | None = None) -> str:
    """Who decided what, with the time if `now` is given (in its zone); empty while nothing is decided. Ours.

    `unknown` is not settled: the operator has yet to say what happened.
    """
    if acts.undecided(request):
        return ""
    decision = acts.decision_of(request, decisions)
    if decision is None:
        return _STATE_WORDS.get(request.state, str(request.state))
    words = f"{_PAST.get(str(decision.verdict), str(decision.verdict))} by {decision.operator.name}"
    return f"{words} {clock(decision.decided_at, now)}" if now is not None else words


def counts(rows: Iterable[AttentionRow]) -> tuple[int, int]:
    """How many wait for the operator and how many are to review; rows waiting in line and settled ones are neither."""
    needs = review = 0
    for row in rows:
        if row.settled or row.waiting_on:
            continue
        needs += row.band == "needs"
        review += row.band == "review"
    return needs, review


def ask(request: Request) -> tuple[str, bool]:
    """The ask in one line, and whether it is the agent's text (to be quoted) or ours."""
    fields = request.fields
    if request.kind is RequestKind.QUESTION:
        return str(fields.get("text") or request.title), True
    if request.kind is RequestKind.ISSUE:
        return str(fields.get("title") or request.title), True
    if request.kind is RequestKind.MISMATCH:
        said, came = fields.get("expected"), fields.get("observed")
        if isinstance(said, str) and isinstance(came, str):
            return f"said {quote(said)}, came {quote(came)}", False
        return request.title, False
    return request.title, False


def expires_in(request: Request, now: datetime) -> float | None:
    """Seconds left of a pending request, not below 0; None when it has no end or is not pending."""
    left = until(request.expires_at, now) if request.state is RequestState.PENDING else None
    return None if left is None else max(0.0, left)


def _requests(run: RunPicture, name: str, now: datetime, keep_since: datetime | None) -> list[AttentionRow]:
    titles = {request.request_id: request for request in run.requests}
    rows = []
    for request in run.requests:
        settled = ""
        if not acts.undecided(request):
            moment = parse_timestamp(_settled_at(request, run.decisions) or "")
            if keep_since is None or moment is None or moment < keep_since:
                continue
            settled = settled_words(request, run.decisions, now)
        text, quoted = ask(request)
        unknown = request.state is RequestState.UNKNOWN
        before = titles.get(request.after) if request.after else None
        waits = request.state is RequestState.WAITING
        rows.append(
            AttentionRow(
                key=key("request", request.request_id),
                root=run.root,
                run=name,
                request_id=request.request_id,
                kind="unknown" if unknown else _WORDS[request.kind],
                band="needs" if request.needs_you else "review",
                ask=f"{text}: outcome unknown" if unknown else text,
                quoted=quoted,
                tier=str(request.tier) if request.tier else "",
                age_s=since(request.created_at, now) or 0.0,
                left_s=expires_in(request, now),
                flagged=bool(request.flags) or unknown or request.tier is Tier.T3,
                waiting_on=(before.title if before else "an earlier act") if waits else "",
                settled=settled,
            )
        )
    return rows


def _settled_at(request: Request, decisions: tuple[Decision, ...]) -> str | None:
    decision = acts.decision_of(request, decisions)
    return decision.decided_at if decision else request.settled_at


def _stuck(run: RunPicture, name: str, now: datetime) -> list[AttentionRow]:
    late = acts.stuck(run, now)
    rows = []
    for number, pair in enumerate(late[:STUCK_ROWS]):
        waited = since(pair.timestamp, now) or 0.0
        words = stuck_words(run, pair, now)
        if number == STUCK_ROWS - 1 and len(late) > STUCK_ROWS:
            words += f"; {len(late) - STUCK_ROWS} more like it"
        rows.append(AttentionRow(pair_key(pair), run.root, name, "", "stuck", "review", words, False, "", waited, None))
    return rows


def stuck_words(run: RunPicture, pair: Pair, now: datetime) -> str:
    """`fs_write open 11m, p95 is 40s`: our words, with the first word of the act as far as it is plainly an op."""
    kind = pair.act_kind if pair.act_kind.isidentifier() and len(pair.act_kind) <= 32 else "an act"
    late = acts.p95(run, pair.act_kind)
    known = f"p95 is {age(late)}" if late is not None else "no record of how long it takes"
    return f"{kind} open {age(since(pair.timestamp, now))}, {known}"


def _oldest_first(rows: Iterable[AttentionRow]) -> list[AttentionRow]:
    return sorted(rows, key=lambda row: (-row.age_s, row.root, row.key))


def _under_what_they_wait_on(rows: list[AttentionRow], picture: Picture) -> list[AttentionRow]:
    after = {
        (run.root, request.request_id): request.after
        for run in picture.runs.values()
        for request in run.requests
        if request.after
    }
    ordinal = {
        (run.root, request.request_id): request.ordinal for run in picture.runs.values() for request in run.requests
    }
    here = {(row.root, row.request_id) for row in rows}
    children: dict[tuple[str, str], list[AttentionRow]] = {}
    tops: list[AttentionRow] = []
    for row in rows:
        parent = after.get((row.root, row.request_id))
        if parent and (row.waiting_on or row.settled) and (row.root, parent) in here:
            children.setdefault((row.root, parent), []).append(row)
        else:
            tops.append(row)
    placed: list[AttentionRow] = []
    done: set[tuple[str, str]] = set()

    def place(first: AttentionRow) -> None:
        stack = [first]
        while stack:
            row = stack.pop()
            mark = (row.root, row.request_id)
            if mark in done:
                continue
            done.add(mark)
            placed.append(row)
            mine = children.get(mark, [])
            stack.extend(sorted(mine, key=lambda item: ordinal[(item.root, item.request_id)], reverse=True))

    for row in _oldest_first(tops):
        place(row)
    # A ring of requests that wait on each other cannot be made by the host; if one is read, it is shown all the same.
    for row in _oldest_first(rows):
        place(row)
    return placed
