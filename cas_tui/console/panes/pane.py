"""A pane: a rule line with its name, perhaps a heading, and the one list. Panes are hidden, never removed (C17)."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Vertical

from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, rule
from cas_tui.console.widgets.keyed_list import KeyedList
from cas_tui.console.widgets.keyed_rows import Item
from cas_tui.console.widgets.painted import Painted


class RuleLine(Painted):
    """The line above a pane: its number and name left, a count or a state right."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self._glyphs = glyphs
        self.title = ""
        self.tail = ""
        self._lit = False

    def show(self, title: str, tail: str = "") -> None:
        """Say this from now on."""
        if (title, tail) != (self.title, self.tail):
            self.title, self.tail = title, tail
            self.repaint()

    def light(self, lit: bool) -> None:
        """Whether the keys go to this pane."""
        self._lit = lit
        self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """One rule line."""
        return (rule(width, self.title, self.tail, self._glyphs["rule"], focused=self._lit),)


class Pane(Vertical):
    """One numbered pane. A subclass says how a row is drawn and what rows there are.

    `empty` is the one line an empty pane is: what would fill it (SCREENS §1.6).
    """

    DEFAULT_CSS = "Pane { overflow: hidden hidden; }"
    number = 0
    title = ""
    empty = ""

    def __init__(self, glyphs: Glyphs, *, id: str, holds: bool = False, follows: bool = False) -> None:
        super().__init__(id=id)
        self.glyphs = glyphs
        self.shape = "small"
        self.filter = ""
        self.title_line = RuleLine(glyphs)
        self.list = KeyedList(self.paint, holds=holds, follows=follows, settle=self.settle, id=f"{id}-list")
        self._items: tuple[Item, ...] = ()
        self._items_shown = 0

    def compose(self) -> ComposeResult:
        """The rule line, then the list."""
        yield self.title_line
        yield self.list

    def on_descendant_focus(self) -> None:
        """The keys go here now."""
        self.title_line.light(True)

    def on_descendant_blur(self) -> None:
        """The keys go elsewhere."""
        self.title_line.light(False)

    # For subclasses

    def paint(self, item: Item, width: int, current: bool) -> Row:
        """One row of the list."""
        raise NotImplementedError

    def settle(self, item: Item) -> object:
        """What to draw for a row that left while rows were held."""
        return item.value

    def words(self, item: Item) -> str:
        """The text a filter looks in."""
        return str(item.value)

    # What it shows

    def show_items(self, items: Sequence[Item], title: str, tail: str = "") -> None:
        """Show these rows under this title, filtered; one line when there are none."""
        self._items = tuple(items)
        if self.filter:
            wanted = self.filter.casefold()
            items = [item for item in items if not item.selectable or wanted in self.words(item).casefold()]
            tail = f'filter "{self.filter}"'
        self.title_line.show(title, tail)
        if not any(item.selectable or str(item.value) for item in items):
            items = (Item("empty", Note(self.empty), selectable=False),)
        self._items_shown = len(items)
        self.list.show(items)

    @property
    def wanted(self) -> int:
        """How many rows it would show if it had the room."""
        return self._items_shown

    def cells(self, width: int, current: bool) -> Cells:
        """A row begun with the cursor column."""
        cells = Cells(width, ascii_only=self.glyphs.ascii)
        return cells.put(self.glyphs["cursor"] if current else " ")


class Note:
    """A line of ours inside a list: it explains, and the cursor passes over it."""

    __slots__ = ("ink", "text")

    def __init__(self, text: str, ink: str = "muted") -> None:
        self.text = text
        self.ink = ink

    def __str__(self) -> str:
        return self.text
