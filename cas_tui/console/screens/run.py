"""One run on the whole screen: its panes as tabs, by the same digits as everywhere (SCREENS §5)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from cas_tui import text
from cas_tui.console.commands import PANES, bindings
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.panes.lines import LinesPane
from cas_tui.console.panes.pane import Pane
from cas_tui.console.panes.stream import StreamPane
from cas_tui.console.screens.base import Key, PictureScreen, key, leave
from cas_tui.console.screens.plan import Place, first_row, shape_of
from cas_tui.console.view import View
from cas_tui.console.widgets.keyed_list import KeyedList
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import FleetRow, Line, StreamRow

TABS = PANES[2:]


class TabLine(Painted):
    """The panes of the run, the open one strong, and how the run stands."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="tabs")
        self._glyphs = glyphs
        self._facts: tuple[FleetRow | None, str] = (None, "")

    def show(self, row: FleetRow | None, active: str) -> None:
        """Show this run and this tab."""
        if (row, active) != self._facts:
            self._facts = (row, active)
            self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """The run on the first row, the tabs on the second."""
        row, active = self._facts
        head = Cells(width, ascii_only=self._glyphs.ascii).put(" ")
        if row is not None:
            head.put(self._glyphs[row.glyph], self._glyphs.ink(row.glyph)).put(" ").said(row.name, "text strong", 40)
            head.put(f"   {row.group.lower()}", "muted").put("   held" if row.held else "", "mode")
            head.put("   UNCONFINED: can act without asking" if row.unconfined else "", "danger")
            head.put(f"   {text.line(row.note, ascii_only=self._glyphs.ascii)}" if row.note else "", "muted")
        tabs = Cells(width)
        for number, (name, title, _) in enumerate(TABS, 3):
            short = title.split(" ")[0]
            tabs.put(" " if number == 3 else "  ").put(
                f"{number} {short}", "text strong" if name == active else "muted"
            )
        return head.row(), tabs.row()


class RunScreen(PictureScreen):
    """The tabs of one run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *bindings("page"),
        *((str(n), f"screen.pane({n})", "tab") for n in range(3, 10)),
    ]
    context = "page"

    def __init__(self, glyphs: Glyphs, root: str, *, open_detail: Callable[[str, str], None]) -> None:
        super().__init__(glyphs)
        self._root = root
        self._open_detail = open_detail
        self.tabs = TabLine(glyphs)
        self.active = "stream"
        self.panes: dict[str, Pane] = {"stream": StreamPane(glyphs)}
        for number, (name, title, _) in enumerate(PANES[3:], 4):
            self.panes[name] = LinesPane(glyphs, number, name, title)

    def compose(self) -> ComposeResult:
        """Tabs, every pane once, the rows at the foot."""
        yield self.truth_line
        yield self.clock_face
        yield self.tabs
        yield from self.panes.values()
        yield self.key_row
        yield self.health_row

    def on_mount(self) -> None:
        """Open on the stream."""
        self._replan(self.app.size.width, self.app.size.height)
        self.set_focus(self.panes[self.active].list)

    def on_resize(self, event: events.Resize) -> None:
        """One pane has the body."""
        self._replan(event.size.width, event.size.height)

    def _replan(self, width: int, height: int) -> None:
        if shape_of(width, height) == "tiny":
            return
        self.panes["stream"].shape = "medium"
        places = {
            **first_row(width),
            "tabs": Place(0, 1, width, 2),
            self.active: Place(0, 3, width, height - 5),
        }
        places |= {"keys": Place(0, height - 2, width, 1), "health": Place(0, height - 1, width, 1)}
        self.arrange_by(places)

    @property
    def root(self) -> str:
        """The run."""
        return self._root

    def show(self, view: View) -> None:
        """Draw this moment: the open tab only."""
        row = next((row for row in view.fleet() if row.root == self._root), None)
        self.tabs.show(row, self.active)
        pane = self.panes[self.active]
        if isinstance(pane, StreamPane):
            pane.show(view.stream(self._root), row.name if row else "")
        elif isinstance(pane, LinesPane):
            pane.show(view.lines(self.active, self._root))
        super().show(view)

    def keys(self, view: View) -> Sequence[Key]:
        """Tabs, open, back."""
        found: list[Key] = [("3-9", "tabs")]
        if self.panes[self.active].list.state.current is not None:
            found.append(key("list.open"))
        return (*found, key("run.hold"), key("run.message"), key("app.goto"), key("app.help"), ("q", "back"))

    def focus_words(self) -> str:
        """The open tab."""
        return next(f"{number} {title}" for number, (name, title, _) in enumerate(TABS, 3) if name == self.active)

    def action_pane(self, number: int) -> None:
        """Open a tab by its digit."""
        if number >= 3:
            self.active = PANES[number - 1][0]
            self._replan(self.size.width, self.size.height)
            self.set_focus(self.panes[self.active].list)
            self.again()
            self.call_after_refresh(self.again)

    def action_back(self) -> None:
        """Back to home."""
        leave(self, None)

    def on_keyed_list_moved(self) -> None:
        """Enter may work now."""
        self.again()

    def on_keyed_list_opened(self, event: KeyedList.Opened) -> None:
        """Show a record whole."""
        value = event.item.value
        if isinstance(value, Line | StreamRow) and value.detail:
            self._open_detail(self._root, value.detail)
