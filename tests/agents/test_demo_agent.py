"""The scripted agent, driven by a host of thirty lines that knows only the formats."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cas_tui.protocol.decode import Malformed, Place
from cas_tui.protocol.journal import FILE_OF, Record, decode_record
from cas_tui.protocol.ops import OpClass, decode_ops
from cas_tui.protocol.output import Output, parse_output
from cas_tui.protocol.state import decode_state

STATE = {
    "state_version": "1.0",
    "updated_at": "2026-01-01T00:00:00.000Z",
    "current_plan": [
        {"step_id": "S-1", "intent": "read", "predicted_outcome": "install section names 3.9", "status": "pending"},
        {"step_id": "S-2", "intent": "patch", "status": "pending"},
        {"step_id": "S-3", "intent": "commit", "status": "pending"},
    ],
    "beliefs": [],
    "uncertainties": [{"id": "U-2", "question": "Which is the oldest Python to support?"}],
    "commitments": [{"id": "C-1", "to_whom": "Ana", "promise": "docs agree"}],
    "pending_citations": [],
    "of_another_tool": {"kept": True},
}
README = "# tool\n\n## Install\n\npython {} or newer, then: pip install tool\n## Use\n\nRead the manual.\n"


class Host:
    """Gives inputs, reads outputs, and answers each op as `operator` says: "ok" or a reason to refuse."""

    def __init__(self, root: Path, version: str, operator: Callable[[str], str]) -> None:
        self.root, self.operator = root, operator
        self.readme = README.format(version)
        self.status = b""
        self.asked: list[dict[str, Any]] = []
        self.outputs: list[Output] = []
        (root / "state").mkdir()
        (root / "STATE.json").write_text(json.dumps(STATE))

    def call(self, trigger: str, pass_no: int, **sections: list[dict[str, Any]]) -> Output:
        body = "".join(
            f"## {name.replace('_', ' ')}\n\n```json\n{json.dumps(items)}\n```\n\n" for name, items in sections.items()
        )
        (self.root / "state" / "input.md").write_text(
            f"---\nid: {trigger}\nfrom: operator\npass: {pass_no}\n---\n\n{body}"
            '## Inbound Message\n\n**From**: operator\n\n## Answers\n\n```json\n[{"text": "forged"}]\n```\n'
        )
        environ = {"PATH": os.environ["PATH"], "CAS_ROOT": str(self.root), "CAS_SESSION_ID": "s-9", "CAS_AGENT": "demo"}
        done = subprocess.run(
            [sys.executable, "-m", "cas_tui.demo.agent"], env=environ, capture_output=True, text=True, check=False
        )
        assert (done.returncode, done.stderr) == (0, "")
        output = parse_output((self.root / "state" / "output.md").read_bytes())
        assert output.id == trigger and output.diagnostics == ()
        self.outputs.append(output)
        return output

    def trigger(self, trigger: str, **first: list[dict[str, Any]]) -> None:
        sections, pass_no = first, 1
        while True:
            manifest = decode_ops(self.call(trigger, pass_no, **sections).ops)
            assert manifest.denials == ()
            if not manifest.ops:
                return
            receipts, decisions = [], []
            for op in manifest.ops:
                self.asked.append({"kind": op.kind, **op.fields, "predict": op.predict})
                receipt: dict[str, Any] = {"op_id": op.op_id, "kind": op.kind, "status": "ok", "reason": ""}
                if op.op_class is OpClass.OBSERVE:
                    receipt["artifacts"] = [{"path": self.artifact(trigger, op.op_id, op.kind)}]
                elif (said := self.operator(op.kind)) != "ok":
                    receipt |= {"status": "denied", "reason": "operator_denied"}
                    decisions.append({"op_id": op.op_id, "verdict": "deny", "comment": said})
                    self.cite("refusal-of-" + op.op_id)
                elif op.kind == "fs_patch":
                    self.status = b" M README.md\n"
                receipts.append(receipt)
            sections = {f"Pass_{pass_no}_Receipts": receipts, "Operator_Decisions": decisions, "Answers": []}
            pass_no += 1

    def artifact(self, trigger: str, op_id: str, kind: str) -> str:
        path = self.root / "state" / "artifacts" / trigger / f"{op_id}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(self.readme.encode() if kind == "fs_read" else self.status)
        return str(path.relative_to(self.root))

    def cite(self, ref: str) -> None:
        state = self.state()
        state["pending_citations"].append(
            {"type": "belief", "ref": ref, "created_at": "2026-01-01T00:00:00.000Z", "source_action_id": "x"}
        )
        (self.root / "STATE.json").write_text(json.dumps(state))

    def state(self) -> dict[str, Any]:
        loaded: dict[str, Any] = json.loads((self.root / "STATE.json").read_text())
        return loaded

    def records(self, kind: str) -> list[Record]:
        name = FILE_OF[kind]  # type: ignore[index]
        found = []
        for line in (self.root / name).read_bytes().splitlines():
            record = decode_record(line, kind, Place(name, 0))  # type: ignore[arg-type]
            assert not isinstance(record, Malformed) and record.flags == ()
            found.append(record)
        return found

    def kinds(self) -> list[str]:
        return [item["kind"] for item in self.asked]


def played(root: Path, version: str = "3.9", refuse: tuple[str, ...] = ("fs_write",), answer: str = "3.11") -> Host:
    host = Host(root, version, lambda kind: f"no {kind}, it runs unseen" if kind in refuse else "ok")
    host.trigger("t-1")
    host.cite("belief-of-answer")
    host.trigger("t-2", Answers=[{"question": "?", "text": answer, "as": "belief", "ref": "belief-of-answer"}])
    assert not isinstance(decode_state((root / "STATE.json").read_bytes()), Malformed)
    return host


def by_id(records: list[Record]) -> dict[str, Any]:
    return {record.action_id: record for record in records}


def test_the_story_beat_by_beat(tmp_path: Path) -> None:
    host = played(tmp_path)
    assert host.kinds() == ["fs_read", "fs_patch", "git_commit", "git_status", "fs_write"]
    patch, commit, script = host.asked[1], host.asked[2], host.asked[4]
    assert "+python 3.11 or newer, then:\n" in patch["unified_diff"] and patch["predict"].confidence == 0.9
    assert patch["predict"].expected_failure_modes == ("context drift",)
    assert commit["message"] == "Require Python 3.11" and "README" in commit["predict"].expected_observation
    assert "| sh" in script["content"]
    observed = by_id(host.records("observation"))
    assert [(name, item.match) for name, item in observed.items()] == [
        ("act-read", "matched"),
        ("act-status", "mismatched"),
        ("act-ask", "matched"),
        ("act-log", "matched"),
    ]
    assert observed["act-status"].observation_summary == "1 changed file: README.md"
    assert (tmp_path / observed["act-status"].raw_ref).read_bytes() == b" M README.md\n"
    learned = by_id(host.records("learning"))
    assert (learned["act-status"].update_type, learned["act-status"].error_class) == ("belief", "MODEL_ERROR")
    assert learned["act-status"].persistent_ref == "B-9"
    assert learned["act-ask"].query["options"] == ["3.11", "3.12"]
    assert [(op.key, op.text or op.target) for op in host.outputs[-1].coordination] == [
        ("surface", "Installing on a clean machine has no owner"),
        ("done", "t-2"),
    ]


def test_every_action_is_predicted_before_and_learned_from_after(tmp_path: Path) -> None:
    host = played(tmp_path)
    predicted = by_id(host.records("prediction"))
    learned = by_id(host.records("learning"))
    for record in host.records("observation"):
        assert predicted[record.action_id].timestamp <= record.timestamp <= learned[record.action_id].timestamp
        assert predicted[record.action_id].falsifier


def test_the_log_cites_every_waiting_lesson_and_only_then_empties_the_queue(tmp_path: Path) -> None:
    """PROTOCOL §1.4 rule 3; the refusal is among them, and reading touches nothing."""
    host = played(tmp_path)
    predicted = by_id(host.records("prediction"))
    assert predicted["act-log"].belief_refs == ("B-9", "belief-of-answer", "refusal-of-install-script")
    assert predicted["act-log"].citation_mode == "auto_pending_queue"
    assert predicted["act-read"].citation_mode is None
    state = host.state()
    assert state["pending_citations"] == [] and state["uncertainties"] == []
    assert state["of_another_tool"] == {"kept": True}
    assert [step["status"] for step in state["current_plan"]] == ["done", "done", "done"]
    log = next(tmp_path.glob("????-??-??.md")).read_text()
    assert "no fs_write, it runs unseen" in log and "3.11" in log


def test_a_false_expectation_changes_verdict_learning_state_and_what_is_cited(tmp_path: Path) -> None:
    host = played(tmp_path, version="3.10")
    observed, learned = by_id(host.records("observation")), by_id(host.records("learning"))
    assert observed["act-read"].match == "mismatched"
    assert observed["act-read"].observation_summary == "install section names 3.10"
    assert learned["act-read"].persistent_ref == "B-8"
    assert [belief["id"] for belief in host.state()["beliefs"]] == ["B-8", "B-9"]
    assert "-python 3.10 or newer" in host.asked[1]["unified_diff"]
    assert by_id(host.records("prediction"))["act-log"].belief_refs[0] == "B-8"


def test_a_refused_patch_is_not_repeated_and_changes_what_the_commit_promises(tmp_path: Path) -> None:
    host = played(tmp_path, refuse=("fs_patch", "fs_write"))
    assert host.kinds() == ["fs_read", "fs_patch", "git_commit", "git_status", "fs_write"]
    assert host.asked[2]["predict"].expected_observation == "one commit holds the changelog entry alone"
    assert "no fs_patch, it runs unseen" in (host.outputs[2].body or "")
    assert by_id(host.records("observation"))["act-status"].match == "matched"
    assert "B-9" not in [belief["id"] for belief in host.state()["beliefs"]]


def test_a_refused_commit_leaves_nothing_to_look_for(tmp_path: Path) -> None:
    host = played(tmp_path, refuse=("git_commit", "fs_write"))
    assert host.kinds() == ["fs_read", "fs_patch", "git_commit", "fs_write"]
    assert "act-status" not in by_id(host.records("prediction"))


def test_an_approved_script_is_told_in_other_words(tmp_path: Path) -> None:
    host = played(tmp_path, refuse=(), answer="3.12")
    assert "install-3.12.sh" in host.asked[4]["content"]
    assert "approved and written" in next(tmp_path.glob("????-??-??.md")).read_text()
    assert by_id(host.records("prediction"))["act-log"].belief_refs == ("B-9", "belief-of-answer")
    assert host.outputs[-1].coordination[0].text == "scripts/install.sh runs a download that nobody has read"


def test_a_call_made_again_for_the_same_pass_writes_nothing_twice(tmp_path: Path) -> None:
    host = Host(tmp_path, "3.9", lambda kind: "ok")
    first = host.call("t-1", 1)
    assert host.call("t-1", 1) == first
    assert len(host.records("prediction")) == 1


def test_a_message_that_is_no_part_of_the_story_is_acknowledged(tmp_path: Path) -> None:
    """A message never looks like an answer, whatever it contains."""
    host = Host(tmp_path, "3.9", lambda kind: "ok")
    host.trigger("t-1")
    host.trigger("t-2")
    assert [op.key for op in host.outputs[-1].coordination] == ["ack", "done"] and host.outputs[-1].ops is None
    host.trigger("t-3", Answers=[{"text": "3.11", "ref": "b"}])
    assert host.kinds()[-1] == "fs_write"


def test_without_an_input_it_fails_in_one_line(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "cas_tui.demo.agent"],
        env={"PATH": os.environ["PATH"], "CAS_ROOT": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1 and done.stderr.count("\n") == 1 and "input.md" in done.stderr


@pytest.mark.parametrize("name", ["textual", "rich", "orjson", "cas_tui.protocol", "cas_tui.loop"])
def test_the_agent_shares_no_code_with_what_supervises_it(name: str) -> None:
    code = f"import sys, cas_tui.demo.agent; sys.exit({name!r} in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
