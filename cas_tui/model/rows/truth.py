"""The truth line and the health row: is what is on the screen true now, and what waits (SCREENS §1.1, §1.5)."""

from __future__ import annotations

from datetime import datetime

from cas_tui.model import acts
from cas_tui.model import journal as journals
from cas_tui.model.attention import attention, counts
from cas_tui.model.picture import Picture, RunPicture, names
from cas_tui.model.shapes import Health, Truth
from cas_tui.model.words import age, ident, since
from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.requests import RequestKind, RequestState

NO_LEDGER = "none yet"
STATE_PATIENCE_S = 10.0
"""A STATE.json that is torn for a moment is being written; one torn longer is stale data."""
_NAME_CELLS = 14


def truth(picture: Picture, now: datetime, since_at: datetime | None = None) -> Truth:
    """The truth line. `since_at` bounds the counts of acts; without it they cover everything read."""
    rows = attention(picture, now)
    needs, review = counts(rows)
    lefts = [row.left_s for row in rows if row.left_s is not None and row.band == "needs"]
    runs = picture.runs.values()
    acts_, mismatched = 0, 0
    for run in runs:
        done, missed = _acts(run, since_at)
        acts_ += done
        mismatched += missed
    by_rule = sum(1 for run in runs for item in run.decisions if item.rule_id and _after(item.decided_at, since_at))
    unapproved = sum(
        1
        for run in runs
        for request in run.requests
        if request.kind is RequestKind.UNAPPROVED and _after(request.created_at, since_at)
    )
    return Truth(
        needs_you=needs,
        review=review,
        first_expiry_s=min(lefts) if lefts else None,
        alarm=alarm(picture, now),
        acts=acts_,
        by_rule=by_rule,
        mismatched=mismatched,
        unapproved=unapproved,
        all_held=bool(picture.runs) and all(run.held for run in runs),
    )


def _after(stamp: str, moment: datetime | None) -> bool:
    if moment is None:
        return True
    claimed = parse_timestamp(stamp)
    return claimed is not None and claimed >= moment


def _acts(run: RunPicture, moment: datetime | None) -> tuple[int, int]:
    if moment is None:
        return run.journal.totals.acts, run.journal.totals.mismatched
    done = missed = 0
    for pair in journals.pairs(run.journal):
        if pair.executed and not pair.operator and pair.observation and _after(pair.observation.timestamp, moment):
            done += 1
            missed += pair.mismatched
    return done, missed


def alarm(picture: Picture, now: datetime) -> str:
    """One sentence of ours about the worst thing that is wrong, at most 60 characters; empty when nothing is."""
    known = names(picture)
    for worst in (_ledger_fault, _host_lost, _stale, _unapproved):
        for root, run in picture.runs.items():
            if words := worst(run, now):
                return f"{_short(known[root])}: {words}"
    return ""


def _short(name: str) -> str:
    name = ident(name)
    return name if len(name) <= _NAME_CELLS else name[: _NAME_CELLS - 3] + "..."


def _ledger_fault(run: RunPicture, now: datetime) -> str:
    fault = run.ledger.fault if run.ledger else ""
    if not fault or fault == NO_LEDGER:
        return ""
    if fault.startswith("newer"):
        return "the ledger is newer than this; view only"
    return "the ledger cannot be read; deciding is off"


def host_lost(run: RunPicture, now: datetime) -> bool:
    """Whether a host was here and is gone while something is undone that only a host can do."""
    return bool(run.host.role) and not acts.host_alive(run, now) and _undone(run)


def _undone(run: RunPicture) -> bool:
    return any(acts.unfinished(request) for request in run.requests if request.kind is RequestKind.EFFECT) or any(
        request.state is RequestState.PENDING and request.needs_you for request in run.requests
    )


def _host_lost(run: RunPicture, now: datetime) -> str:
    if not host_lost(run, now):
        return ""
    gone = age(since(run.host.heartbeat_at, now))
    return f"host gone {gone}; :host or approving starts one"


def _stale(run: RunPicture, now: datetime) -> str:
    for file, status in run.files.items():
        if status.status == "unreadable":
            return f"{_short(file)} cannot be read"
    read = run.state_read
    if read is not None and read.fault and read.fault != "missing":
        old = since(read.read_at, now)
        if old is None or old > STATE_PATIENCE_S:
            return f"STATE.json unreadable, shown as of {age(old)} ago"
    return ""


def _unapproved(run: RunPicture, now: datetime) -> str:
    pending = [
        request
        for request in run.requests
        if request.kind is RequestKind.UNAPPROVED and request.state is RequestState.PENDING
    ]
    if not pending:
        return ""
    return "a change nobody approved; see Needs you"


def health(picture: Picture, root: str, now: datetime) -> Health:
    """The last row for one run: its host, the age of its data, its ledger, in our words."""
    run = picture.runs.get(root)
    if run is None:
        return Health("none", False, None, "none", False)
    alive = acts.host_alive(run, now)
    host = run.host
    failing = alive and host.phase.startswith("error")
    if failing:
        words = host.phase
    elif alive:
        words = f"ok {host.pid}"
    elif host.role:
        beat = age(since(host.heartbeat_at, now))
        words = f"gone {beat}" if host_lost(run, now) else f"ended {beat} ago"
    else:
        words = "none"
    fault = run.ledger.fault if run.ledger else NO_LEDGER
    return Health(
        host=words,
        host_ok=(alive and not failing) or (not alive and not host_lost(run, now)),
        data_age_s=data_age(run, now),
        ledger=fault or "ok",
        ledger_ok=not fault or fault == NO_LEDGER,
        held=run.held,
    )


def data_age(run: RunPicture, now: datetime) -> float | None:
    """Seconds since anything of this run was read; None when nothing was."""
    stamps = [run.state_read.read_at if run.state_read else None, run.ledger.read_at if run.ledger else None]
    ages = [found for stamp in stamps if (found := since(stamp, now)) is not None]
    return min(ages) if ages else None
