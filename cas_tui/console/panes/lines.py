"""Panes 4 to 9 and Detail: simple rows of one run, drawn alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.panes.pane import Pane
from cas_tui.console.widgets.keyed_rows import Item
from cas_tui.model.shapes import Line

EMPTY = {
    "goals": "No goal yet. An agent writes active_goals and current_plan into STATE.json.",
    "beliefs": "No belief yet. A learning of type belief adds one.",
    "uncertainties": "No open uncertainty. An agent adds one to STATE.json when it does not know.",
    "citations": "Nothing to cite. A mismatch that was learned from waits here until it is cited.",
    "obligations": "No obligations. An agent proposes one; you approve it.",
    "issues": "No issue. An agent surfaces one in state/mca.",
    "detail": "Nothing is recorded under this id.",
}


def paint_line(line: Line, width: int, glyphs: Glyphs, current: bool) -> Row:
    """Glyph, label, text, and a cell at the right."""
    cells = Cells(width, ascii_only=glyphs.ascii).put(glyphs["cursor"] if current else " ")
    if line.heading:
        cells.put(text.line(line.label or line.text, ascii_only=glyphs.ascii), "muted")
        return cells.right(width - 1, text.line(line.right, limit_cells=width // 3), "muted").row()
    cells.to(1 + 2 * line.indent)
    right = text.line(line.right, limit_cells=width // 2, ascii_only=glyphs.ascii)
    end = width - 1 - (text.cells(right) + 1 if right else 0)
    if line.glyph != "blank":
        cells.put(glyphs[line.glyph], glyphs.ink(line.glyph)).to(3 + 2 * line.indent)
    ink = "danger" if line.flagged else "muted" if line.muted else "text"
    if line.label:
        cells.put(
            f"{text.line(line.label, ascii_only=glyphs.ascii)} ", "danger" if line.flagged else "muted", end - cells.x
        )
    if line.quoted:
        cells.quote(line.text, end - cells.x, f"{ink} strong" if current else ink)
    else:
        cells.said(line.text, f"{ink} strong" if current else ink, end - cells.x)
    return cells.right(width - 1, right, "muted").row()


def wrapped(line: Line, width: int, glyphs: Glyphs) -> Sequence[Line]:
    """The line, and as many rows below it as its text needs; at most `MOST`, and then a row that says so."""
    if line.heading:
        return (line,)
    shown = text.quote if line.quoted else text.line
    label = text.cells(text.line(line.label, ascii_only=glyphs.ascii)) + 1 if line.label else 0
    right = text.cells(text.line(line.right)) + 1 if line.right else 0
    room = width - 4 - 2 * line.indent - label - right
    value = shown(line.text, ascii_only=glyphs.ascii)
    if room < 8:
        # The name of a field may come from the file, and be as long as it likes.
        joined = f"{line.label} {value} {line.right}"
        return wrapped(replace(line, text=joined, label="", right="", quoted=False), max(width, 20), glyphs)
    if text.cells(value) <= room:
        return (line,)
    parts = text.wrap(value, room)
    rows = [replace(line, text=parts[0], quoted=False)]
    below = replace(line, label=" " * max(0, label - 1), right="", quoted=False, glyph="blank")
    if line.glyph != "blank":
        below = replace(below, indent=line.indent + 1)
    rows += [replace(below, key=f"{line.key}+{n}", text=part) for n, part in enumerate(parts[1:MOST], 1)]
    if len(parts) > MOST:
        rows.append(replace(below, key=f"{line.key}+more", text=f"{len(parts) - MOST} more rows", muted=True))
    return rows


MOST = 2000
"""Rows one field may take in Detail."""


class LinesPane(Pane):
    """A numbered pane of simple rows."""

    def __init__(self, glyphs: Glyphs, number: int, name: str, title: str) -> None:
        super().__init__(glyphs, id=name)
        self.number = number
        self.name_of = title
        self.empty = EMPTY.get(name, "Nothing here yet.")
        self.wraps = False
        """Whether a long row goes on below instead of being cut: in Detail, where a record is shown whole."""

    def show(self, lines: Sequence[Line], tail: str = "", run: str = "") -> None:
        """Show these rows; a row without detail is passed over by the cursor."""
        # What would fill an empty pane is said whole, on two rows if it must be.
        alone = len(lines) == 1 and not lines[0].detail
        if (self.wraps or alone) and self.size.width > 8:
            lines = [part for line in lines for part in wrapped(line, self.size.width, self.glyphs)]
        items = [Item(line.key, line, selectable=bool(line.detail)) for line in lines]
        title = f"{self.number} {self.name_of}" if self.number else self.name_of
        self.show_items(items, f"{title}: {run}" if run else title, tail)

    def words(self, item: Item) -> str:
        """Label and text."""
        line = item.value
        return f"{line.label} {line.text} {line.right}" if isinstance(line, Line) else ""

    def paint(self, item: Item, width: int, current: bool) -> Row:
        """A row, or the line that says what would fill the pane."""
        if isinstance(item.value, Line):
            return paint_line(item.value, width, self.glyphs, current)
        return Cells(width).to(1).put(str(item.value), "muted").row()
