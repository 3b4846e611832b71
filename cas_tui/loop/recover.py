"""Coming back after a crash: finish what was planned, and say what is not known (E1, E8, PROTOCOL §2.10).

Every step here may itself be interrupted and run again. Nothing is ever started here.
"""

from __future__ import annotations

from cas_tui.effects.perform import tidy
from cas_tui.loop import unapproved, writeback
from cas_tui.loop.context import Context
from cas_tui.loop.predict import drop_already_cited
from cas_tui.protocol.requests import RequestState
from cas_tui.protocol.state import State


def recover(ctx: Context) -> list[str]:
    """Bring the root to where its ledger says it is; returns what an operator should know, a line each."""
    said: list[str] = []
    for request_id in ctx.ledger.effects.unfinished():
        ctx.ledger.effects.mark_unknown(request_id, "the host ended between its start and its end")
        request = ctx.ledger.requests.get(request_id)
        if ctx.workspace is not None:
            tidy(ctx.workspace, request.op_kind, request.fields)
        said.append(f"{request_id}: started, and how it ended is not known; it will not be tried again")
        unapproved.rebase(ctx)
    missing = ctx.journal.settle()
    if missing:
        said.append(f"{missing} planned records were missing and are written now")
    said += ctx.state.settle()
    state = ctx.state.read()
    if isinstance(state, State):
        drop_already_cited(ctx, state)
    for request in ctx.ledger.requests.list(root=str(ctx.root), states=(RequestState.EXPIRED,)):
        if request.prediction and not ctx.journal.written(f"{request.request_id}:close:learning"):
            writeback.close_expired(ctx, request)
    return said
