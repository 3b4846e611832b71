"""Requests: anything that waits for an operator (PROTOCOL §5.4), as values.

Only the loop host makes them; the ledger is their one truth. This module names their kinds, states and fields and
how they look as JSON; which transitions are allowed stands in `machines`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from cas_tui.protocol.decode import Json


class RequestKind(StrEnum):
    """What kind of answer is asked for."""

    EFFECT = "effect"
    QUESTION = "question"
    MISMATCH = "mismatch"
    OBLIGATION = "obligation"
    ISSUE = "issue"
    UNAPPROVED = "unapproved"


class RequestState(StrEnum):
    """Where a request stands; each kind uses its own part of these (see `machines.REQUEST_STATES`)."""

    WAITING = "waiting"
    PENDING = "pending"
    APPROVED = "approved"
    DENIED = "denied"
    EXPIRED = "expired"
    CANCELLED = "cancelled"
    SUPERSEDED = "superseded"
    STARTED = "started"
    SUCCEEDED = "succeeded"
    FAILED = "failed"
    UNKNOWN = "unknown"
    RECONCILED = "reconciled"
    ANSWERED = "answered"
    DISMISSED = "dismissed"
    ACCEPTED = "accepted"
    DISPUTED = "disputed"
    REVERTED = "reverted"
    ASSIGNED = "assigned"
    RESOLVED = "resolved"


class Tier(StrEnum):
    """How much friction an approval carries: T0 observe, T1 reversible, T2 harder to undo, T3 dangerous."""

    T0 = "T0"
    T1 = "T1"
    T2 = "T2"
    T3 = "T3"


NEEDS_YOU: Final = frozenset({RequestKind.EFFECT, RequestKind.QUESTION, RequestKind.UNAPPROVED})
"""Kinds for which an agent is parked or the world is not as recorded; the rest is *Review* (SCREENS §1)."""


@dataclass(frozen=True, slots=True)
class PathImage:
    """One path as it was when shown: `absent`, or its type (file, dir, symlink), permission bits, content hash."""

    type: str
    mode: int = 0
    sha256: str = ""

    def as_json(self) -> Json:
        """`"absent"`, or {type, mode (octal text), sha256}."""
        if self.type == "absent":
            return "absent"
        return {"type": self.type, "mode": f"{self.mode:04o}", "sha256": self.sha256}

    @staticmethod
    def from_json(value: Json) -> PathImage:
        """The inverse of `as_json`. Raises ValueError or KeyError on anything else."""
        if value == "absent":
            return ABSENT
        return PathImage(type=value["type"], mode=int(value["mode"], 8), sha256=value["sha256"])


ABSENT: Final = PathImage("absent")


@dataclass(frozen=True, slots=True)
class PreImage:
    """The state an effect was shown against (E3): touched paths, and for git effects HEAD and the index tree."""

    paths: Mapping[str, PathImage] = field(default_factory=dict)
    head: str | None = None
    branch: str | None = None
    index_tree: str | None = None

    def as_json(self) -> dict[str, Json]:
        """The JSON that enters the digest; absent parts are left out."""
        result: dict[str, Json] = {"paths": {path: self.paths[path].as_json() for path in sorted(self.paths)}}
        if self.head is not None:
            result["head"] = self.head
        if self.branch is not None:
            result["branch"] = self.branch
        if self.index_tree is not None:
            result["index_tree"] = self.index_tree
        return result

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> PreImage:
        """The inverse of `as_json`."""
        return PreImage(
            paths={path: PathImage.from_json(image) for path, image in value.get("paths", {}).items()},
            head=value.get("head"),
            branch=value.get("branch"),
            index_tree=value.get("index_tree"),
        )


@dataclass(frozen=True, slots=True)
class Request:
    """One row that waits, waited or was settled.

    Attributes:
        request_id: ours, never taken from the agent.
        kind, state: see the enums.
        root: the resolved memory root.
        source: where it came from, `{"file": …, "offset": …}`; for effects the archived output.
        op_kind, fields: for effects, the typed op exactly as decoded; for other kinds `fields` holds what is asked:
            question: {text, query, learning}; mismatch: {expected, observed, action};
            issue: {file, title, description}; unapproved: {changes: [{path, was, now}]}.
        title: one line written by us from the bytes, never agent prose for effects (T6).
        display: the payload as it is to be shown, computed by us from the bytes (see `effects.prepare`).
        after: request_id of an earlier op of the pass whose end this one waits for.
        prediction: action_id of the matching prediction; None means UNPREDICTED.
        seen_before: request_id of an earlier request with the same op and fields, if any.
        times: ISO instants.
    """

    request_id: str
    kind: RequestKind
    state: RequestState
    root: str
    agent: str
    session_id: str
    created_at: str
    title: str
    digest: str = ""
    run_nonce: str | None = None
    trigger_id: str = ""
    pass_no: int = 0
    ordinal: int = 0
    op_id: str = ""
    op_kind: str = ""
    action_id: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict)
    source: Mapping[str, Json] = field(default_factory=dict)
    pre_image: PreImage = field(default_factory=PreImage)
    display: Mapping[str, Json] = field(default_factory=dict)
    after: str | None = None
    tier: Tier | None = None
    reasons: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    prediction: str | None = None
    expires_at: str | None = None
    policy_version: str = ""
    modified_by: str | None = None
    supersedes: str | None = None
    seen_before: str | None = None
    settled_at: str | None = None
    outcome: Mapping[str, Json] = field(default_factory=dict)

    @property
    def needs_you(self) -> bool:
        """Whether an undecided row of this kind belongs to *Needs you* (an unknown outcome always does)."""
        return self.kind in NEEDS_YOU or self.state is RequestState.UNKNOWN

    def as_json(self) -> dict[str, Json]:
        """Every field under its PROTOCOL name, for `--json` and for the ledger."""
        return {
            "request_id": self.request_id,
            "kind": str(self.kind),
            "state": str(self.state),
            "root": self.root,
            "agent": self.agent,
            "session_id": self.session_id,
            "run_nonce": self.run_nonce,
            "trigger_id": self.trigger_id,
            "pass": self.pass_no,
            "ordinal": self.ordinal,
            "op_id": self.op_id,
            "op_kind": self.op_kind,
            "action_id": self.action_id,
            "title": self.title,
            "fields": dict(self.fields),
            "source": dict(self.source),
            "digest": self.digest,
            "pre_image": self.pre_image.as_json(),
            "display": dict(self.display),
            "after": self.after,
            "tier": str(self.tier) if self.tier else None,
            "reasons": list(self.reasons),
            "flags": list(self.flags),
            "prediction": self.prediction,
            "created_at": self.created_at,
            "expires_at": self.expires_at,
            "policy_version": self.policy_version,
            "modified_by": self.modified_by,
            "supersedes": self.supersedes,
            "seen_before": self.seen_before,
            "settled_at": self.settled_at,
            "outcome": dict(self.outcome),
        }

    @staticmethod
    def from_json(value: Mapping[str, Json]) -> Request:
        """The inverse of `as_json`."""
        return Request(
            request_id=value["request_id"],
            kind=RequestKind(value["kind"]),
            state=RequestState(value["state"]),
            root=value["root"],
            agent=value["agent"],
            session_id=value["session_id"],
            run_nonce=value["run_nonce"],
            trigger_id=value["trigger_id"],
            pass_no=value["pass"],
            ordinal=value["ordinal"],
            op_id=value["op_id"],
            op_kind=value["op_kind"],
            action_id=value["action_id"],
            title=value["title"],
            fields=value["fields"],
            source=value["source"],
            digest=value["digest"],
            pre_image=PreImage.from_json(value["pre_image"]),
            display=value["display"],
            after=value["after"],
            tier=Tier(value["tier"]) if value["tier"] else None,
            reasons=tuple(value["reasons"]),
            flags=tuple(value["flags"]),
            prediction=value["prediction"],
            created_at=value["created_at"],
            expires_at=value["expires_at"],
            policy_version=value["policy_version"],
            modified_by=value["modified_by"],
            supersedes=value["supersedes"],
            seen_before=value["seen_before"],
            settled_at=value["settled_at"],
            outcome=value["outcome"],
        )
