"""Pane 2, every run in its group; and the same as one row for a small screen (SCREENS §2, §5)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.panes.pane import Note, Pane
from cas_tui.console.widgets.keyed_rows import Item
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import FleetRow

SPAN_NAME = {"Needs you": "waits", "Working": "last", "Quiet, look": "silent"}
ENOUGH = 10
"""Below this many judged acts a share says nothing."""


def span_of(row: FleetRow) -> str:
    """How long it waits, or how long nothing was heard of it."""
    return text.age(row.waits_s if row.group == "Needs you" else row.silent_s)


def record_of(row: FleetRow) -> str:
    """How often it was right, never without its number."""
    return f"{row.right}/{row.judged}" if row.judged >= ENOUGH else "no rec."


class Group:
    """The heading of a group of runs."""

    __slots__ = ("first", "name")

    def __init__(self, name: str, first: bool) -> None:
        self.name = name
        self.first = first

    def __str__(self) -> str:
        return self.name


class FleetPane(Pane):
    """Every run: its group, how long it waits, how often it was right, mismatches, open obligations."""

    number = 2
    title = "Fleet"
    empty = "No run yet. `cas-tui run ROOT --workspace DIR -- CMD` starts one."

    def show(self, rows: Sequence[FleetRow]) -> None:
        """Show these runs, in this order, under the headings of their groups."""
        items: list[Item] = []
        for name, members in groupby(rows, key=lambda row: row.group):
            items.append(Item(f"group:{name}", Group(name, not items), selectable=False))
            for row in members:
                items.append(Item(row.root, row))
                if row.note:
                    items.append(Item(f"note:{row.root}", Note(row.note), selectable=False))
        count = text.plural(len(rows), "run") if self.shape != "medium" else str(len(rows))
        self.show_items(items, "2 Fleet", count if rows else "")

    def mark(self, root: str) -> None:
        """Put the cursor on the run that is looked at, without telling anybody."""
        if not self.list.has_focus and self.list.state.cursor != root:
            self.list.state.put_cursor(root)
            self.list.redraw()

    def words(self, item: Item) -> str:
        """Name and group."""
        row = item.value
        return f"{row.name} {row.group}" if isinstance(row, FleetRow) else ""

    def _columns(self, width: int) -> tuple[int, int, int, int]:
        """Where the span, the record (0: no room for it), the mismatches and the obligations begin."""
        if width < 44:
            return width - 13, 0, width - 6, width - 2
        return width - 26, width - 18, width - 8, width - 4

    def paint(self, item: Item, width: int, current: bool) -> Row:
        """A run, a heading or a note."""
        value = item.value
        span, record, wrong, obligations = self._columns(width)
        cells = self.cells(width, current)
        if isinstance(value, Group):
            cells.put(value.name, "muted").to(span).put(SPAN_NAME.get(value.name, ""), "muted")
            if value.first:
                if record:
                    cells.to(record).put("right", "muted")
                cells.to(wrong).put("x", "muted").to(obligations).put("ob", "muted")
            return cells.row()
        if not isinstance(value, FleetRow):
            return cells.to(3).put(str(value), "muted").row()
        cells.put(self.glyphs[value.glyph], self.glyphs.ink(value.glyph)).to(3)
        flag = "  UNCONFINED" if value.unconfined else ""
        flag += "  held" if value.held else ""
        cells.said(value.name, "text strong" if current else "text", span - 4 - len(flag))
        cells.put(flag, "danger" if value.unconfined else "mode")
        cells.to(span).put(span_of(value), "need" if value.group == "Needs you" else "muted")
        if record:
            cells.to(record).put(record_of(value), "muted", wrong - record - 1)
        cells.to(wrong).put(str(value.mismatched or "-"), "muted")
        return cells.to(obligations).put(str(value.obligations or "-"), "muted").row()


class FleetLine(Painted):
    """The fleet as one row: attention first, the selected run before the others of its group; the rest is a count."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="fleet-row")
        self._glyphs = glyphs
        self._rows: tuple[FleetRow, ...] = ()
        self._selected = ""

    def show(self, rows: Sequence[FleetRow], selected: str) -> None:
        """Show these runs."""
        self._rows, self._selected = tuple(rows), selected
        self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One row."""
        cells = Cells(width, ascii_only=self._glyphs.ascii).put(f" Runs {len(self._rows)}", "muted")
        shown = 0
        for _, members in groupby(self._rows, key=lambda row: row.group):
            gap = "   "
            for row in sorted(members, key=lambda row: row.root != self._selected):
                words = self._words(row)
                length = sum(text.cells(part) for part, _ in words) + len(gap)
                rest = len(self._rows) - shown - 1
                if cells.x + length + (5 if rest else 0) > width:
                    return (cells.put(f"  +{rest + 1}", "muted").row(),)
                cells.put(gap)
                for part, ink in words:
                    cells.put(part, ink)
                shown += 1
                gap = "  "
        return (cells.row(),)

    def _words(self, row: FleetRow) -> tuple[tuple[str, str], ...]:
        name = text.line(row.name, limit_cells=16, ascii_only=self._glyphs.ascii)
        ink = "text strong" if row.root == self._selected else "text"
        words = [(f"{self._glyphs[row.glyph]} ", self._glyphs.ink(row.glyph)), (name, ink)]
        if row.group == "Quiet, look":
            words.append((f" {span_of(row)}", "muted"))
        if row.unconfined:
            words.append((" UNCONFINED", "danger"))
        return tuple(words)
