"""Phase 5: one approved effect, started at most once, and its raw output kept (E1, E3, E5, E8, E9).

The start is durable in the ledger before the first thing is touched; the completion after. Between the two lies the
only stretch in which a crash leaves an outcome unknown, and an unknown one is never tried again.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.effects.errors import Failed, PreImageChanged, Refused
from cas_tui.effects.perform import perform
from cas_tui.loop import gate
from cas_tui.loop.context import Context
from cas_tui.loop.files import replace_file
from cas_tui.loop.redact import capture
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import parse_timestamp
from cas_tui.protocol.requests import Request, RequestState


@dataclass(frozen=True, slots=True)
class Result:
    """How an approved effect ended.

    `state` is the state the request reached; `status` and `reason` go into the receipt; `outcome` is the word of the
    observation (`executed` when something really ran, whether or not it went well).
    """

    state: RequestState
    status: str
    reason: str
    summary: str
    outcome: str = "executed"
    raw_ref: str | None = None
    facts: Mapping[str, Json] = field(default_factory=dict)


def recheck(ctx: Context, request: Request) -> Result | None:
    """Everything an approval must still meet just before the start; None when all holds (E3, E5, E9, F11-F13)."""
    ctx.refresh_policy()
    now = ctx.clock()
    expires = parse_timestamp(request.expires_at) if request.expires_at else None
    if expires is not None and expires <= now:
        return Result(RequestState.EXPIRED, "error", "no_answer", f"expired at {request.expires_at}", "expired")
    if request.op_kind in ctx.policy.denied_kinds:
        return _refused(f"policy {ctx.policy.version} does not allow {request.op_kind}", "policy_rejected")
    if ctx.workspace is None:
        return _refused("this host has no workspace", "no_workspace")
    shown = gate.try_show(ctx, request.trigger_id, request.op_id, request.op_kind, request.fields)
    if isinstance(shown, Refused):
        if shown.status == "skipped":
            return Result(RequestState.CANCELLED, "skipped", shown.reason, str(shown), "cancelled")
        return _refused(f"cannot be done as things are now: {shown}", shown.reason)
    if shown.digest != request.digest:
        return _refused("what it would change is not what was shown any more", "pre_image_changed")
    return None


def _refused(summary: str, reason: str) -> Result:
    return Result(RequestState.DENIED, "denied", reason, summary, "refused")


def act(ctx: Context, request: Request, decision: Decision) -> Result:
    """Start, perform and finish one approved effect.

    Raises:
        LedgerError: the start or the completion could not be made durable (the effect did not start, or its outcome
            will be found unknown at the next boot).
    """
    assert ctx.workspace is not None
    ctx.ledger.effects.start(request.request_id, decision.decision_id, lease_epoch=ctx.epoch)
    try:
        done = perform(
            ctx.workspace,
            request.op_kind,
            request.fields,
            request.pre_image,
            save=ctx.store.save,
            identity=ctx.identity,
            when=ctx.clock(),
            saved=ctx.store.load,
        )
    except PreImageChanged:
        result = Result(
            RequestState.FAILED, "denied", "pre_image_changed", "the world changed; nothing was done", "refused"
        )
    except Refused as refused:
        result = Result(RequestState.FAILED, refused.status, refused.reason, f"nothing was done: {refused}", "refused")
    except Failed as failed:
        if failed.partial:
            reason = f"stopped half way: {failed}"
            ctx.ledger.effects.mark_unknown(request.request_id, reason)
            return Result(RequestState.UNKNOWN, "error", "outcome_unknown", reason, "unknown")
        result = Result(RequestState.FAILED, "error", failed.reason, str(failed))
    except OSError as error:
        result = Result(RequestState.FAILED, "error", f"os_error: {error.strerror}", f"failed: {error.strerror}")
    else:
        raw_ref = keep_raw(ctx, request, done.output)
        facts = {**done.facts, "post": dict(done.post)}
        result = Result(RequestState.SUCCEEDED, "ok", "", done.summary, raw_ref=raw_ref, facts=facts)
    ctx.ledger.effects.finish(
        request.request_id, result.state, as_outcome(result) | {"policy_version": ctx.policy.version}
    )
    return result


def as_outcome(result: Result) -> dict[str, Json]:
    """What the ledger keeps of a result; `from_outcome` is its inverse."""
    return {
        "status": result.status,
        "reason": result.reason,
        "summary": result.summary,
        "outcome": result.outcome,
        "raw_ref": result.raw_ref,
        "facts": dict(result.facts),
    }


def from_outcome(request: Request) -> Result:
    """The result of a request that has ended, as the ledger has it."""
    kept = request.outcome
    if request.state in (RequestState.UNKNOWN, RequestState.RECONCILED):
        reason = str(kept.get("reason", "")) or "started, and how it ended is not known"
        return Result(request.state, "error", "outcome_unknown", reason, "unknown")
    return Result(
        request.state,
        str(kept.get("status", "error")),
        str(kept.get("reason", "")),
        str(kept.get("summary", "")),
        str(kept.get("outcome", "executed")),
        kept.get("raw_ref"),
        kept.get("facts") or {},
    )


def keep_raw(ctx: Context, request: Request, output: bytes) -> str | None:
    """Store redacted raw output under raw/{session}/{action}.txt; returns the path relative to the root (S5)."""
    action = request.action_id or request.request_id
    if not _plain(request.session_id) or not _plain(action):
        return None
    path = ctx.paths.raw / request.session_id / f"{action}.txt"
    replace_file(path, capture(output, ctx.redactor, ctx.policy.raw_limit_bytes))
    return str(path.relative_to(ctx.root))


def _plain(name: str) -> bool:
    """Whether an agent's id may be part of a file name of ours."""
    return bool(name) and name not in (".", "..") and len(name) <= 128 and all(c.isalnum() or c in "._-" for c in name)
