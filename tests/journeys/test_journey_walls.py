"""What an agent can do on its own, with walls and without (PROTOCOL §5.3, SAFETY S1, S2, E10)."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from journey_kit import PROGRAM, Stage, stage, until

DIRECT = "echo meddled >> ../work/README.md && echo wrote > mark; printf -- '---\\nid: %s\\n---\\n' "
DIRECT += "\"$(sed -n 's/^id: //p' state/input.md | head -n 1)\" > state/output.md"


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Stage]:
    with stage(tmp_path) as made:
        yield made


def test_an_agent_that_writes_the_workspace_directly_fails(here: Stage) -> None:
    run = here.run(["sh", "-c", DIRECT], "--once")
    assert run.wait(60) == 0, here.log()
    assert not (here.root / "mark").exists()
    assert (here.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"
    assert here.requests() == []


def test_an_agent_that_approves_its_own_request_fails(here: Stage) -> None:
    script = f"""
id=$(sed -n 's/^id: //p' state/input.md | head -n 1)
if grep -q '^pass: 1$' state/input.md; then
  printf -- '---\\nid: %s\\nops: [{{"kind":"fs_write","op_id":"w","path":"x","content":""}}]\\n---\\n' "$id" > state/output.md
  unset CAS_TUI_AGENT
  ( for i in 1 2 3 4 5 6 7 8; do
      {PROGRAM} requests list {here.root} --json >> self.log 2>&1
      {PROGRAM} requests approve {here.root} r- --digest sha256:0 >> self.log 2>&1; echo "code $?" >> self.log
    done ) &
  sleep 3
else
  printf -- '---\\nid: %s\\n---\\n' "$id" > state/output.md
fi
"""
    here.run(["sh", "-c", script])
    here.pending()
    said = (here.root / "self.log").read_text()
    assert "code 6" in said and "code 0" not in said
    assert all(item["state"] == "pending" for item in here.json("requests", "list", str(here.root))["requests"])


def test_the_program_refuses_to_decide_inside_an_agents_own_process(here: Stage) -> None:
    done = here.cas("hold", str(here.root), code=None, CAS_TUI_AGENT="1")
    assert done.returncode == 7


def test_without_bubblewrap_the_run_says_so_and_a_direct_change_is_asked_about(here: Stage) -> None:
    tools = here.base / "bin"
    tools.mkdir()
    for name in ("sh", "sed", "head", "cat", "git", "grep"):
        found = shutil.which(name)
        assert found is not None
        (tools / name).symlink_to(found)
    here.path = f"{Path(sys.executable).parent}:{tools}"
    run = here.run(["sh", "-c", DIRECT], "--once")
    assert run.wait(60) == 0, here.log()
    assert (here.root / "mark").exists()
    request = here.pending("unapproved")
    assert "README.md" in request["title"]
    assert "unconfined" in here.log()
    status = here.json("status", str(here.root))
    assert status["runs"][0]["confinement"].startswith("unconfined")
    here.cas("requests", "revert", str(here.root), request["request_id"])
    here.approve(here.pending(op_kind="fs_restore"))
    assert (here.workspace / "README.md").read_text() == "# Tool\n\npython 3.9\n"


def test_when_the_host_is_killed_it_shows_within_seconds_and_an_approval_still_completes(here: Stage) -> None:
    script = "id=$(sed -n 's/^id: //p' state/input.md | head -n 1); printf -- '---\\nid: %s\\nops: "
    script += '[{"kind":"fs_write","op_id":"w","path":"x.md","content":"x"}]\\n---\\n\' "$id" > state/output.md'
    run = here.run(["sh", "-c", script])
    request = here.pending()
    run.kill()
    run.wait()
    gone = lambda: not here.json("status", str(here.root))["runs"][0]["host"]["alive"]  # noqa: E731
    assert until(gone, "status says that the host is gone", 5.0)
    here.approve(request)
    assert (here.workspace / "x.md").read_text() == "x"
    assert os.path.exists(here.root / "observations.jsonl")
