"""Phase 7: what is made of an outcome, and where it is kept (PROTOCOL §1.4, §5.5).

Deterministic and modest: a confirmation when matched; a tool model when a tool failed; a belief when an operator
refused; an uncertainty when nobody can tell. A lesson of type policy, belief or tool_model also queues a pending
citation, so that the next consequential prediction must cite it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from cas_tui.loop import commit
from cas_tui.protocol.decode import Json

CITED_TYPES = ("policy", "belief", "tool_model")


@dataclass(frozen=True, slots=True)
class Lesson:
    """One learning record's content, and the changes of STATE that make it last."""

    update_type: str = "confirmation_no_update"
    error_class: str | None = None
    persistent_ref: str = ""
    rationale: str = ""
    patches: tuple[Mapping[str, Json], ...] = field(default_factory=tuple)

    def lasting(self, action_id: str, at: str) -> tuple[Mapping[str, Json], ...]:
        """Its STATE changes, the pending citation included when its type is one that is cited."""
        if self.update_type not in CITED_TYPES or not self.persistent_ref:
            return self.patches
        return (*self.patches, commit.queue_citation(self.update_type, self.persistent_ref, at, action_id))


def from_failure(op_kind: str, reason: str) -> Lesson:
    """A tool did not do what it was expected to do."""
    words = reason or "failed"
    return Lesson("tool_model", "TOOL_ERROR", op_kind, f"{op_kind}: {words}", (commit.note_failure(op_kind, words),))


def from_refusal(belief_id: str, operator: str, what: str, reason: str) -> Lesson:
    """An operator said no: the agent did not know a limit."""
    claim = f"operator {operator} refused {what}: {reason}"
    belief = {"id": belief_id, "claim": claim, "confidence": 1.0, "evidence_refs": []}
    return Lesson("belief", "GOAL_ERROR", belief_id, claim, (commit.add_item("beliefs", belief),))


def refusal_rule(policy_id: str, operator: str, what: str, reason: str, at: str) -> Lesson:
    """An operator said no and made it a rule for the agent."""
    rule = f"do not {what}: {reason}"
    item = {
        "id": policy_id,
        "trigger": f"before {what}",
        "rule": rule,
        "rationale": f"refused by operator {operator}",
        "last_updated_at": at,
    }
    return Lesson("policy", "GOAL_ERROR", policy_id, rule, (commit.add_item("policies", item),))


def from_silence(uncertainty_id: str, what: str, why: str) -> Lesson:
    """Nobody can tell: no answer came, or the outcome is not known."""
    item = {
        "id": uncertainty_id,
        "question": f"{what}: {why}",
        "impact": "this act is not known to be wanted or done",
        "plan_to_resolve": "ask again, or look before acting",
    }
    return Lesson(
        "uncertainty",
        "OBSERVATION_ERROR",
        uncertainty_id,
        f"{what}: {why}",
        (commit.add_item("uncertainties", item),),
    )


def from_answer(
    kind: str, ref: str, question: str, answer: str, evidence: tuple[str, ...], at: str, resolves: str = ""
) -> Lesson:
    """An operator's answer, kept as a belief or a policy; `resolves` names the uncertainty it closes (§5.5)."""
    if kind == "policy":
        item: dict[str, Json] = {
            "id": ref,
            "trigger": question,
            "rule": answer,
            "rationale": f"answered by an operator; evidence {', '.join(evidence)}",
            "last_updated_at": at,
        }
        return Lesson("policy", None, ref, answer, (commit.add_item("policies", item),))
    claim = f"{question} {answer}".strip()
    belief = {"id": ref, "claim": claim, "confidence": 1.0, "evidence_refs": list(evidence)}
    patches: list[Mapping[str, Json]] = [commit.add_item("beliefs", belief)]
    if resolves:
        patches.append(commit.remove_item("uncertainties", resolves))
    return Lesson("belief", None, ref, claim, tuple(patches))
