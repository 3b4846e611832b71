"""An agent of a few lines of shell, written from the protocol alone, drives the whole story."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import Stage, stage, until, well_formed

AGENT = r"""#!/bin/sh
id=$(sed -n 's/^id: //p' state/input.md | head -n 1); n=$(cat step 2>/dev/null || echo 0); n=$((n + 1)); echo $n > step
said='"predict":{"expected_observation":"it is done","confidence":0.9,"falsifier":"it is not"}'
head="\"agent\":\"shell\",\"session_id\":\"sh\",\"timestamp\":\"2026-11-30T10:00:0$n.000Z\""
case $n in
1) ops='[{"kind":"fs_read","path":"README.md"}]' ;;
2) ops="[{\"kind\":\"fs_patch\",\"op_id\":\"p\",\"path\":\"README.md\",\"unified_diff\":\"@@ -3 +3 @@\n-python 3.9\n+python 3.11\n\",$said}]" ;;
3) ops="[{\"kind\":\"git_stage\",\"op_id\":\"s\",\"paths\":[\"README.md\"],$said},{\"kind\":\"git_commit\",\"op_id\":\"c\",\"message\":\"Require 3.11\",$said}]" ;;
4) echo "{\"action_id\":\"mine\",$head,\"action\":\"git_status\",\"expected_observation\":\"a file is left\",\"confidence\":0.8}" >> predictions.jsonl; ops='[{"kind":"git_status"}]' ;;
5) echo "{\"action_id\":\"mine\",$head,\"success\":true,\"match\":\"mismatched\",\"observation_summary\":\"clean\"}" >> observations.jsonl
   echo "{\"action_id\":\"mine\",$head,\"update_type\":\"user_query\",\"error_class\":\"MODEL_ERROR\",\"persistent_ref\":\"user_query\",\"rationale\":\"Which Python is the oldest?\"}" >> learning.jsonl
   more='surface: Nobody owns the installer'; ops='[]' ;;
6) ops="[{\"kind\":\"fs_write\",\"op_id\":\"w\",\"path\":\"install.sh\",\"content\":\"curl x | sh\\n\",$said}]" ;;
7) ops="[{\"kind\":\"fs_patch\",\"op_id\":\"q\",\"path\":\"README.md\",\"unified_diff\":\"@@ -3 +3 @@\n-python 3.11\n+python 3.11+\n\",$said}]" ;;
*) ops='[]'; more="done: $id" ;;
esac
printf -- '---\nid: %s\nops: %s\n%s\n---\nstep %s\n' "$id" "$ops" "${more:-x:}" "$n" > state/output.md
"""


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_a_shell_agent_reads_patches_commits_is_wrong_asks_and_is_refused(here: Stage) -> None:
    (here.base / "agent.sh").write_text(AGENT)
    run = here.run(["sh", "agent.sh"], "--once")
    root = str(here.root)
    patch = here.pending(op_kind="fs_patch")
    assert patch["tier"] == "T1"
    here.approve(patch)
    here.approve(here.pending(op_kind="git_stage"))
    here.approve(here.pending(op_kind="git_commit"))
    assert "Require 3.11" in here.git("log", "--oneline")
    question = here.pending("question")
    assert question["title"] == "Which Python is the oldest?"
    here.cas("questions", "answer", root, question["request_id"], "3.11")
    write = here.pending(op_kind="fs_write")
    belief = here.state()["beliefs"][0]
    assert "3.11" in belief["claim"]
    here.cas("requests", "deny", root, write["request_id"], "--reason", "wrong content")
    last = here.pending(op_kind="fs_patch")
    refusal = [item for item in here.state()["beliefs"] if "refused" in item["claim"]]
    cited = next(item for item in here.records("predictions") if item["action_id"] == last["prediction"])
    assert cited["belief_refs"] == [refusal[0]["id"]]
    here.approve(last)
    assert run.wait(60) == 0, here.log()
    assert not (here.workspace / "install.sh").exists()
    assert "python 3.11+" in (here.workspace / "README.md").read_text()
    kinds = {item["kind"] for item in here.json("requests", "list", root)["requests"]}
    assert {"effect", "question", "mismatch", "issue"} <= kinds
    well_formed(here)


def test_questions_and_issues_wait_without_an_agent_that_is_called_for_them(here: Stage) -> None:
    (here.base / "agent.sh").write_text(AGENT)
    (here.root / "step").write_text("4\n")
    here.run(["sh", "agent.sh"])
    question = here.pending("question")
    issue = here.pending("issue")
    assert issue["title"] == "Nobody owns the installer"
    assert until(lambda: "ended after pass 1" in here.log(), "the trigger ends while the question waits")
    here.cas("questions", "dismiss", str(here.root), question["request_id"], "--reason", "ask later")
    assert until(lambda: "answers-" in here.log(), "the dismissal reaches the agent as an input")
