"""Citations, obligations, issues: the other simple panes (CONSOLE §0)."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime

from cas_tui.model.citations import Lamps, lessons
from cas_tui.model.keys import key, pair_key
from cas_tui.model.picture import Picture, RunPicture
from cas_tui.model.rows.distinct import distinct
from cas_tui.model.rows.state_panes import promises
from cas_tui.model.shapes import Line
from cas_tui.model.words import age, ident, since, until
from cas_tui.protocol.decode import Json
from cas_tui.protocol.events import IssueFile
from cas_tui.protocol.journal import bare_ref
from cas_tui.protocol.requests import Request, RequestKind, RequestState

LESSON_ROWS = 50
STAGES = ("missed", "learned", "saved", "cited")
_OPEN_ISSUES = ("open", "triaged", "assigned", "")
_FIRING_STAGES = ("triggered", "delivered", "acted_upon", "completed")


def lamp_words(lamps: Lamps) -> str:
    """`missed yes  learned yes  saved yes  cited not yet`; stages that do not apply are left out."""
    words = {True: "yes", False: "no", None: "not yet"}
    shown = zip(STAGES, lamps, strict=True)
    # A lesson that no mismatch taught, as an answer is, has nothing to say about the first lamp.
    return "  ".join(f"{stage} {words[lamp]}" for stage, lamp in shown if stage != "missed" or lamp is not None)


def citations(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """Pending citations with their age, then each lesson with its four lamps."""
    run = picture.runs.get(root)
    if run is None:
        return (Line(key("none", "run"), "No such run.", muted=True),)
    lines = []
    pending = run.state.pending_citations if run.state else ()
    for number, item in enumerate(pending):
        lines.append(
            Line(
                key=key("citation", number, item.type, item.ref),
                text=f"{ident(item.type)} {ident(item.ref)} waits to be cited, from {ident(item.source_action_id)}",
                glyph="flagged",
                right=age(since(item.created_at, now)),
                detail=key("citation", number),
            )
        )
    waiting = {(item.type, bare_ref(item.ref)) for item in pending}
    known = lessons(run)
    for lesson in known[:LESSON_ROWS]:
        dark = lesson.lamps[2] is False or (
            lesson.lamps[3] is False and (lesson.learning.update_type, lesson.ref) not in waiting
        )
        lines.append(
            Line(
                key=key("lesson", *lesson.pair.key, lesson.pair.ordinal),
                text=lamp_words(lesson.lamps),
                label=ident(lesson.ref),
                glyph="flagged" if dark else "done" if lesson.lamps[3] else "blank",
                right=age(since(lesson.learning.timestamp, now)),
                flagged=dark,
                detail=pair_key(lesson.pair),
            )
        )
    if len(known) > LESSON_ROWS:
        lines.append(Line(key("more", "lessons"), f"{len(known) - LESSON_ROWS} older ones in the stream", muted=True))
    if not lines:
        words = "No lessons. A mismatch teaches one; the next act that changes something has to cite it."
        return (Line(key("none", "citations"), words, muted=True),)
    return distinct(lines)


def obligations(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """What the ledger holds, then the promises of STATE, which nothing wakes anyone for."""
    run = picture.runs.get(root)
    if run is None:
        return (Line(key("none", "run"), "No such run.", muted=True),)
    lines: list[Line] = []
    for number, item in enumerate(run.ledger.obligations if run.ledger else ()):
        lines.extend(_obligation(item, number, now))
    if run.state is not None:
        lines.extend(promises(run.state, now))
    if not lines:
        words = "No obligations. An agent proposes one; :register adds one."
        return (Line(key("none", "obligations"), words, muted=True),)
    return distinct(lines)


def _word(item: Mapping[str, Json], name: str) -> str:
    value = item.get(name)
    return value if isinstance(value, str) else ""


def _obligation(item: Mapping[str, Json], number: int, now: datetime) -> list[Line]:
    name = _word(item, "obligation_id") or f"obligation {number + 1}"
    state = _word(item, "state") or "registered"
    trigger, action = item.get("trigger"), item.get("action")
    when = _word(trigger, "type") if isinstance(trigger, dict) else ""
    does = _word(action, "kind") if isinstance(action, dict) else ""
    whole = key("obligation", name)
    owner = item.get("wake_owner")
    firings = item.get("firings")
    facts = [ident(state)]
    budget, used = item.get("budget"), len(firings) if isinstance(firings, list) else item.get("fired", 0)
    if isinstance(budget, int) and isinstance(used, int):
        facts.append(f"{max(0, budget - used)} of {budget} left")
    left = until(_word(item, "expires_at"), now)
    if left is not None:
        facts.append(f"ends in {age(left)}" if left >= 0 else f"ended {age(-left)} ago")
    wake = f"host {owner.get('pid', '?')}" if isinstance(owner, dict) else "no automatic wake, reconcile by hand"
    return [
        Line(
            key=whole,
            text=f"when {ident(when) if when else 'nothing named'}: {ident(does) if does else 'nothing named'}"
            + (f", owner {ident(_word(item, 'owner'))}" if _word(item, "owner") else ""),
            label=ident(name),
            glyph="held" if state == "paused" else "blank",
            muted=state in ("cancelled", "expired", "exhausted"),
            detail=whole,
        ),
        Line(key("obligation-state", name), ", ".join(facts), indent=1, muted=True, detail=whole),
        Line(key("obligation-wake", name), f"wake: {wake}", indent=1, muted=True, flagged=not isinstance(owner, dict)),
        *_last_firing(name, firings),
    ]


def _last_firing(name: str, firings: Json) -> list[Line]:
    last = firings[-1] if isinstance(firings, list) and firings and isinstance(firings[-1], dict) else None
    if last is None:
        return []
    state = _word(last, "state")
    if state not in _FIRING_STAGES:
        reason = _word(last, "reason")
        words = f"last: {ident(state) if state else 'unknown'}" + (f", {ident(reason)}" if reason else "")
        return [Line(key("firing", name), words, indent=1, glyph="unknown" if state == "indeterminate" else "blank")]
    reached = _FIRING_STAGES.index(state)
    parts = [f"{stage.replace('_', ' ')} {'yes' if at <= reached else '-'}" for at, stage in enumerate(_FIRING_STAGES)]
    return [Line(key("firing", name), "last: " + "  ".join(parts), indent=1, muted=True)]


def issues(picture: Picture, root: str, now: datetime) -> tuple[Line, ...]:
    """Surfaced issues: open ones first, oldest first, with owner and age; the ledger knows which were decided."""
    run = picture.runs.get(root)
    if run is None:
        return (Line(key("none", "run"), "No such run.", muted=True),)
    asked = _issue_requests(run)
    lines = []
    seen = set()
    for issue in run.issues:
        request = asked.get(issue.name)
        seen.add(issue.name)
        lines.append(_issue(issue, request, now))
    for name, request in asked.items():
        if name not in seen and request.state in (RequestState.PENDING, RequestState.ASSIGNED):
            text = str(request.fields.get("title") or request.title)
            lines.append(
                Line(
                    key("issue", name),
                    text,
                    label="file gone",
                    glyph="flagged",
                    right=age(since(request.created_at, now)),
                    quoted=True,
                    flagged=True,
                    detail=key("request", request.request_id),
                )
            )
    if not lines:
        words = "No issues. An agent surfaces one; it lands in state/mca."
        return (Line(key("none", "issues"), words, muted=True),)
    return distinct(sorted(lines, key=lambda line: line.muted))


def _issue_requests(run: RunPicture) -> dict[str, Request]:
    found = {}
    for request in run.requests:
        if request.kind is RequestKind.ISSUE:
            file = request.fields.get("file")
            found[file.rsplit("/", 1)[-1] if isinstance(file, str) else request.request_id] = request
    return found


def entry(issue: IssueFile, name: str) -> str:
    """The first value of a frontmatter key, or empty."""
    return next((value for key_, value in issue.entries if key_ == name), "")


def issue_title(issue: IssueFile) -> str:
    """The first line of the body that says something, past the heading MCA; the file name when there is none."""
    for line in issue.body.split("\n"):
        words = line.strip()
        if words and words.lower() not in ("# mca", "#"):
            return words.lstrip("# ")
    return issue.name


def _issue(issue: IssueFile, request: Request | None, now: datetime) -> Line:
    status = str(request.state) if request is not None else entry(issue, "status")
    status = "open" if status in ("pending", "") else status
    owner = entry(issue, "owner") or entry(issue, "assigned-to") or entry(issue, "by")
    old = age(since(entry(issue, "created") or (request.created_at if request else ""), now))
    notes = [] if status == "open" else [ident(status)]
    if owner:
        notes.append(ident(owner))
    return Line(
        key=key("issue", issue.name),
        text=issue_title(issue),
        label=", ".join(notes),
        right=old,
        quoted=True,
        muted=status not in _OPEN_ISSUES,
        detail=key("issue", issue.name),
    )


def open_issues(run: RunPicture) -> int:
    """How many issues are neither resolved nor dismissed."""
    asked = _issue_requests(run)
    count = 0
    for issue in run.issues:
        request = asked.get(issue.name)
        status = str(request.state) if request is not None else entry(issue, "status")
        count += status in (*_OPEN_ISSUES, "pending")
    return count
