"""The line that a refusal is written on: five reasons by digit, or free text. The agent learns from the text.

Also the lines of a comment, of characters of the digest, and of every other reason: they are one thing to type, and
what is pasted into them does not count as typing (SAFETY T5).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from textual import events
from textual.widgets import Input, TextArea

from cas_tui import text
from cas_tui.console.card.contract import words_wrap
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row

REASONS: Final = (
    "wrong file or scope",
    "wrong content",
    "apply the lesson first",
    "resolve the open question first",
    "not now",
)


def reason_of(key: str) -> str:
    """The reason that a digit means; empty for any other key."""
    return REASONS[int(key) - 1] if key in ("1", "2", "3", "4", "5") else ""


def reason_rows(width: int, glyphs: Glyphs, *, reasons: bool, policy: bool | None) -> list[Row]:
    """The reasons with their digits, and what the other keys of the line do."""
    words = [f"{number} {reason}" for number, reason in enumerate(REASONS, 1)] if reasons else []
    rows, line = [], ""
    for word in words:
        if line and len(line) + 2 + len(word) > width - 2:
            rows.append(line)
            line = ""
        line = f"{line}  {word}" if line else word
    keys = "Enter sends what you typed, Esc leaves the line"
    if policy is not None:
        keys = f"or type   Tab a rule for the agent: {'yes' if policy else 'no'}   Enter sends   Esc leaves"
    if line and len(line) + 3 + len(keys) <= width - 2:
        rows.append(f"{line}   {keys}")
    else:
        rows += [line, keys] if line else words_wrap(keys, width - 2)
    return [Cells(width, ascii_only=glyphs.ascii).put(" ").put(row, "muted").row() for row in rows]


class TypedLine(Input):
    """One line to type. Each key is shown to its owner first, who may take it away."""

    def __init__(self, *, id: str, key: Callable[[TypedLine, events.Key], None], back: Callable[[bool], None]) -> None:
        super().__init__(id=id, compact=True, select_on_focus=False)
        self.cursor_blink = False
        self.pasting = True
        self._key = key
        self._back = back

    def on_key(self, event: events.Key) -> None:
        """The owner first."""
        self._key(self, event)

    def on_focus(self, event: events.Focus) -> None:
        """The owner wants to know when the terminal came back."""
        self._back(event.from_app_focus)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text, made visible; it sends nothing and does not count as typing."""
        event.stop()
        event.prevent_default()
        if self.pasting and event.text:
            self.insert_text_at_cursor(text.line(event.text.split("\n")[0][:2000]))


class TypedArea(TextArea):
    """Several lines to type. ctrl+s and Esc are the owner's; a paste is made visible."""

    def __init__(self, *, id: str, key: Callable[[TypedArea, events.Key], None], back: Callable[[bool], None]) -> None:
        super().__init__(id=id, soft_wrap=True, show_line_numbers=False, compact=True)
        self.cursor_blink = False
        self._key = key
        self._back = back

    def on_key(self, event: events.Key) -> None:
        """The owner first."""
        self._key(self, event)

    def on_focus(self, event: events.Focus) -> None:
        """The owner wants to know when the terminal came back."""
        self._back(event.from_app_focus)

    def on_paste(self, event: events.Paste) -> None:
        """A paste is text, made visible."""
        event.stop()
        event.prevent_default()
        self.insert("\n".join(text.block(event.text[:200_000])))
