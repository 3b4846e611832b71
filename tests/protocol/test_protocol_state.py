"""STATE.json: every section read, every fault named, the document itself kept (PROTOCOL §1.2)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.state import (
    Artifact,
    Belief,
    Commitment,
    Goal,
    PendingCitation,
    PlanStep,
    Policy,
    State,
    ToolModel,
    Uncertainty,
    decode_state,
)

WHOLE: dict[str, Any] = {
    "state_version": "1.0",
    "updated_at": "2026-11-30T14:00:00.000Z",
    "active_goals": [{"id": "G-1", "description": "d", "priority": "high", "status": "paused"}],
    "commitments": [{"id": "C-1", "to_whom": "w", "promise": "p", "due": "2026-12-01T00:00:00Z", "status": "met"}],
    "artifacts": [{"id": "A-1", "type": "t", "location": "l", "description": "d", "last_verified_at": "v"}],
    "beliefs": [{"id": "B-1", "claim": "c", "confidence": 0.9, "evidence_refs": ["e"], "supersedes": "B-0"}],
    "uncertainties": [{"id": "U-1", "question": "q", "impact": "i", "plan_to_resolve": "p"}],
    "current_plan": [
        {"step_id": "S-1", "intent": "i", "predicted_outcome": "o", "tool_actions": "t", "status": "done"}
    ],
    "policies": [{"id": "P-1", "trigger": "t", "rule": "r", "rationale": "w", "last_updated_at": "u"}],
    "tool_models": {"bash": {"reliability": 0.5, "latency_notes": "n", "failure_modes": ["f"], "constraints": ["c"]}},
    "pending_citations": [{"type": "belief", "ref": "B-1", "created_at": "c", "source_action_id": "a"}],
    "last_session_summary": "s",
    "run_nonce": "n",
}
REQUIRED = {
    "active_goals": ("id", "description"),
    "commitments": ("id", "to_whom", "promise"),
    "artifacts": ("id", "type", "location"),
    "beliefs": ("id", "claim"),
    "uncertainties": ("id", "question"),
    "policies": ("id", "trigger", "rule"),
    "pending_citations": ("type", "ref", "created_at", "source_action_id"),
}
ATTRIBUTE = {"active_goals": "goals", "current_plan": "plan"}


def read(value: Any) -> State:
    found = decode_state(value if isinstance(value, bytes) else json.dumps(value).encode())
    assert isinstance(found, State), found
    return found


def test_a_whole_state_is_read_whole() -> None:
    """PROTOCOL §1.2: every field of every section, no fault, and the document as it was."""
    found = read(WHOLE)
    assert found == State(
        updated_at=WHOLE["updated_at"],
        state_version="1.0",
        goals=(Goal("G-1", "d", "high", "paused"),),
        commitments=(Commitment("C-1", "w", "p", "2026-12-01T00:00:00Z", "met"),),
        artifacts=(Artifact("A-1", "t", "l", "d", "v"),),
        beliefs=(Belief("B-1", "c", 0.9, ("e",), "B-0"),),
        uncertainties=(Uncertainty("U-1", "q", "i", "p"),),
        plan=(PlanStep("S-1", "i", "o", "t", "done"),),
        policies=(Policy("P-1", "t", "r", "w", "u"),),
        tool_models=(ToolModel("bash", 0.5, "n", ("f",), ("c",)),),
        pending_citations=(PendingCitation("belief", "B-1", "c", "a"),),
        last_session_summary="s",
        run_nonce="n",
        raw=WHOLE,
    )


def test_the_least_state_has_no_fault() -> None:
    """Everything but version and time is optional; absent and null sections are empty."""
    least = {"state_version": "1.0", "updated_at": "x"}
    assert read(least).faults == ()
    assert read(least | dict.fromkeys(ATTRIBUTE) | {"beliefs": None, "tool_models": None}).faults == ()
    assert read({}).faults == ("STATE.state_version is missing", "STATE.updated_at is missing")


def test_unknown_keys_are_kept_in_order() -> None:
    """PROTOCOL §1.2: whoever writes STATE back must find every key, ours or not, where it was."""
    value = {"zeta": 1, **WHOLE, "plan": ["legacy"], "alpha": {"b": [1]}}
    assert list(read(value).raw) == list(value)
    assert read(value).raw == value


@pytest.mark.parametrize(
    ("section", "name"), [(section, name) for section, names in REQUIRED.items() for name in names]
)
@pytest.mark.parametrize("wrong", ["missing", None, 7, ["x"]], ids=repr)
def test_an_item_without_a_required_field_is_a_fault_and_the_others_stay(section: str, name: str, wrong: Any) -> None:
    """A14: the fault names section, place and field; the sound item beside it is read."""
    broken = dict(WHOLE[section][0])
    broken.pop(name)
    if wrong != "missing":
        broken[name] = wrong
    found = read(WHOLE | {section: [broken, WHOLE[section][0]]})
    assert found.faults == (f"{section}[0].{name} is missing or not a string",)
    assert len(getattr(found, ATTRIBUTE.get(section, section))) == 1


@pytest.mark.parametrize("section", [*REQUIRED, "current_plan", "tool_models"])
@pytest.mark.parametrize("wrong", ["text", 7, True, 1.5], ids=repr)
def test_a_section_of_a_wrong_type_is_a_fault(section: str, wrong: Any) -> None:
    """A14: the section is empty and named, the rest is read."""
    found = read(WHOLE | {section: wrong})
    kind = "an object" if section == "tool_models" else "a list"
    assert found.faults == (f"{section} is not {kind}",)
    assert getattr(found, ATTRIBUTE.get(section, section)) == ()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (
            {"beliefs": [{"id": "B", "claim": "c", "confidence": 1.5}]},
            "beliefs[0].confidence is not a number from 0 to 1",
        ),
        (
            {"beliefs": [{"id": "B", "claim": "c", "confidence": True}]},
            "beliefs[0].confidence is not a number from 0 to 1",
        ),
        ({"beliefs": [{"id": "B", "claim": "c", "evidence_refs": "e"}]}, "beliefs[0].evidence_refs is not a list"),
        (
            {"beliefs": [{"id": "B", "claim": "c", "evidence_refs": ["e", 1]}]},
            "beliefs[0].evidence_refs holds something that is not a string",
        ),
        ({"active_goals": [{"id": "G", "description": "d", "status": 1}]}, "active_goals[0].status is not a string"),
        ({"active_goals": ["G-1"]}, "active_goals[0] is not an object"),
        ({"current_plan": [{"tool_actions": ["a"]}]}, "current_plan[0].tool_actions is not a string"),
        ({"tool_models": {"bash": 1}}, "tool_models.bash is not an object"),
        (
            {"tool_models": {"bash": {"reliability": "high"}}},
            "tool_models.bash.reliability is not a number from 0 to 1",
        ),
        ({"run_nonce": 7}, "STATE.run_nonce is not a string"),
        ({"last_session_summary": []}, "STATE.last_session_summary is not a string"),
    ],
)
def test_a_wrong_optional_field_is_a_fault_and_the_item_stays(change: dict[str, Any], fault: str) -> None:
    """A14, A18: one fault, with the path to it."""
    assert read(WHOLE | change).faults == (fault,)


@pytest.mark.parametrize(
    ("raw", "reason"),
    [
        (b"", "empty"),
        (b"\n \r\n", "empty"),
        (b'{"state_version": "1.0", "upd', "not JSON"),
        (b"[]", "expected an object, found a list"),
        (b"\x00" * 100, "a hole"),
        ('{"a": 1}'.encode("utf-16"), "UTF-16"),
        (b"[" * 100_000, "nested deeper"),
    ],
)
def test_a_document_that_cannot_be_read_says_why(raw: bytes, reason: str) -> None:
    """PROTOCOL §1.2, SAFETY §0.9: torn and foreign documents are a reason, never an exception."""
    found = decode_state(raw)
    assert isinstance(found, Malformed)
    assert found.reason.startswith(reason) and found.file == "STATE.json"


def test_oddities_of_the_document_are_faults() -> None:
    """A06, A07, A11: a BOM, Windows line ends and duplicate keys do not keep it from being read."""
    text = json.dumps(WHOLE, indent=2)
    assert read(text.replace("\n", "\r\n").encode() + b"\r\n").faults == ()
    assert read(b"\xef\xbb\xbf" + text.encode()).faults == ("bom",)
    assert read(text.encode()[:-1] + b', "run_nonce": "m"}').faults == ("duplicate_key:run_nonce",)


VALUE = st.none() | st.booleans() | st.integers() | st.text(max_size=3)
ITEM = st.dictionaries(
    st.sampled_from(["id", "claim", "confidence", "evidence_refs", "status"]), VALUE | st.lists(VALUE)
)


@given(st.dictionaries(st.sampled_from([*WHOLE, "x"]), VALUE | st.lists(ITEM | VALUE, max_size=3) | ITEM, max_size=6))
@settings(max_examples=300)
def test_no_document_raises(value: dict[str, Any]) -> None:
    """T4: any object is a state, and its document is kept."""
    assert read(value).raw == value
