"""The house as it is meant: which package may know what, how long a file may grow, and that each promise has a test."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HOUSE = Path(__file__).resolve().parents[2]
CODE = HOUSE / "cas_tui"
TESTS = HOUSE / "tests"

LOADS = {
    "cas_tui.protocol.ops": ("textual", "rich", "sqlite3", "watchfiles", "pygit2", "asyncinotify"),
    "cas_tui.text": ("textual", "rich", "sqlite3", "pygit2"),
    "cas_tui.model.rows": ("textual", "rich", "sqlite3", "pygit2", "watchfiles", "asyncinotify", "subprocess"),
    "cas_tui.sources.run": ("textual", "rich", "pygit2", "watchfiles", "asyncinotify", "numpy", "msgspec"),
    "cas_tui.loop.host": ("textual", "rich", "watchfiles"),
    "cas_tui.loop.operator": ("textual", "rich", "pygit2"),
    "cas_tui.demo.agent": ("cas_tui.loop", "cas_tui.console", "cas_tui.protocol", "cas_tui.ledger", "orjson"),
    "cas_tui": ("textual", "rich", "orjson", "sqlite3", "asyncio"),
}


@pytest.mark.parametrize("module", LOADS)
def test_importing_a_room_does_not_load_what_it_must_not_know(module: str) -> None:
    code = f"import {module}, sys; print('\\n'.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert not [name for name in LOADS[module] if name in loaded]


def files() -> Iterator[Path]:
    return (path for path in CODE.rglob("*.py") if "__pycache__" not in path.parts)


def test_no_file_of_the_package_needs_a_table_of_contents() -> None:
    long = {str(path.relative_to(HOUSE)): len(path.read_text().splitlines()) for path in files()}
    assert not {name: lines for name, lines in long.items() if lines > 420}


def test_every_module_says_why_it_exists() -> None:
    silent = [str(path.relative_to(HOUSE)) for path in files() if not ast.get_docstring(ast.parse(path.read_text()))]
    assert not silent


def _calls(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Call):
            yield ast.unparse(node.func)


@pytest.mark.parametrize("room", ["protocol", "model", "console/panes", "console/widgets", "console/card"])
def test_time_ids_and_environment_are_handed_in(room: str) -> None:
    reached = {"datetime.now", "datetime.utcnow", "time.time", "uuid4", "uuid.uuid4", "os.getenv", "os.environ.get"}
    found = {f"{path.name}: {name}" for path in (CODE / room).rglob("*.py") for name in _calls(path) if name in reached}
    assert not found


def test_processes_are_started_only_where_they_may_be() -> None:
    allowed = ("agents/", "effects/", "loop/spawn.py", "console/editor.py", "sources/index/")
    found = [
        str(path.relative_to(CODE))
        for path in files()
        if any(
            name in ("subprocess.Popen", "subprocess.run", "os.fork", "os.execvp", "os.system") for name in _calls(path)
        )
    ]
    assert not [name for name in found if not name.startswith(allowed)]


def test_only_the_command_line_ends_the_program() -> None:
    found = [str(path.relative_to(CODE)) for path in files() if "sys.exit" in set(_calls(path))]
    assert not [name for name in found if not name.startswith(("cli/", "demo/"))]


INVARIANTS = (
    [f"E{n}" for n in range(1, 11)]
    + [f"D{n}" for n in range(1, 10)]
    + [f"T{n}" for n in range(1, 7)]
    + [f"S{n}" for n in range(1, 6)]
    + ["A1", "A2"]
)
"""The invariants that hold from the first release; those of notifications and obligations come with them."""


@pytest.mark.parametrize("invariant", INVARIANTS)
def test_every_invariant_is_named_by_a_test(invariant: str) -> None:
    word = re.compile(rf"\b{invariant}\b")
    assert any(word.search(path.read_text()) for path in TESTS.rglob("test_*.py") if path != Path(__file__)), invariant
