"""Requests, decisions, receipts, digests and canonical writing: values that outlive the program that wrote them."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.protocol.decisions import Decision, Operator, Verdict
from cas_tui.protocol.digest import normalise_path, normalised_fields, request_digest, sha256
from cas_tui.protocol.encode import canonical, encode_line, encode_pretty, parse_timestamp, timestamp
from cas_tui.protocol.receipts import SCHEMA, ArtifactRef, Receipt, receipts_document
from cas_tui.protocol.requests import ABSENT, PathImage, PreImage, Request, RequestKind, RequestState, Tier

TEXT = st.text(st.characters(codec="utf-8"), max_size=6)
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)
OBJECT = st.dictionaries(TEXT, JSON, max_size=3)
MAYBE = st.none() | TEXT
IMAGE = st.just(ABSENT) | st.builds(
    PathImage, st.sampled_from(["file", "dir", "symlink"]), st.integers(0, 0o7777), TEXT
)
PRE_IMAGE = st.builds(PreImage, st.dictionaries(TEXT, IMAGE, max_size=3), MAYBE, MAYBE, MAYBE)
REQUEST = st.builds(
    Request,
    request_id=TEXT, kind=st.sampled_from(RequestKind), state=st.sampled_from(RequestState), root=TEXT, agent=TEXT,
    session_id=TEXT, run_nonce=MAYBE, trigger_id=TEXT, pass_no=st.integers(0, 9), ordinal=st.integers(0, 9),
    op_id=MAYBE, op_kind=MAYBE, action_id=MAYBE, title=TEXT, digest=TEXT, created_at=TEXT, fields=OBJECT, source=OBJECT,
    pre_image=PRE_IMAGE, display=OBJECT, after=MAYBE, tier=st.none() | st.sampled_from(Tier),
    reasons=st.lists(TEXT, max_size=3).map(tuple), flags=st.lists(TEXT, max_size=3).map(tuple), prediction=MAYBE,
    expires_at=MAYBE, policy_version=TEXT, modified_by=MAYBE, supersedes=MAYBE, seen_before=MAYBE, settled_at=MAYBE,
    outcome=OBJECT,
)  # fmt: skip
DECISION = st.builds(
    Decision,
    decision_id=TEXT, request_id=TEXT, digest=TEXT, verdict=st.sampled_from(Verdict),
    operator=st.builds(Operator, TEXT, st.integers(0, 1 << 31), TEXT, st.sampled_from(["tui", "cli"])),
    decided_at=TEXT, shown_at=MAYBE, full_view=st.booleans(), comment=TEXT, rule_id=MAYBE, policy_version=TEXT,
    arguments=OBJECT,
)  # fmt: skip


@given(REQUEST)
@settings(max_examples=150, deadline=None)
def test_a_request_survives_json(request_: Request) -> None:
    """PROTOCOL §5.4: every field comes back from canonical bytes, by way of another parser."""
    assert Request.from_json(json.loads(canonical(request_.as_json()))) == request_


@given(DECISION)
@settings(max_examples=150, deadline=None)
def test_a_decision_survives_json(decision: Decision) -> None:
    """PROTOCOL §5.5: every field comes back, the operator included."""
    assert Decision.from_json(json.loads(canonical(decision.as_json()))) == decision


def test_what_needs_the_operator() -> None:
    """SCREENS §1: effects, questions and unapproved changes, and whatever ended unknown."""
    for kind in RequestKind:
        pending = Request(
            request_id="r", kind=kind, state=RequestState.PENDING, root="", agent="", session_id="", run_nonce=None,
            trigger_id="", pass_no=1, ordinal=0, op_id=None, op_kind=None, action_id=None, title="", digest="",
            created_at="",
        )  # fmt: skip
        assert pending.needs_you == (kind in ("effect", "question", "unapproved"))
        assert replace(pending, state=RequestState.UNKNOWN).needs_you


def test_an_operator_signs_records_by_name() -> None:
    """PROTOCOL §5.5: the agent of an operator's records."""
    assert Operator("ana", 1000, "host", "tui").agent_name == "operator:ana"


# The expected digests were made once, outside of this program, by json.dumps(sort_keys=True, separators=(",", ":"),
# ensure_ascii=False) and SHA-256 over the eight members by hand.
TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
GOLDEN: list[tuple[dict[str, Any], str]] = [
    (
        {
            "root": "/r/memory", "trigger_id": "t-1", "op_id": "w1", "kind": "fs_write", "cwd": "/w",
            "fields": {"path": "docs/./x/../a.md", "content": "h\u00e9llo\n"}, "env_names": ["PATH", "HOME"],
            "pre_image": {"paths": {"docs/a.md": "absent"}},
        },
        "sha256:196445291ecac66f7528fce723394f0d5f143439e032874711ef7e1ac1881fc7",
    ),
    (
        {
            "root": "/r/memory", "trigger_id": "t-2", "op_id": "s1", "kind": "git_stage", "cwd": "/w",
            "fields": {"paths": ["a.py", "b//c.py/"]}, "env_names": [],
            "pre_image": {"paths": {}, "head": TREE, "branch": "main", "index_tree": TREE},
        },
        "sha256:1a9a2213e20369776740530c5787c3326ad0ce4dcb09329e4ab1190928b36b51",
    ),
    (
        {
            "root": "/r/\U0001f600", "trigger_id": "t-3", "op_id": "c1", "kind": "git_commit", "cwd": "",
            "fields": {"message": 'x "y" \\ \u2028', "allow_empty": False}, "env_names": ["A"],
            "pre_image": {"paths": {"f": {"type": "file", "mode": "0644", "sha256": "sha256:00"}}},
        },
        "sha256:be5daae77a00ba68ba8c49d6cdbed61089f2e16008e37913a32c11faa9f0e039",
    ),
]  # fmt: skip


@pytest.mark.parametrize(("members", "expected"), GOLDEN)
def test_the_digest_is_the_published_one(members: dict[str, Any], expected: str) -> None:
    """E2, PROTOCOL §5.4: golden vectors; whoever follows the recipe gets the same digest."""
    assert request_digest(**members) == expected


@pytest.mark.parametrize("name", ["root", "trigger_id", "op_id", "kind", "cwd", "fields", "env_names", "pre_image"])
def test_every_member_enters_the_digest(name: str) -> None:
    """E2, E3: changing any one of them changes the digest."""
    members, digest = GOLDEN[0]
    value = members[name]
    changed = value + "x" if isinstance(value, str) else [*value, "X"] if isinstance(value, list) else {**value, "z": 1}
    assert request_digest(**{**members, name: changed}) != digest


def test_a_pre_image_enters_as_it_is_written() -> None:
    """E3: the JSON of a pre-image is stable: sorted paths, octal modes, absent parts left out."""
    image = PreImage({"b": PathImage("file", 0o644, "sha256:00"), "a": ABSENT}, head="h")
    assert canonical(image.as_json()) == (
        b'{"head":"h","paths":{"a":"absent","b":{"mode":"0644","sha256":"sha256:00","type":"file"}}}'
    )
    assert PreImage.from_json({}) == PreImage()


@pytest.mark.parametrize(
    ("path", "normal"),
    [("", "."), (".", "."), ("a/", "a"), ("a//b", "a/b"), ("a/./b", "a/b"), ("a/../b", "b"), ("../x", "../x"),
     ("/abs/", "/abs"), ("a/b/../../..", ".."), ("A", "A")],
)  # fmt: skip
def test_paths_are_collapsed_for_the_digest(path: str, normal: str) -> None:
    """PROTOCOL §5.4: two spellings of one path are one request; nothing is made absolute."""
    assert normalise_path(path) == normal


def test_only_paths_are_normalised() -> None:
    """Content stays as it is, odd types stay for others to refuse, and the given dict is not changed."""
    given_fields = {"path": "a/", "base": "./b", "content": "x/", "paths": ["c/", 7], "other": "d/"}
    before = json.dumps(given_fields)
    assert normalised_fields(given_fields) == {
        "path": "a", "base": "b", "content": "x/", "paths": ["c", 7], "other": "d/",
    }  # fmt: skip
    assert json.dumps(given_fields) == before
    assert normalised_fields({"path": 7, "paths": "x/"}) == {"path": 7, "paths": "x/"}
    assert sha256(b"") == "sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


@given(OBJECT)
@settings(max_examples=200, deadline=None)
def test_writing_is_canonical_and_read_back(value: dict[str, Any]) -> None:
    """One value has one spelling whatever the order of its keys; lines and documents end in a newline."""
    assert canonical(value) == canonical(dict(reversed(value.items())))
    assert json.loads(canonical(value)) == json.loads(encode_line(value)) == json.loads(encode_pretty(value)) == value
    assert encode_line(value).endswith(b"\n") and encode_line(value).count(b"\n") == 1


def test_the_forms_of_writing() -> None:
    """Compact in the order given for lines, sorted for digests, two spaces for documents, UTF-8 unescaped."""
    value = {"b": 1, "a": ["\u00e9", None]}
    assert encode_line(value) == '{"b":1,"a":["\u00e9",null]}\n'.encode()
    assert canonical(value) == '{"a":["\u00e9",null],"b":1}'.encode()
    assert encode_pretty({"a": 1}) == b'{\n  "a": 1\n}\n'


@dataclass
class Stranger:
    a: int = 1


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, -math.inf, "\ud800", {"\udfff": 1}, {"a": [{"b": math.nan}]}, 2**64, {1: 2}, {1, 2}, b"x",
     object(), Stranger(), datetime(2026, 1, 1, tzinfo=UTC), (math.inf,)],
    ids=repr,
)  # fmt: skip
def test_what_is_not_json_is_refused(value: Any) -> None:
    """A05, A12: NaN, surrogates, other types: an error in every form, and never another value in its place."""
    for write in (encode_line, encode_pretty, canonical):
        with pytest.raises(ValueError, match="cannot be written as JSON"):
            write(value)


def test_deep_values_are_refused_too() -> None:
    """A10: no RecursionError in writing."""
    value: Any = []
    for _ in range(10_000):
        value = [value]
    with pytest.raises(ValueError):
        canonical(value)


@pytest.mark.parametrize(
    ("moment", "written"),
    [
        (datetime(2026, 11, 30, 14, 5, 6, 789_999, UTC), "2026-11-30T14:05:06.789Z"),
        (datetime(2026, 11, 30, 14, 5, 6, 0, timezone(timedelta(hours=14))), "2026-11-30T00:05:06.000Z"),
        (datetime(9, 1, 2, tzinfo=UTC), "0009-01-02T00:00:00.000Z"),
    ],
)
def test_a_time_is_written_one_way(moment: datetime, written: str) -> None:
    """PROTOCOL §4 row 12: UTC, milliseconds, Z; read back to the millisecond."""
    assert timestamp(moment) == written
    read = parse_timestamp(written)
    assert read is not None and timestamp(read) == written


def test_a_time_without_a_zone_is_refused() -> None:
    """PROTOCOL §4 row 12: what has no zone is no instant, in writing and in reading."""
    with pytest.raises(ValueError):
        timestamp(datetime(2026, 1, 1))
    assert parse_timestamp("2026-01-01T00:00:00") is None


@pytest.mark.parametrize(
    ("text", "readable"),
    [
        ("2026-11-30T14:00:00Z", True), ("2026-11-30T14:00:00+14:00", True), ("2026-11-30T14:00:00.123456+00:00", True),
        ("1969-01-01T00:00:00Z", True), ("9999-12-31T23:59:59Z", True), ("9999-12-31T23:59:59-14:00", False),
        ("0001-01-01T00:00:00+14:00", False), ("2026-06-30T23:59:60Z", False), ("10000-01-01T00:00:00Z", False),
        ("yesterday", False), ("1700000000000", False), ("", False), ("2026-11-30", False), (None, False), (7, False),
    ],
)  # fmt: skip
def test_claimed_times_are_read_or_left(text: Any, readable: bool) -> None:
    """A19: no zone, leap seconds, far years, numbers: an instant or none, never an exception."""
    found = parse_timestamp(text)
    assert (found is not None) is readable
    assert found is None or found.tzinfo is UTC


RECEIPT = Receipt("2", "w1", "fs_write", "ok", "", "s", "e", (ArtifactRef("a.txt", "sha256:00", 3),), 0, "operator:ana")


def test_a_receipt_is_written_in_its_order() -> None:
    """PROTOCOL §2.5: member order, `pass` as text, and members only some have left out elsewhere."""
    plain = Receipt("1", None, "manifest", "denied", "ops_not_array", "s", "e")
    assert list(plain.as_json()) == ["pass", "op_id", "kind", "status", "reason", "start", "end", "artifacts"]
    assert list(RECEIPT.as_json())[-2:] == ["exit_code", "modified_by"]
    document = receipts_document("t-1", [plain, RECEIPT])
    assert document["schema"] == SCHEMA and [item["pass"] for item in document["receipts"]] == ["1", "2"]
    for receipt in (plain, RECEIPT):
        assert Receipt.from_json(json.loads(canonical(receipt.as_json()))) == receipt


@pytest.mark.parametrize(("written", "read"), [("A", "1"), ("B", "2"), ("1", "1"), (3, "3"), ("", "")])
def test_passes_by_letter_are_read_as_numbers(written: Any, read: str) -> None:
    """PROTOCOL §4 row 16: A is 1 and B is 2 in old files."""
    assert Receipt.from_json({"pass": written}).pass_no == read


@pytest.mark.parametrize(
    "artifacts", [None, "x", 7, {}, [7], [None, "x"], [{"path": 1, "size": "big"}], [{"size": None}]], ids=repr
)
def test_a_receipt_of_any_shape_is_read(artifacts: Any) -> None:
    """T4: the file lies where the agent writes; nothing in it raises."""
    found = Receipt.from_json({"artifacts": artifacts, "op_id": None, "status": 7})
    assert found.status == "7" and all(isinstance(item.size, int) for item in found.artifacts)
