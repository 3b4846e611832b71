"""The gate: effects of one pass become requests, shown against the world as it is (PROTOCOL §5.4, E2, E3, E9).

All requests of a pass are made together, in manifest order. An op that touches what an earlier undecided op touches
waits for it, and is shown only when that one has ended, whatever its outcome.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import timedelta

from cas_tui.effects.errors import Refused
from cas_tui.effects.prepare import Prepared, overlap, prepare
from cas_tui.effects.prepare import touches as prepare_touches
from cas_tui.loop.context import Context
from cas_tui.loop.policy import Grading, grade
from cas_tui.loop.predict import Claim, predict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import request_digest
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.ops import Denial, Op
from cas_tui.protocol.receipts import Receipt
from cas_tui.protocol.requests import PreImage, Request, RequestKind, RequestState, Tier


@dataclass(frozen=True, slots=True)
class Shown:
    """What an effect looks like at one instant: everything a decision is bound to."""

    fields: Mapping[str, Json]
    title: str
    digest: str
    pre_image: Mapping[str, Json]
    display: Mapping[str, Json]
    tier: Tier
    reasons: tuple[str, ...]
    flags: tuple[str, ...]


def touches(ctx: Context, op_kind: str, fields: Mapping[str, Json]) -> frozenset[str]:
    """The paths and git state an op touches, as far as they follow from the op alone; nothing for one not allowed."""
    assert ctx.workspace is not None
    try:
        return prepare_touches(ctx.workspace, op_kind, fields)
    except Refused:
        return frozenset()


def door(ctx: Context, op: Op) -> str | None:
    """Why policy does not let this op be asked at all, or None."""
    if op.kind in ctx.policy.denied_kinds:
        return "policy_rejected"
    if ctx.workspace is None:
        return "no_workspace"
    if op.predict is None and op.action_id is None and not ctx.policy.ask_unpredicted:
        return "unpredicted"
    return None


@dataclass(frozen=True, slots=True)
class Gated:
    """What became of the effects of a pass at the door: requests to insert, and receipts of those refused."""

    requests: tuple[Request, ...]
    receipts: tuple[Receipt, ...]


def make_requests(
    ctx: Context, trigger_id: str, pass_no: int, effects: tuple[Op, ...], source: Mapping[str, Json]
) -> Gated:
    """Requests and refusals for the effects of a pass. Predictions are on disk when this returns."""
    requests: list[Request] = []
    receipts: list[Receipt] = []
    for op in effects:
        at = ctx.now()
        reason = door(ctx, op)
        after = _after(ctx, requests, op) if reason is None else None
        shown: Shown | Refused | None = None
        if reason is None and after is None:
            shown = try_show(ctx, trigger_id, op.op_id, op.kind, op.fields)
        if reason is not None:
            receipts.append(Receipt(str(pass_no), op.op_id, op.kind, "denied", reason, at, ctx.now()))
            continue
        if isinstance(shown, Refused):
            receipts.append(Receipt(str(pass_no), op.op_id, op.kind, shown.status, shown.reason, at, ctx.now()))
            continue
        claim = predict(ctx, f"{trigger_id}:{pass_no}:{op.op_id}", op)
        request = _request(ctx, trigger_id, pass_no, op, claim, source, after)
        if shown is not None:
            request = _with(ctx, request, regrade(request, shown))
        requests.append(request)
    return Gated(tuple(requests), tuple(receipts))


def _after(ctx: Context, requests: list[Request], op: Op) -> Request | None:
    """The latest earlier request of the pass that touches what this op touches."""
    mine = touches(ctx, op.kind, op.fields)
    for earlier in reversed(requests):
        if overlap(mine, touches(ctx, earlier.op_kind, earlier.fields)):
            return earlier
    return None


def _request(
    ctx: Context,
    trigger_id: str,
    pass_no: int,
    op: Op,
    claim: Claim,
    source: Mapping[str, Json],
    after: Request | None,
) -> Request:
    twin = ctx.ledger.requests.same_act(str(ctx.root), op.kind, op.fields)
    return Request(
        request_id=f"r-{ctx.ids()}",
        kind=RequestKind.EFFECT,
        state=RequestState.WAITING if after else RequestState.PENDING,
        root=str(ctx.root),
        agent=claim.agent,
        session_id=claim.session_id,
        run_nonce=ctx.run_nonce,
        created_at=ctx.now(),
        title=waiting_title(op.kind, op.fields),
        trigger_id=trigger_id,
        pass_no=pass_no,
        ordinal=op.ordinal,
        op_id=op.op_id,
        op_kind=op.kind,
        action_id=claim.action_id or "",
        fields=op.fields,
        source={**source, "lessons_ignored": claim.lessons_ignored, "claim_fault": claim.fault},
        after=after.request_id if after else None,
        prediction=claim.action_id,
        policy_version=ctx.policy.version,
        seen_before=twin.request_id if twin else None,
    )


def waiting_title(op_kind: str, fields: Mapping[str, Json]) -> str:
    """The one line of an op whose payload was not computed yet."""
    words = {
        "fs_write": "Write",
        "fs_patch": "Change",
        "git_stage": "Stage",
        "git_commit": "Commit",
        "git_branch": "Make branch",
        "fs_restore": "Put back",
    }
    target = fields.get("path") or fields.get("name") or ", ".join(fields.get("paths") or ()) or ""
    return f"{words.get(op_kind, op_kind)} {target}".strip()


def try_show(ctx: Context, trigger_id: str, op_id: str, op_kind: str, fields: Mapping[str, Json]) -> Shown | Refused:
    """The effect as it would be now, or why it cannot be done at all."""
    assert ctx.workspace is not None
    try:
        prepared = prepare(ctx.workspace, op_kind, fields, saved=ctx.store.load, identity=ctx.identity)
    except Refused as refused:
        return refused
    return _shown(ctx, trigger_id, op_id, op_kind, fields, prepared)


def _shown(
    ctx: Context, trigger_id: str, op_id: str, op_kind: str, fields: Mapping[str, Json], prepared: Prepared
) -> Shown:
    pre_image = prepared.pre_image.as_json()
    digest = request_digest(
        root=str(ctx.root),
        trigger_id=trigger_id,
        op_id=op_id,
        kind=op_kind,
        fields=fields,
        cwd=str(ctx.workspace.root_dir.path) if ctx.workspace else "",
        env_names=(),
        pre_image=pre_image,
    )
    display = {**prepared.display, "summary": prepared.summary}
    tier, reasons = grade(Grading(op_kind, True, prepared.reversible, prepared.flags))
    return Shown(fields, prepared.title, digest, pre_image, display, tier, reasons, prepared.flags)


def regrade(request: Request, shown: Shown) -> Shown:
    """The same effect with the tier that its prediction and the lessons it ignores give it."""
    ignored = int(request.source.get("lessons_ignored", 0))
    fault = str(request.source.get("claim_fault", ""))
    reversible = "cannot be put back" not in shown.reasons
    facts = Grading(request.op_kind, request.prediction is not None, reversible, shown.flags, ignored)
    tier, reasons = grade(facts)
    flags = (fault, *shown.flags) if fault else shown.flags
    return replace(shown, tier=tier, reasons=reasons, flags=flags)


def _with(ctx: Context, request: Request, shown: Shown) -> Request:
    return replace(
        request,
        title=shown.title,
        digest=shown.digest,
        pre_image=PreImage.from_json(shown.pre_image),
        display=shown.display,
        tier=shown.tier,
        reasons=shown.reasons,
        flags=shown.flags,
        expires_at=expiry(ctx, shown.tier),
    )


def expiry(ctx: Context, tier: Tier) -> str | None:
    """When a request of this tier expires (CONSOLE §4.4): T3 by policy, others never."""
    if tier is not Tier.T3 or not ctx.policy.t3_expires_s:
        return None
    return timestamp(ctx.clock() + timedelta(seconds=ctx.policy.t3_expires_s))


def appear(ctx: Context, request: Request) -> Request:
    """The request as it would be shown now: payload, digest, pre-image, tier, flags; one not doable, as just that."""
    shown = try_show(ctx, request.trigger_id, request.op_id, request.op_kind, request.fields)
    if isinstance(shown, Refused):
        shown = impossible(ctx, request, shown)
    return _with(ctx, request, regrade(request, shown))


def release_waiting(ctx: Context) -> int:
    """Show every waiting request whose predecessor has ended; returns how many became pending."""
    released = 0
    for request in ctx.ledger.requests.list(root=str(ctx.root), states=(RequestState.WAITING,)):
        before = ctx.ledger.requests.get(request.after) if request.after else None
        if before is None or before.state not in UNDECIDED:
            ctx.ledger.requests.show(appear(ctx, request), was=RequestState.WAITING)
            released += 1
    return released


def signature(ctx: Context, request: Request) -> object:
    """A cheap sign of the state a pending effect was shown against: it changes when the files or git state may have."""
    assert ctx.workspace is not None
    found: list[object] = []
    names = [*request.pre_image.paths]
    if any(part is not None for part in (request.pre_image.head, request.pre_image.index_tree)):
        names += [".git/HEAD", ".git/index", ".git/logs/HEAD"]
    for name in names:
        try:
            status = (ctx.workspace.root_dir.path / name).lstat()
            found.append((name, status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode))
        except OSError:
            found.append((name, None))
    return tuple(found)


def show_again(ctx: Context, request: Request) -> bool:
    """Compute a pending effect anew; when its digest is another one, that is what is pending from now on (E2, E3)."""
    fresh = appear(ctx, request)
    if fresh.digest == request.digest:
        return False
    # Its expiry stays: changing a file buys no time.
    ctx.ledger.requests.show(replace(fresh, expires_at=request.expires_at), was=RequestState.PENDING)
    return True


UNDECIDED = frozenset(
    {RequestState.WAITING, RequestState.PENDING, RequestState.APPROVED, RequestState.STARTED, RequestState.UNKNOWN}
)
"""States in which an effect has not ended: whatever touches the same things waits."""


def impossible(ctx: Context, request: Request, refused: Refused) -> Shown:
    """A released op that cannot be done as things are now: shown so, and refused again if approved (§5.4)."""
    reason = str(refused)
    digest = request_digest(
        root=str(ctx.root),
        trigger_id=request.trigger_id,
        op_id=request.op_id,
        kind=request.op_kind,
        fields=request.fields,
        cwd=str(ctx.workspace.root_dir.path) if ctx.workspace else "",
        env_names=(),
        pre_image={"paths": {}},
    )
    flag = f"cannot be done as things are: {reason}"
    display = {"kind": "opaque", "size": 0, "reason": flag, "summary": f"{request.title}: {flag}"}
    tier, reasons = grade(Grading(request.op_kind, True, True, (flag,)))
    return Shown(request.fields, request.title, digest, {"paths": {}}, display, tier, reasons, (flag,))


def denial_receipt(denial: Denial, pass_no: int, at: str) -> Receipt:
    """The receipt of an element that was denied while it was read."""
    return Receipt(str(pass_no), denial.op_id, denial.kind, "denied", denial.reason, at, at)
