"""Decisions, written back through the loop (PROTOCOL §5.5): one function a verdict.

Every function may be run again from its start after a crash: each record, STATE change and ledger mark is keyed by
the decision, and an effect that started is never started again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable

from cas_tui.loop import act, commit, issues, learn, questions, unapproved
from cas_tui.loop.act import Result
from cas_tui.loop.context import Context
from cas_tui.loop.edit import supersede
from cas_tui.loop.evaluate import evaluate
from cas_tui.loop.learn import Lesson
from cas_tui.loop.records import Actor, action_words
from cas_tui.loop.telemetry import recent
from cas_tui.loop.trio import Ended, said, seen
from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.journal import Prediction
from cas_tui.protocol.requests import Request, RequestKind, RequestState


def process(ctx: Context, decision: Decision) -> bool:
    """Carry one decision to its end; False when it has to wait (its run is held).

    Raises:
        LedgerError, WriteFailed: not finished; run again later, nothing will be done twice.
    """
    request = ctx.ledger.requests.get(decision.request_id)
    if decision.verdict is Verdict.APPROVE:
        if request.state is RequestState.APPROVED and ctx.ledger.holds.is_held(str(ctx.root)):
            return False
        _approve(ctx, decision, request)
    else:
        _VERDICTS[decision.verdict](ctx, decision, request)
    ctx.journal.write(f"{decision.decision_id}:export", "decisions.jsonl", decision.as_json)
    ctx.ledger.decisions.mark(decision.decision_id, "done")
    return True


def operator_actor(ctx: Context, decision: Decision, request: Request) -> Actor:
    """The operator, in the session and run of the request."""
    return Actor(decision.operator.agent_name, request.session_id, request.run_nonce)


def act_words(request: Request) -> str:
    """An effect in a few words, for records and lessons."""
    return action_words(request.op_kind, request.fields)


def _approve(ctx: Context, decision: Decision, request: Request) -> None:
    key = decision.decision_id
    actor = operator_actor(ctx, decision, request)
    unpredicted = request.prediction is None
    action_id = said(
        ctx,
        key,
        actor,
        f"approve {act_words(request)}",
        f"the effect shown as {request.digest} runs once",
        "anything else runs, or it runs twice",
        {"request_id": request.request_id} | ({"unpredicted": True} if unpredicted else {}),
    )
    ctx.ledger.decisions.mark(key, "picked_up")
    result = _run(ctx, decision, request)
    ctx.ledger.decisions.mark(key, "ran")
    request = ctx.ledger.requests.get(request.request_id)
    ended, lesson = _judge(ctx, request, result)
    if unpredicted:
        # Nobody predicted it for the agent, and nobody will now: the record is the operator's (PROTOCOL §5.4).
        extra = {**ended.extra, "unpredicted": True}
        ended = Ended(ended.success, ended.matched, ended.summary, ended.outcome, ended.raw_ref, extra)
        seen(ctx, key, actor, action_id, ended, lesson)
    else:
        close(ctx, request, ended, lesson)
        good = result.state is RequestState.SUCCEEDED
        seen(ctx, key, actor, action_id, Ended(good, good, result.summary, _outcome_of_approval(result)), Lesson())
    ctx.ledger.decisions.mark(key, "observed")


def _outcome_of_approval(result: Result) -> str:
    return "executed" if result.outcome == "executed" else result.outcome


def _run(ctx: Context, decision: Decision, request: Request) -> Result:
    if request.state is not RequestState.APPROVED:
        return act.from_outcome(request)
    refused = act.recheck(ctx, request)
    if refused is not None:
        ctx.ledger.requests.move(request.request_id, refused.state, outcome=act.as_outcome(refused))
        return refused
    unapproved.look(ctx, "before an approved effect")
    result = act.act(ctx, request, decision)
    unapproved.rebase(ctx)
    return result


def _judge(ctx: Context, request: Request, result: Result) -> tuple[Ended, Lesson]:
    if result.outcome != "executed":
        what = act_words(request)
        lesson = learn.from_silence(f"u-{short(request.request_id)}", what, result.summary)
        return Ended(False, False, result.summary, result.outcome), lesson
    judgement = evaluate(result, expected_of(ctx, request))
    ended = Ended(judgement.success, judgement.matched, judgement.summary, raw_ref=result.raw_ref)
    if judgement.matched:
        return ended, Lesson()
    if judgement.success:
        belief = f"b-{short(request.request_id)}"
        return ended, _unexpected(belief, judgement.summary)
    return ended, learn.from_failure(request.op_kind, result.reason)


def _unexpected(belief_id: str, summary: str) -> Lesson:
    item = {"id": belief_id, "claim": summary, "confidence": 0.9, "evidence_refs": []}
    return Lesson("belief", "MODEL_ERROR", belief_id, summary, (commit.add_item("beliefs", item),))


def expected_of(ctx: Context, request: Request) -> str:
    """What the request's prediction promised, or nothing."""
    found = ""
    for record in recent(ctx.paths.predictions, "prediction"):
        if isinstance(record, Prediction) and record.action_id == request.prediction:
            found = record.expected_observation
    return found


def close(ctx: Context, request: Request, ended: Ended, lesson: Lesson) -> None:
    """Close the agent's own prediction: observation and learning under the effect's action_id."""
    if request.prediction is None:
        return
    actor = Actor(request.agent, request.session_id, request.run_nonce)
    seen(ctx, f"{request.request_id}:close", actor, request.prediction, ended, lesson)


def _deny(ctx: Context, decision: Decision, request: Request) -> None:
    key, what = decision.decision_id, act_words(request)
    actor = operator_actor(ctx, decision, request)
    action_id = said(ctx, key, actor, f"deny {what}", "the effect does not run", "it runs all the same")
    ctx.ledger.decisions.mark(key, "picked_up")
    name, reason = decision.operator.name, decision.comment
    if decision.arguments.get("as_policy"):
        lesson = learn.refusal_rule(f"p-{short(key)}", name, what, reason, decision.decided_at)
    else:
        lesson = learn.from_refusal(f"b-{short(key)}", name, what, reason)
    summary = f"denied by operator: {reason}"
    if request.prediction is not None:
        close(ctx, request, Ended(False, False, summary, "denied"), lesson)
        lesson = Lesson()
    seen(ctx, key, actor, action_id, Ended(True, True, summary), lesson)
    ctx.ledger.decisions.mark(key, "observed")


def _edit(ctx: Context, decision: Decision, request: Request) -> None:
    key, what = decision.decision_id, act_words(request)
    actor = operator_actor(ctx, decision, request)
    expected = f"{what} is asked for again with the operator's changes, still to be approved"
    action_id = said(ctx, key, actor, f"edit {what}", expected, "the old form runs")
    ctx.ledger.decisions.mark(key, "picked_up")
    name = decision.operator.name
    lesson = learn.from_refusal(f"b-{short(key)}", name, f"the first form of {what}", decision.comment or "edited it")
    close(ctx, request, Ended(False, False, f"superseded by an edit of operator {name}", "superseded"), lesson)
    fresh = supersede(ctx, decision, request)
    seen(ctx, key, actor, action_id, Ended(True, True, f"asked again as {fresh.request_id}"), Lesson())
    ctx.ledger.decisions.mark(key, "observed")


def _reconcile(ctx: Context, decision: Decision, request: Request) -> None:
    happened = bool(decision.arguments.get("happened"))
    found = "it happened" if happened else "it did not happen"
    _plain(ctx, decision, request, f"reconcile {act_words(request)}", f"{found}: {decision.comment}")


def _accept(ctx: Context, decision: Decision, request: Request) -> None:
    if request.kind is RequestKind.UNAPPROVED:
        unapproved.rebase(ctx)
    _plain(ctx, decision, request, f"accept {request.title}", f"seen, and it stands: {decision.comment}".rstrip(": "))


def _dispute(ctx: Context, decision: Decision, request: Request) -> None:
    name = str(request.fields.get("action_id", request.action_id))
    why = decision.comment or "the operator sees it otherwise"
    lesson = learn.from_silence(f"u-{short(decision.decision_id)}", f"the verdict on action {name}", why)
    _plain(ctx, decision, request, f"dispute {request.title}", f"disputed: {why}", lesson)


def _answer(ctx: Context, decision: Decision, request: Request) -> None:
    lesson = questions.lesson(ctx, decision, request)
    _plain(ctx, decision, request, "answer a question", f"answered: {questions.answer_text(decision)}", lesson)
    questions.queue_answer(ctx, decision, request, lesson)


def _dismiss(ctx: Context, decision: Decision, request: Request) -> None:
    if request.kind is RequestKind.ISSUE:
        issues.mark(ctx, decision, request)
    _plain(ctx, decision, request, f"dismiss {request.title}", f"dismissed: {decision.comment}".rstrip(": "))
    if request.kind is RequestKind.QUESTION:
        questions.queue_answer(ctx, decision, request, None)


def _issue(ctx: Context, decision: Decision, request: Request) -> None:
    issues.mark(ctx, decision, request)
    _plain(ctx, decision, request, f"{decision.verdict} {request.title}", f"{decision.verdict}: {decision.comment}")


def _revert(ctx: Context, decision: Decision, request: Request) -> None:
    unapproved.propose_revert(ctx, decision, request)
    _plain(ctx, decision, request, f"revert {request.title}", "putting it back is asked for as new effects")


def _cancel(ctx: Context, decision: Decision, request: Request) -> None:
    _plain(ctx, decision, request, f"cancel {request.title}", f"cancelled: {decision.comment}".rstrip(": "))


def _plain(
    ctx: Context, decision: Decision, request: Request, action: str, summary: str, lesson: Lesson | None = None
) -> None:
    key, actor = decision.decision_id, operator_actor(ctx, decision, request)
    action_id = said(ctx, key, actor, action, summary, "the record says otherwise", {"request_id": request.request_id})
    ctx.ledger.decisions.mark(key, "picked_up")
    ctx.ledger.decisions.mark(key, "ran")
    seen(ctx, key, actor, action_id, Ended(True, True, summary), lesson or Lesson())
    ctx.ledger.decisions.mark(key, "observed")


def close_expired(ctx: Context, request: Request) -> None:
    """An expired request: no answer is not a denial (PROTOCOL §5.5, CONSOLE §4.4)."""
    summary = f"no answer before {request.expires_at}"
    lesson = learn.from_silence(f"u-{short(request.request_id)}", act_words(request), summary)
    close(ctx, request, Ended(False, False, summary, "expired"), lesson)


def close_unknown(ctx: Context, request: Request) -> None:
    """An effect whose outcome is not known: said so under its own action, never tried again (E8)."""
    summary = "started, and how it ended is not known"
    lesson = learn.from_silence(f"u-{short(request.request_id)}", act_words(request), summary)
    close(ctx, request, Ended(False, False, summary, "unknown"), lesson)


def short(text: str) -> str:
    """Eight hex digits that stand for an id of ours."""
    return hashlib.sha256(text.encode()).hexdigest()[:8]


_VERDICTS: dict[Verdict, Callable[[Context, Decision, Request], None]] = {
    Verdict.DENY: _deny,
    Verdict.EDIT: _edit,
    Verdict.RECONCILE: _reconcile,
    Verdict.ACCEPT: _accept,
    Verdict.DISPUTE: _dispute,
    Verdict.ANSWER: _answer,
    Verdict.DISMISS: _dismiss,
    Verdict.ASSIGN: _issue,
    Verdict.RESOLVE: _issue,
    Verdict.REVERT: _revert,
    Verdict.CANCEL: _cancel,
}
