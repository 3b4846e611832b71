"""The coach line of the demo: one muted row above the keys that changes by what happened (SCREENS §8).

It takes no key and never covers anything; `:coach` ends it. After fifteen seconds without a key it repeats the one
key that goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cas_tui import text
from cas_tui.console.ink import Cells, Row
from cas_tui.console.widgets.painted import Painted

PATIENCE_S: Final = 15.0


SHORT: Final = {
    "A scripted agent works in a scratch git repository. Nothing of yours is touched.": (
        "A scripted agent in a scratch git repository. Nothing of yours is touched."
    ),
    "Reading needs no approval. You are called only when it wants to change something.": (
        "Reading needs no approval. You are called when it wants to change something."
    ),
    "Above: its promise. Below: the exact change, all of it. a approves this and nothing else, d refuses.": (
        "Above: its promise. Below: the exact change. a approves only this, d refuses."
    ),
    "Done means observed: its own record now says so. `git log` will show it. Press n.": (
        "Done means observed: its own record says so, `git log` shows it. Press n."
    ),
    "It asks you. n, Enter, type, ctrl+s. Your answer becomes a belief you can follow.": (
        "It asks you. n, Enter, type, ctrl+s. Your answer becomes a belief."
    ),
    "It asks you. Enter, type, ctrl+s. Your answer becomes a belief you can follow.": (
        "It asks you. Enter, type, ctrl+s. Your answer becomes a belief."
    ),
    "Next it will try something you should refuse. ? shows the keys of where you are.": (
        "Next it tries something you should refuse. ? shows the keys of where you are."
    ),
}
"""The same lines where the row is short of room."""


@dataclass(frozen=True, slots=True)
class Seen:
    """What happened so far, as the console can tell it from its rows and its own screens."""

    acts: int = 0
    predicted: bool = False
    waiting: str = ""
    """Kind of the first request that waits: `effect`, `question`, or empty."""
    waiting_tier: str = ""
    selected: bool = False
    on_card: bool = False
    card_kind: str = ""
    card_tier: str = ""
    decided: int = 0
    answered: int = 0
    observed: bool = False
    """Whether the newest decision is observed."""
    mismatched: int = 0


def advice(seen: Seen) -> tuple[str, str]:
    """The line for this moment and the one key that goes on (empty when there is none)."""
    if seen.on_card:
        return _on_card(seen)
    if seen.waiting:
        if seen.selected:
            return "This is a look. Press Enter to take it up. Enter never decides.", "Enter"
        if seen.waiting == "question":
            return "It asks you. n, Enter, type, ctrl+s. Your answer becomes a belief you can follow.", "n"
        if seen.decided == 0:
            return "It wants to change a file. Press n.", "n"
        if seen.answered:
            return "Look closely: this one you should refuse. n, Enter, d and a reason.", "n"
        return "It wants to go on. Press n.", "n"
    if seen.answered and seen.observed:
        return "Next it will try something you should refuse. ? shows the keys of where you are.", ""
    if seen.mismatched and seen.decided >= 2:
        return "It was wrong, and wrote down why. Its next act must cite that lesson.", ""
    if seen.predicted:
        return "Before it acts it says what will happen, and what would prove it wrong.", ""
    if seen.acts:
        return "Reading needs no approval. You are called only when it wants to change something.", ""
    return "A scripted agent works in a scratch git repository. Nothing of yours is touched.", ""


def _on_card(seen: Seen) -> tuple[str, str]:
    if seen.observed:
        return "Done means observed: its own record now says so. `git log` will show it. Press n.", "n"
    if seen.card_kind == "question":
        return "It asks you. Enter, type, ctrl+s. Your answer becomes a belief you can follow.", "Enter"
    if seen.answered:
        return "Read all of it. d refuses with a reason, and the agent learns from the reason.", "d"
    if seen.card_tier == "T2":
        return "Harder to undo, so it asks twice: a, then y.", "a"
    return "Above: its promise. Below: the exact change, all of it. a approves this and nothing else, d refuses.", "a"


class Coach(Painted):
    """The coach line."""

    def __init__(self) -> None:
        super().__init__(id="coach")
        self._line = ""
        self._key = ""
        self._quiet_s = 0.0

    def show(self, seen: Seen, quiet_s: float) -> None:
        """Say what fits this moment; `quiet_s` is how long no key came."""
        line, key = advice(seen)
        nudge = bool(key) and quiet_s >= PATIENCE_S
        if (line, key if nudge else "") != (self._line, self._key):
            self._line, self._key = line, key if nudge else ""
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row; the key that goes on first, when it is repeated, and a shorter wording where room is short."""
        cells = Cells(width).put(" ")
        if self._key:
            cells.put(f"{self._key} goes on. ", "text strong")
        line = self._line if text.cells(self._line) < width - cells.x else SHORT.get(self._line, self._line)
        return (cells.put(line, "muted").row(),)
