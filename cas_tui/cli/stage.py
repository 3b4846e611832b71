"""The stage of the demo: a scratch git repository, a throw-away memory root, and what the agent knows at first.

Makes folders and files in one new directory and touches nothing else. The story itself is the agent's.
"""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Final

from cas_tui.locations import TELEMETRY
from cas_tui.protocol.decode import Json
from cas_tui.protocol.encode import encode_pretty, timestamp

MESSAGE: Final = "Ana raised the floor to Python 3.11 and staged her changelog entry. Make the README agree and commit."
ANA: Final = ("Ana", "ana@localhost")

_README: Final = """\
# tool

Counts the words of text files.

It reads the files you name, or standard input,
and prints one number a file.

Nothing is written, nothing is sent.

## Install

python {version} or newer, then: pip install tool
## Use

    tool notes.txt
"""
_CHANGES: Final = "# Changes\n\n0.3: Read standard input.\n0.2: Count several files.\n"
_STAGED: Final = "0.4: Python 3.11 is now required.\n"
_TOOL: Final = """\
\"\"\"Count the words of text files.\"\"\"

import sys


def count(text: str) -> int:
    return len(text.split())


for name in sys.argv[1:] or ["/dev/stdin"]:
    with open(name) as file:
        print(count(file.read()), name)
"""

_PLAN: Final[tuple[dict[str, Json], ...]] = (
    {
        "step_id": "S-1",
        "intent": "find the version the README names",
        "predicted_outcome": "install section names 3.9",
        "tool_actions": "fs_read README.md",
        "status": "pending",
    },
    {
        "step_id": "S-2",
        "intent": "patch README.md",
        "predicted_outcome": "README shows Python 3.11 and the new install line",
        "tool_actions": "fs_patch README.md",
        "status": "pending",
    },
    {
        "step_id": "S-3",
        "intent": "commit",
        "predicted_outcome": "one commit holds the README and the changelog entry",
        "tool_actions": "git_commit, git_status",
        "status": "pending",
    },
)


@dataclass(frozen=True, slots=True)
class Stage:
    """Where a demo plays."""

    base: Path
    root: Path
    workspace: Path


def build(below: Path | None, *, surprise: bool, now: datetime) -> Stage:
    """Make a new stage; `below` is the directory to make it in, by default the system's scratch directory.

    With `surprise` the README names another Python than the agent expects.
    """
    from cas_tui.effects.git import init_repository

    base = Path(tempfile.mkdtemp(prefix="cas-tui-demo-", dir=below)).resolve()
    stage = Stage(base, base / "docs" / "memory", base / "docs" / "workspace")
    changes = _CHANGES.encode()
    init_repository(
        stage.workspace,
        {
            "README.md": _README.format(version="3.10" if surprise else "3.9").encode(),
            "CHANGES.md": changes,
            "src/tool.py": _TOOL.encode(),
        },
        message="Count the words of text files",
        identity=ANA,
        when=now,
        staged={"CHANGES.md": changes + _STAGED.encode()},
    )
    stage.root.mkdir(parents=True)
    for name in TELEMETRY:
        (stage.root / name).touch()
    (stage.root / "STATE.json").write_bytes(encode_pretty(first_state(timestamp(now))))
    return stage


def first_state(now: str) -> dict[str, Json]:
    """What the agent knows and means to do before the first message."""
    return {
        "state_version": "1.0",
        "updated_at": now,
        "active_goals": [
            {"id": "G-1", "description": "Docs install on 3.11", "priority": "high", "status": "active"},
        ],
        "commitments": [
            {"id": "C-1", "to_whom": "Ana", "promise": "the README agrees with the changelog", "status": "pending"},
        ],
        "artifacts": [
            {"id": "A-1", "type": "file", "location": "README.md", "description": "how to install and use the tool"},
        ],
        "beliefs": [
            {
                "id": "B-12",
                "claim": "python >= 3.11",
                "confidence": 0.9,
                "evidence_refs": ["CHANGES.md, staged by Ana"],
            },
        ],
        "uncertainties": [
            {
                "id": "U-2",
                "question": "Which is the oldest Python to support?",
                "impact": "every install instruction",
                "plan_to_resolve": "ask the operator",
            },
        ],
        "current_plan": [dict(step) for step in _PLAN],
        "policies": [],
        "tool_models": {},
        "last_session_summary": "",
        "pending_citations": [],
    }
