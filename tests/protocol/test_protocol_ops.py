"""Typed ops: yes, or a denial with its reason; one bad op does not spoil the others (PROTOCOL §2.5, SAFETY E6)."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.ops import KINDS, Denial, Manifest, Op, OpClass, Predict, decode_ops

OBSERVE, EFFECT = OpClass.OBSERVE, OpClass.EFFECT
GOOD: dict[str, dict[str, Any]] = {
    "fs_read": {"path": "a", "offset": 0, "limit": 1},
    "fs_list": {"path": ""},
    "fs_glob": {"pattern": "*.py", "base": "."},
    "git_status": {},
    "git_diff": {"rev": "HEAD"},
    "git_log": {"rev": "HEAD", "max": 5},
    "git_grep": {"query": "x", "path": "a"},
    "fs_write": {"path": "a", "content": ""},
    "fs_patch": {"path": "a", "unified_diff": "x"},
    "git_branch": {"name": "b"},
    "git_stage": {"paths": ["a", "b"]},
    "git_commit": {"message": "m", "allow_empty": True},
    "exec": {"argv": ["true"], "stdin": ""},
    "obligation_register": {"obligation": {"id": "O-1"}},
}


def decode(*elements: Any) -> Manifest:
    return decode_ops(json.dumps(list(elements)))


def reason(element: Any) -> str:
    found = decode(element)
    assert found.ops == ()
    (denial,) = found.denials
    return denial.reason


def op(kind: str, **more: Any) -> dict[str, Any]:
    return {"kind": kind, "op_id": "x1", **GOOD[kind], **more}


def test_every_kind_has_a_sample() -> None:
    """The tests below cover every kind there is."""
    assert set(GOOD) == set(KINDS)


@pytest.mark.parametrize("kind", GOOD)
def test_a_full_op_of_each_kind_is_read_as_sent(kind: str) -> None:
    """PROTOCOL §2.5: every field of every kind, and nothing else in `fields`."""
    (found,) = decode(op(kind, note="why")).ops
    assert found == Op(kind, KINDS[kind].op_class, "x1", 0, GOOD[kind], "why")


@pytest.mark.parametrize("kind", GOOD)
def test_a_missing_required_field_denies(kind: str) -> None:
    """E6: the reason names the field; without the optional ones the op is fine."""
    for name in KINDS[kind].required:
        element = op(kind)
        del element[name]
        assert reason(element) == f"missing required field '{name}'"
    element = {name: value for name, value in op(kind).items() if name not in KINDS[kind].optional}
    assert len(decode(element).ops) == 1


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind, fields in GOOD.items() for name in fields])
@pytest.mark.parametrize(
    "wrong", [None, True, 7, -1, 1.5, "text", "", [], {}, [1], [""], ["a", None], {"a": 1}], ids=repr
)
def test_a_field_of_a_wrong_type_denies(kind: str, name: str, wrong: Any) -> None:
    """A14, E6: one wrong field at a time is denied with the field named, or is of the right type after all."""
    found = decode(op(kind, **{name: wrong}))
    if found.ops:
        assert type(wrong) is type(GOOD[kind][name])
    else:
        assert found.denials[0].reason.startswith(f"invalid_field: {name} must be ")


@pytest.mark.parametrize("kind", GOOD)
def test_an_unknown_member_denies(kind: str) -> None:
    """PROTOCOL §5.4: a deliberate departure; the name is repeated, but not at any length."""
    assert reason(op(kind, colour="red")) == "unknown_field: colour"
    assert reason(op(kind, **{"x" * 1000: 1})) == "unknown_field: " + "x" * 80


@pytest.mark.parametrize(
    ("element", "expected"),
    [
        (7, "op_not_object"),
        ("fs_read", "op_not_object"),
        (None, "op_not_object"),
        ([], "op_not_object"),
        ({}, "missing_kind"),
        ({"kind": ""}, "missing_kind"),
        ({"kind": 7}, "missing_kind"),
        ({"kind": None}, "missing_kind"),
        ({"kind": "rm_rf"}, "unknown_op_kind"),
        ({"kind": "FS_READ", "path": "a"}, "unknown_op_kind"),
        ({"kind": "fs_read", "path": "a", "phase": "effect"}, "phase_mismatch"),
        ({"kind": "fs_write", "path": "a", "content": "", "op_id": "w", "phase": "observe"}, "phase_mismatch"),
        ({"kind": "fs_read", "path": "a", "phase": "weird"}, "invalid_phase"),
        ({"kind": "fs_read", "path": "a", "phase": None}, "invalid_phase"),
        ({"kind": "fs_read", "path": "a", "phase": ["observe"]}, "invalid_phase"),
        ({"kind": "fs_write", "path": "a", "content": ""}, "missing_op_id"),
        ({"kind": "fs_write", "path": "a", "content": "", "op_id": None}, "missing_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": 7}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": ""}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": "../x"}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": ".."}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": "a b"}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": "a\n"}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": "x" * 129}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "op_id": "\u0430"}, "invalid_op_id"),
        ({"kind": "fs_read", "path": "a", "note": 7}, "invalid_field: note must be a string"),
        (
            {"kind": "fs_read", "path": "a", "action_id": ""},
            "invalid_field: action_id must be a string that is not empty",
        ),
        (
            {"kind": "fs_read", "path": "a", "action_id": 7},
            "invalid_field: action_id must be a string that is not empty",
        ),
    ],
)
def test_each_denial_has_its_reason(element: Any, expected: str) -> None:
    """PROTOCOL §2.5: the reasons, in their order; what cannot be a file name cannot be an op_id."""
    assert reason(element) == expected


def test_a_phase_that_fits_is_taken_off() -> None:
    """PROTOCOL §2.13: `phase` is only checked."""
    (found,) = decode({"kind": "fs_read", "path": "a", "phase": "observe"}).ops
    assert found.fields == {"path": "a"}
    assert decode(op("fs_write", phase="effect")).ops[0].fields == GOOD["fs_write"]


def test_observes_are_numbered_as_they_come() -> None:
    """PROTOCOL §2.13: three observes get obs-01 to obs-03; effects do not count; a name of its own is kept."""
    found = decode({"kind": "git_status"}, op("fs_write"), {"kind": "fs_list", "path": "."}, {"kind": "git_status"})
    assert [item.op_id for item in found.ops] == ["obs-01", "x1", "obs-02", "obs-03"]
    assert [item.ordinal for item in found.ops] == [0, 1, 2, 3]
    assert [item.op_id for item in found.observes] == ["obs-01", "obs-02", "obs-03"]
    assert [item.op_id for item in found.effects] == ["x1"]
    named = decode({"kind": "git_status", "op_id": "look"}, {"kind": "git_status"})
    assert [item.op_id for item in named.ops] == ["look", "obs-02"]


def test_of_two_ops_with_one_id_the_first_wins() -> None:
    """PROTOCOL §2.13: the second is denied, with its kind and class."""
    found = decode(op("fs_write"), op("git_commit"), {"kind": "git_status", "op_id": "x1"})
    assert [item.kind for item in found.ops] == ["fs_write"]
    assert found.denials == (
        Denial("git_commit", "x1", "duplicate_op_id", 1, EFFECT),
        Denial("git_status", "x1", "duplicate_op_id", 2, OBSERVE),
    )


def test_one_bad_op_does_not_spoil_the_others() -> None:
    """PROTOCOL §2.13, A23: a mixed manifest of four gives two ops and two denials, each in its place."""
    found = decode(
        {"kind": "fs_read", "path": "a"}, {"kind": "teleport", "op_id": "t9"}, op("fs_write"), op("fs_patch", path=7)
    )
    assert [(item.kind, item.ordinal) for item in found.ops] == [("fs_read", 0), ("fs_write", 2)]
    assert found.denials == (
        Denial("teleport", "t9", "unknown_op_kind", 1),
        Denial("fs_patch", "x1", "invalid_field: path must be a string", 3, EFFECT),
    )


def test_ten_thousand_ops_are_each_judged() -> None:
    """A23: per-op denial at any number, and no two with one name."""
    found = decode(*([{"kind": "git_status"}] * 9_999), {"kind": "x"})
    assert len({item.op_id for item in found.ops}) == 9_999 and len(found.denials) == 1


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("", "ops_not_single_line"),
        ("   ", "ops_not_single_line"),
        ("|", "ops_not_single_line"),
        (">-", "ops_not_single_line"),
        ("[", "ops_not_single_line"),
        ("[{", "ops_not_single_line"),
        ('[{"kind": "fs_read",', "ops_not_single_line"),
        ('[{"kind": "fs_read", "path": "a"}', "ops_not_single_line"),
        ('[{"kind": "fs_write", "content": "open', "ops_not_single_line"),
        ("{", "ops_not_array"),
        ('{"kind": "fs_read", "path": "a"}', "ops_not_array"),
        ("{kind: fs_read}", "ops_not_array"),
        ("null", "ops_not_array"),
        ("7", "ops_not_array"),
        ('"[]"', "ops_not_array"),
        ("true", "ops_not_array"),
        ("hello", "parse_error: Expecting value"),
        ("- kind: fs_read", "parse_error: Expecting value"),
        ("<ops>[]</ops>", "parse_error: Expecting value"),
        ("[] and more", "parse_error: Extra data"),
        ("[}", "ops_not_single_line|parse_error: Expecting value"),
        ("['a']", "parse_error: Expecting value"),
        ("[NaN]", "parse_error: NaN is not JSON"),
        ("NaN", "parse_error: NaN is not JSON"),
        ('[{"kind":"fs_read","kind":"fs_write"}]', "parse_error: duplicate key 'kind'"),
        ('[{"kind":"fs_log","max":1e999}]', "parse_error: number out of range"),
        ('[{"path":"\\ud800"}]', "parse_error: lone surrogate"),
        ('[{"path":"\udcff"}]', "parse_error: lone surrogate"),
        ('[{"path":"\udcff"}', "parse_error: lone surrogate"),
        ("[" * 100_000 + "]" * 100_000, "parse_error: nested deeper than 64"),
    ],
)
def test_a_manifest_that_is_no_array_is_one_denial(raw: str, expected: str) -> None:
    """PROTOCOL §2.5, A10-A12, A22: one denial of kind `manifest`, whose reason tells the cases apart."""
    found = decode_ops(raw)
    assert found.ops == ()
    (denial,) = found.denials
    assert denial == Denial("manifest", None, denial.reason, 0)
    assert denial.reason in expected.split("|")


def test_no_manifest_and_an_empty_one_ask_for_nothing() -> None:
    """PROTOCOL §2.13: `[]` is fine, and so is no ops line at all."""
    assert decode_ops(None) == decode_ops("[]") == decode_ops(" [ ] ") == Manifest()


PREDICT = {"expected_observation": "the file is there", "confidence": 0.9}


def test_a_prediction_comes_with_its_op() -> None:
    """PROTOCOL §5.4: `predict` is read, or an `action_id` names one; neither is among the fields."""
    whole = PREDICT | {"expected_failure_modes": ["a", "b"], "falsifier": "f"}
    (found,) = decode(op("fs_write", predict=whole)).ops
    assert found.predict == Predict("the file is there", 0.9, ("a", "b"), "f")
    assert found.fields == GOOD["fs_write"] and found.action_id is None
    (named,) = decode(op("fs_write", action_id="act-1")).ops
    assert (named.action_id, named.predict) == ("act-1", None)
    assert decode(op("fs_write", predict=PREDICT | {"confidence": 1})).ops[0].predict == Predict(
        "the file is there", 1.0
    )


@pytest.mark.parametrize(
    ("predict", "expected"),
    [
        (None, "must be an object"),
        ("x", "must be an object"),
        ([], "must be an object"),
        ({}, "needs expected_observation, a string that is not empty"),
        (PREDICT | {"expected_observation": " "}, "needs expected_observation, a string that is not empty"),
        (PREDICT | {"expected_observation": 7}, "needs expected_observation, a string that is not empty"),
        ({"expected_observation": "x"}, "needs confidence, a number from 0 to 1"),
        *(
            (PREDICT | {"confidence": bad}, "needs confidence, a number from 0 to 1")
            for bad in (None, True, "0.9", -0.1, 1.01)
        ),
        (PREDICT | {"expected_failure_modes": "x"}, "expected_failure_modes must be a list of strings"),
        (PREDICT | {"expected_failure_modes": [1]}, "expected_failure_modes must be a list of strings"),
        (PREDICT | {"falsifier": None}, "falsifier must be a string"),
        (PREDICT | {"colour": 1}, "has an unknown member colour"),
    ],
)
def test_a_prediction_that_is_none_denies_the_op(predict: Any, expected: str) -> None:
    """E6: nothing is guessed; an op with a broken prediction is not an unpredicted one."""
    assert reason(op("fs_write", predict=predict)) == f"invalid_field: predict {expected}"


def test_an_op_has_one_prediction() -> None:
    """PROTOCOL §5.4: it brings one or names one."""
    assert reason(op("fs_write", predict=PREDICT, action_id="a")) == "invalid_field: predict and action_id together"


JSONISH = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.floats(allow_nan=False) | st.sampled_from(["", "a", *GOOD]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(["a", "kind"]), inner, max_size=2),
    max_leaves=4,
)
NAMES = st.sampled_from(["kind", "op_id", "phase", "note", "predict", "action_id", "path", "content", "rev", "extra"])


@given(st.lists(st.dictionaries(NAMES, JSONISH, max_size=6) | JSONISH, max_size=5))
@settings(max_examples=400)
def test_every_element_is_an_op_or_a_denial(elements: list[Any]) -> None:
    """E6: none is lost, none is both, each is in its place, and ids are unique."""
    try:
        raw = json.dumps(elements, allow_nan=False)
    except ValueError:
        return
    found = decode_ops(raw)
    ordinals = [item.ordinal for item in (*found.ops, *found.denials)]
    assert sorted(ordinals) == list(range(len(elements)))
    assert len({item.op_id for item in found.ops}) == len(found.ops)
    assert all(denial.reason for denial in found.denials)


@given(st.text(max_size=40) | st.text('[]{}",:a1 ', max_size=40))
@settings(max_examples=400)
def test_no_text_raises(raw: str) -> None:
    """T4: any text is a manifest."""
    assert isinstance(decode_ops(raw), Manifest)
