"""The quiet pages over home: one record whole, the keys of where you are, and the notice of too small a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from textual import events
from textual.app import ComposeResult
from textual.screen import Screen

from cas_tui import text
from cas_tui.console.commands import COMMANDS, HELP, SCOPE_TITLES, bindings
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells
from cas_tui.console.panes.lines import LinesPane
from cas_tui.console.screens.base import Key, PictureScreen, key, leave
from cas_tui.console.screens.plan import SMALLEST, Place, first_row, shape_of
from cas_tui.console.view import View
from cas_tui.console.widgets.painted import Lines
from cas_tui.model.shapes import Line


class LinesPage(PictureScreen):
    """One list of lines on the whole screen."""

    BINDINGS = bindings("page")

    def __init__(self, glyphs: Glyphs, title: str) -> None:
        super().__init__(glyphs)
        self.pane = LinesPane(glyphs, 0, "detail", title)
        self.pane.wraps = True

    def compose(self) -> ComposeResult:
        """The list between the rows of every screen."""
        yield self.truth_line
        yield self.clock_face
        yield self.pane
        yield self.key_row
        yield self.health_row

    def on_mount(self) -> None:
        """The keys scroll it."""
        self._replan(self.app.size.width, self.app.size.height)
        self.set_focus(self.pane.list)

    def on_resize(self, event: events.Resize) -> None:
        """It has the body; long rows are broken anew."""
        self._replan(event.size.width, event.size.height)
        self.call_after_refresh(self.again)

    def _replan(self, width: int, height: int) -> None:
        if shape_of(width, height) == "tiny":
            return
        places = {**first_row(width), "detail": Place(0, 1, width, height - 3)}
        places |= {"keys": Place(0, height - 2, width, 1), "health": Place(0, height - 1, width, 1)}
        self.arrange_by(places)

    def lines(self, view: View) -> Sequence[Line]:
        """What to show."""
        raise NotImplementedError

    def show(self, view: View) -> None:
        """Draw this moment."""
        lines = self.lines(view)
        # Every row can be stood on: that is how a long record is read.
        self.pane.show([line if line.heading else _readable(line) for line in lines])
        super().show(view)

    def keys(self, view: View) -> Sequence[Key]:
        """Move and leave."""
        return (("j k", "move"), ("PgDn", "page"), key("app.goto"), key("app.help"), ("Esc", "back"))

    def action_back(self) -> None:
        """Back to where it was opened."""
        leave(self, None)


def _readable(line: Line) -> Line:
    if line.detail:
        return line
    return Line(
        line.key, line.text, line.glyph, line.label, line.right, line.indent, line.quoted, line.muted, line.flagged,
        line.heading, line.key,
    )  # fmt: skip


class DetailScreen(LinesPage):
    """Any record whole: every field, with its file, offset and age."""

    def __init__(self, glyphs: Glyphs, root: str, record: str) -> None:
        super().__init__(glyphs, "Detail")
        self._root = root
        self._record = record

    @property
    def root(self) -> str:
        """The run the record is of."""
        return self._root

    def lines(self, view: View) -> Sequence[Line]:
        """The fields of the record."""
        return view.detail(self._root, self._record)


class HelpScreen(LinesPage):
    """The keys of where the operator was, made from the table of commands."""

    def __init__(self, glyphs: Glyphs, context: str, root: str) -> None:
        super().__init__(glyphs, "Keys of where you are")
        self._place = context
        self._root = root

    @property
    def root(self) -> str:
        """The run that was looked at."""
        return self._root

    def lines(self, view: View) -> Sequence[Line]:
        """One row a key."""
        found = []
        for scope in HELP.get(self._place, HELP["page"]):
            found.append(Line(f"scope:{scope}", "", label=SCOPE_TITLES[scope], heading=True))
            for command in COMMANDS:
                if command.scope != scope or (not command.shown and not command.keys and not command.name):
                    continue
                sign = command.shown or command.keys or f":{command.name}"
                right = f":{command.name}" if command.name and sign != f":{command.name}" else ""
                found.append(Line(command.id, f"{sign:<10} {command.help}", right=right, indent=1, detail=command.id))
        return found


class TooSmall(Screen[None]):
    """Below the smallest size: one line, and no decision can be made."""

    DEFAULT_CSS = "TooSmall { overflow: hidden hidden; }"

    def __init__(self) -> None:
        super().__init__()
        self._line = Lines(id="small")

    def compose(self) -> ComposeResult:
        """The line."""
        yield self._line

    def on_mount(self) -> None:
        """Say which size it is."""
        self._say(self.app.size.width, self.app.size.height)

    def on_resize(self, event: events.Resize) -> None:
        """Say which size it is now."""
        self._say(event.size.width, event.size.height)

    def _say(self, width: int, height: int) -> None:
        words = f"{SMALLEST[0]}×{SMALLEST[1]} needed, this is {width}×{height}"
        self._line.show(Cells(width).put(text.clip(words, width), "text").row())
