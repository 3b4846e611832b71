"""Receipts: what became of each op, as the agent is told (PROTOCOL §2.5, schema `cn.receipts.v1`)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from cas_tui.protocol.decode import Json

SCHEMA: Final = "cn.receipts.v1"
STATUSES: Final = frozenset({"ok", "denied", "error", "skipped", "contract_redirect"})
_PASS_LETTERS: Final = {"A": "1", "B": "2"}


@dataclass(frozen=True, slots=True)
class ArtifactRef:
    """A result file: path relative to the memory root, `sha256:hex`, size in bytes."""

    path: str
    hash: str
    size: int

    def as_json(self) -> dict[str, Json]:
        return {"path": self.path, "hash": self.hash, "size": self.size}


@dataclass(frozen=True, slots=True)
class Receipt:
    """One op, one pass, one outcome. `reason` is empty when ok; `pass_no` is written as a string."""

    pass_no: str
    op_id: str | None
    kind: str
    status: str
    reason: str
    start: str
    end: str
    artifacts: tuple[ArtifactRef, ...] = ()
    exit_code: int | None = None
    modified_by: str | None = None

    def as_json(self) -> dict[str, Json]:
        """The receipt in its written order; members that only some receipts have are left out elsewhere."""
        result: dict[str, Json] = {
            "pass": self.pass_no,
            "op_id": self.op_id,
            "kind": self.kind,
            "status": self.status,
            "reason": self.reason,
            "start": self.start,
            "end": self.end,
            "artifacts": [item.as_json() for item in self.artifacts],
        }
        if self.exit_code is not None:
            result["exit_code"] = self.exit_code
        if self.modified_by is not None:
            result["modified_by"] = self.modified_by
        return result

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> Receipt:
        """A receipt as read; passes named by letter in old files become numbers (PROTOCOL §4 row 16)."""
        pass_no = str(value.get("pass", ""))
        return Receipt(
            pass_no=_PASS_LETTERS.get(pass_no, pass_no),
            op_id=value.get("op_id"),
            kind=str(value.get("kind", "")),
            status=str(value.get("status", "")),
            reason=str(value.get("reason", "")),
            start=str(value.get("start", "")),
            end=str(value.get("end", "")),
            artifacts=_artifacts(value.get("artifacts")),
            exit_code=value.get("exit_code"),
            modified_by=value.get("modified_by"),
        )


def _artifacts(value: Json) -> tuple[ArtifactRef, ...]:
    # The file lies where the agent can write: what is not an artifact is left out, and nothing raises.
    items = [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
    return tuple(
        ArtifactRef(
            str(item.get("path", "")),
            str(item.get("hash", "")),
            item["size"] if isinstance(item.get("size"), int) else 0,
        )
        for item in items
    )


def receipts_document(trigger_id: str, receipts: Iterable[Receipt]) -> dict[str, Json]:
    """The content of `state/receipts/{trigger}.json`: all passes in one list."""
    return {"schema": SCHEMA, "trigger_id": trigger_id, "receipts": [item.as_json() for item in receipts]}
