"""The contract block of an effect: what the agent promised, and what we computed about the promise (SCREENS §3).

Rows whose label begins with `=` are ours. What they cite of the agent's stands in quotes it cannot close (SAFETY T6).
"""

from __future__ import annotations

from datetime import datetime

from cas_tui.model import acts
from cas_tui.model import journal as journals
from cas_tui.model.attention import settled_words
from cas_tui.model.earned import band, earned
from cas_tui.model.lint import paths_of, promise_and_deed
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import RunPicture
from cas_tui.model.rows.state_panes import checked_s
from cas_tui.model.shapes import ContractRow
from cas_tui.model.words import age, ident, plural, quote, said, since
from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.journal import Prediction, bare_ref
from cas_tui.protocol.requests import Request
from cas_tui.protocol.state import PendingCitation, State, Uncertainty

MOST_MODES = 12


def prediction_of(run: RunPicture, request: Request) -> Pair | None:
    """The pair of the prediction a request names: of its own session and run if there are several."""
    if not request.prediction:
        return None
    found = [pair for pair in journals.pairs_of_action(run.journal, request.prediction) if pair.prediction is not None]
    exact = [pair for pair in found if pair.key == (request.session_id, request.run_nonce, request.prediction)]
    session = [pair for pair in found if pair.session_id == request.session_id]
    chosen = exact or session
    return chosen[-1] if chosen else None


def contract(run: RunPicture, request: Request, now: datetime) -> tuple[ContractRow, ...]:
    """Every row of the block, in its fixed order. Empty when the act was not predicted."""
    if not request.prediction:
        return ()
    pair = prediction_of(run, request)
    if pair is None or pair.prediction is None:
        words = f"{ident(request.prediction)} is not among the records read; its promise cannot be shown"
        return (ContractRow("= missing", words, flagged=True), *_without_prediction(run, request, now))
    promise = pair.prediction
    return (
        ContractRow("says", promise.expected_observation, quoted=True, right=said(promise.confidence)),
        _falsifier(promise),
        *_failure_modes(run, request, promise),
        _earned(run, request, promise),
        _deed(request, promise),
        *_leans_on(run, promise, now),
        *_open_questions(run, request),
        *_lessons(run, promise),
        _seen_before(run, request, now),
        *((ContractRow("= conflict", pair.conflict, flagged=True),) if pair.conflict else ()),
    )


def _without_prediction(run: RunPicture, request: Request, now: datetime) -> tuple[ContractRow, ...]:
    return (*_open_questions(run, request), _seen_before(run, request, now))


def _falsifier(promise: Prediction) -> ContractRow:
    if promise.falsifier:
        return ContractRow("reject if", promise.falsifier, quoted=True)
    return ContractRow("reject if", "the agent named nothing that would prove it wrong", flagged=True)


def _failure_modes(run: RunPicture, request: Request, promise: Prediction) -> tuple[ContractRow, ...]:
    modes = promise.expected_failure_modes
    known = next((item for item in run.state.tool_models if item.name == request.op_kind), None) if run.state else None
    listed = {mode.strip().casefold() for mode in modes}
    missing = [mode for mode in (known.failure_modes if known else ()) if mode.strip().casefold() not in listed]
    right = "known for this tool but not listed: " + (str(len(missing)) if missing else "none")
    rows = []
    if modes:
        for number, mode in enumerate(modes[:MOST_MODES]):
            label, end = ("may fail", right) if number == 0 else ("", "")
            rows.append(ContractRow(label, mode, quoted=True, right=end, flagged=bool(missing) and number == 0))
        if len(modes) > MOST_MODES:
            rows.append(ContractRow("", f"and {len(modes) - MOST_MODES} more"))
    else:
        rows.append(ContractRow("may fail", "no way to fail named", right=right, flagged=bool(missing)))
    if missing:
        shown = ", ".join(quote(mode) for mode in missing[:3])
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        rows.append(ContractRow("", f"known for this tool but not listed: {shown}{more}", flagged=True))
    return tuple(rows)


def _earned(run: RunPicture, request: Request, promise: Prediction) -> ContractRow:
    if promise.confidence is None:
        return ContractRow("= earned", "it said no number, so nothing can be earned by it", flagged=True)
    known = journals.pairs(run.journal)
    kinds = {place: item.op_kind for place, item in acts.effects_by_action(run).items()}
    low, high = within = band(promise.confidence)
    start = f"says {said(promise.confidence)}"
    near = earned(known, promise.agent, request.op_kind, within, kinds)
    if near.enough:
        words = f"{start}; at {round(low * 100)}-{round(high * 100)} % on {ident(request.op_kind)} {near.words}"
        # Flagged when even the best the record allows is short of what it says.
        return ContractRow("= earned", words, flagged=near.interval[1] < promise.confidence)
    whole = earned(known, promise.agent, request.op_kind, None, kinds)
    if whole.enough:
        words = f"{start}; on {ident(request.op_kind)}, at any confidence, {whole.words}"
        return ContractRow("= earned", words, flagged=whole.interval[1] < promise.confidence)
    return ContractRow("= earned", f"{start}; no record on {ident(request.op_kind)} ({whole.judged} judged)")


def _deed(request: Request, promise: Prediction) -> ContractRow:
    finding = promise_and_deed(promise.action, request)
    return ContractRow("= deed", finding.text, flagged=finding.flagged)


def belief_words(run: RunPicture, ref: str, now: datetime) -> ContractRow:
    """One belief an act leans on: id, claim, confidence, when it was last checked; flagged when it does not hold."""
    state = run.state or State()
    known = next((item for item in state.beliefs if item.id == bare_ref(ref)), None)
    if known is None:
        return ContractRow("= leans on", f"{ident(ref)}, which is not in STATE", flagged=True)
    number = "no number" if known.confidence is None else f"{known.confidence:.2g}"
    parts = [f"{ident(known.id)} {quote(known.claim)} {number}"]
    if (old := checked_s(run, known, now)) is not None:
        parts.append(f"checked {age(old)} ago")
    newer = next((item for item in state.beliefs if item.supersedes == known.id and item.id != known.id), None)
    if newer is not None:
        parts.append(f"superseded by {ident(newer.id)}")
    return ContractRow("= leans on", ", ".join(parts), flagged=newer is not None)


def _leans_on(run: RunPicture, promise: Prediction, now: datetime) -> tuple[ContractRow, ...]:
    if not promise.belief_refs:
        return (ContractRow("= leans on", "no belief cited"),)
    rows = [belief_words(run, ref, now) for ref in promise.belief_refs[:MOST_MODES]]
    if len(promise.belief_refs) > MOST_MODES:
        rows.append(ContractRow("= leans on", f"and {len(promise.belief_refs) - MOST_MODES} more"))
    return (rows[0], *(ContractRow("", row.text, row.quoted, row.right, row.flagged) for row in rows[1:]))


def mentions(item: Uncertainty, paths: tuple[str, ...]) -> bool:
    """Whether an uncertainty speaks of one of the paths, or of its last part."""
    text = f"{item.question}\n{item.impact}\n{item.plan_to_resolve}"
    return any(path and (path in text or path.rsplit("/", 1)[-1] in text) for path in paths)


def _open_questions(run: RunPicture, request: Request) -> tuple[ContractRow, ...]:
    paths = paths_of(request)
    what = ident(paths[0]) if len(paths) == 1 else "these files" if paths else "this act"
    open_ = run.state.uncertainties if run.state else ()
    touching = [item for item in open_ if mentions(item, paths)]
    if not touching:
        return (ContractRow("= open", f"no uncertainty touches {what}"),)
    rows = []
    for number, item in enumerate(touching[:MOST_MODES]):
        plan = f", plan {quote(item.plan_to_resolve)}" if item.plan_to_resolve else ", no plan"
        text = f"{ident(item.id)} {quote(item.question)}{plan}"
        rows.append(ContractRow("= open" if number == 0 else "", text, flagged=True))
    if len(touching) > MOST_MODES:
        rows.append(ContractRow("", f"and {len(touching) - MOST_MODES} more", flagged=True))
    return tuple(rows)


def _lessons(run: RunPicture, promise: Prediction) -> tuple[ContractRow, ...]:
    cited = {(kind, bare_ref(ref)) for kind, ref in promise.refs}
    ignored, later = [], 0
    for item in run.state.pending_citations if run.state else ():
        if (item.type, bare_ref(item.ref)) in cited:
            continue
        made, when = parse_timestamp(item.created_at), parse_timestamp(promise.timestamp)
        if made is not None and when is not None and made > when:
            later += 1
        else:
            ignored.append(item)
    if ignored:
        first = ", ".join(_lesson(run, item) for item in ignored[:2])
        more = f" and {len(ignored) - 2} more" if len(ignored) > 2 else ""
        words = f"{plural(len(ignored), 'pending lesson')} not cited: {first}{more}"
        return (ContractRow("= lessons", words, flagged=True),)
    notes = []
    if cited:
        shown = sorted(f"{ident(kind)} {ident(ref)}" for kind, ref in cited)
        notes.append("cites " + ", ".join(shown[:3]) + (f" and {len(shown) - 3} more" if len(shown) > 3 else ""))
    notes.append(f"{plural(later, 'lesson')} pending since" if later else "none pending")
    return (ContractRow("= lessons", "; ".join(notes)),)


def _lesson(run: RunPicture, item: PendingCitation) -> str:
    """A pending lesson with its text, as far as STATE has it."""
    name, ref = f"{ident(item.type)} {ident(item.ref)}", bare_ref(item.ref)
    state = run.state or State()
    text = next((belief.claim for belief in state.beliefs if item.type == "belief" and belief.id == ref), "")
    text = text or next((rule.rule for rule in state.policies if item.type == "policy" and rule.id == ref), "")
    return f"{name} {quote(text)}" if text else name


def _seen_before(run: RunPicture, request: Request, now: datetime) -> ContractRow:
    if not request.seen_before:
        return ContractRow("= before", "not seen before")
    earlier = next((item for item in run.requests if item.request_id == request.seen_before), None)
    if earlier is None:
        return ContractRow("= before", "the same act was asked before", flagged=True)
    decision = acts.decision_of(earlier, run.decisions)
    when = since(decision.decided_at if decision else earlier.settled_at or earlier.created_at, now)
    words = settled_words(earlier, run.decisions) or f"still {earlier.state}"
    denied = earlier.state in ("denied", "cancelled", "expired")
    return ContractRow("= before", f"the same act: {words}, {age(when)} ago", flagged=denied)
