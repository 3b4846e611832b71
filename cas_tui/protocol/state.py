"""STATE.json, the agent's world model (PROTOCOL §1.2), read leniently and kept whole.

`State.raw` is the document as read, unknown keys and their order included; whoever writes STATE changes that document
and nothing else. Items that do not have their required fields are kept in `faults`, never dropped in silence.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.protocol.decode import Json, Malformed, decode_lenient


@dataclass(frozen=True, slots=True)
class Goal:
    id: str
    description: str
    priority: str = ""
    status: str = "active"


@dataclass(frozen=True, slots=True)
class Commitment:
    id: str
    to_whom: str
    promise: str
    due: str | None = None
    status: str = "pending"


@dataclass(frozen=True, slots=True)
class Artifact:
    id: str
    type: str
    location: str
    description: str = ""
    last_verified_at: str | None = None


@dataclass(frozen=True, slots=True)
class Belief:
    id: str
    claim: str
    confidence: float | None = None
    evidence_refs: tuple[str, ...] = ()
    supersedes: str | None = None


@dataclass(frozen=True, slots=True)
class Uncertainty:
    id: str
    question: str
    impact: str = ""
    plan_to_resolve: str = ""


@dataclass(frozen=True, slots=True)
class PlanStep:
    step_id: str
    intent: str
    predicted_outcome: str = ""
    tool_actions: str = ""
    status: str = "pending"


@dataclass(frozen=True, slots=True)
class Policy:
    id: str
    trigger: str
    rule: str
    rationale: str = ""
    last_updated_at: str | None = None


@dataclass(frozen=True, slots=True)
class ToolModel:
    name: str
    reliability: float | None = None
    latency_notes: str = ""
    failure_modes: tuple[str, ...] = ()
    constraints: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PendingCitation:
    type: str
    ref: str
    created_at: str
    source_action_id: str


@dataclass(frozen=True, slots=True)
class State:
    """The whole world model. `faults` names every item or field that is not as PROTOCOL §1.2 says."""

    updated_at: str = ""
    state_version: str = ""
    goals: tuple[Goal, ...] = ()
    commitments: tuple[Commitment, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    beliefs: tuple[Belief, ...] = ()
    uncertainties: tuple[Uncertainty, ...] = ()
    plan: tuple[PlanStep, ...] = ()
    policies: tuple[Policy, ...] = ()
    tool_models: tuple[ToolModel, ...] = ()
    pending_citations: tuple[PendingCitation, ...] = ()
    last_session_summary: str = ""
    run_nonce: str | None = None
    faults: tuple[str, ...] = ()
    raw: Mapping[str, Json] = field(default_factory=dict)


class _Reader:
    """Reads fields out of one item, noting every fault under the item's path."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def items(self, value: Mapping[str, Json], name: str) -> list[tuple[str, Mapping[str, Json]]]:
        section = value.get(name)
        if section is None:
            return []
        if not isinstance(section, list):
            self.faults.append(f"{name} is not a list")
            return []
        found: list[tuple[str, Mapping[str, Json]]] = []
        for index, item in enumerate(section):
            where = f"{name}[{index}]"
            if isinstance(item, dict):
                found.append((where, item))
            else:
                self.faults.append(f"{where} is not an object")
        return found

    def required(self, item: Mapping[str, Json], where: str, names: tuple[str, ...]) -> bool:
        for name in names:
            if not isinstance(item.get(name), str):
                self.faults.append(f"{where}.{name} is missing or not a string")
                return False
        return True

    def text(self, item: Mapping[str, Json], where: str, name: str, default: str = "") -> str:
        value = item.get(name)
        if value is None:
            return default
        if not isinstance(value, str):
            self.faults.append(f"{where}.{name} is not a string")
            return default
        return value

    def optional(self, item: Mapping[str, Json], where: str, name: str) -> str | None:
        return self.text(item, where, name) or None

    def texts(self, item: Mapping[str, Json], where: str, name: str) -> tuple[str, ...]:
        value = item.get(name)
        if value is None:
            return ()
        if isinstance(value, list):
            if not all(isinstance(part, str) for part in value):
                self.faults.append(f"{where}.{name} holds something that is not a string")
            return tuple(part for part in value if isinstance(part, str))
        self.faults.append(f"{where}.{name} is not a list")
        return (value,) if isinstance(value, str) else ()

    def fraction(self, item: Mapping[str, Json], where: str, name: str) -> float | None:
        value = item.get(name)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= 1:
            self.faults.append(f"{where}.{name} is not a number from 0 to 1")
            return None
        return float(value)


def decode_state(raw: bytes) -> State | Malformed:
    """STATE.json as read. Never raises; a document that is not a JSON object is `Malformed` at offset 0."""
    # A whole file, not a line: the size limit of telemetry lines does not apply, the other rules do.
    decoded = decode_lenient(raw.rstrip(b"\r\n \t"), limit=64 << 20)
    if isinstance(decoded, str):
        return Malformed("STATE.json", 0, decoded, raw[:4096])
    return _state(decoded.value, decoded.flags)


def _state(value: Mapping[str, Json], flags: tuple[str, ...]) -> State:
    read = _Reader()
    read.faults.extend(flags)
    read.faults.extend(f"STATE.{name} is missing" for name in ("state_version", "updated_at") if name not in value)
    goals = tuple(
        Goal(i["id"], i["description"], read.text(i, w, "priority"), read.text(i, w, "status", "active"))
        for w, i in read.items(value, "active_goals")
        if read.required(i, w, ("id", "description"))
    )
    commitments = tuple(
        Commitment(
            i["id"], i["to_whom"], i["promise"], read.optional(i, w, "due"), read.text(i, w, "status", "pending")
        )
        for w, i in read.items(value, "commitments")
        if read.required(i, w, ("id", "to_whom", "promise"))
    )
    artifacts = tuple(
        Artifact(
            i["id"], i["type"], i["location"], read.text(i, w, "description"), read.optional(i, w, "last_verified_at")
        )
        for w, i in read.items(value, "artifacts")
        if read.required(i, w, ("id", "type", "location"))
    )
    beliefs = tuple(
        Belief(
            i["id"],
            i["claim"],
            read.fraction(i, w, "confidence"),
            read.texts(i, w, "evidence_refs"),
            read.optional(i, w, "supersedes"),
        )
        for w, i in read.items(value, "beliefs")
        if read.required(i, w, ("id", "claim"))
    )
    uncertainties = tuple(
        Uncertainty(i["id"], i["question"], read.text(i, w, "impact"), read.text(i, w, "plan_to_resolve"))
        for w, i in read.items(value, "uncertainties")
        if read.required(i, w, ("id", "question"))
    )
    plan = tuple(
        PlanStep(
            read.text(i, w, "step_id"),
            read.text(i, w, "intent"),
            read.text(i, w, "predicted_outcome"),
            read.text(i, w, "tool_actions"),
            read.text(i, w, "status", "pending"),
        )
        for w, i in read.items(value, "current_plan")
    )
    policies = tuple(
        Policy(i["id"], i["trigger"], i["rule"], read.text(i, w, "rationale"), read.optional(i, w, "last_updated_at"))
        for w, i in read.items(value, "policies")
        if read.required(i, w, ("id", "trigger", "rule"))
    )
    citations = tuple(
        PendingCitation(i["type"], i["ref"], i["created_at"], i["source_action_id"])
        for w, i in read.items(value, "pending_citations")
        if read.required(i, w, ("type", "ref", "created_at", "source_action_id"))
    )
    return State(
        updated_at=read.text(value, "STATE", "updated_at"),
        state_version=read.text(value, "STATE", "state_version"),
        goals=goals,
        commitments=commitments,
        artifacts=artifacts,
        beliefs=beliefs,
        uncertainties=uncertainties,
        plan=plan,
        policies=policies,
        tool_models=_tool_models(value, read),
        pending_citations=citations,
        last_session_summary=read.text(value, "STATE", "last_session_summary"),
        run_nonce=read.optional(value, "STATE", "run_nonce"),
        faults=tuple(read.faults),
        raw=value,
    )


def _tool_models(value: Mapping[str, Json], read: _Reader) -> tuple[ToolModel, ...]:
    section = value.get("tool_models")
    if section is None:
        return ()
    if not isinstance(section, dict):
        read.faults.append("tool_models is not an object")
        return ()
    models: list[ToolModel] = []
    for name, item in section.items():
        where = f"tool_models.{name}"
        if not isinstance(item, dict):
            read.faults.append(f"{where} is not an object")
            continue
        models.append(
            ToolModel(
                name,
                read.fraction(item, where, "reliability"),
                read.text(item, where, "latency_notes"),
                read.texts(item, where, "failure_modes"),
                read.texts(item, where, "constraints"),
            )
        )
    return tuple(models)
