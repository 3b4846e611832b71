"""One run from its message to its commit, with every decision written back through the loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from loop_kit import World, only, ops, predict, sections

from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.requests import RequestState, Tier

PATCH = "--- a/README.md\n+++ b/README.md\n@@ -1,3 +1,3 @@\n # Tool\n \n-python 3.9\n+python 3.11\n"


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = World(tmp_path)
    yield made
    made.close()


def patch_op(**more: object) -> dict[str, object]:
    return {"kind": "fs_patch", "op_id": "p1", "path": "README.md", "unified_diff": PATCH, "predict": predict(), **more}


def test_an_approved_patch_is_predicted_done_observed_learned_and_told_to_the_agent(world: World) -> None:
    host, agent = world.run(lambda w, given: ops(patch_op()))
    world.settle(host)
    request = only(world.pending())
    assert request.tier is Tier.T1 and request.title.startswith("Change README.md")
    predicted = world.records("predictions")[-1]
    assert predicted["agent"] == "echo" and predicted["action_id"] == request.prediction
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    world.settle(host)
    assert "python 3.11" in (world.workspace / "README.md").read_text()
    mine = [record for record in world.records("observations") if record["action_id"] == request.prediction]
    assert [record["match"] for record in mine] == ["matched"]
    raw = (world.root / str(mine[0]["raw_ref"])).read_bytes()
    assert raw
    second = sections(agent.inputs[1])
    assert second["Pass 1 Receipts"][0]["status"] == "ok"
    assert second["Operator Decisions"][0]["verdict"] == "approve"
    assert second["Answers"] == []
    assert host.work() == 0


def test_every_observation_has_a_prediction_before_it_and_a_learning_after_it(world: World) -> None:
    host, _ = world.run(lambda w, given: ops(patch_op()))
    world.settle(host)
    world.door.decide(only(world.pending()).request_id, Verdict.DENY, digest=None, comment="not now")
    world.settle(host)
    predicted = {record["action_id"] for record in world.records("predictions")}
    learned = {record["action_id"] for record in world.records("learning")}
    observed = {record["action_id"] for record in world.records("observations")}
    assert observed and observed <= predicted and observed <= learned


def test_a_denial_leaves_no_trace_becomes_a_belief_and_must_be_cited_next(world: World) -> None:
    host, agent = world.run(
        lambda w, given: ops(patch_op()),
        lambda w, given: ops(
            {"kind": "fs_write", "op_id": "w2", "path": "x.md", "content": "x\n", "predict": predict()}
        ),
    )
    world.settle(host)
    world.door.decide(only(world.pending()).request_id, Verdict.DENY, digest=None, comment="wrong content")
    world.settle(host)
    assert (world.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"
    belief = world.state()["beliefs"][0]
    assert "wrong content" in belief["claim"] and "ana" in belief["claim"]
    cited = [record for record in world.records("predictions") if record.get("citation_mode") == "auto_pending_queue"]
    assert cited[-1]["belief_refs"] == [belief["id"]]
    assert world.state()["pending_citations"] == []
    assert sections(agent.inputs[1])["Pass 1 Receipts"][0]["reason"] == "operator_denied"


def test_write_stage_and_commit_of_one_pass_are_approved_one_after_the_other(world: World) -> None:
    host, _ = world.run(
        lambda w, given: ops(
            {"kind": "fs_write", "op_id": "w", "path": "new.md", "content": "new\n", "predict": predict()},
            {"kind": "git_stage", "op_id": "s", "paths": ["new.md"], "predict": predict()},
            {"kind": "git_commit", "op_id": "c", "message": "Add new.md", "predict": predict()},
        )
    )
    world.settle(host)
    states = [(item.op_id, item.state) for item in world.door.requests()]
    assert states == [("w", "pending"), ("s", "waiting"), ("c", "waiting")]
    for expected in ("w", "s", "c"):
        request = only(world.pending())
        assert request.op_id == expected
        world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
        world.settle(host)
    assert [item.state for item in world.door.requests()] == ["succeeded"] * 3
    assert "Add new.md" in world.git("log", "--oneline")


def test_when_the_first_is_denied_the_later_ones_are_shown_against_the_world_as_it_is(world: World) -> None:
    host, _ = world.run(
        lambda w, given: ops(
            {"kind": "fs_write", "op_id": "w", "path": "new.md", "content": "new\n", "predict": predict()},
            {"kind": "git_stage", "op_id": "s", "paths": ["new.md"], "predict": predict()},
        )
    )
    world.settle(host)
    world.door.decide(only(world.pending()).request_id, Verdict.DENY, digest=None, comment="no")
    world.settle(host)
    stage = only(world.pending())
    assert stage.op_id == "s" and stage.digest
    assert any("cannot be done" in flag for flag in stage.flags)


def test_an_effect_without_a_prediction_is_t3_and_recorded_in_the_operators_name_only(world: World) -> None:
    host, _ = world.run(lambda w, given: ops({"kind": "fs_write", "op_id": "w", "path": "README.md", "content": "x\n"}))
    world.settle(host)
    request = only(world.pending())
    assert request.tier is Tier.T3 and request.prediction is None and request.expires_at is not None
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest, comment="fine")
    world.settle(host)
    assert all(str(record["agent"]).startswith("operator:") for record in world.records("predictions"))
    assert any(record.get("unpredicted") for record in world.records("observations"))


def test_a_file_changed_after_it_was_shown_refuses_the_approval(world: World) -> None:
    """E3: the digest that was shown is not pending any more."""
    host, _ = world.run(lambda w, given: ops(patch_op()))
    world.settle(host)
    request = only(world.pending())
    (world.workspace / "README.md").write_text("# Tool\n\npython 3.8\n")
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    world.settle(host)
    ended = world.door.find(request.request_id)
    assert ended.state is RequestState.DENIED
    assert (world.workspace / "README.md").read_text() == "# Tool\n\npython 3.8\n"


def test_a_question_is_answered_into_a_belief_a_citation_and_the_next_input(world: World) -> None:
    def ask(w: World, given: str) -> str:
        base = {"action_id": "q1", "agent": "echo", "session_id": "s", "timestamp": "2026-11-30T12:00:00.000Z"}
        import json

        with (w.root / "learning.jsonl").open("a") as file:
            query = {"text": "Which database?", "type": "one", "options": ["a", "b"]}
            file.write(json.dumps(base | {"update_type": "user_query", "error_class": None, "query": query}) + "\n")
        return ""

    host, agent = world.run(ask)
    world.settle(host)
    question = only(world.pending())
    assert question.title == "Which database?"
    world.door.decide(
        question.request_id, Verdict.ANSWER, digest=question.digest, arguments={"choices": ["a"], "as": "belief"}
    )
    world.settle(host)
    answers = sections(agent.inputs[1])["Answers"]
    assert answers[0]["text"] == "a" and answers[0]["question"] == "Which database?"
    belief = world.state()["beliefs"][0]
    assert belief["claim"] == "Which database? a" and belief["id"] == answers[0]["ref"]
    assert world.state()["pending_citations"][0]["ref"] == belief["id"]
    assert host.work() == 0


def test_a_held_run_starts_no_effect_until_it_is_resumed(world: World) -> None:
    host, _ = world.run(lambda w, given: ops(patch_op()))
    world.settle(host)
    request = only(world.pending())
    world.door.hold("lunch")
    world.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
    world.settle(host)
    assert world.door.find(request.request_id).state is RequestState.APPROVED
    world.door.resume()
    world.settle(host)
    assert world.door.find(request.request_id).state is RequestState.SUCCEEDED


def test_an_observe_op_gives_evidence_and_effects_beside_it_are_not_run(world: World) -> None:
    host, agent = world.run(
        lambda w, given: ops({"kind": "fs_read", "path": "README.md"}, patch_op()),
        lambda w, given: "",
    )
    world.settle(host)
    receipts = sections(agent.inputs[1])["Pass 1 Receipts"]
    assert [(item["op_id"], item["status"]) for item in receipts] == [("p1", "skipped"), ("obs-01", "ok")] or [
        (item["op_id"], item["status"]) for item in receipts
    ] == [("obs-01", "ok"), ("p1", "skipped")]
    read = next(item for item in receipts if item["op_id"] == "obs-01")
    assert (world.root / read["artifacts"][0]["path"]).read_text() == "# Tool\n\npython 3.9\n"
    assert "python 3.9" in read["excerpt"]


def test_a_change_that_no_approved_effect_made_is_shown_and_can_be_put_back(world: World) -> None:
    def meddle(w: World, given: str) -> str:
        (w.workspace / "README.md").write_text("meddled\n")
        return ""

    host, _ = world.run(meddle)
    world.settle(host)
    request = only(world.pending())
    assert request.kind == "unapproved" and "README.md" in request.title
    world.door.revert(request.request_id, "put it back")
    world.settle(host)
    restore = only(world.pending())
    world.door.decide(restore.request_id, Verdict.APPROVE, digest=restore.digest)
    world.settle(host)
    assert (world.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"


def test_an_edit_makes_a_new_request_with_a_new_digest_that_still_has_to_be_approved(world: World) -> None:
    host, agent = world.run(
        lambda w, given: ops(
            {"kind": "fs_write", "op_id": "w", "path": "README.md", "content": "a\n", "predict": predict()}
        )
    )
    world.settle(host)
    old = only(world.pending())
    world.door.decide(old.request_id, Verdict.EDIT, digest=old.digest, arguments={"fields": {"content": "b\n"}})
    world.settle(host)
    fresh = only(world.pending())
    assert fresh.supersedes == old.request_id and fresh.digest != old.digest and fresh.modified_by == "operator:ana"
    assert world.door.find(old.request_id).state is RequestState.SUPERSEDED
    world.door.decide(fresh.request_id, Verdict.APPROVE, digest=fresh.digest)
    world.settle(host)
    assert (world.workspace / "README.md").read_text() == "b\n"
    assert sections(agent.inputs[1])["Pass 1 Receipts"][0]["modified_by"] == "operator:ana"


def test_exec_and_unknown_members_are_denied_with_the_reason_named(world: World) -> None:
    """E6: nothing defaults to allow."""
    host, agent = world.run(
        lambda w, given: ops(
            {"kind": "exec", "op_id": "e", "argv": ["true"], "predict": predict()},
            {"kind": "fs_write", "op_id": "w", "path": "a", "content": "", "colour": "red"},
        )
    )
    world.settle(host)
    reasons = {item["op_id"]: item["reason"] for item in sections(agent.inputs[1])["Pass 1 Receipts"]}
    assert reasons == {"e": "policy_rejected", "w": "unknown_field: colour"}
    assert world.pending() == ()


def test_an_output_that_answers_another_input_is_held_whole(world: World) -> None:
    host, agent = world.run(lambda w, given: "---\nid: other\n" + ops(patch_op()) + "\n---\n")
    world.settle(host)
    assert sections(agent.inputs[1])["Pass 1 Receipts"][0]["reason"] == "id_mismatch"
    assert world.pending() == ()


def test_the_pair_is_archived_before_anything_is_asked(world: World) -> None:
    """E7: input and output of each pass are on disk."""
    host, _ = world.run(lambda w, given: ops(patch_op()))
    world.settle(host)
    request = only(world.pending())
    assert "fs_patch" in (world.root / str(request.source["file"])).read_text()
    assert (world.root / "logs" / "input" / f"{request.trigger_id}.pass-1.md").exists()


def test_surfaced_issues_become_files_and_rows_to_triage(world: World) -> None:
    host, _ = world.run(lambda w, given: "surface: Locale files have no owner")
    world.settle(host)
    issue = only(world.pending())
    assert issue.kind == "issue" and issue.title == "Locale files have no owner"
    world.door.decide(issue.request_id, Verdict.RESOLVE, digest=issue.digest or None, comment="ana owns them")
    world.settle(host)
    text = (world.root / "state" / "mca" / str(issue.fields["file"])).read_text()
    assert "status: resolved" in text and "Locale files have no owner" in text
