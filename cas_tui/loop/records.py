"""The telemetry records this side writes, as canonical dicts (PROTOCOL §1.3, §5.5). Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from cas_tui.protocol.decode import Json
from cas_tui.protocol.ops import Predict
from cas_tui.protocol.state import PendingCitation

Record = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Actor:
    """In whose name a record is written, and in which session and run."""

    agent: str
    session_id: str
    run_nonce: str | None


def _head(action_id: str, actor: Actor, at: str, entry_id: str) -> Record:
    record: Record = {
        "action_id": action_id,
        "agent": actor.agent,
        "session_id": actor.session_id,
        "timestamp": at,
        "entry_id": entry_id,
    }
    if actor.run_nonce is not None:
        record["run_nonce"] = actor.run_nonce
    return record


def prediction(
    action_id: str,
    actor: Actor,
    at: str,
    entry_id: str,
    action: str,
    predict: Predict,
    citations: Iterable[PendingCitation] = (),
) -> Record:
    """A Phase 4 prediction that cites every pending citation (PROTOCOL §1.4 rule 3)."""
    record = _head(action_id, actor, at, entry_id) | {
        "action": action,
        "expected_observation": predict.expected_observation,
        "confidence": predict.confidence,
        "expected_failure_modes": list(predict.expected_failure_modes),
        "falsifier": predict.falsifier,
    }
    cited = list(citations)
    for kind in ("policy", "belief", "tool_model"):
        refs = list(dict.fromkeys(entry.ref for entry in cited if entry.type == kind))
        if refs:
            record[f"{kind}_refs"] = refs
    if cited:
        record["citation_mode"] = "auto_pending_queue"
    return record


def observation(
    action_id: str,
    actor: Actor,
    at: str,
    entry_id: str,
    *,
    success: bool,
    matched: bool,
    summary: str,
    raw_ref: str | None = None,
    outcome: str = "executed",
    extra: Mapping[str, Json] | None = None,
) -> Record:
    """What came of an action; `outcome` is written only when it is not `executed`."""
    record = _head(action_id, actor, at, entry_id) | {
        "success": success,
        "match": "matched" if matched else "mismatched",
        "observation_summary": summary,
    }
    if raw_ref is not None:
        record["raw_ref"] = raw_ref
    if outcome != "executed":
        record["outcome"] = outcome
    if extra:
        record |= dict(extra)
    return record


def learning(
    action_id: str,
    actor: Actor,
    at: str,
    entry_id: str,
    *,
    update_type: str = "confirmation_no_update",
    error_class: str | None = None,
    persistent_ref: str = "",
    rationale: str = "",
) -> Record:
    """What was learned; a confirmation unless said otherwise."""
    record = _head(action_id, actor, at, entry_id) | {"update_type": update_type, "error_class": error_class}
    if persistent_ref:
        record["persistent_ref"] = persistent_ref
    if rationale:
        record["rationale"] = rationale
    return record


def action_words(op_kind: str, fields: Mapping[str, Json]) -> str:
    """The `action` of a prediction made from an op: kind and target, as short as it can be exact."""
    if isinstance(fields.get("path"), str):
        return f"{op_kind} {fields['path']}"
    if op_kind == "git_stage":
        paths: Sequence[str] = fields.get("paths") or ["all safe changes"]
        return f"git_stage {' '.join(paths)}"
    if op_kind == "git_commit":
        return f"git_commit {str(fields.get('message', '')).splitlines()[0][:80]}"
    if op_kind == "git_branch":
        return f"git_branch {fields.get('name', '')}"
    return op_kind
