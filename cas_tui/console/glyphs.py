"""The signs the console draws with, each with its ASCII twin (SCREENS §7). All are one cell wide.

A sign never stands alone for a state: the word is in Detail, in `--json` and in the linear mode.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

PAIRS: Final[dict[str, tuple[str, str]]] = {
    "needs": ("▪", "*"),
    "working": ("▸", "+"),
    "quiet": ("⋯", "~"),
    "idle": ("▫", "o"),
    "held": ("=", "="),
    "done": ("✓", "v"),
    "failed": ("✗", "x"),
    "unknown": ("?", "?"),
    "none": ("-", "-"),
    "flagged": ("▴", "^"),
    "new": ("◦", "."),
    "blank": (" ", " "),
    "cursor": ("›", ">"),
    "rule": ("─", "-"),
    "wall": ("│", "|"),
    "then": ("›", ">"),
}

INK: Final[dict[str, str]] = {
    "needs": "need",
    "unknown": "danger",
    "flagged": "danger",
    "held": "mode",
    "failed": "text",
    "cursor": "text",
    "new": "text",
}
"""The ink of a sign; muted when it is not named here. Working, done and mismatched are not colours (the calm rule)."""


@dataclass(frozen=True, slots=True)
class Glyphs:
    """The signs of one console: the terminal's own, or their ASCII twins."""

    ascii: bool = False

    def __getitem__(self, name: str) -> str:
        """The sign called `name`; an unknown name is drawn as nothing rather than failing the row (T4)."""
        pair = PAIRS.get(name, PAIRS["blank"])
        return pair[1] if self.ascii else pair[0]

    def ink(self, name: str) -> str:
        """The ink the sign is drawn in."""
        return INK.get(name, "muted")
