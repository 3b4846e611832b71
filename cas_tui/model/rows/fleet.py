"""The fleet: one row a run, those that need the operator first (SCREENS §2, §5)."""

from __future__ import annotations

from datetime import datetime

from cas_tui.model import acts
from cas_tui.model.attention import attention, stuck_words
from cas_tui.model.picture import Picture, RunPicture, names
from cas_tui.model.rows.truth import data_age, host_lost
from cas_tui.model.shapes import AttentionRow, FleetRow
from cas_tui.model.words import age, since
from cas_tui.protocol.requests import RequestKind, RequestState

GROUPS = ("Needs you", "Working", "Quiet, look", "Done")
WORKING_S = 60.0
"""A run without a host of ours is working this long after its last record."""
LONG_CALL_S = 600.0
"""An agent command that runs longer than this is worth a look; it is never taken for one that waits."""
_BUSY = ("agent", "acting")


def fleet(picture: Picture, now: datetime) -> tuple[FleetRow, ...]:
    """Every run, in the order of `GROUPS`, then by name."""
    known = names(picture)
    waits: dict[str, list[AttentionRow]] = {}
    for row in attention(picture, now):
        if row.band == "needs" and not row.waiting_on:
            waits.setdefault(row.root, []).append(row)
    rows = [_row(run, known[root], waits.get(root, []), now) for root, run in picture.runs.items()]
    return tuple(sorted(rows, key=lambda row: (GROUPS.index(row.group), row.name, row.root)))


def _row(run: RunPicture, name: str, waits: list[AttentionRow], now: datetime) -> FleetRow:
    group, note = _group(run, bool(waits), now)
    glyph = {"Needs you": "needs", "Working": "working", "Quiet, look": "quiet", "Done": "done"}[group]
    if run.held:
        glyph = "held" if group != "Needs you" else glyph
    elif group == "Done" and not len(run.journal.groups):
        glyph = "idle"
    totals = run.journal.totals
    return FleetRow(
        root=run.root,
        name=name,
        group=group,
        glyph=glyph,
        waits_s=max((row.age_s for row in waits), default=None),
        silent_s=acts.last_activity_s(run, now),
        right=totals.right,
        judged=totals.judged,
        mismatched=totals.mismatched,
        obligations=open_obligations(run),
        held=run.held,
        unconfined=run.unconfined,
        host_alive=acts.host_alive(run, now),
        data_age_s=data_age(run, now),
        note=note,
    )


def open_obligations(run: RunPicture) -> int:
    """Obligations that can still fire, or that wait to be reconciled."""
    held = run.ledger.obligations if run.ledger else ()
    return sum(1 for item in held if item.get("state") in (None, "registered", "paused"))


def nonce_conflict(run: RunPicture) -> str:
    """Our words when run_nonce.txt and STATE name different runs (PROTOCOL §4 row 7, SAFETY A20); else empty."""
    file = run.loop.nonce_file if run.loop else None
    state = run.state.run_nonce if run.state else None
    if file and state and file.strip() != state:
        return "run_nonce.txt and STATE.json name different runs"
    return ""


def _group(run: RunPicture, needs: bool, now: datetime) -> tuple[str, str]:
    if needs:
        return "Needs you", nonce_conflict(run)
    late = acts.stuck(run, now)
    if host_lost(run, now):
        return "Quiet, look", f"the host is gone ({age(since(run.host.heartbeat_at, now))}) and something is undone"
    if run.host.phase.startswith("error"):
        return "Quiet, look", "the host cannot go on; its row in health says why"
    if late:
        return "Quiet, look", stuck_words(run, late[0], now)
    if acts.host_alive(run, now) and run.host.phase == "agent":
        running = since(run.host.phase_since, now)
        if running is not None and running > LONG_CALL_S:
            return "Quiet, look", f"the agent command has run {age(running)}"
    if conflict := nonce_conflict(run):
        return "Quiet, look", conflict
    if any(status.status == "unreadable" for status in run.files.values()):
        return "Quiet, look", "a file cannot be read"
    started = any(
        request.kind is RequestKind.EFFECT and request.state in (RequestState.APPROVED, RequestState.STARTED)
        for request in run.requests
    )
    if acts.host_alive(run, now):
        return ("Working" if started or run.host.phase in _BUSY else "Done"), ""
    silent = acts.last_activity_s(run, now)
    if not run.host.role and silent is not None and silent <= WORKING_S:
        return "Working", ""
    return "Done", ""
