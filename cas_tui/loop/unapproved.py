"""Changes of the workspace that no approved effect made (PROTOCOL §5.3, §5.4): noticed, shown, accepted or put back.

A fingerprint of the workspace is taken after every approved effect and compared after every call of the agent. What
differs is one *unapproved* request that lists it all; nothing is undone by itself.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace

from cas_tui.effects import fingerprint
from cas_tui.effects.fingerprint import Fingerprint
from cas_tui.ledger import NotFound
from cas_tui.loop import gate
from cas_tui.loop.context import Context
from cas_tui.loop.records import Actor
from cas_tui.loop.trio import said
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.encode import canonical
from cas_tui.protocol.requests import PathImage, Request, RequestKind, RequestState

CURSOR = "workspace"


def rebase(ctx: Context) -> None:
    """Take the workspace as it is now for the recorded one."""
    if ctx.workspace is None:
        return
    before = ctx.ledger.cursors.get(CURSOR)
    previous = Fingerprint.from_json(before) if before else None
    now = fingerprint.take(ctx.workspace, previous, ctx.store)
    ctx.ledger.cursors.set(CURSOR, now.as_json())


def look(ctx: Context, when: str) -> Request | None:
    """Compare the workspace with the recorded one; a difference becomes a request and the new record.

    `when` says, in words of ours, between what and what the change was made.
    """
    if ctx.workspace is None:
        return None
    before = ctx.ledger.cursors.get(CURSOR)
    if before is None:
        rebase(ctx)
        return None
    previous = Fingerprint.from_json(before)
    now = fingerprint.take(ctx.workspace, previous, ctx.store)
    changes = fingerprint.changes(previous, now)
    request: Request | None = None
    if changes:
        request = _request(ctx, when, [change.as_json() for change in changes])
        ctx.ledger.requests.insert_pass((request,))
        ctx.ledger.cursors.set(CURSOR, now.as_json())
    return request


def _request(ctx: Context, when: str, changes: Sequence[Mapping[str, Json]]) -> Request:
    paths = [str(change["path"]) for change in changes]
    more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
    return Request(
        request_id=f"u-{ctx.ids()}",
        kind=RequestKind.UNAPPROVED,
        state=RequestState.PENDING,
        root=str(ctx.root),
        agent=ctx.agent,
        session_id=ctx.session_id,
        run_nonce=ctx.run_nonce,
        created_at=ctx.now(),
        title=f"Changed without approval: {paths[0]}{more}",
        digest=sha256(canonical({"changes": list(changes)})),
        fields={"changes": list(changes), "when": when, "confinement": ctx.confinement},
        flags=("no approved effect made this change",),
        policy_version=ctx.policy.version,
    )


def propose_revert(ctx: Context, decision: Decision, request: Request) -> list[Request]:
    """Ask, as new effects, to put the recorded content back: one request a file (PROTOCOL §5.5 revert).

    Git state cannot be put back this way; its changes are left out, and the title of the request says what remains.
    """
    proposed: list[Request] = []
    for index, change in enumerate(request.fields.get("changes") or ()):
        if str(change["path"]).startswith("git:"):
            continue
        image = PathImage.from_json(change["was"])
        key = f"{decision.decision_id}:{index}"
        proposed += restore(ctx, key, decision.operator.agent_name, request, str(change["path"]), image)
    return proposed


def restore(ctx: Context, key: str, operator: str, request: Request, path: str, image: PathImage) -> list[Request]:
    """One request that puts `path` back to `image`, predicted by the operator who asks; made once per key."""
    request_id = "r-" + hashlib.sha256(key.encode()).hexdigest()[:12]
    try:
        return [ctx.ledger.requests.get(request_id)]
    except NotFound:
        pass
    fields: dict[str, Json] = {"path": path, "image": "absent" if image.type == "absent" else image.sha256}
    actor = Actor(operator, request.session_id, request.run_nonce)
    expected = f"{path} is as it was before {request.request_id}"
    action_id = said(ctx, key, actor, f"fs_restore {path}", expected, "anything else changes")
    fresh = Request(
        request_id=request_id,
        kind=RequestKind.EFFECT,
        state=RequestState.PENDING,
        root=str(ctx.root),
        agent=operator,
        session_id=request.session_id,
        run_nonce=request.run_nonce,
        created_at=ctx.now(),
        action_id=action_id,
        prediction=action_id,
        title=gate.waiting_title("fs_restore", fields),
        op_id=f"restore-{request_id}",
        op_kind="fs_restore",
        fields=fields,
        source={"reverts": request.request_id},
        policy_version=ctx.policy.version,
    )
    fresh = gate.appear(ctx, fresh)
    fresh = replace(fresh, reasons=(*fresh.reasons, "asked for by an operator"))
    ctx.ledger.requests.insert_pass((fresh,))
    return [fresh]


def revert_effect(ctx: Context, key: str, operator: str, request: Request) -> list[Request]:
    """Ask to put back what an executed fs_write, fs_patch or fs_restore changed, one request a path."""
    proposed: list[Request] = []
    for path in sorted(request.pre_image.paths):
        proposed += restore(ctx, f"{key}:{path}", operator, request, path, request.pre_image.paths[path])
    return proposed
