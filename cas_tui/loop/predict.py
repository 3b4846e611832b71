"""Phase 4: a prediction stands on disk before anything is asked (PROTOCOL §5.4 "Prediction first", §1.4 rule 3).

Either the op carries its prediction, and it is appended here in the agent's name, citing and then clearing every
pending citation; or the op names one the agent wrote itself. Otherwise the act is UNPREDICTED: no prediction is ever
invented in the agent's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cas_tui.loop import commit, records
from cas_tui.loop.context import Context
from cas_tui.loop.telemetry import recent
from cas_tui.protocol.decode import Json, Malformed
from cas_tui.protocol.journal import Observation, Prediction, bare_ref
from cas_tui.protocol.ops import Op
from cas_tui.protocol.state import PendingCitation, State


@dataclass(frozen=True, slots=True)
class Claim:
    """The prediction an op goes with: its action_id, session and agent, and how many waiting lessons it ignores.

    `fault` says, in words of ours, why a prediction that was named could not be used.
    """

    action_id: str | None
    agent: str
    session_id: str
    lessons_ignored: int = 0
    fault: str = ""


def predict(ctx: Context, key: str, op: Op) -> Claim:
    """Make sure the prediction of `op` is on disk, and say which one it is. `key` names the op's place in its pass."""
    if op.predict is not None:
        return _append(ctx, key, op)
    if op.action_id is not None:
        return _named(ctx, op.action_id)
    return Claim(None, ctx.agent, ctx.session_id)


def _append(ctx: Context, key: str, op: Op) -> Claim:
    assert op.predict is not None
    predicted = op.predict
    pending = pending_citations(ctx)

    def make() -> records.Record:
        return records.prediction(
            f"act-{ctx.ids()}",
            ctx.actor(),
            ctx.now(),
            ctx.ids(),
            records.action_words(op.kind, op.fields),
            predicted,
            pending,
        )

    record = ctx.journal.write(f"{key}:prediction", "predictions.jsonl", make)
    # Only after the prediction is on disk may the queue be emptied, and only of what that prediction cites.
    cited = [entry for entry in pending if entry.ref in record.get(f"{entry.type}_refs", ())]
    if cited:
        ctx.state.change(f"{key}:cited", commit.clear_citations([citation_json(entry) for entry in cited]))
    return Claim(record["action_id"], record["agent"], record["session_id"])


def _named(ctx: Context, action_id: str) -> Claim:
    found: Prediction | None = None
    for record in recent(ctx.paths.predictions, "prediction"):
        if isinstance(record, Prediction) and record.action_id == action_id:
            found = record
    if found is None:
        return Claim(None, ctx.agent, ctx.session_id, fault=f"no prediction {action_id} is on record")
    if any(
        isinstance(record, Observation) and record.action_id == action_id and record.session_id == found.session_id
        for record in recent(ctx.paths.observations, "observation")
    ):
        return Claim(None, ctx.agent, ctx.session_id, fault=f"prediction {action_id} was already observed")
    if ctx.ledger.requests.claims(str(ctx.root), action_id):
        return Claim(None, ctx.agent, ctx.session_id, fault=f"prediction {action_id} belongs to another request")
    if not _same_session(ctx, found):
        return Claim(None, ctx.agent, ctx.session_id, fault=f"prediction {action_id} is of another session")
    if found.confidence is None:
        return Claim(None, ctx.agent, ctx.session_id, fault=f"prediction {action_id} has no usable confidence")
    cited = {(kind, bare_ref(ref)) for kind, ref in found.refs}
    ignored = [entry for entry in pending_citations(ctx) if (entry.type, bare_ref(entry.ref)) not in cited]
    return Claim(action_id, found.agent, found.session_id, lessons_ignored=len(ignored))


def _same_session(ctx: Context, found: Prediction) -> bool:
    """The agent's own session is known by its name, or by where its first record of this session began."""
    if found.session_id == ctx.session_id:
        return True
    start = ctx.ledger.cursors.get(f"session:{ctx.session_id}")
    return start is not None and found.place.offset >= start["predictions"]


def pending_citations(ctx: Context) -> tuple[PendingCitation, ...]:
    """The queue as it stands; an unreadable STATE.json has none to cite, and its patch is not lost (D4)."""
    state = ctx.state.read()
    if isinstance(state, Malformed):
        return ()
    return tuple(entry for entry in state.pending_citations if entry.type in ("policy", "belief", "tool_model"))


def citation_json(entry: PendingCitation) -> Mapping[str, Json]:
    """A pending citation as it stands in STATE.json."""
    return {
        "type": entry.type,
        "ref": entry.ref,
        "created_at": entry.created_at,
        "source_action_id": entry.source_action_id,
    }


def drop_already_cited(ctx: Context, state: State) -> None:
    """At boot: an entry that a recorded prediction already cites is dropped (PROTOCOL §4 row 8)."""
    last: Prediction | None = None
    for record in recent(ctx.paths.predictions, "prediction"):
        if isinstance(record, Prediction) and not record.agent.startswith("operator:") and record.citation_mode:
            last = record
    if last is None:
        return
    cited = set(last.refs)
    stale = [
        entry
        for entry in state.pending_citations
        if (entry.type, entry.ref) in cited and entry.created_at <= last.timestamp
    ]
    if stale:
        key = f"boot:cited:{last.action_id}:{len(stale)}"
        ctx.state.change(key, commit.clear_citations([citation_json(entry) for entry in stale]))
