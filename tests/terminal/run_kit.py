"""Real runs for a real console: agents of a few lines of shell, and the console on a pty beside them."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from typing import Any

from journey_kit import Stage, until
from terminal_kit import PROGRAM, Terminal, terminal

from cas_tui.ledger import Ledger, LedgerError
from cas_tui.locations import runtime_paths
from cas_tui.protocol.requests import Request, RequestState

PREDICT = {"expected_observation": "it is done", "confidence": 0.9, "falsifier": "it is not"}


def answer(*ops: dict[str, Any], then: str = "x:") -> str:
    """A shell agent that asks for these ops in its first pass and for nothing later."""
    manifest = json.dumps(list(ops))
    return (
        "id=$(sed -n 's/^id: //p' state/input.md | head -n 1); n=$(cat step 2>/dev/null || echo 0); echo $((n + 1)) > step\n"
        "if [ $n = 0 ]; then ops=$(cat ops.json); more='" + then + "'; else ops='[]'; more=\"done: $id\"; fi\n"
        'printf -- \'---\\nid: %s\\nops: %s\\n%s\\n---\\nstep\\n\' "$id" "$ops" "$more" > state/output.md\n'
        f"# {len(manifest)} bytes of ops\n"
    )


def start(stage: Stage, *ops: dict[str, Any], then: str = "x:") -> None:
    """Run an agent that asks for these ops."""
    (stage.base / "agent.sh").write_text(answer(*ops, then=then))
    (stage.root / "ops.json").write_text(json.dumps(list(ops)))
    stage.run(["sh", "agent.sh"])


def patch(path: str, old: str, new: str, line: int = 1, **more: Any) -> dict[str, Any]:
    """One line of a file for another, as an op with its prediction."""
    words = f"@@ -{line} +{line} @@\n-{old}\n+{new}\n"
    return {"kind": "fs_patch", "op_id": f"p-{path}", "path": path, "unified_diff": words, "predict": PREDICT, **more}


def files(stage: Stage, count: int) -> list[dict[str, Any]]:
    """So many committed files, and a patch of each that can be put back (T1)."""
    for number in range(count):
        (stage.workspace / f"f{number}.txt").write_text(f"old {number}\n")
    stage.git("add", ".")
    stage.git("commit", "-q", "-m", "files")
    return [patch(f"f{number}.txt", f"old {number}", f"new {number}") for number in range(count)]


@contextlib.contextmanager
def console(stage: Stage, *options: str, size: tuple[int, int] = (80, 24), **more: Any) -> Iterator[Terminal]:
    """The console on the root of a stage."""
    words = [PROGRAM, str(stage.root), *options]
    with terminal(words, environ=stage.environ, size=size, cwd=stage.base, **more) as shown:
        yield shown


@contextlib.contextmanager
def ledger_of(stage: Stage) -> Iterator[Ledger]:
    """The ledger, to look at."""
    from cas_tui.cli.common import clock, ids

    path = runtime_paths(stage.root.resolve(), stage.environ).ledger
    with Ledger.open(path, clock=clock, ids=ids, read_only=True) as opened:
        yield opened


def decided(stage: Stage) -> list[str]:
    """Every verdict on record, oldest first."""
    with ledger_of(stage) as ledger:
        return [str(item.verdict) for item in reversed(ledger.decisions.newest(1000))]


def pending(stage: Stage, count: int = 1, kind: str = "effect") -> list[Request]:
    """Wait until so many requests of a kind are pending."""

    def look() -> list[Request] | None:
        with contextlib.suppress(LedgerError), ledger_of(stage) as ledger:
            found = [item for item in ledger.requests.list(undecided=True) if item.kind == kind]
            found = [item for item in found if item.state is RequestState.PENDING]
            return found if len(found) >= count else None
        return None

    return until(look, f"{count} pending {kind}: {stage.log()[-500:]}")


def request(stage: Stage, request_id: str) -> Request:
    """One request as the ledger has it now."""
    with ledger_of(stage) as ledger:
        return ledger.requests.get(request_id)


def take_up(shown: Terminal, *words: str) -> str:
    """Select the next row of the queue, take it up, and wait until it may be decided; returns the screen."""
    shown.see("for you")
    # A key that comes while the first rows are being laid out may find nothing to select: an operator presses it again.
    for _ in range(5):
        shown.press("n")
        if "Enter opens" in shown.text():
            break
        shown.settle(0.5)
    shown.press("enter")
    return shown.see("READY", *words)
