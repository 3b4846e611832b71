"""The three telemetry records of PROTOCOL §1.3, read leniently and kept whole.

A record keeps every key the file had (`raw`), where it stood (`place`) and what is odd about it (`flags`); the typed
fields are what the rest of the program works with. What cannot be read as a record is `Malformed`, naming the field.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

from cas_tui.protocol.decode import Json, LenientObject, Malformed, Place, decode_lenient

RecordKind = Literal["prediction", "observation", "learning"]

UPDATE_TYPES: Final = frozenset(
    {"confirmation_no_update", "policy", "tool_model", "belief", "uncertainty", "user_query"}
)
ERROR_CLASSES: Final = frozenset({"MODEL_ERROR", "TOOL_ERROR", "OBSERVATION_ERROR", "EXECUTION_ERROR", "GOAL_ERROR"})
CITABLE: Final = ("policy", "belief", "tool_model")
"""Update types that queue a pending citation, in the order their `*_refs` are written."""

FILE_OF: Final[dict[RecordKind, str]] = {
    "prediction": "predictions.jsonl",
    "observation": "observations.jsonl",
    "learning": "learning.jsonl",
}


@dataclass(frozen=True, slots=True)
class Prediction:
    """What the agent said would happen, before it acted (Phase 4)."""

    action_id: str
    agent: str
    session_id: str
    timestamp: str
    action: str
    expected_observation: str
    confidence: float | None
    place: Place
    expected_failure_modes: tuple[str, ...] = ()
    falsifier: str = ""
    policy_refs: tuple[str, ...] = ()
    belief_refs: tuple[str, ...] = ()
    tool_model_refs: tuple[str, ...] = ()
    citation_mode: str | None = None
    run_nonce: str | None = None
    entry_id: str | None = None
    flags: tuple[str, ...] = ()
    raw: Mapping[str, Json] = field(default_factory=dict)

    @property
    def refs(self) -> tuple[tuple[str, str], ...]:
        """Every citation as (type, ref)."""
        return (
            *(("policy", ref) for ref in self.policy_refs),
            *(("belief", ref) for ref in self.belief_refs),
            *(("tool_model", ref) for ref in self.tool_model_refs),
        )


@dataclass(frozen=True, slots=True)
class Observation:
    """What came (Phase 5 and 6). `matched` is the verdict; `inferred` says that it was taken from `success`."""

    action_id: str
    agent: str
    session_id: str
    timestamp: str
    success: bool
    place: Place
    match: str | None = None
    inferred: bool = False
    outcome: str = "executed"
    raw_ref: str | None = None
    stderr_ref: str | None = None
    observation_summary: str = ""
    run_nonce: str | None = None
    entry_id: str | None = None
    flags: tuple[str, ...] = ()
    raw: Mapping[str, Json] = field(default_factory=dict)

    @property
    def matched(self) -> bool:
        """The verdict, inferred from `success` where the record has no `match` (PROTOCOL §4 row 5)."""
        return self.match == "matched"


@dataclass(frozen=True, slots=True)
class Learning:
    """What was made of it (Phase 7)."""

    action_id: str
    agent: str
    session_id: str
    timestamp: str
    update_type: str
    place: Place
    error_class: str | None = None
    persistent_ref: str = ""
    rationale: str = ""
    query: Mapping[str, Json] | None = None
    run_nonce: str | None = None
    entry_id: str | None = None
    flags: tuple[str, ...] = ()
    raw: Mapping[str, Json] = field(default_factory=dict)


Record = Prediction | Observation | Learning


def bare_ref(ref: str) -> str:
    """A persistent_ref without the section prefixes some writers add (PROTOCOL §4 row 3)."""
    for prefix in ("STATE.", "tool_models.", "policies.", "beliefs."):
        ref = ref.removeprefix(prefix)
    return ref


class _Field(Exception):
    """A field that keeps a record from being one; the message names it."""


def _text(value: Mapping[str, Json], name: str) -> str:
    if name not in value:
        raise _Field(f"{name} is missing")
    item = value[name]
    if not isinstance(item, str):
        raise _Field(f"{name} is not a string")
    return item


def _optional_text(value: Mapping[str, Json], name: str, flags: list[str]) -> str | None:
    item = value.get(name)
    if item is None or isinstance(item, str):
        return item
    flags.append(f"wrong_type:{name}")
    return None


def _texts(value: Mapping[str, Json], name: str, flags: list[str]) -> tuple[str, ...]:
    item = value.get(name)
    if item is None:
        return ()
    if isinstance(item, list) and all(isinstance(part, str) for part in item):
        return tuple(item)
    flags.append(f"wrong_type:{name}")
    if isinstance(item, str):
        return (item,)
    if isinstance(item, list):
        return tuple(part for part in item if isinstance(part, str))
    return ()


def _confidence(value: Mapping[str, Json], flags: list[str]) -> float | None:
    if "confidence" not in value:
        raise _Field("confidence is missing")
    item = value["confidence"]
    if isinstance(item, bool) or not isinstance(item, int | float) or item != item or not 0 <= item <= 1:
        flags.append("bad_confidence")
        return None
    return float(item) + 0.0  # so that -0.0 is 0.0


def decode_record(raw: bytes, kind: RecordKind, place: Place) -> Record | Malformed:
    """One line of a telemetry file (without its newline). Never raises.

    A record whose only fault lies in an optional field, or in a confidence outside 0..1, is kept with a flag; one
    without a required field, or with a required field of the wrong type, is `Malformed` with that field named.
    """
    decoded = decode_lenient(raw)
    if isinstance(decoded, str):
        return Malformed(place.file, place.offset, decoded, raw[:4096])
    try:
        return _record(decoded, kind, place)
    except _Field as fault:
        return Malformed(place.file, place.offset, f"not a {kind}: {fault}", raw[:4096])


def _record(decoded: LenientObject, kind: RecordKind, place: Place) -> Record:
    value = decoded.value
    flags = list(decoded.flags)
    action_id, agent = _text(value, "action_id"), _text(value, "agent")
    session_id, stamp = _text(value, "session_id"), _text(value, "timestamp")
    if not action_id:
        flags.append("empty_action_id")
    run_nonce = _optional_text(value, "run_nonce", flags)
    entry_id = _optional_text(value, "entry_id", flags)
    if kind == "prediction":
        return Prediction(
            action_id=action_id,
            agent=agent,
            session_id=session_id,
            timestamp=stamp,
            action=_text(value, "action"),
            expected_observation=_text(value, "expected_observation"),
            confidence=_confidence(value, flags),
            place=place,
            expected_failure_modes=_texts(value, "expected_failure_modes", flags),
            falsifier=_optional_text(value, "falsifier", flags) or "",
            policy_refs=_texts(value, "policy_refs", flags),
            belief_refs=_texts(value, "belief_refs", flags),
            tool_model_refs=_texts(value, "tool_model_refs", flags),
            citation_mode=_optional_text(value, "citation_mode", flags),
            run_nonce=run_nonce,
            entry_id=entry_id,
            flags=tuple(flags),
            raw=value,
        )
    if kind == "observation":
        if "success" not in value:
            raise _Field("success is missing")
        success = value["success"]
        if not isinstance(success, bool):
            raise _Field("success is not true or false")
        match = _optional_text(value, "match", flags)
        if match is not None and match not in ("matched", "mismatched"):
            flags.append(f"unknown_match:{match}")
            match = None
        inferred = match is None
        return Observation(
            action_id=action_id,
            agent=agent,
            session_id=session_id,
            timestamp=stamp,
            success=success,
            place=place,
            match=match or ("matched" if success else "mismatched"),
            inferred=inferred,
            outcome=_optional_text(value, "outcome", flags) or "executed",
            raw_ref=_optional_text(value, "raw_ref", flags),
            stderr_ref=_optional_text(value, "stderr_ref", flags),
            observation_summary=_optional_text(value, "observation_summary", flags) or "",
            run_nonce=run_nonce,
            entry_id=entry_id,
            flags=tuple(flags),
            raw=value,
        )
    update_type = _text(value, "update_type")
    if update_type not in UPDATE_TYPES:
        flags.append(f"unknown_update_type:{update_type}")
    error_class = _optional_text(value, "error_class", flags)
    if error_class == "EXCUTION_ERROR":
        # A typo of the public document, in real use; read as meant and flagged (PROTOCOL §4 row 1).
        error_class = "EXECUTION_ERROR"
        flags.append("typo:EXCUTION_ERROR")
    elif error_class is not None and error_class not in ERROR_CLASSES:
        flags.append(f"unknown_error_class:{error_class}")
    query = value.get("query")
    if query is not None and not isinstance(query, dict):
        flags.append("wrong_type:query")
        query = None
    return Learning(
        action_id=action_id,
        agent=agent,
        session_id=session_id,
        timestamp=stamp,
        update_type=update_type,
        place=place,
        error_class=error_class,
        persistent_ref=_optional_text(value, "persistent_ref", flags) or "",
        rationale=_optional_text(value, "rationale", flags) or "",
        query=query,
        run_nonce=run_nonce,
        entry_id=entry_id,
        flags=tuple(flags),
        raw=value,
    )
