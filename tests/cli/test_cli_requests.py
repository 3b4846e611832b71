"""Requests and questions from the command line: what is shown, what is decided, and every refusal with its code."""

import json
import os
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from cas_tui.locations import runtime_paths
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.requests import RequestKind, RequestState, Tier

DIGEST = "sha256:" + "ab" * 32
Desk = Any


def test_people_get_what_waits_and_programs_get_every_row(desk: Desk) -> None:
    desk.put("r-1")
    desk.put("r-2", state=RequestState.DENIED)
    whole = desk.json("requests", "list", str(desk.root))["requests"]
    assert [item["request_id"] for item in whole] == ["r-1", "r-2"]
    denied = desk.json("requests", "list", str(desk.root), "--state", "denied")["requests"]
    assert [item["request_id"] for item in denied] == ["r-2"]
    code, told, _ = desk("requests", "list", str(desk.root))
    assert code == 0 and "r-1" in told and "T1" in told and "Change README.md +1 -1" in told and "r-2" not in told
    assert "r-2" in desk("requests", "list", str(desk.root), "--all")[1]


def test_a_root_that_was_never_asked_has_nothing_waiting(desk: Desk, tmp_path: Path) -> None:
    assert desk.json("requests", "list", str(tmp_path)) == {"requests": []}
    code, _, err = desk("requests", "show", str(tmp_path), "r-1")
    assert code == 6 and "nothing was ever asked here" in err


def test_show_tells_the_payload_the_tier_and_the_digest(desk: Desk) -> None:
    request = desk.put()
    value = desk.json("requests", "show", str(desk.root), "r-a")
    assert value == {"request": request.as_json(), "decisions": []}
    _, told, _ = desk("requests", "show", str(desk.root), "r-aaa1")
    for words in ("T1 because: reversible, predicted", "- old", "+ new", DIGEST, "prediction: act-1"):
        assert words in told


def test_approve_names_the_digest_and_is_durable(desk: Desk) -> None:
    """E2, A1: one row, the operator of the operating system, what was shown."""
    desk.put()
    value = desk.json("requests", "approve", str(desk.root), "r-aaa1", "--digest", DIGEST, "--comment", "fine")
    assert value["request"]["state"] == "approved" and value["host"] == "host 4242 (started)"
    decision = desk.ledger.decisions.of_request("r-aaa1")[0]
    assert (decision.verdict, decision.digest, decision.comment) == (Verdict.APPROVE, DIGEST, "fine")
    assert (decision.operator.uid, decision.operator.surface) == (os.getuid(), "cli")
    assert desk.spawned == [desk.root]


def test_the_digest_may_leave_out_its_name_but_no_digit(desk: Desk) -> None:
    desk.put()
    code, _, err = desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", "ab" * 31)
    assert code == 3 and "changed since shown" in err
    assert desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", "AB" * 32)[0] == 0


def test_another_digest_is_refused_as_changed_since_shown(desk: Desk) -> None:
    desk.put()
    code, told, err = desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", "sha256:00", "--json")
    assert code == 3 and json.loads(told)["exit_code"] == 3 and err.count("\n") == 1
    assert desk.ledger.decisions.of_request("r-aaa1") == ()


def test_an_expired_request_takes_no_answer(desk: Desk) -> None:
    """E5."""
    desk.put(expires_at="2026-01-01T00:00:01.000Z", tier=Tier.T3)
    assert desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", DIGEST)[0] == 4
    assert desk.ledger.requests.get("r-aaa1").state is RequestState.EXPIRED


def test_the_second_decision_is_told_who_was_first(desk: Desk) -> None:
    desk.put()
    assert desk("requests", "deny", str(desk.root), "r-aaa1", "--reason", "wrong file")[0] == 0
    code, told, err = desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", DIGEST, "--json")
    winner = json.loads(told)["winner"]
    assert code == 5 and winner["verdict"] == "deny" and winner["operator"]["name"] in err


def test_ids_that_name_nothing_or_too_much_are_not_found(desk: Desk) -> None:
    desk.put("r-aaa1")
    desk.put("r-aaa2")
    for request_id in ("r-aaa", "r-x", ""):
        assert desk("requests", "deny", str(desk.root), request_id, "--reason", "x")[0] == 6
    assert desk.ledger.decisions.newest(9) == ()


@pytest.mark.parametrize(
    "words",
    [
        ["requests", "approve", "ROOT", "r-aaa1", "--digest", DIGEST],
        ["requests", "deny", "ROOT", "r-aaa1", "--reason", "x"],
        ["requests", "edit", "ROOT", "r-aaa1", "--fields", "/dev/null"],
        ["requests", "revert", "ROOT", "r-aaa1"],
        ["requests", "reconcile", "ROOT", "r-aaa1", "--happened", "--reason", "x"],
        ["requests", "accept", "ROOT", "r-aaa1"],
        ["requests", "dispute", "ROOT", "r-aaa1", "--reason", "x"],
        ["questions", "answer", "ROOT", "q-bbb1", "3.11"],
        ["questions", "dismiss", "ROOT", "q-bbb1", "--reason", "x"],
        ["message", "ROOT", "hello"],
        ["hold", "ROOT"],
        ["resume", "ROOT"],
    ],
    ids=lambda words: " ".join(words[:2]),
)
def test_an_agents_own_process_decides_nothing(desk: Desk, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    """PROTOCOL §5.1: refused with 7, whatever it knows."""
    desk.put()
    desk.question()
    monkeypatch.setenv("CAS_TUI_AGENT", "1")
    if "--fields" in words:
        (desk.root / "fields.json").write_text("{}")
        words = [*words[:-1], str(desk.root / "fields.json")]
    code, told, err = desk(*(str(desk.root) if word == "ROOT" else word for word in words))
    assert (code, told) == (7, "") and "does not decide" in err
    assert desk.ledger.decisions.newest(9) == () and not desk.ledger.holds.is_held(str(desk.root))


def test_a_ledger_of_a_newer_program_can_be_looked_at_and_not_decided_on(desk: Desk) -> None:
    desk.put()
    path = runtime_paths(desk.root, os.environ).ledger
    desk.ledger.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 9999")
    connection.close()
    assert desk("requests", "deny", str(desk.root), "r-aaa1", "--reason", "x")[0] == 8
    assert [item["request_id"] for item in desk.json("requests", "list", str(desk.root))["requests"]] == ["r-aaa1"]


def test_a_ledger_that_is_no_ledger_is_a_storage_failure(desk: Desk) -> None:
    """E6: closed, loudly."""
    path = runtime_paths(desk.root, os.environ).ledger
    desk.ledger.close()
    for name in (path, path.with_name("ledger.db-wal"), path.with_name("ledger.db-shm")):
        name.write_bytes(b"not a database " * 300)
    code, told, err = desk("requests", "deny", str(desk.root), "r-1", "--reason", "x")
    assert (code, told, err.count("\n")) == (9, "", 1)


def test_a_denial_needs_words_and_may_become_a_rule(desk: Desk) -> None:
    desk.put()
    assert desk("requests", "deny", str(desk.root), "r-aaa1", "--reason", "  ")[0] == 2
    desk.json("requests", "deny", str(desk.root), "r-aaa1", "--reason", "not there", "--as-policy")
    decision = desk.ledger.decisions.of_request("r-aaa1")[0]
    assert (decision.comment, dict(decision.arguments)) == ("not there", {"as_policy": True})


def test_an_edit_carries_the_changed_fields(desk: Desk, tmp_path: Path) -> None:
    desk.put()
    source = tmp_path / "fields.json"
    for bad in ("[1]", "{", '{"path": "a", "path": "b"}'):
        source.write_text(bad)
        assert desk("requests", "edit", str(desk.root), "r-aaa1", "--fields", str(source))[0] == 2
    assert desk("requests", "edit", str(desk.root), "r-aaa1", "--fields", str(tmp_path / "none"))[0] == 6
    source.write_text('{"path": "OTHER.md"}')
    value = desk.json("requests", "edit", str(desk.root), "r-aaa1", "--fields", str(source))
    assert value["decision"]["arguments"] == {"fields": {"path": "OTHER.md"}}
    assert value["request"]["state"] == "superseded"


def test_an_unknown_outcome_is_closed_by_what_was_found(desk: Desk) -> None:
    """E8."""
    desk.put(state=RequestState.UNKNOWN)
    words = ["requests", "reconcile", str(desk.root), "r-aaa1", "--reason", "it is in the log"]
    assert desk(*words)[0] == 2
    assert desk(*words, "--happened", "--did-not")[0] == 2
    assert desk.json(*words, "--did-not")["decision"]["arguments"] == {"happened": False}
    assert desk.ledger.requests.get("r-aaa1").state is RequestState.RECONCILED


def test_a_mismatch_is_accepted_or_disputed(desk: Desk) -> None:
    for request_id in ("m-1", "m-2"):
        desk.put(request_id, kind=RequestKind.MISMATCH, digest="", tier=None, fields={}, display={})
    assert desk.json("requests", "accept", str(desk.root), "m-1")["request"]["state"] == "accepted"
    value = desk.json("requests", "dispute", str(desk.root), "m-2", "--reason", "the tool lied")
    assert value["request"]["state"] == "disputed"


def test_a_verdict_that_does_not_fit_the_kind_is_a_usage_error(desk: Desk) -> None:
    desk.put()
    assert desk("requests", "accept", str(desk.root), "r-aaa1")[0] == 2


def test_revert_asks_for_a_new_effect(desk: Desk) -> None:
    desk.put(state=RequestState.SUCCEEDED)
    assert "message_id" in desk.json("requests", "revert", str(desk.root), "r-aaa1")
    desk.put("r-aaa2", state=RequestState.SUCCEEDED, op_kind="git_commit", fields={"message": "x"})
    assert desk("requests", "revert", str(desk.root), "r-aaa2")[0] == 7


def test_waiting_ends_with_the_time(desk: Desk) -> None:
    desk.put()
    words = ["requests", "approve", str(desk.root), "r-aaa1", "--digest", DIGEST, "--wait", "--timeout", "0.2"]
    code, told, err = desk(*words)
    assert code == 1 and "approved" in told and "still approved after 0.2 s; the decision stands" in err


@pytest.mark.parametrize(("state", "code"), [(RequestState.SUCCEEDED, 0), (RequestState.FAILED, 1)])
def test_waiting_tells_what_became_of_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, state: RequestState, code: int
) -> None:
    request = desk.put()

    def host(*_: object, **__: object) -> int:
        decision = desk.ledger.decisions.unprocessed()[0]
        epoch = desk.ledger.lease.acquire(str(desk.root), role="host", pid=os.getpid(), hostname="h", boot_id="b")
        desk.ledger.effects.start(request.request_id, decision.decision_id, lease_epoch=epoch)
        desk.ledger.effects.finish(request.request_id, state, {"summary": "the disk said so"})
        desk.ledger.decisions.mark(decision.decision_id, "done")
        return 1

    monkeypatch.setattr("cas_tui.loop.operator.spawn_host", host)
    got, told, err = desk("requests", "approve", str(desk.root), "r-aaa1", "--digest", DIGEST, "--wait")
    assert got == code and f"{state}: the disk said so" in told
    assert ("r-aaa1: failed: the disk said so" in err) is bool(code)


def test_questions_are_answered_in_words_or_by_choice(desk: Desk) -> None:
    desk.question("q-1")
    desk.question("q-2")
    desk.put("r-1")
    listed = desk.json("questions", "list", str(desk.root))["questions"]
    assert [item["request_id"] for item in listed] == ["q-1", "q-2"]
    assert '"3.11", "3.12"' in desk("questions", "list", str(desk.root))[1]
    value = desk.json("questions", "answer", str(desk.root), "q-1", "3.11, as Ana wrote", "--as", "policy")
    assert value["decision"]["arguments"] == {"text": "3.11, as Ana wrote", "as": "policy"}
    assert desk("questions", "answer", str(desk.root), "q-2", "  ")[0] == 2
    value = desk.json("questions", "answer", str(desk.root), "q-2", "--choice", "3.12")
    assert value["decision"]["arguments"]["choices"] == ["3.12"] and value["request"]["state"] == "answered"
    assert desk.json("questions", "list", str(desk.root)) == {"questions": []}
    assert desk("questions", "answer", str(desk.root), "r-1", "x")[0] == 6


def test_a_question_is_dismissed_with_a_reason(desk: Desk) -> None:
    desk.question()
    value = desk.json("questions", "dismiss", str(desk.root), "q-bbb1", "--reason", "ask Ana")
    assert value["request"]["state"] == "dismissed" and value["decision"]["comment"] == "ask Ana"


def test_hold_resume_and_message_are_durable(desk: Desk) -> None:
    assert desk.json("hold", str(desk.root), "--reason", "lunch")["held"] is True
    assert desk.ledger.holds.is_held(str(desk.root))
    desk.json("resume", str(desk.root))
    assert not desk.ledger.holds.is_held(str(desk.root))
    message_id = desk.json("message", str(desk.root), "look at CHANGES.md")["message_id"]
    assert [row["text"] for row in desk.ledger.messages.list(str(desk.root)) if str(row["id"]) == message_id] == [
        "look at CHANGES.md"
    ]
    assert desk("message", str(desk.root), " ")[0] == 2


HOSTILE = "a\x1b]52;c;eA==\x07\x1b[2J\x9b31m\u202egnp.exe\u200b\ud800[red]b[/red]\r\nc"


def test_hostile_text_reaches_no_terminal_in_any_command(desk: Desk) -> None:
    """T1, T2: every field that an agent can fill, in words and as JSON."""
    desk.put(
        "r-1",
        title=HOSTILE.replace("\ud800", ""),
        op_id="x\x1b[2J",
        reasons=(HOSTILE.replace("\ud800", ""),),
        display={"kind": "diff", "rows": [["+", None, 1, HOSTILE.replace("\ud800", "")]], "foot": "\x1b[H"},
    )
    issues = desk.root / "state" / "mca"
    issues.mkdir(parents=True)
    (issues / "i.md").write_bytes(f"---\nid: {HOSTILE}\n---\n{HOSTILE}\n".encode("utf-8", "surrogatepass"))
    (desk.root / "STATE.json").write_text(json.dumps({"beliefs": [{"id": HOSTILE, "claim": HOSTILE}]}))
    record = {"action_id": HOSTILE, "agent": HOSTILE, "session_id": "s", "timestamp": HOSTILE}
    prediction = record | {"action": HOSTILE, "expected_observation": HOSTILE, "confidence": 0.5}
    (desk.root / "predictions.jsonl").write_text(json.dumps(prediction) + "\n")
    root = str(desk.root)
    commands = [
        ["requests", "list", root],
        ["requests", "show", root, "r-1"],
        ["issues", "list", root],
        ["issues", "show", root, "i.md"],
        ["status", root],
        ["tail", root, "--once"],
        ["obligations", "list", root],
    ]
    for words in commands:
        for extra in ([], ["--json"]):
            code, told, err = desk(*words, *extra)
            assert code == 0, err
            for char in told:
                bad = (ord(char) < 32 and char != "\n") or 0x7F <= ord(char) < 0xA0 or char in "\u202e\u200b\ud800"
                assert not bad, (words, extra, hex(ord(char)))
