"""The end of a pass: what became of each op, told to the agent in receipts and decisions (PROTOCOL §2.5, §5.5)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from cas_tui.loop.context import Context
from cas_tui.loop.files import WriteFailed, read_regular, replace_file
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.encode import encode_pretty
from cas_tui.protocol.ops import KINDS, Op, OpClass
from cas_tui.protocol.output import Coordination
from cas_tui.protocol.receipts import ArtifactRef, Receipt, receipts_document
from cas_tui.protocol.requests import Request, RequestState

EXCERPT_CHARS = 2000

_BY_STATE: dict[RequestState, tuple[str, str]] = {
    RequestState.SUCCEEDED: ("ok", ""),
    RequestState.DENIED: ("denied", "operator_denied"),
    RequestState.EXPIRED: ("error", "no_answer"),
    RequestState.CANCELLED: ("error", "cancelled"),
    RequestState.UNKNOWN: ("error", "outcome_unknown"),
    RequestState.RECONCILED: ("error", "outcome_unknown"),
    RequestState.FAILED: ("error", "failed"),
}


def receipts_of(ctx: Context, requests: Iterable[Request], pass_no: int) -> list[Receipt]:
    """A receipt for every ended request; one that was superseded speaks through the request that replaced it."""
    found: list[Receipt] = []
    for request in requests:
        if request.state is RequestState.SUPERSEDED:
            continue
        status, reason = _BY_STATE[request.state]
        if request.outcome.get("status") and request.state is not RequestState.RECONCILED:
            status, reason = str(request.outcome["status"]), str(request.outcome.get("reason", ""))
        found.append(
            Receipt(
                str(pass_no),
                request.op_id,
                request.op_kind,
                status,
                reason,
                request.created_at,
                request.settled_at or ctx.now(),
                _artifacts(ctx, request),
                modified_by=request.modified_by,
            )
        )
    return found


def _artifacts(ctx: Context, request: Request) -> tuple[ArtifactRef, ...]:
    raw_ref = request.outcome.get("raw_ref")
    if not isinstance(raw_ref, str):
        return ()
    try:
        data = read_regular(ctx.root / raw_ref, 1 << 20)
    except WriteFailed:
        return ()
    return () if data is None else (ArtifactRef(raw_ref, sha256(data), len(data)),)


def decisions_of(ctx: Context, requests: Iterable[Request]) -> list[dict[str, Json]]:
    """What the operator said about the requests of a pass, as the agent is told."""
    told: list[dict[str, Json]] = []
    for request in requests:
        for decision in ctx.ledger.decisions.of_request(request.request_id):
            told.append(
                {
                    "request_id": request.request_id,
                    "op_id": request.op_id,
                    "kind": request.op_kind,
                    "action_id": request.action_id,
                    "verdict": str(decision.verdict),
                    "state": str(request.state),
                    "comment": decision.comment,
                    "operator": decision.operator.name,
                    "decided_at": decision.decided_at,
                }
            )
    return told


def written_back(ctx: Context, requests: Iterable[Request]) -> bool:
    """Whether every decision on these requests has been carried to its end."""
    open_ones = {decision.request_id for decision in ctx.ledger.decisions.unprocessed()}
    return not any(request.request_id in open_ones for request in requests)


def with_excerpt(ctx: Context, receipt: Mapping[str, Json]) -> dict[str, Json]:
    """A receipt as it stands in input.md: with the first part of its result, so that a small agent reads once."""
    told = dict(receipt)
    artifacts = told.get("artifacts") or []
    if artifacts:
        try:
            data = read_regular(ctx.root / artifacts[0]["path"], 1 << 20) or b""
        except WriteFailed:
            return told
        told["excerpt"] = data.decode("utf-8", "replace")[:EXCERPT_CHARS]
    return told


def write_receipts(ctx: Context, trigger_id: str, pass_no: int, receipts: Sequence[Mapping[str, Json]]) -> None:
    """state/receipts/{trigger}.json with the receipts of every pass so far (schema cn.receipts.v1)."""
    earlier = [
        receipt
        for row in ctx.ledger.passes.of_trigger(str(ctx.root), trigger_id)
        if row.pass_no < pass_no
        for receipt in row.data["receipts"]
    ]
    whole = [Receipt.from_json(value) for value in (*earlier, *receipts)]
    replace_file(ctx.paths.receipts / f"{trigger_id}.json", encode_pretty(receipts_document(trigger_id, whole)))


def mark_finalized(ctx: Context, trigger_id: str) -> None:
    """The marker of PROTOCOL §2.1, written for others and never read here (§5.1)."""
    replace_file(ctx.paths.finalized / f"{trigger_id}.ops_done", b"")


def skipped(ctx: Context, op: Op, pass_no: int, reason: str) -> Receipt:
    """The receipt of an op that was valid and did not run."""
    at = ctx.now()
    return Receipt(str(pass_no), op.op_id, op.kind, "skipped", reason, at, at)


def held(receipts: Iterable[Receipt]) -> bool:
    """Whether the whole output is held because it answers another input."""
    return any(receipt.reason == "id_mismatch" for receipt in receipts)


def is_failure(receipt: Mapping[str, Json]) -> bool:
    """Whether a receipt stops `done` and `fail` (PROTOCOL §2.11): effects denied or in error; skipped is fine."""
    spec = KINDS.get(str(receipt["kind"]))
    effect = spec is not None and spec.op_class is OpClass.EFFECT
    return effect and receipt["status"] in ("denied", "error", "contract_redirect")


def carry(op: Coordination) -> dict[str, Json]:
    """A coordination op that waits for the last pass, as the ledger keeps it."""
    return {"key": op.key, "target": op.target, "text": op.text, "payload": op.payload, "ordinal": op.ordinal}


def carried(value: Mapping[str, Json]) -> Coordination:
    """The inverse of `carry`."""
    return Coordination(value["key"], value["target"], value["text"], value["payload"], value["ordinal"])
