"""The picture for other programs: one JSON object, and one line a change. The same facts as on the screen."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from cas_tui.model import acts
from cas_tui.model import journal as journals
from cas_tui.model.attention import ask
from cas_tui.model.journal import Bad, Journal
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import Picture, RunPicture, names
from cas_tui.model.words import ident, quote, said, since
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import writable
from cas_tui.protocol.journal import Learning, Observation, Record
from cas_tui.protocol.requests import Request

FIRST_ACTS = 200
"""Acts told of a run that was not there before; how many came earlier is one more line."""


def as_json(picture: Picture, now: datetime) -> Json:
    """{"runs": […], "requests": […]} under the names of PROTOCOL; every string can be written as UTF-8."""
    known = names(picture)
    runs = [_run(run, known[root], now) for root, run in picture.runs.items()]
    requests = [request.as_json() for run in picture.runs.values() for request in run.requests]
    return writable({"runs": runs, "requests": requests})


def _run(run: RunPicture, name: str, now: datetime) -> dict[str, Json]:
    host, journal, totals = run.host, run.journal, run.journal.totals
    agent = host.agent or next((pair.agent for pair in reversed(journals.pairs(journal)) if not pair.operator), "")
    read = run.state_read
    return {
        "root": run.root,
        "name": name,
        "agent": agent,
        "host": _host(run, now),
        "held": run.held,
        "held_by": run.ledger.held_by if run.ledger else "",
        "confinement": host.confinement,
        "ledger": (run.ledger.fault or "ok") if run.ledger else "none yet",
        "run_nonce": run.state.run_nonce if run.state else None,
        "state_age": since(read.read_at, now) if read else None,
        "state_fault": read.fault if read else "not read yet",
        "state_faults": list(run.state.faults) if run.state else [],
        "counts": _counts(run)
        | {
            "acts": totals.acts,
            "judged": totals.judged,
            "right": totals.right,
            "mismatched": totals.mismatched,
            "unrated": totals.unrated,
        },
        "files": [
            {
                "file": status.file,
                "status": status.status,
                "detail": status.detail,
                "size": status.size,
                "unread_before": status.unread_before,
                "rewritten": run.epochs.get(file, 0),
            }
            for file, status in sorted(run.files.items())
        ],
        "malformed": [
            {"file": bad.fault.file, "offset": bad.fault.offset, "reason": bad.fault.reason}
            for bad in journal.malformed
        ],
        "malformed_dropped": journal.malformed_dropped,
        "stuck": [{"action_id": pair.action_id, "age_s": since(pair.timestamp, now)} for pair in acts.stuck(run, now)],
        "conflicts": _conflicts(journal),
        "flagged": _flagged(journal),
        "obligations": [dict(item) for item in run.ledger.obligations] if run.ledger else [],
        "issues": [{**dict(reversed(item.entries)), "file": item.name} for item in run.issues],
    }


def _host(run: RunPicture, now: datetime) -> dict[str, Json]:
    host = run.host
    return {
        "alive": acts.host_alive(run, now),
        "role": host.role,
        "pid": host.pid,
        "hostname": host.hostname,
        "heartbeat_at": host.heartbeat_at,
        "phase": host.phase,
        "workspace": host.workspace,
    }


def _counts(run: RunPicture) -> dict[str, Json]:
    journal = run.journal
    kept = journals.pairs(journal)
    operators = sum(1 for pair in kept if pair.operator)
    agents = [pair for pair in kept if not pair.operator]
    return {
        "predictions": sum(1 for pair in agents if pair.prediction is not None),
        "observations": sum(1 for pair in agents if pair.observation is not None),
        "learnings": sum(len(pair.learnings) for pair in agents),
        "operator_acts": operators,
        "open": sum(1 for pair in agents if pair.open),
        "dropped": journal.dropped,
        "requests": len(run.requests),
        "undecided": sum(1 for request in run.requests if acts.undecided(request)),
        "malformed": len(journal.malformed) + journal.malformed_dropped,
    }


def _conflicts(journal: Journal) -> list[Json]:
    found: list[Json] = []
    seen: set[tuple[str, str | None, str]] = set()
    for pair in journals.pairs(journal):
        users = journal.ids.get(pair.action_id) or ()
        words = pair.conflict or (f"the id is used in {len(users)} sessions or runs" if len(users) > 1 else "")
        if words and pair.key not in seen:
            seen.add(pair.key)
            session, nonce, action = pair.key
            found.append({"session_id": session, "run_nonce": nonce, "action_id": action, "conflict": words})
    return found


def _flagged(journal: Journal) -> list[Json]:
    return [
        {
            "file": record.place.file,
            "offset": record.place.offset,
            "action_id": record.action_id,
            "flags": list(record.flags),
        }
        for pair in journals.pairs(journal)
        for record in pair.records
        if record.flags
    ]


def changes(old: Picture, new: Picture, now: datetime) -> tuple[str, ...]:
    """One line for each thing that is in `new` and was not in `old`, runs in order. Agent text stands in quotes."""
    known = names(new)
    lines: list[str] = []
    for root, run in new.runs.items():
        before = old.runs.get(root)
        if before is not run:
            name = ident(known[root])
            lines.extend(f"{name} {words}" for words in _run_changes(before or RunPicture(root), run, now))
    return tuple(lines)


def _run_changes(old: RunPicture, new: RunPicture, now: datetime) -> Iterator[str]:
    if old.journal is not new.journal:
        yield from _journal_changes(old.journal, new.journal)
    for file, status in new.files.items():
        was = old.files.get(file)
        if (was is None and status.status != "live") or (was is not None and was.status != status.status):
            yield f"file {ident(file)} {status.status}" + (f": {quote(status.detail)}" if status.detail else "")
    yield from _state_changes(old, new)
    yield from _ledger_changes(old, new, now)
    known = {item.name for item in old.issues}
    for issue in new.issues:
        if issue.name not in known:
            yield f"issue {ident(issue.name)} surfaced"


def _journal_changes(old: Journal, new: Journal) -> Iterator[str]:
    fresh: list[Pair | Bad] = []
    bads = frozenset((bad.epoch, bad.fault.file, bad.fault.offset) for bad in old.malformed)
    for item in journals.ordered(new):
        if isinstance(item, Bad):
            if (item.epoch, item.fault.file, item.fault.offset) not in bads:
                fresh.append(item)
        else:
            group = old.groups.get(item.key)
            if group is None or group is not new.groups.get(item.key):
                fresh.append(item)
    if len(fresh) > FIRST_ACTS and not len(old.groups):
        yield f"{len(fresh) - FIRST_ACTS} earlier acts"
        fresh = fresh[-FIRST_ACTS:]
    for item in fresh:
        if isinstance(item, Bad):
            fault = item.fault
            yield f"malformed {ident(fault.file)} +{fault.offset}: {fault.reason}"
            continue
        group = old.groups.get(item.key)
        known = {id(record) for pair in (group.pairs if group else ()) for record in pair.records}
        for record in item.records:
            if id(record) not in known:
                yield _record_words(record)


def _record_words(record: Record) -> str:
    who = f" ({ident(record.agent)})" if record.agent.startswith("operator:") else ""
    act = f"{ident(record.action_id)}{who}"
    if isinstance(record, Observation):
        word = record.match if record.outcome == "executed" else record.outcome
        return f"observation {act} {ident(word or 'executed')}: {quote(record.observation_summary)}"
    if isinstance(record, Learning):
        ref = f" {ident(record.persistent_ref)}" if record.persistent_ref else ""
        why = f": {quote(record.rationale)}" if record.rationale else ""
        return f"learning {act} {ident(record.update_type)}{ref}{why}"
    expects = f"{quote(record.expected_observation)} {said(record.confidence)}"
    return f"prediction {act} {quote(record.action)} expects {expects}"


def _state_changes(old: RunPicture, new: RunPicture) -> Iterator[str]:
    was, read = old.state_read, new.state_read
    if read is None or was is read:
        return
    if read.fault and (was is None or was.fault != read.fault):
        yield f"STATE.json {read.fault}"
    elif not read.fault and (was is None or was.state is not read.state):
        yield "STATE.json read"


def _ledger_changes(old: RunPicture, new: RunPicture, now: datetime) -> Iterator[str]:
    if new.ledger is None or new.ledger is old.ledger:
        return
    before = {request.request_id: request for request in old.requests}
    for request in new.requests:
        was = before.get(request.request_id)
        if was is None or was.state is not request.state:
            yield _request_words(request, was)
    decided = {item.decision_id for item in old.decisions}
    for decision in new.decisions:
        if decision.decision_id not in decided:
            yield f"decision {decision.verdict} on {decision.request_id} by {ident(decision.operator.name)}"
    alive = acts.host_alive(new, now)
    if alive != (old.ledger is not None and old.host.alive):
        yield f"host {new.host.pid} {new.host.role}" if alive else "host gone"
    if new.held != old.held:
        yield f"held by {ident(new.ledger.held_by)}" if new.held else "resumed"
    if new.ledger.fault != (old.ledger.fault if old.ledger else ""):
        yield f"ledger {new.ledger.fault or 'ok'}"


def _request_words(request: Request, was: Request | None) -> str:
    text, quoted = ask(request)
    shown = quote(text) if quoted else text
    tier = f" {request.tier}" if request.tier else ""
    state = f"{was.state} > {request.state}" if was is not None else str(request.state)
    return f"request {request.request_id} {request.kind}{tier} {state}: {shown}"
