"""One host per root: who refuses, who hands over, and what an approval says when it comes too late (PROTOCOL §5.3, D08)."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import PROGRAM, Stage, stage, until

ASK = "id=$(sed -n 's/^id: //p' state/input.md | head -n 1); printf -- '---\\nid: %s\\nops: "
ASK += '[{"kind":"fs_write","op_id":"w","path":"README.md","content":"x\\\\n","predict":'
ASK += '{"expected_observation":"it says x","confidence":0.9}}]\\n---\\n\' "$id" > state/output.md'


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def alive(here: Stage, role: str) -> bool:
    host = here.json("status", str(here.root))["runs"][0]["host"]
    return bool(host["alive"]) and host["role"] == role


def test_a_host_hands_over_to_a_run_and_a_second_run_is_refused(here: Stage) -> None:
    host = subprocess.Popen(
        [PROGRAM, "host", str(here.root)], env=here.environ, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    here.runs.append(host)
    until(lambda: alive(here, "host"), "the host lives")
    here.run(["sh", "-c", ASK])
    until(lambda: alive(here, "run"), "the run took over")
    assert host.wait(20) == 0
    second = here.run(["sh", "-c", ASK])
    assert second.wait(30) == 8
    assert "lease is held" in here.log()
    here.pending()


def test_a_file_changed_after_it_was_shown_makes_the_old_digest_worthless(here: Stage) -> None:
    """E2, E3: exit code 3 says that what is pending is not what was shown; the new digest can be approved."""
    here.run(["sh", "-c", ASK])
    shown = here.pending()
    (here.workspace / "README.md").write_text("somebody else\n")
    until(lambda: here.pending()["digest"] != shown["digest"], "it is shown anew")
    words = ("requests", "approve", str(here.root), shown["request_id"], "--digest")
    assert here.cas(*words, shown["digest"], "--wait", code=None).returncode == 3
    here.cas(*words, here.pending()["digest"], "--wait")
    assert (here.workspace / "README.md").read_text() == "x\n"


def test_a_decided_request_says_who_decided_and_an_unknown_one_is_not_found(here: Stage) -> None:
    here.run(["sh", "-c", ASK])
    request = here.pending()
    here.cas("requests", "deny", str(here.root), request["request_id"], "--reason", "not now")
    words = ("requests", "approve", str(here.root))
    late = here.cas(*words, request["request_id"], "--digest", request["digest"], code=None)
    assert late.returncode == 5 and "decided deny" in late.stderr
    assert here.cas(*words, "r-nothing", "--digest", request["digest"], code=None).returncode == 6
    assert here.cas("requests", "deny", str(here.root), request["request_id"], code=None).returncode == 2


def test_a_message_becomes_an_input_and_is_written_back(here: Stage) -> None:
    quiet = "printf -- '---\\nid: %s\\n---\\n' \"$(sed -n 's/^id: //p' state/input.md | head -n 1)\" > state/output.md"
    here.run(["sh", "-c", quiet + "; cat state/input.md >> heard"])
    until(lambda: "ended after pass 1" in here.log(), "the first trigger ends")
    here.cas("message", str(here.root), "look at the changelog")
    until(lambda: "look at the changelog" in (here.root / "heard").read_text(), "the agent hears it")
    assert any(record["action"] == "message the agent" for record in here.records("predictions"))
