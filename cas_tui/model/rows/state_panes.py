"""Goals and plan, beliefs, uncertainties: what STATE.json says, as rows (CONSOLE §0)."""

from __future__ import annotations

from datetime import datetime

from cas_tui.model import journal as journals
from cas_tui.model.keys import key
from cas_tui.model.picture import Picture, RunPicture
from cas_tui.model.rows.distinct import distinct
from cas_tui.model.shapes import Line
from cas_tui.model.words import age, ident, plural, quote, since, until
from cas_tui.protocol.requests import RequestKind, RequestState
from cas_tui.protocol.state import Belief, Commitment, State

_PRIORITY = {"high": 0, "medium": 1, "low": 2}
_PLAN_GLYPHS = {"done": "done", "failed": "failed", "in_progress": "working", "pending": "blank"}
_GOAL_GLYPHS = {"active": "blank", "done": "done", "paused": "held", "cancelled": "none"}


def goals(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """Goals by priority, the plan in its order, promises with the overdue ones first."""
    run = picture.runs.get(root)
    state = run.state if run else None
    if run is None or state is None:
        return (_no_state(run),)
    lines = [*_faults(run, now)]
    ranked = sorted(
        state.goals, key=lambda goal: (goal.status in ("done", "cancelled"), _PRIORITY.get(goal.priority, 3))
    )
    for goal in ranked:
        lines.append(
            Line(
                key=key("goal", goal.id),
                text=goal.description,
                glyph=_GOAL_GLYPHS.get(goal.status, "unknown"),
                label=" ".join(part for part in (ident(goal.id), goal.priority and ident(goal.priority)) if part),
                right="" if goal.status == "active" else ident(goal.status),
                quoted=True,
                muted=goal.status in ("done", "cancelled"),
                detail=key("goal", goal.id),
            )
        )
    waits = _waiting_actions(run)
    for number, step in enumerate(state.plan):
        held = bool(step.step_id) and step.step_id in waits
        lines.append(
            Line(
                key=key("plan", number, step.step_id),
                text=step.intent,
                glyph="needs" if held else _PLAN_GLYPHS.get(step.status, "unknown"),
                label=ident(step.step_id) if step.step_id else f"step {number + 1}",
                right="waits" if held else "" if step.status in ("pending", "done") else ident(step.status),
                indent=1,
                quoted=True,
                muted=step.status == "done",
                detail=key("plan", number),
            )
        )
    lines.extend(promises(state, now))
    if not lines:
        return (Line(key("none", "goals"), "No goals and no plan. The agent writes them into STATE.json.", muted=True),)
    return distinct(lines)


def promises(state: State, now: datetime) -> tuple[Line, ...]:
    """Open commitments, overdue first; nothing in this program wakes anyone for them, and the rows say so."""

    def rank(item: Commitment) -> tuple[bool, float]:
        left = until(item.due, now)
        return (left is None, left if left is not None else 0.0)

    pending = sorted((item for item in state.commitments if item.status in ("pending", "broken")), key=rank)
    if not pending:
        return ()
    lines = [Line(key("heading", "promises"), "Promises", heading=True)]
    for item in pending:
        left = until(item.due, now)
        if item.status == "broken":
            right = "broken"
        elif left is None:
            right = "no date" if not item.due else f"due {ident(item.due)}"
        else:
            right = f"{age(-left)} overdue" if left < 0 else f"due in {age(left)}"
        late = left is not None and left < 0
        lines.append(
            Line(
                key=key("commitment", item.id),
                text=item.promise,
                glyph="quiet" if late else "blank",
                label=f"to {ident(item.to_whom)}",
                right=right,
                indent=1,
                quoted=True,
                flagged=late,
                detail=key("commitment", item.id),
            )
        )
        lines.append(Line(key("commitment-wake", item.id), "no wake owns this promise", indent=2, muted=True))
    return distinct(lines)


def beliefs(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """Beliefs with confidence and provenance; a superseded one stands under the one that replaced it."""
    run = picture.runs.get(root)
    state = run.state if run else None
    if run is None or state is None:
        return (_no_state(run),)
    if not state.beliefs:
        words = "No beliefs. The agent writes one when a mismatch teaches it something."
        return (*_faults(run, now), Line(key("none", "beliefs"), words, muted=True))
    replaced = {item.supersedes: item for item in state.beliefs if item.supersedes}
    by_id = {item.id: item for item in state.beliefs}
    lines = [*_faults(run, now)]
    for number, item in enumerate(state.beliefs):
        if item.id in replaced and replaced[item.id].id != item.id and item.id in by_id:
            continue
        lines.extend(_belief(run, number, item, now, 0))
        seen = {item.id}
        older = by_id.get(item.supersedes or "")
        while older is not None and older.id not in seen:
            seen.add(older.id)
            lines.extend(_belief(run, state.beliefs.index(older), older, now, 1))
            older = by_id.get(older.supersedes or "")
    shown = {line.detail for line in lines}
    for number, item in enumerate(state.beliefs):
        if key("belief", item.id) not in shown:
            lines.extend(_belief(run, number, item, now, 0))
    return distinct(lines)


def _belief(run: RunPicture, number: int, item: Belief, now: datetime, indent: int) -> list[Line]:
    doubted = doubt(run, item.id)
    lines = [
        Line(
            key=key("belief", item.id, number),
            text=item.claim,
            label=ident(item.id),
            right="no number" if item.confidence is None else f"{item.confidence:.2g}",
            glyph="flagged" if doubted else "blank",
            indent=indent,
            quoted=True,
            muted=indent > 0,
            flagged=bool(doubted),
            detail=key("belief", item.id),
        )
    ]
    notes = []
    if indent:
        notes.append("superseded")
    if doubted:
        notes.append(doubted)
    if item.evidence_refs:
        notes.append(f"from {', '.join(ident(ref) for ref in item.evidence_refs[:3])}")
        if len(item.evidence_refs) > 3:
            notes[-1] += f" and {len(item.evidence_refs) - 3} more"
        if (old := checked_s(run, item, now)) is not None:
            notes[-1] += f", {age(old)} ago"
    else:
        notes.append("no evidence named")
    if (leaning := leans(run, item.id)) > 0:
        notes.append(f"{plural(leaning, 'waiting act')} {'leans' if leaning == 1 else 'lean'} on it")
    lines.append(Line(key("belief-from", item.id, number), "; ".join(notes), indent=indent + 1, muted=True))
    return lines


def doubt(run: RunPicture, belief_id: str) -> str:
    """Our words when a prediction that cites the belief came out wrong after it was last right; else empty."""
    for pair in reversed(journals.pairs(run.journal)):
        if pair.prediction is None or belief_id not in pair.prediction.belief_refs or not pair.judged:
            continue
        return f"now doubted: {ident(pair.action_id)} cited it and came out wrong" if pair.mismatched else ""
    return ""


def checked_s(run: RunPicture, item: Belief, now: datetime) -> float | None:
    """Seconds since the newest of the belief's evidence that can be dated: an observed act or a verified artifact."""
    stamps: list[str | None] = []
    for ref in item.evidence_refs:
        # A reference is free text; an action_id is looked for in any word of it.
        stamps.extend(
            pair.observation.timestamp
            for word in {ref, *ref.split()[:8]}
            for pair in journals.pairs_of_action(run.journal, word)
            if pair.observation is not None
        )
        if run.state is not None:
            stamps.extend(art.last_verified_at for art in run.state.artifacts if ref in (art.id, art.location))
    ages = [found for stamp in stamps if (found := since(stamp, now)) is not None]
    return min(ages) if ages else None


def leans(run: RunPicture, belief_id: str) -> int:
    """How many undecided effects rest on predictions that cite the belief (CONSOLE §3.7)."""
    count = 0
    for request in run.requests:
        if request.kind is not RequestKind.EFFECT or request.state not in (RequestState.PENDING, RequestState.WAITING):
            continue
        cited = journals.pairs_of_action(run.journal, request.prediction or "")
        count += any(pair.prediction is not None and belief_id in pair.prediction.belief_refs for pair in cited)
    return count


def uncertainties(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """Open uncertainties with impact and plan."""
    run = picture.runs.get(root)
    state = run.state if run else None
    if run is None or state is None:
        return (_no_state(run),)
    lines = [*_faults(run, now)]
    for number, item in enumerate(state.uncertainties):
        plain = len(item.impact) <= 12
        lines.append(
            Line(
                key=key("uncertainty", item.id, number),
                text=item.question,
                label=ident(item.id),
                right=ident(item.impact) if item.impact and plain else "",
                quoted=True,
                detail=key("uncertainty", item.id),
            )
        )
        if item.impact and not plain:
            lines.append(
                Line(key("impact", item.id, number), item.impact, label="impact", indent=1, quoted=True, muted=True)
            )
        if item.plan_to_resolve:
            lines.append(
                Line(
                    key("resolve", item.id, number),
                    item.plan_to_resolve,
                    label="plan",
                    indent=1,
                    quoted=True,
                    muted=True,
                )
            )
        else:
            lines.append(Line(key("resolve", item.id, number), "no plan to resolve it", indent=1, muted=True))
    if not state.uncertainties:
        words = "No uncertainties. The agent writes one when it cannot tell."
        lines.append(Line(key("none", "uncertainties"), words, muted=True))
    return distinct(lines)


def _waiting_actions(run: RunPicture) -> set[str]:
    """action_ids and op_ids of acts that wait for the operator, which a plan step may name."""
    found: set[str] = set()
    for request in run.requests:
        if request.kind is RequestKind.EFFECT and request.state is RequestState.PENDING:
            found.update(item for item in (request.action_id, request.prediction, request.op_id) if item)
    return found


def _no_state(run: RunPicture | None) -> Line:
    if run is None:
        return Line(key("none", "run"), "No such run.", muted=True)
    fault = run.state_read.fault if run.state_read else "not read yet"
    if fault == "missing" or run.state_read is None:
        return Line(
            key("none", "state"),
            "No STATE.json yet. The agent writes it, and so does cas-tui init.",
            muted=True,
        )
    return Line(key("none", "state"), f"STATE.json: {fault}", flagged=True)


def _faults(run: RunPicture, now: datetime) -> tuple[Line, ...]:
    lines = []
    read = run.state_read
    if read is not None and read.fault:
        words = f"STATE.json now: {read.fault}; shown as of {age(since(read.read_at, now))} ago"
        lines.append(Line(key("stale", "state"), words, glyph="quiet", flagged=True, detail=key("state")))
    if run.state is not None and run.state.faults:
        count = plural(len(run.state.faults), "item")
        words = f"{count} of STATE.json not as they should be, first: {quote(run.state.faults[0])}"
        lines.append(Line(key("faults", "state"), words, glyph="flagged", flagged=True, detail=key("state")))
    return distinct(lines)
