"""Pane 3, what one run expected and what came: a pair a row, oldest first, at the end unless scrolled up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.panes.pane import Pane
from cas_tui.console.widgets.keyed_rows import Item
from cas_tui.model.shapes import StreamRow

NEWEST = 20
"""The action column is as wide as the longest of so many newest rows needs, within limits."""
LAMPS = ("missed", "learned", "in STATE", "cited")


def clock(at: str) -> str:
    """The local time of day of an ISO instant; as it is, made safe, when it is none."""
    try:
        moment = datetime.fromisoformat(at)
    except ValueError:
        return text.line(at, limit_cells=8)
    return (moment.astimezone() if moment.tzinfo else moment).strftime("%H:%M:%S")


def lamp(on: bool | None, glyphs: Glyphs) -> str:
    """One lamp: reached, missed, or not due yet."""
    return glyphs["none"] if on is None else glyphs["done"] if on else glyphs["failed"]


@dataclass(frozen=True, slots=True)
class Came:
    """Below a mismatched row: what was said and what came."""

    row: StreamRow


@dataclass(frozen=True, slots=True)
class Lesson:
    """Below a mismatched row: what was learned, and how far the lesson got."""

    row: StreamRow


class StreamPane(Pane):
    """Prediction and observation pairs of the selected run."""

    number = 3
    title = "Stream"
    empty = "No act yet. A row comes with the first prediction of the run."

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(glyphs, id="stream", follows=True)
        self._run = ""
        self._rows: tuple[StreamRow, ...] = ()
        self._longest = 0

    def show(self, rows: Sequence[StreamRow], run: str) -> None:
        """Show the pairs of this run."""
        self._run, self._rows = run, tuple(rows)
        folded = sum(row.folded for row in rows)
        self._longest = max((text.cells(text.line(row.action, limit_cells=40)) for row in rows[-NEWEST:]), default=0)
        following = self.list.at_end
        items = self._large(rows) if self.shape == "large" else self._plain(rows)
        name = text.line(run, limit_cells=24, ascii_only=self.glyphs.ascii)
        if self.shape == "small" and self.size.height <= 4:
            self.show_items(items, f"{name}: last acts" if run else "Last acts", "3 Stream")
            return
        state = "FOLLOW" if following else f"PAUSED +{self._below()} below"
        tail = f"{state}   {folded} matched folded" if folded and self.shape != "large" else state
        self.show_items(items, f"3 Stream: {name}" if run else "3 Stream", tail if rows else "")

    def _below(self) -> int:
        return max(0, len(self.list.state.items) - self.list.scroll_offset.y - self.list.size.height)

    def _plain(self, rows: Sequence[StreamRow]) -> list[Item]:
        """A mismatch carries its lesson under it where there is room; a fold is in the title."""
        roomy = self.size.height > 8
        items = []
        for row in rows:
            if row.folded:
                if roomy:
                    items.append(Item(row.key, row, selectable=False))
                continue
            items.append(Item(row.key, row))
            if roomy and row.verdict == "mismatched":
                items += _under(row)
        return items

    def _large(self, rows: Sequence[StreamRow]) -> list[Item]:
        """The course of the run, then what was mismatched, with its lesson."""
        items = [Item(row.key, row, selectable=not row.folded) for row in rows if row.verdict != "mismatched"]
        wrong = [row for row in rows if row.verdict == "mismatched"]
        if wrong and items:
            items.append(Item("gap", "", selectable=False))
        for row in wrong:
            items += [Item(row.key, row), *_under(row)]
        return items

    def words(self, item: Item) -> str:
        """Action, what was expected, verdict."""
        row = item.value
        return f"{row.action} {row.expected} {row.verdict}" if isinstance(row, StreamRow) else ""

    def paint(self, item: Item, width: int, current: bool) -> Row:
        """One pair, the two rows below a mismatch, or a note."""
        value = item.value
        cells = self.cells(width, current)
        if isinstance(value, Came):
            cells.to(3).put("said ", "muted").quote(value.row.expected, max(8, (width - 16) // 2), "text")
            return cells.put(", came ", "muted").said(value.row.observed or "-", "text").row()
        if isinstance(value, Lesson):
            return self._lesson(cells, value.row)
        if not isinstance(value, StreamRow):
            return cells.put(str(value), "muted").row()
        cells.put(self.glyphs[value.glyph], self.glyphs.ink(value.glyph))
        if value.folded:
            return cells.to(3).put(f"{value.folded} matched, folded", "muted").row()
        cells.to(3).put(clock(value.at), "muted")
        if width < 72:
            return self._narrow(cells, value, width)
        return self._wide(cells, value, width) if width >= 110 else self._middle(cells, value)

    def _lesson(self, cells: Cells, row: StreamRow) -> Row:
        cells.to(3).put("learned ", "muted").said(row.learned or "nothing yet", "text", 20)
        for name, on in list(zip(LAMPS, row.lamps, strict=False))[2:]:
            cells.put(f"   {name} " if name == "in STATE" else f"  {name} ", "muted").put(lamp(on, self.glyphs), "text")
        return cells.row()

    def _verdict(self, cells: Cells, row: StreamRow, words: str, limit: int) -> None:
        ink = "need" if row.glyph == "needs" else "danger" if row.glyph == "unknown" else "muted"
        if row.verdict == "mismatched":
            ink = "text strong"
        cells.put(words, ink, limit)

    def _middle(self, cells: Cells, row: StreamRow) -> Row:
        extra = max(0, cells.width - 80)
        extra = min(extra + 20, max(extra, self._longest - 18))
        cells.to(13).said(row.action, "text", 18 + extra).to(33 + extra)
        self._verdict(cells, row, row.verdict, 12 if row.confidence is not None and row.glyph != "needs" else 18)
        if row.glyph == "needs":
            return cells.row()
        cells.to(46 + extra).put(text.percent(row.confidence), "muted")
        took = row.latency_s if row.latency_s is not None else row.age_s
        cells.to(53 + extra).put(text.span(took) if took is not None else "", "muted")
        if row.verdict == "mismatched" and row.observed and cells.width - cells.x > 24:
            cells.to(59 + extra).put("came ", "muted").said(row.observed, "text")
        return cells.row()

    def _wide(self, cells: Cells, row: StreamRow, width: int) -> Row:
        extra = width - 120
        wide = max(18, min(self._longest, 30 + extra // 2)) - 18
        cells.to(13).said(row.action, "text", 18 + wide).to(33 + wide)
        cells.quote(row.expected, 42 + extra - wide, "text").to(77 + extra)
        self._verdict(cells, row, row.verdict, 13)
        cells.to(91 + extra).put(text.percent(row.confidence), "muted")
        took = text.span(row.latency_s) if row.latency_s is not None else text.age(row.age_s)
        cells.right(103 + extra, took, "muted")
        if row.learned and width >= 132:
            cells.put("  learned ", "muted").said(row.learned, "text")
        return cells.row()

    def _narrow(self, cells: Cells, row: StreamRow, width: int) -> Row:
        cells.to(12).said(row.action, "text", width - 31).to(width - 18)
        cells.put(text.percent(row.confidence).rjust(5), "muted").to(width - 11)
        if row.verdict == "as expected":
            cells.put(text.span(row.latency_s), "muted")
        else:
            self._verdict(cells, row, "waits" if row.glyph == "needs" else row.verdict, 11)
        return cells.row()


def _under(row: StreamRow) -> list[Item]:
    came = Item(f"{row.key}/came", Came(row), selectable=False)
    return [came, Item(f"{row.key}/lesson", Lesson(row), selectable=False)]
