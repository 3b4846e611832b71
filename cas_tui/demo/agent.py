"""`python -m cas_tui.demo.agent`: one call of the scripted agent, for one pass.

Reads `state/input.md` below `$CAS_ROOT` (or here), does the scene its own note `demo.json` is at, writes
`state/output.md` and ends. It holds nothing between calls but what is in the memory root. `CAS_DEMO_PACE` is how many
seconds lie between its acts.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from pathlib import Path

from cas_tui.demo import exchange
from cas_tui.demo.memory import Memory
from cas_tui.demo.story import SCENES


def call(root: Path, environ: Mapping[str, str], clock: Callable[[], datetime], pause: Callable[[], None]) -> None:
    """One call. Raises OSError or ValueError when the input or the memory cannot be read."""
    given = exchange.read(root, environ)
    memory = Memory(
        root,
        agent=environ.get("CAS_AGENT") or "demo",
        session_id=environ.get("CAS_SESSION_ID") or given.front.get("session_id") or "s-demo",
        nonce=given.front.get("run_nonce") or _nonce(root),
        clock=clock,
    )
    note = memory.note()
    here = [given.trigger, given.pass_no]
    if note.get("call") == here:
        # The same pass again: the answer was lost, not the work. Begin where that call began.
        scene, facts = note["scene"], dict(note["facts_before"])
    else:
        scene, facts = note.get("next", "start"), dict(note.get("facts", {}))
    before = dict(facts)
    pause()
    reply, following = SCENES[scene](memory, given, facts, pause)
    memory.save_note({"call": here, "scene": scene, "next": following, "facts_before": before, "facts": facts})
    exchange.write(root, given, reply)


def _nonce(root: Path) -> str | None:
    try:
        return (root / "run_nonce.txt").read_text("utf-8").strip() or None
    except OSError:
        return None


def _pace(environ: Mapping[str, str]) -> float:
    try:
        return min(max(float(environ.get("CAS_DEMO_PACE", "0")), 0.0), 60.0)
    except ValueError:
        return 0.0


def main() -> int:
    """One call, from the environment and the clock of this process."""
    root = Path(os.environ.get("CAS_ROOT") or ".")
    pace = _pace(os.environ)
    try:
        call(root, os.environ, lambda: datetime.now(UTC), lambda: time.sleep(pace))
    except (OSError, ValueError) as error:
        print(f"demo agent: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
