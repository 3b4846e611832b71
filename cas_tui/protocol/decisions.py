"""Decisions: what an operator said about one request (PROTOCOL §5.5), as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from cas_tui.protocol.decode import Json


class Verdict(StrEnum):
    """The word an operator gives; which request kind takes which word stands in `machines.VERDICTS`."""

    APPROVE = "approve"
    DENY = "deny"
    EDIT = "edit"
    RECONCILE = "reconcile"
    ANSWER = "answer"
    DISMISS = "dismiss"
    ACCEPT = "accept"
    DISPUTE = "dispute"
    REVERT = "revert"
    CANCEL = "cancel"
    ASSIGN = "assign"
    RESOLVE = "resolve"


@dataclass(frozen=True, slots=True)
class Operator:
    """Who decided, from the operating system and never from the environment or a file (SAFETY Q04, A1)."""

    name: str
    uid: int
    host: str
    surface: str
    """`tui`, `cli`, `web` or `fleet`."""

    @property
    def agent_name(self) -> str:
        """The `agent` of records written for this operator's acts."""
        return f"operator:{self.name}"

    def as_json(self) -> dict[str, Json]:
        """{name, uid, host, surface}."""
        return {"name": self.name, "uid": self.uid, "host": self.host, "surface": self.surface}


@dataclass(frozen=True, slots=True)
class Decision:
    """One verdict on one request, as committed in one transaction. `prev_sha256` is added by the ledger."""

    decision_id: str
    request_id: str
    digest: str
    verdict: Verdict
    operator: Operator
    decided_at: str
    shown_at: str | None = None
    full_view: bool = False
    comment: str = ""
    rule_id: str | None = None
    policy_version: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    """What the verdict carries: answer {text, as}; edit {fields}; reconcile {happened}; deny {as_policy}."""

    def as_json(self) -> dict[str, Json]:
        """Every field under its PROTOCOL name."""
        return {
            "decision_id": self.decision_id,
            "request_id": self.request_id,
            "digest": self.digest,
            "verdict": str(self.verdict),
            "operator": self.operator.as_json(),
            "shown_at": self.shown_at,
            "decided_at": self.decided_at,
            "full_view": self.full_view,
            "comment": self.comment,
            "rule_id": self.rule_id,
            "policy_version": self.policy_version,
            "arguments": dict(self.arguments),
        }

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> Decision:
        """The inverse of `as_json`."""
        return Decision(
            decision_id=value["decision_id"],
            request_id=value["request_id"],
            digest=value["digest"],
            verdict=Verdict(value["verdict"]),
            operator=Operator(**value["operator"]),
            shown_at=value["shown_at"],
            decided_at=value["decided_at"],
            full_view=value["full_view"],
            comment=value["comment"],
            rule_id=value["rule_id"],
            policy_version=value["policy_version"],
            arguments=value["arguments"],
        )
