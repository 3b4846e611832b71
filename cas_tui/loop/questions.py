"""The agent's questions and the operator's answers (PROTOCOL §5.4 "Question text", §5.5 answer).

A question is a learning record of type user_query. Its answer becomes a belief or a policy of the agent, waits in the
citation queue, and goes into the next input.
"""

from __future__ import annotations

import hashlib

from cas_tui.loop import learn
from cas_tui.loop.context import Context
from cas_tui.loop.learn import Lesson
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.decode import Json, Malformed
from cas_tui.protocol.journal import Learning, bare_ref
from cas_tui.protocol.requests import Request, RequestKind, RequestState

MODES = ("text", "one", "many", "form")


def question_request(ctx: Context, record: Learning) -> Request:
    """The request for one user_query learning."""
    query = dict(record.query or {})
    if query.get("type") not in MODES:
        query["type"] = "text"
    uncertainty = _uncertainty(ctx, bare_ref(record.persistent_ref))
    text = query.get("text") if isinstance(query.get("text"), str) else ""
    text = text or record.rationale or (uncertainty[1] if uncertainty else "") or "(the agent asked without words)"
    fields: dict[str, Json] = {
        "text": text,
        "query": query,
        "action_id": record.action_id,
        "rationale": record.rationale,
        "uncertainty": uncertainty[0] if uncertainty else "",
    }
    return Request(
        request_id=f"q-{ctx.ids()}",
        kind=RequestKind.QUESTION,
        state=RequestState.PENDING,
        root=str(ctx.root),
        agent=record.agent,
        session_id=record.session_id,
        run_nonce=record.run_nonce,
        created_at=ctx.now(),
        title=text,
        digest=digest_of(record, text),
        action_id=record.action_id,
        fields=fields,
        source={"file": record.place.file, "offset": record.place.offset},
        policy_version=ctx.policy.version,
    )


def digest_of(record: Learning, text: str) -> str:
    """What an answer is bound to: the question's text and where it was asked."""
    material = f"{record.place.file}\0{record.place.offset}\0{record.action_id}\0{text}"
    return "sha256:" + hashlib.sha256(material.encode("utf-8", "surrogatepass")).hexdigest()


def _uncertainty(ctx: Context, ref: str) -> tuple[str, str] | None:
    state = ctx.state.read()
    if isinstance(state, Malformed):
        return None
    return next(((item.id, item.question) for item in state.uncertainties if item.id == ref), None)


def answer_text(decision: Decision) -> str:
    """The answer in words: choices first, then free text, then form fields."""
    arguments = decision.arguments
    parts = [str(choice) for choice in arguments.get("choices") or ()]
    if arguments.get("text"):
        parts.append(str(arguments["text"]))
    parts += [f"{name}: {value}" for name, value in (arguments.get("fields") or {}).items()]
    return ", ".join(parts)


def lesson(ctx: Context, decision: Decision, request: Request) -> Lesson:
    """The answer as something that lasts, in the way the operator chose."""
    kind = str(decision.arguments.get("as") or "belief")
    prefix = "p" if kind == "policy" else "b"
    ref = f"{prefix}-{hashlib.sha256(decision.decision_id.encode()).hexdigest()[:8]}"
    evidence = (f"{request.source.get('file')}+{request.source.get('offset')}", decision.decision_id)
    resolves = str(request.fields.get("uncertainty") or "") if kind == "uncertainty" else ""
    question = str(request.fields.get("text", ""))
    return learn.from_answer(kind, ref, question, answer_text(decision), evidence, decision.decided_at, resolves)


def queue_answer(ctx: Context, decision: Decision, request: Request, kept: Lesson | None) -> None:
    """Have the next input carry the answer (or that there will be none)."""
    data: dict[str, Json] = {
        "request_id": request.request_id,
        "action_id": request.action_id,
        "question": request.fields.get("text", ""),
        "verdict": str(decision.verdict),
        "text": answer_text(decision) if kept else decision.comment,
        "choices": list(decision.arguments.get("choices") or ()),
        "as": str(decision.arguments.get("as") or "belief") if kept else None,
        "ref": kept.persistent_ref if kept else None,
        "operator": decision.operator.name,
        "decided_at": decision.decided_at,
    }
    ctx.ledger.messages.add(
        str(ctx.root), "answer", data["text"], decision.operator, data=data, key=decision.decision_id
    )
