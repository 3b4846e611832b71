"""The telemetry records: kept whole, flagged where odd, malformed only by a required field (SAFETY A14-A18)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.decode import Malformed, Place
from cas_tui.protocol.journal import (
    ERROR_CLASSES,
    UPDATE_TYPES,
    Learning,
    Observation,
    Prediction,
    Record,
    RecordKind,
    bare_ref,
    decode_record,
)

PLACE = Place("predictions.jsonl", 120, 7)
COMMON = {"action_id": "act-1", "agent": "echo", "session_id": "s-1", "timestamp": "2026-11-30T14:00:00.000Z"}
REQUIRED: dict[RecordKind, dict[str, Any]] = {
    "prediction": COMMON | {"action": "read a file", "expected_observation": "it is there", "confidence": 0.7},
    "observation": COMMON | {"success": True},
    "learning": COMMON | {"update_type": "belief"},
}
OPTIONAL: dict[RecordKind, dict[str, Any]] = {
    "prediction": {
        "expected_failure_modes": ["a"], "falsifier": "f", "policy_refs": ["p"], "belief_refs": ["b"],
        "tool_model_refs": ["t"], "citation_mode": "manual", "run_nonce": "n", "entry_id": "e",
    },
    "observation": {
        "match": "matched", "outcome": "denied", "raw_ref": "raw/s/a.txt", "stderr_ref": "x",
        "observation_summary": "sum", "run_nonce": "n", "entry_id": "e",
    },
    "learning": {
        "error_class": "TOOL_ERROR", "persistent_ref": "B-1", "rationale": "r", "query": {"text": "q"},
        "run_nonce": "n", "entry_id": "e",
    },
}  # fmt: skip
WRONG: tuple[Any, ...] = (None, [], {}, 7, 1.5, True, "0.5")
KINDS: tuple[RecordKind, ...] = ("prediction", "observation", "learning")


def read(kind: RecordKind, value: Any) -> Record | Malformed:
    raw = value if isinstance(value, bytes) else json.dumps(value).encode()
    return decode_record(raw, kind, PLACE)


def good(kind: RecordKind, **changes: Any) -> Any:
    found = read(kind, REQUIRED[kind] | changes)
    assert not isinstance(found, Malformed), found
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_the_required_fields_are_enough(kind: RecordKind) -> None:
    """PROTOCOL §1.3: a record with just these has no flag, and keeps its place and all its keys."""
    found = good(kind)
    assert found.flags == () and found.place == PLACE and found.raw == REQUIRED[kind]
    assert (found.action_id, found.agent, found.session_id, found.timestamp) == tuple(COMMON.values())


@pytest.mark.parametrize("kind", KINDS)
def test_every_optional_field_is_read(kind: RecordKind) -> None:
    """PROTOCOL §1.3: every optional field arrives as written, without a flag."""
    found = good(kind, **OPTIONAL[kind])
    assert found.flags == ()
    for name, value in OPTIONAL[kind].items():
        assert getattr(found, name) == (tuple(value) if isinstance(value, list) else value)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in REQUIRED[kind]])
def test_a_missing_required_field_is_named(kind: RecordKind, name: str) -> None:
    """A14: malformed, with kind, field, file and offset, and the beginning of the line."""
    value = {key: item for key, item in REQUIRED[kind].items() if key != name}
    raw = json.dumps(value).encode()
    assert read(kind, raw) == Malformed(PLACE.file, PLACE.offset, f"not a {kind}: {name} is missing", raw)


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in REQUIRED[kind]])
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_a_required_field_of_a_wrong_type_is_named(kind: RecordKind, name: str, wrong: Any) -> None:
    """A14: one field wrong at a time; confidence is kept with a flag, since the rest of the record still tells."""
    right = {"success": bool, "confidence": float}.get(name, str)
    found = read(kind, REQUIRED[kind] | {name: wrong})
    if type(wrong) is right and name != "confidence":
        assert not isinstance(found, Malformed)
    elif name == "confidence":
        assert isinstance(found, Prediction) and found.confidence is None and found.flags == ("bad_confidence",)
    else:
        assert isinstance(found, Malformed) and name in found.reason and kind in found.reason


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in KINDS for name in OPTIONAL[kind]])
@pytest.mark.parametrize("wrong", WRONG, ids=repr)
def test_an_optional_field_of_a_wrong_type_is_flagged(kind: RecordKind, name: str, wrong: Any) -> None:
    """A14: the record stays, the flag names the field, the raw value is kept."""
    found = good(kind, **{name: wrong})
    if wrong is not None and type(wrong) is not type(OPTIONAL[kind][name]):
        assert f"wrong_type:{name}" in found.flags
    assert found.raw[name] == wrong


NAMES = st.sampled_from([*COMMON, "confidence", "success", "update_type", "error_class", "query", "match"])
VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.integers(), max_size=2),
)


@given(st.sampled_from(KINDS), st.dictionaries(NAMES, VALUES))
@settings(max_examples=300)
def test_no_combination_of_values_raises(kind: RecordKind, changes: dict[str, Any]) -> None:
    """T4: whatever the fields hold, there is a record or a reason."""
    found = read(kind, json.dumps(REQUIRED[kind] | changes).encode())
    assert isinstance(found, Malformed | Prediction | Observation | Learning)


@given(st.sampled_from(KINDS), st.integers(0, 400))
@settings(max_examples=200)
def test_a_line_cut_anywhere_is_malformed_and_not_another_record(kind: RecordKind, cut: int) -> None:
    """A01, D2: no proper beginning of a record reads as one."""
    raw = json.dumps(REQUIRED[kind] | OPTIONAL[kind]).encode()
    assert isinstance(read(kind, raw[: min(cut, len(raw) - 1)]), Malformed)


def test_two_records_glued_together_are_malformed() -> None:
    """A02: a torn line with the next one on it is set aside, not half read."""
    raw = json.dumps(REQUIRED["observation"]).encode()
    assert isinstance(read("observation", raw[:30] + raw), Malformed)
    assert isinstance(read("observation", raw + raw), Malformed)


@pytest.mark.parametrize(
    ("value", "read_as"),
    [(0, 0.0), (1, 1.0), (0.0, 0.0), (-0.0, 0.0), (1.0, 1.0), (0.5, 0.5)],
)
def test_confidence_from_nothing_to_certain(value: float, read_as: float) -> None:
    """A18: the edges belong to it, and minus zero is zero."""
    found = good("prediction", confidence=value)
    assert repr(found.confidence) == repr(read_as) and found.flags == ()


@pytest.mark.parametrize(
    "raw",
    [
        b"-0.1",
        b"1.0000001",
        b'"0.9"',
        b"null",
        b"true",
        b"NaN",
        b"Infinity",
        b"1e999",
        b"2",
        b"[0.5]",
        b"1" + b"0" * 400,
    ],
)
def test_confidence_outside_is_flagged_and_not_a_number(raw: bytes) -> None:
    """A18, A12: flagged, out of every statistic, and the record is kept."""
    line = json.dumps(REQUIRED["prediction"]).encode().replace(b"0.7", raw)
    found = read("prediction", line)
    assert isinstance(found, Prediction) and found.confidence is None and "bad_confidence" in found.flags


def test_the_typo_of_the_public_document_is_read_as_meant() -> None:
    """A15, PROTOCOL §4 row 1: EXCUTION_ERROR is EXECUTION_ERROR, flagged, and the line keeps its own spelling."""
    found = good("learning", error_class="EXCUTION_ERROR")
    assert found.error_class == "EXECUTION_ERROR"
    assert found.flags == ("typo:EXCUTION_ERROR",)
    assert found.raw["error_class"] == "EXCUTION_ERROR"


def test_unknown_words_and_keys_are_kept() -> None:
    """A15: unknown keys stay in `raw`; unknown values stay and are flagged."""
    found = good("learning", update_type="dream", error_class="ODD", extra={"a": 1})
    assert (found.update_type, found.error_class) == ("dream", "ODD")
    assert found.flags == ("unknown_update_type:dream", "unknown_error_class:ODD")
    assert found.raw["extra"] == {"a": 1}
    assert good("learning", error_class=None).flags == ()
    for word in UPDATE_TYPES:
        assert good("learning", update_type=word).flags == ()
    for word in ERROR_CLASSES:
        assert good("learning", error_class=word).flags == ()


@pytest.mark.parametrize(
    ("fields", "matched", "inferred", "flags"),
    [
        ({"success": True}, True, True, ()),
        ({"success": False}, False, True, ()),
        ({"success": False, "match": "matched"}, True, False, ()),
        ({"success": True, "match": "mismatched"}, False, False, ()),
        ({"success": True, "match": "maybe"}, True, True, ("unknown_match:maybe",)),
        ({"success": False, "match": None}, False, True, ()),
    ],
)
def test_the_verdict_is_match_or_else_success(
    fields: dict[str, Any], matched: bool, inferred: bool, flags: tuple[str, ...]
) -> None:
    """PROTOCOL §4 row 5: `match` decides, `success` stands in for it, and that is marked."""
    found = good("observation", **fields)
    assert (found.matched, found.inferred, found.flags) == (matched, inferred, flags)
    assert found.outcome == "executed"


def test_citations_come_with_their_type() -> None:
    """PROTOCOL §1.4: refs in the order policy, belief, tool model; the prefixes some writers add are taken off."""
    found = good("prediction", tool_model_refs=["bash"], policy_refs=["P-1", "P-2"], belief_refs=[])
    assert found.refs == (("policy", "P-1"), ("policy", "P-2"), ("tool_model", "bash"))
    assert [bare_ref(ref) for ref in ("tool_models.bash", "STATE.policies.P-1", "beliefs.B-1", "flaky")] == [
        "bash", "P-1", "B-1", "flaky",
    ]  # fmt: skip


def test_lists_with_strangers_keep_their_strings() -> None:
    """A14: what can be read of a mixed list is, and the flag says so; one bare string counts as a list of one."""
    assert good("prediction", belief_refs=["a", 1, None]).belief_refs == ("a",)
    assert good("prediction", belief_refs="a").belief_refs == ("a",)
    assert good("prediction", belief_refs=["a", 1]).flags == ("wrong_type:belief_refs",)


def test_bytes_that_are_odd_are_records_with_flags() -> None:
    """A04-A08: BOM, CR, undecodable bytes, surrogates and separators in a string are one flagged record."""
    line = json.dumps(REQUIRED["prediction"]).encode()
    assert good_flags(b"\xef\xbb\xbf" + line) == ("bom",)
    assert good_flags(line + b"\r") == ("crlf",)
    assert good_flags(line.replace(b"file", b"fil\xe9")) == ("invalid_utf8", "not_strict_json")
    assert good_flags(line.replace(b"file", b"\\ud800")) == ("not_strict_json",)
    assert good_flags(line.replace(b"file", "a\u2028b\u0085c".encode())) == ()
    assert good_flags(line[:-1] + b', "agent": "other"}') == ("duplicate_key:agent",)
    assert good_flags(line.replace(b"act-1", b"")) == ("empty_action_id",)


def good_flags(raw: bytes) -> tuple[str, ...]:
    found = read("prediction", raw)
    assert isinstance(found, Prediction), found
    return found.flags


@pytest.mark.parametrize(
    "raw", [b"[" * 100_000, b'{"a":' * 100_000, b"\x00" * 4096, b"", b"[]", b"\xff\xfe{\x00", b"{" + b"x" * 2_000_000]
)
def test_what_is_no_object_is_malformed_and_kept_short(raw: bytes) -> None:
    """A03, A06, A09, A10: a reason, the place, and no more than the first 4 KiB of it."""
    found = read("observation", raw)
    assert isinstance(found, Malformed)
    assert (found.file, found.offset) == (PLACE.file, PLACE.offset)
    assert found.reason and found.excerpt == raw[:4096]
