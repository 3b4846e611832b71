"""Observe ops of a pass: run, evidenced, and recorded when the agent predicted them (PROTOCOL §2.5, §2.11, S4)."""

from __future__ import annotations

from collections.abc import Sequence

from cas_tui.effects.errors import Refused
from cas_tui.effects.limits import Limits
from cas_tui.effects.observe import observe
from cas_tui.loop import gate
from cas_tui.loop.context import Context
from cas_tui.loop.files import create_file
from cas_tui.loop.learn import Lesson, from_failure
from cas_tui.loop.predict import predict
from cas_tui.loop.records import Actor
from cas_tui.loop.trio import Ended, seen
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.ops import Op
from cas_tui.protocol.receipts import ArtifactRef, Receipt


def run_observes(ctx: Context, trigger_id: str, pass_no: int, ops: Sequence[Op], limits: Limits) -> list[Receipt]:
    """Run observe ops in manifest order; one receipt each, its result as a file under state/artifacts."""
    return [_run(ctx, trigger_id, pass_no, op, limits) for op in ops]


def _run(ctx: Context, trigger_id: str, pass_no: int, op: Op, limits: Limits) -> Receipt:
    key = f"{trigger_id}:{pass_no}:{op.op_id}"
    at = ctx.now()
    claim = predict(ctx, key, op) if op.predict is not None else None
    reason = gate.door(ctx, op) if op.kind in ctx.policy.denied_kinds or ctx.workspace is None else None
    artifacts: tuple[ArtifactRef, ...] = ()
    status, summary = "denied", reason or ""
    if reason is None:
        assert ctx.workspace is not None
        try:
            result = observe(ctx.workspace, op, limits)
        except Refused as refused:
            status, reason = refused.status, refused.reason
            summary = reason
        else:
            status, reason = "ok", ""
            artifacts = (_keep(ctx, trigger_id, op, result.data),)
            summary = f"{op.kind}: {len(result.data)} bytes" + (", cut at the limit" if result.truncated else "")
    if claim is not None and claim.action_id is not None:
        good = status == "ok"
        actor = Actor(claim.agent, claim.session_id, ctx.run_nonce)
        lesson = Lesson() if good else from_failure(op.kind, reason)
        seen(ctx, key, actor, claim.action_id, Ended(good, good, summary), lesson)
    return Receipt(str(pass_no), op.op_id, op.kind, status, reason, at, ctx.now(), artifacts)


def _keep(ctx: Context, trigger_id: str, op: Op, data: bytes) -> ArtifactRef:
    path = create_file(ctx.paths.artifacts / trigger_id / f"{op.op_id}.txt", data)
    return ArtifactRef(str(path.relative_to(ctx.root)), sha256(data), len(data))
