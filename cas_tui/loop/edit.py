"""An operator's edit: the old request is superseded by a new one that is still to be approved (PROTOCOL §5.5, F16)."""

from __future__ import annotations

import hashlib
from dataclasses import replace

from cas_tui.ledger import NotFound
from cas_tui.loop import gate
from cas_tui.loop.context import Context
from cas_tui.loop.records import Actor, action_words
from cas_tui.loop.trio import said
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.requests import Request, RequestState


def supersede(ctx: Context, decision: Decision, old: Request) -> Request:
    """Make the edited request, once; a repeated call returns the one made first.

    It keeps the op_id for the receipt, carries `modified_by`, and is predicted by the operator under a new action_id.
    """
    request_id = "r-" + hashlib.sha256(decision.decision_id.encode()).hexdigest()[:12]
    try:
        return ctx.ledger.requests.get(request_id)
    except NotFound:
        pass
    fields = {**old.fields, **dict(decision.arguments.get("fields") or {})}
    actor = Actor(decision.operator.agent_name, old.session_id, old.run_nonce)
    action = action_words(old.op_kind, fields)
    action_id = said(
        ctx,
        f"{decision.decision_id}:edited",
        actor,
        action,
        "the edited effect does what was shown",
        "anything else changes",
        {"request_id": request_id},
    )
    fresh = replace(
        old,
        request_id=request_id,
        state=RequestState.PENDING,
        agent=actor.agent,
        created_at=ctx.now(),
        fields=fields,
        action_id=action_id,
        prediction=action_id,
        modified_by=decision.operator.agent_name,
        supersedes=old.request_id,
        after=None,
        settled_at=None,
        outcome={},
        flags=(),
    )
    fresh = gate.appear(ctx, fresh)
    fresh = replace(fresh, reasons=(*fresh.reasons, "modified by operator"))
    ctx.ledger.requests.insert_pass((fresh,))
    return fresh
