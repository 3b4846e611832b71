"""The contract block of everything that is not an effect: what hangs on a question, what a mismatch means."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from cas_tui.model import journal as journals
from cas_tui.model.citations import lamps
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import RunPicture
from cas_tui.model.rows.contract import belief_words
from cas_tui.model.rows.lists import lamp_words
from cas_tui.model.rows.state_panes import doubt
from cas_tui.model.rows.stream import learned_words
from cas_tui.model.shapes import ContractRow
from cas_tui.model.words import age, ident, plural, quote, said, since
from cas_tui.protocol.journal import Learning, bare_ref
from cas_tui.protocol.requests import Request, RequestKind, RequestState
from cas_tui.protocol.state import Uncertainty

MOST_ROWS = 12


def contract_of_other(run: RunPicture, request: Request, now: datetime) -> tuple[ContractRow, ...]:
    """The rows of a question, mismatch, issue, unapproved change or obligation."""
    made: dict[RequestKind, Callable[[RunPicture, Request, datetime], list[ContractRow]]] = {
        RequestKind.QUESTION: _question,
        RequestKind.MISMATCH: _mismatch,
        RequestKind.ISSUE: _issue,
        RequestKind.UNAPPROVED: _unapproved,
        RequestKind.OBLIGATION: _obligation,
    }
    return tuple(made[request.kind](run, request, now)) if request.kind in made else ()


def pair_behind(run: RunPicture, request: Request) -> Pair | None:
    """The act a request is about, by its action_id and session."""
    found = [
        pair
        for pair in journals.pairs_of_action(run.journal, request.action_id)
        if pair.session_id == request.session_id
    ]
    return found[-1] if found else None


def learning_behind(run: RunPicture, request: Request) -> Learning | None:
    """The learning record that asked a question: by its place if the request names one, else the last that asks."""
    pair = pair_behind(run, request)
    asking = [item for item in pair.learnings if item.update_type == "user_query"] if pair else []
    exact = [item for item in asking if item.place.offset == request.source.get("offset")]
    chosen = exact or asking
    return chosen[-1] if chosen else None


def asked_because(run: RunPicture, request: Request) -> str:
    """`asked because: mismatch act-3c10, said "tests pass", came "no such function"`; ours, with quotes."""
    pair = pair_behind(run, request)
    if pair is None or pair.observation is None or pair.prediction is None or not pair.mismatched:
        return "asked because: the agent wanted to know; no mismatch is linked to it"
    expected, came = quote(pair.prediction.expected_observation), quote(pair.observation.observation_summary)
    return f"asked because: mismatch {ident(pair.action_id)}, said {expected}, came {came}"


def _uncertainty(run: RunPicture, request: Request, learning: Learning | None, text: str) -> Uncertainty | None:
    known = run.state.uncertainties if run.state else ()
    named = request.fields.get("uncertainty")
    ref = named if isinstance(named, str) else ""
    ref = ref or (bare_ref(learning.persistent_ref).removeprefix("uncertainties.") if learning else "")
    by_ref = next((item for item in known if item.id == ref), None)
    return by_ref or next((item for item in known if text and item.question.strip() == text.strip()), None)


def _question(run: RunPicture, request: Request, now: datetime) -> list[ContractRow]:
    learning, pair = learning_behind(run, request), pair_behind(run, request)
    text = str(request.fields.get("text") or "")
    rationale = learning.rationale if learning else _recorded_rationale(request)
    rows = []
    if rationale and rationale.strip() != text.strip():
        rows.append(ContractRow("says", rationale, quoted=True))
    open_ = _uncertainty(run, request, learning, text)
    if open_ is not None:
        rows.append(ContractRow("resolves", f"{ident(open_.id)} {quote(open_.question)}"))
        rows.append(ContractRow("impact", open_.impact or "not named", quoted=bool(open_.impact)))
        rows.append(ContractRow("plan", open_.plan_to_resolve or "none", quoted=bool(open_.plan_to_resolve)))
    rows.append(ContractRow("= waits", _waits(run, request, open_)))
    cited = pair.prediction.belief_refs if pair and pair.prediction else ()
    for number, ref in enumerate(cited[:MOST_ROWS]):
        row = belief_words(run, ref, now)
        doubted = bool(doubt(run, bare_ref(ref)))
        words = f"{row.text}, now doubted" if doubted else row.text
        rows.append(ContractRow("= leans on" if number == 0 else "", words, flagged=row.flagged or doubted))
    return rows


def _recorded_rationale(request: Request) -> str:
    """The rationale as the request kept it, for when its record is no longer among those read."""
    text = request.fields.get("rationale")
    return text if isinstance(text, str) else ""


def _waits(run: RunPicture, request: Request, open_: Uncertainty | None) -> str:
    parked = "the run is parked" if run.host.phase in ("idle", "gate", "") else "the run goes on meanwhile"
    steps = run.state.plan if run.state else ()
    names = [name for name in (open_.id if open_ else "", request.action_id) if name]
    hanging = [
        step
        for step in steps
        if step.status not in ("done", "failed")
        and any(name in f"{step.intent} {step.tool_actions} {step.predicted_outcome}" for name in names)
    ]
    if not hanging:
        return f"{parked}; no plan step names it"
    shown = ", ".join(ident(step.step_id) for step in hanging[:4] if step.step_id)
    inside = f" ({shown})" if shown else ""
    return f"{parked}; {plural(len(hanging), 'plan step')}{inside} {'depends' if len(hanging) == 1 else 'depend'} on it"


def _mismatch(run: RunPicture, request: Request, now: datetime) -> list[ContractRow]:
    pair = pair_behind(run, request)
    promise = pair.prediction if pair else None
    rows = []
    if promise is not None and promise.falsifier:
        rows.append(ContractRow("reject if", promise.falsifier, quoted=True))
    else:
        rows.append(ContractRow("reject if", "the agent named nothing that would prove it wrong"))
    expected = promise.expected_observation if promise else request.fields.get("expected")
    came = pair.observation.observation_summary if pair and pair.observation else request.fields.get("observed")
    rows.append(
        ContractRow("said", str(expected or ""), quoted=True, right=said(promise.confidence) if promise else "")
    )
    rows.append(ContractRow("came", str(came or ""), quoted=True))
    if pair is None:
        return [*rows, ContractRow("= record", "the act is not among the records read", flagged=True)]
    if promise is not None:
        rows.append(ContractRow("act", promise.action, quoted=True))
    if pair.observation is not None:
        inferred = "; the verdict is inferred from success" if pair.observation.inferred else ""
        rows.append(ContractRow("= raw", f"{_ref(pair.observation.raw_ref)}{inferred}"))
    words = ", ".join(learned_words(item) for item in pair.learnings) or "nothing yet"
    rows.append(ContractRow("= learned", words, flagged=not pair.learnings))
    rows.append(ContractRow("= lamps", lamp_words(lamps(run, pair))))
    if pair.conflict:
        rows.append(ContractRow("= conflict", pair.conflict, flagged=True))
    return rows


def _ref(ref: str | None) -> str:
    return ident(ref) if ref else "no raw output named"


def _issue(run: RunPicture, request: Request, now: datetime) -> list[ContractRow]:
    rows = [ContractRow("= file", ident(str(request.fields.get("file") or "not named")))]
    rows.append(ContractRow("= age", f"surfaced {age(since(request.created_at, now))} ago by {ident(request.agent)}"))
    state = "open, nobody owns it" if request.state is RequestState.PENDING else str(request.state)
    rows.append(ContractRow("= state", state))
    return rows


def _unapproved(run: RunPicture, request: Request, now: datetime) -> list[ContractRow]:
    changes = request.fields.get("changes")
    count = len(changes) if isinstance(changes, list) else 0
    confinement = request.fields.get("confinement")
    loose = confinement.startswith("unconfined") if isinstance(confinement, str) else run.unconfined
    where = "the agent ran unconfined, so it can have been the agent" if loose else "the agent ran confined"
    seen = age(since(request.created_at, now))
    when = request.fields.get("when")
    words = f", made {when}" if isinstance(when, str) and when else ""
    return [
        ContractRow(
            "= found", f"{plural(count, 'change')} that no approved act made, seen {seen} ago{words}", flagged=True
        ),
        ContractRow("= who", f"{where}; nothing says who did it", flagged=loose),
        ContractRow("= accept", "it stands, and the record says that you saw it"),
        ContractRow("= revert", "a new request that puts the earlier state back, still to be approved"),
    ]


def _obligation(run: RunPicture, request: Request, now: datetime) -> list[ContractRow]:
    reason = request.fields.get("reason")
    words = ident(reason) if isinstance(reason, str) and reason else "due, no automatic wake"
    return [
        ContractRow("= due", f"{words}, for {age(since(request.created_at, now))}", flagged=True),
        ContractRow("= reconcile", "you say whether it happened; nothing is run again"),
        ContractRow("= cancel", "it never fires again"),
    ]
