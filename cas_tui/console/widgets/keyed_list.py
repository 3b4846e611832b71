"""The one list of the console: any number of rows, drawn by line, with the cursor on an id (CRAFT C6, C8, C9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

from textual import events
from textual.geometry import Region, Size
from textual.message import Message
from textual.scroll_view import ScrollView
from textual.strip import Strip

from cas_tui.console.commands import bindings
from cas_tui.console.ink import BLANK, Row
from cas_tui.console.widgets.keyed_rows import Item, KeyedRows, Settle
from cas_tui.console.widgets.painted import INK_CLASSES, changed_cells, strip_of

Painter = Callable[[Item, int, bool], Row]
"""Draws one row: the item, the width in cells, whether the cursor is on it."""


class KeyedList(ScrollView, can_focus=True):
    """Rows by id. `show` gives it the newest rows; it redraws the lines that changed."""

    COMPONENT_CLASSES: ClassVar[set[str]] = set(INK_CLASSES)
    BINDINGS = bindings("list")
    DEFAULT_CSS = """
    KeyedList { height: 1fr; min-height: 1; overflow-x: hidden; overflow-y: auto; scrollbar-size-vertical: 0; }
    """

    @dataclass
    class Moved(Message):
        """The cursor is on another row, or on none."""

        list: KeyedList
        item: Item | None

        @property
        def control(self) -> KeyedList:
            """The list."""
            return self.list

    @dataclass
    class Opened(Message):
        """The operator asked for the row under the cursor."""

        list: KeyedList
        item: Item

        @property
        def control(self) -> KeyedList:
            """The list."""
            return self.list

    @dataclass
    class Waiting(Message):
        """How many rows wait to be taken in changed."""

        list: KeyedList
        newer: int

        @property
        def control(self) -> KeyedList:
            """The list."""
            return self.list

    def __init__(
        self,
        painter: Painter,
        *,
        holds: bool = False,
        follows: bool = False,
        settle: Settle = lambda item: item.value,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.state = KeyedRows()
        self._painter = painter
        self._holds = holds
        self._follows = follows
        self._settle = settle
        self._painted: dict[int, Row] = {}
        self._painted_width = -1
        self._last_newer = 0

    # What it shows

    def show(self, items: Sequence[Item]) -> None:
        """Take the newest rows; keep the cursor's row and the topmost row where they were."""
        at_end = self.at_end
        top = self._top_key()
        before = self.state.cursor
        self.state.feed(items, self._settle)
        self._settle_scroll(top, at_end)
        self.redraw()
        if self.state.cursor != before:
            self.post_message(self.Moved(self, self.state.current))
        self._tell_newer()

    def redraw(self) -> None:
        """Draw again the visible lines that changed."""
        size = Size(self.size.width, len(self.state.items))
        if size != self.virtual_size:
            self.virtual_size = size
        if self._painted_width != self.size.width:
            self._painted.clear()
            self._painted_width = self.size.width
            self.refresh()
            return
        top = self.scroll_offset.y
        for y in range(self.size.height):
            old = self._painted.get(top + y, BLANK)
            new = self._paint(top + y)
            span = changed_cells(old, new)
            if span is not None:
                self.refresh(Region(span[0], y, max(1, span[1] - span[0]), 1))

    def render_line(self, y: int) -> Strip:
        """One line of the viewport."""
        line = self.scroll_offset.y + y
        width = self.size.width
        if self._painted_width != width:
            self._painted.clear()
            self._painted_width = width
        row = self._painted.get(line)
        if row is None:
            row = self._paint(line)
        chosen = self.has_focus and line < len(self.state.items) and self.state.items[line].key == self.state.cursor
        return strip_of(self, row, width, selected=chosen)

    def _paint(self, line: int) -> Row:
        if line >= len(self.state.items):
            row = BLANK
        else:
            item = self.state.items[line]
            row = self._painter(item, self.size.width, item.key == self.state.cursor)
        if len(self._painted) > 512:
            self._painted.clear()
        self._painted[line] = row
        return row

    # Scrolling

    @property
    def at_end(self) -> bool:
        """Whether the last row is in view, or there is nothing to scroll."""
        return not self.size.height or self.scroll_offset.y + self.size.height >= len(self.state.items)

    def _top_key(self) -> str | None:
        top = self.scroll_offset.y
        return self.state.items[top].key if top and top < len(self.state.items) else None

    def _settle_scroll(self, top: str | None, at_end: bool) -> None:
        self.virtual_size = Size(self.size.width, len(self.state.items))
        if self._follows and at_end:
            self._scroll_top(len(self.state.items) - self.size.height)
            return
        place = self.state.place(top)
        if place is not None and place != self.scroll_offset.y:
            self._scroll_top(place)

    def _scroll_top(self, line: int) -> None:
        before = self.scroll_offset.y
        self.scroll_to(y=max(0, line), animate=False, immediate=True, force=True)
        if self.scroll_offset.y != before:
            self.refresh()

    def reveal(self) -> None:
        """Scroll as little as needed to see the cursor."""
        place = self.state.place(self.state.cursor)
        if place is None or not self.size.height:
            return
        top = self.scroll_offset.y
        if place < top:
            # The heading above the first row comes along.
            self._scroll_top(0 if all(not item.selectable for item in self.state.items[:place]) else place)
        elif place >= top + self.size.height:
            self._scroll_top(place - self.size.height + 1)

    # The cursor

    def _moved(self, did: bool) -> None:
        if did:
            self._hold_if_entered()
            self.reveal()
            self.redraw()
            self.refresh()
            self.post_message(self.Moved(self, self.state.current))

    def put_cursor(self, key: str) -> bool:
        """Put the cursor on a row by id; False when it is not there."""
        if key == self.state.cursor:
            return True
        done = self.state.put_cursor(key)
        self._moved(done)
        return done

    def action_move(self, step: int) -> None:
        """Move the cursor by rows."""
        self._moved(self.state.move(step))

    def action_half_page(self, direction: int) -> None:
        """Move the cursor by half of what is visible."""
        self._moved(self.state.move(direction * max(1, self.size.height // 2)))

    def action_page(self, direction: int) -> None:
        """Move the cursor by what is visible."""
        self._moved(self.state.move(direction * max(1, self.size.height - 1)))

    def action_end(self, direction: int) -> None:
        """Move the cursor to the first or the last row."""
        self._moved(self.state.move(direction * max(1, len(self.state.items))))

    def action_open(self) -> None:
        """Ask for the row under the cursor."""
        item = self.state.current
        if item is not None:
            self.post_message(self.Opened(self, item))

    def action_take_in(self) -> None:
        """Take in the rows that wait."""
        self.state.take_in()
        self.refresh()
        self.redraw()
        self._tell_newer()

    # Holding still while the cursor is in it

    def _hold_if_entered(self) -> None:
        if self._holds and self.has_focus and self.state.cursor is not None:
            self.state.hold()

    def on_focus(self) -> None:
        """Rows hold still from here on, if the cursor is on one."""
        self.enter()

    def on_blur(self) -> None:
        """The cursor left: rows go where they belong."""
        self.leave()

    def enter(self) -> None:
        """The operator is in this list."""
        self._hold_if_entered()
        self.refresh()

    def leave(self) -> None:
        """The operator is elsewhere."""
        if self.state.held:
            before = self.state.cursor
            self.state.release()
            self.redraw()
            if self.state.cursor != before:
                self.post_message(self.Moved(self, self.state.current))
            self._tell_newer()
        self.refresh()

    def _tell_newer(self) -> None:
        newer = self.state.newer
        if newer != self._last_newer:
            self._last_newer = newer
            self.post_message(self.Waiting(self, newer))

    def on_click(self, event: events.Click) -> None:
        """The mouse selects; a second click on the same row opens it. It decides nothing."""
        line = self.scroll_offset.y + event.y
        if not 0 <= line < len(self.state.items):
            return
        key = self.state.items[line].key
        if key == self.state.cursor and event.chain >= 2:
            self.action_open()
        elif self.state.put_cursor(key):
            self._moved(True)

    def on_resize(self) -> None:
        """Rows are drawn anew at another size."""
        self._painted.clear()
        self.refresh()
        if self._follows:
            self._scroll_top(len(self.state.items) - self.size.height)
        self.reveal()
