"""The operator's words on their way to the loop: the one place in the console that calls its door (DESIGN rule 2).

Doors block on the disk, so each call runs in a thread. A call that fails says why on the screen and changes nothing.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

from cas_tui import text
from cas_tui.console.messages import Decide, DecisionRefused, DecisionSent
from cas_tui.console.wiring import Doors


def reason(fault: BaseException) -> str:
    """Why a call failed, as one line. Errors of the door are already one clear line each."""
    words = text.line(str(fault))
    if hasattr(fault, "exit_code"):
        return words
    return f"{type(fault).__name__}: {words}" if words else type(fault).__name__


class OperatorDesk:
    """Hands decisions, holds and messages to the door of a run."""

    def __init__(self, doors: Doors) -> None:
        self._doors = doors
        self.locked = False

    async def decide(self, wish: Decide) -> DecisionSent | DecisionRefused:
        """Commit one decision, or say why not. LOCKED refuses before anything is opened."""
        if self.locked:
            return DecisionRefused(wish.request_id, "locked: :unlock first")

        def call() -> Any:
            return self._doors(Path(wish.root)).decide(
                wish.request_id,
                wish.verdict,
                digest=wish.digest,
                comment=wish.comment,
                arguments=dict(wish.arguments),
                shown_at=wish.shown_at,
                full_view=wish.full_view,
            )

        try:
            sent = await asyncio.to_thread(call)
        except Exception as fault:  # a failed decision is a line on the screen, never the end of the console (T4)
            return DecisionRefused(wish.request_id, reason(fault))
        return DecisionSent(sent.request, sent.decision, str(sent.host))

    async def hold(self, root: str) -> str:
        """Hold one run. The line says what happened."""
        return await self._plain(root, lambda door: door.hold(), "held: starts no new effect, kills nothing")

    async def resume(self, root: str) -> str:
        """Let one run go on."""
        return await self._plain(root, lambda door: door.resume(), "resumed")

    async def message(self, root: str, words: str) -> str:
        """Leave a message for one run."""
        return await self._plain(root, lambda door: door.message(words), "message left for the next input")

    async def _plain(self, root: str, call: Any, done: str) -> str:
        try:
            await asyncio.to_thread(lambda: call(self._doors(Path(root))))
        except Exception as fault:
            return f"not done: {reason(fault)}"
        return done
