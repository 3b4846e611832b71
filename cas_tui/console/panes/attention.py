"""Pane 1, the one queue over all runs: *Needs you* above, *Review* below (SCREENS §1.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from textual.app import ComposeResult

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, rule
from cas_tui.console.panes.pane import Note, Pane
from cas_tui.console.widgets.keyed_rows import Item
from cas_tui.console.widgets.painted import Lines
from cas_tui.model.shapes import AttentionRow

ASK = 21
HURRY_S = 360
"""Below a fifth of the ordinary half hour a time left is drawn as danger."""


@dataclass(frozen=True, slots=True)
class Band:
    """The rule between *Needs you* and *Review*."""

    title: str


def columns(width: int, shape: str) -> tuple[int, int, int]:
    """Where the tier begins, where the age ends, where the time left ends."""
    return (width - 20, width - 10, width - 3) if shape == "large" else (width - 16, width - 6, width)


def heading(width: int, shape: str) -> Row:
    """The names of the columns."""
    tier, age, left = columns(width, shape)
    cells = Cells(width).to(3).put("run", "muted").to(11).put("kind", "muted").to(ASK).put("the ask", "muted")
    return cells.to(tier).put("tier", "muted").right(age, "age", "muted").right(left, "left", "muted").row()


def paint_row(row: AttentionRow, width: int, shape: str, glyphs: Glyphs, current: bool, gone: bool) -> Row:
    """One row of the queue."""
    tier_at, age_end, left_end = columns(width, shape)
    needs = row.band == "needs"
    settled = row.settled or ("no longer there" if gone else "")
    quiet = bool(row.waiting_on or settled)
    cells = Cells(width, ascii_only=glyphs.ascii).put(glyphs["cursor"] if current else " ")
    if needs and not quiet:
        cells.put(glyphs["needs"], "need")
    cells.to(3).said(row.run, "muted" if quiet else "text", 7).to(11).put(row.kind, "muted", 10)
    cells.to(ASK) if cells.x < ASK else cells.put(" ")
    room = tier_at - 1 - cells.x
    if settled:
        words = f"  {text.line(settled, ascii_only=glyphs.ascii)}"
        cells.said(row.ask, "muted struck", max(8, room - text.cells(words))).put(words, "text", tier_at - 1 - cells.x)
    elif row.waiting_on:
        words = f"  after {text.line(row.waiting_on, ascii_only=glyphs.ascii)}"
        cells.said(row.ask, "muted", max(8, room - min(room // 2, text.cells(words))))
        cells.put(words, "muted", tier_at - 1 - cells.x)
    else:
        if row.flagged:
            cells.put(glyphs["flagged"], "danger").put(" ")
        ink = "agent" if row.quoted and needs else "text"
        cells.said(row.ask, f"{ink} strong" if current else ink, tier_at - 1 - cells.x)
    cells.to(tier_at).put(row.tier or "-", "danger" if row.tier == "T3" and not quiet else "muted", 4)
    cells.right(age_end, text.age(row.age_s), "need" if needs and not quiet else "muted")
    hurry = row.left_s is not None and row.left_s < HURRY_S and not quiet
    return cells.right(left_end, text.age(row.left_s), "danger" if hurry else "muted").row()


class AttentionPane(Pane):
    """The queue. `winner` tells who decided a row that left while it was held still."""

    number = 1
    title = "Needs you"

    def __init__(self, glyphs: Glyphs, *, winner: Callable[[AttentionRow], str]) -> None:
        super().__init__(glyphs, id="queue", holds=True)
        self.heading = Lines()
        self._winner = winner
        self._rows: tuple[AttentionRow, ...] = ()
        self._title = "1 Needs you"

    def compose(self) -> ComposeResult:
        """The rule line, the names of the columns, the list."""
        yield self.title_line
        yield self.heading
        yield self.list

    def show(self, rows: Sequence[AttentionRow]) -> None:
        """Show these rows, the *Needs you* band first."""
        self._rows = tuple(rows)
        needs = [row for row in rows if row.band == "needs"]
        review = [row for row in rows if row.band != "needs"]
        items = [Item(row.key, row, selectable=not row.waiting_on) for row in needs] or [
            Item("nothing", Note("Nothing needs you."), selectable=False)
        ]
        if review:
            items += [Item(f"gap:{n}", Note(""), selectable=False) for n in range(self._air(len(items), len(review)))]
            items.append(Item("band:review", Band("Review: nothing waits"), selectable=False))
            items += [Item(row.key, row) for row in review]
        title = "1 Needs you: a run is waiting" if needs else "1 Needs you"
        # The rule line says what is true after the rows were taken in, and is drawn once.
        self.show_items(items, self.title_line.title, self.title_line.tail)
        self._title = title
        self._retitle()
        self.heading.show(heading(self.size.width, self.shape) if needs or review else ())

    def _retitle(self) -> None:
        """The count of newer rows stands on the *Review* rule; on the pane's own while that is not shown."""
        newer = self.list.state.newer
        band = self.list.state.place("band:review") is not None
        tail = f"{newer} newer" if newer and not band else "oldest first" if self._rows else ""
        self.title_line.show(self._title, f'filter "{self.filter}"' if self.filter else tail)

    def _air(self, above: int, below: int) -> int:
        """On a large screen *Review* stands at the foot of the queue, with one empty row under it."""
        if self.shape != "large":
            return 0
        return max(0, self.list.size.height - above - below - 2)

    def settle(self, item: Item) -> object:
        """A row that was decided elsewhere stays, with the winner's words."""
        row = item.value
        if isinstance(row, AttentionRow) and not row.settled:
            return replace(row, settled=self._winner(row) or "no longer there")
        return row

    def on_keyed_list_waiting(self) -> None:
        """The count of newer rows stands on a rule line."""
        self._retitle()
        self.list.redraw()

    def on_resize(self) -> None:
        """Columns and air depend on the room."""
        self.call_after_refresh(self.show, self._rows)

    def words(self, item: Item) -> str:
        """Run, kind and ask."""
        row = item.value
        return f"{row.run} {row.kind} {row.ask} {row.tier}" if isinstance(row, AttentionRow) else ""

    def paint(self, item: Item, width: int, current: bool) -> Row:
        """A request, a band, or a note."""
        value = item.value
        if isinstance(value, AttentionRow):
            return paint_row(value, width, self.shape, self.glyphs, current, item.gone)
        if isinstance(value, Band):
            newer = self.list.state.newer
            return rule(width, value.title, f"{newer} newer" if newer else "", self.glyphs["rule"])
        return Cells(width).to(3).put(str(value), "muted").row()
