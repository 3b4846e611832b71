"""Rows of ink: what panes make and widgets draw. A row is cells with a meaning each, never a colour and never markup.

`Cells` lays one row out by column, so that variable text can be cut and cannot push what stands behind it (C4, T6).
Text of a run is passed through `text` here at the latest, whatever a pane did before (T1).
"""

from __future__ import annotations

from typing import Final, NamedTuple

from cas_tui import text

INKS: Final = ("text", "muted", "rule", "need", "danger", "ok", "agent", "mode", "add", "del")
"""The inks a theme defines (SCREENS §7). `strong`, `struck` and `inverse` may follow one, after a space."""


class Span(NamedTuple):
    """Some cells in one ink."""

    text: str
    ink: str = "text"


Row = tuple[Span, ...]

BLANK: Final[Row] = (Span(""),)


def plain(row: Row) -> str:
    """The row as text, for tests and for the linear mode."""
    return "".join(span.text for span in row)


def safe(value: str) -> str:
    """`value` if it went through the gate; else as `text.line` shows it (T1)."""
    return value if (value.isascii() and value.isprintable()) or text.is_safe(value) else text.line(value)


class Cells:
    """One row of `width` cells under construction, from left to right."""

    def __init__(self, width: int, *, ascii_only: bool = False) -> None:
        self.width = max(0, width)
        self._ascii = ascii_only
        self.x = 0
        self._spans: list[Span] = []

    def put(self, value: str, ink: str = "text", limit: int | None = None) -> Cells:
        """Draw `value`, cut to `limit` cells and to the room left."""
        room = self.width - self.x
        if limit is not None:
            room = min(room, limit)
        if room <= 0 or not value:
            return self
        shown = safe(value)
        length = text.cells(shown)
        if length > room:
            shown = text.clip(shown, room)
            length = text.cells(shown)
        self._spans.append(Span(shown, ink))
        self.x += length
        return self

    def said(self, value: str, ink: str = "agent", limit: int | None = None) -> Cells:
        """Draw untrusted text, made safe, cut to `limit` cells and to the room left."""
        room = self.width - self.x if limit is None else min(limit, self.width - self.x)
        return self.put(text.line(value, limit_cells=max(0, room), ascii_only=self._ascii), ink)

    def quote(self, value: str, limit: int | None = None, ink: str = "agent") -> Cells:
        """Draw text of the agent in quotes, within `limit` cells. Colour alone never says whose words they are."""
        room = self.width - self.x if limit is None else min(limit, self.width - self.x)
        if room < 3:
            return self
        return self.put(text.quote(value, limit_cells=room, ascii_only=self._ascii), ink)

    def to(self, column: int, filler: str = " ", ink: str = "text") -> Cells:
        """Go on at `column`, if it lies ahead."""
        gap = min(column, self.width) - self.x
        if gap > 0:
            self._spans.append(Span(filler * gap, ink))
            self.x += gap
        return self

    def right(self, end: int, value: str, ink: str = "text") -> Cells:
        """Draw `value` so that it ends before column `end`."""
        value = safe(value)
        return self.to(end - text.cells(value)).put(value, ink)

    def row(self) -> Row:
        """The finished row, filled to its width."""
        self.to(self.width)
        return tuple(self._spans) or BLANK


def rule(width: int, title: str, tail: str, stroke: str, *, focused: bool = False) -> Row:
    """A rule line: two strokes, the title, strokes, the tail, two strokes. Of a run's text only its name is in it."""
    cells = Cells(width)
    tail = safe(tail)
    tail_room = text.cells(tail) + 4 if tail else 0
    cells.put(stroke * 2, "rule").put(" ")
    cells.put(title, "text strong" if focused else "muted", limit=max(1, width - 4 - tail_room))
    cells.put(" ").to(width - tail_room, stroke, "rule")
    if tail:
        cells.put(" ").put(tail, "muted").put(" ").put(stroke * 2, "rule")
    return cells.row()
