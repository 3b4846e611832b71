"""Widgets that draw rows of ink line by line, and repaint only the cells that changed (CRAFT C10)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import ClassVar

from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region
from textual.strip import Strip
from textual.widget import Widget

from cas_tui import text
from cas_tui.console.ink import BLANK, INKS, Row, safe

INK_CLASSES = frozenset(f"ink--{ink}" for ink in INKS) | {"ink--selected"}
_EMPHASIS = {"strong": Style(bold=True), "struck": Style(strike=True), "inverse": Style(reverse=True)}


def ink_style(widget: Widget, ink: str) -> Style:
    """The style of an ink as the theme has it, with its emphasis."""
    base, _, emphasis = ink.partition(" ")
    style = widget.get_component_rich_style(f"ink--{base}", partial=True)
    return style + _EMPHASIS[emphasis] if emphasis else style


def strip_of(widget: Widget, row: Row, width: int, *, selected: bool = False) -> Strip:
    """The row as a strip of exactly `width` cells. Text is made safe once more at this last gate (T1)."""
    ground = widget.rich_style
    if selected:
        ground = ground + widget.get_component_rich_style("ink--selected", partial=True)
    segments = [Segment(safe(span.text), ground + ink_style(widget, span.ink)) for span in row if span.text]
    return Strip(segments).adjust_cell_length(width, ground)


def changed_cells(old: Row, new: Row) -> tuple[int, int] | None:
    """From which cell to which the two rows differ; None when they do not."""
    start = 0
    for before, after in zip_longest(old, new):
        if before != after:
            break
        start += text.cells(after.text)
    else:
        return None
    ends = []
    for row in (old, new):
        ends.append(sum(text.cells(span.text) for span in row))
    tail = 0
    if ends[0] == ends[1]:
        for before, after in zip(reversed(old), reversed(new), strict=False):
            if before != after:
                break
            tail += text.cells(after.text)
    return start, max(start, max(ends) - tail)


class Painted(Widget):
    """A fixed number of rows. A subclass makes them in `rows`; `repaint` draws what changed and nothing else."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(INK_CLASSES)
    DEFAULT_CSS = "Painted { height: 1; overflow-x: hidden; overflow-y: hidden; }"

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._drawn: tuple[Row, ...] = ()
        self._drawn_width = -1

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """The rows to draw in this room."""
        raise NotImplementedError

    def selected(self, y: int) -> bool:
        """Whether row `y` is the filled one."""
        return False

    @property
    def is_placed(self) -> bool:
        """Whether it is mounted and still part of a screen.

        Timers and late messages reach a widget whose screen was closed a moment ago; it has no screen to draw on then,
        and Textual raises for whoever asks.
        """
        return self.is_mounted and self.is_attached

    def repaint(self) -> None:
        """Make the rows again and refresh the cells that differ."""
        if not self.is_placed or self.size.width <= 0:
            return
        if self._drawn_width != self.size.width:
            self.refresh()
            return
        old, self._drawn = self._drawn, tuple(self.rows(self.size.width, self.size.height))
        for y, (before, after) in enumerate(zip_longest(old, self._drawn, fillvalue=BLANK)):
            span = changed_cells(before, after)
            if span is not None:
                self.refresh(Region(span[0], y, max(1, span[1] - span[0]), 1))

    def on_resize(self) -> None:
        """A new size needs new rows, not only more of the old ones."""
        self._drawn_width = -1
        self.refresh()

    def render_line(self, y: int) -> Strip:
        """One line of the widget."""
        width = self.size.width
        if self._drawn_width != width:
            self._drawn = tuple(self.rows(width, self.size.height))
            self._drawn_width = width
        row = self._drawn[y] if y < len(self._drawn) else BLANK
        return strip_of(self, row, width, selected=self.selected(y))


class Lines(Painted):
    """Rows given from outside, as they are. What it shows is set whole, by `show`."""

    def __init__(self, *, id: str | None = None, classes: str | None = None) -> None:
        super().__init__(id=id, classes=classes)
        self._rows: tuple[Row, ...] = ()

    def show(self, *rows: Row) -> None:
        """Draw these rows from now on."""
        if rows != self._rows:
            self._rows = rows
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """What was given."""
        return self._rows
