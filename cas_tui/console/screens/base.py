"""What every screen has that shows the picture: the rows at the foot, and a way to be given a new moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual.geometry import NULL_OFFSET, NULL_SPACING, Region, Size
from textual.layout import Layout, WidgetPlacement
from textual.screen import Screen
from textual.widget import Widget

from cas_tui.console.commands import BY_ID
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.screens.plan import Place
from cas_tui.console.view import View
from cas_tui.console.widgets.chrome import ClockFace, HealthFacts, HealthRow, KeyRow, TruthFacts, TruthLine

Key = tuple[str, str]


def key(name: str, words: str | None = None) -> Key:
    """The sign and the words of a command, as the key row writes them."""
    command = BY_ID[name]
    return command.shown, command.label if words is None else words


class PlacedLayout(Layout):
    """Every widget where a plan says, by id; what the plan does not name is not drawn."""

    name = "placed"

    def __init__(self) -> None:
        self.places: dict[str, Place] = {}

    def arrange(self, parent: Widget, children: list[Widget], size: Size, greedy: bool = True) -> list[WidgetPlacement]:
        """The placements, in the order of the children."""
        result = []
        for child in children:
            place = self.places.get(child.id or "")
            if place is not None:
                region = Region(place.x, place.y, place.width, place.height)
                result.append(WidgetPlacement(region, NULL_OFFSET, NULL_SPACING, child))
        return result


class PictureScreen(Screen[None]):
    """A screen that draws the picture. `show` is called with each new moment while it is the one looked at."""

    AUTO_FOCUS = ""
    context = "page"

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__()
        self.glyphs = glyphs
        self.placed = PlacedLayout()
        self.truth_line = TruthLine(glyphs)
        self.clock_face = ClockFace()
        self.key_row = KeyRow()
        self.health_row = HealthRow(glyphs)
        self.view: View | None = None

    @property
    def layout(self) -> Layout:
        """Widgets stand where the plan says, from the first paint on."""
        return self.placed

    def arrange_by(self, places: dict[str, Place]) -> None:
        """Put every widget where the plan says. What it does not name is hidden, never removed (C17)."""
        moved = places != self.placed.places
        self.placed.places = places
        for child in self.children:
            shown = (child.id or "") in places
            if child.display != shown:
                child.display = shown
        if moved:
            self.refresh(layout=True)

    # What the application asks

    @property
    def root(self) -> str:
        """The run the keys are about."""
        return ""

    @property
    def request_id(self) -> str:
        """The request the keys are about, if any."""
        return ""

    def show(self, view: View) -> None:
        """Draw this moment."""
        self.view = view
        self.truth_line.show(TruthFacts(view.truth(), view.mode, view.since))
        self.clock_face.show(view.clock())
        self.key_row.show(self.keys(view))
        self.health_row.show(self.health_facts(view))

    def again(self) -> None:
        """Draw the same moment again, after a key changed what is looked at."""
        if self.view is not None:
            self.show(self.view)
            if self.view.coach:
                self.app.coach(self.view, self)  # type: ignore[attr-defined]

    def keys(self, view: View) -> Sequence[Key]:
        """The keys that work here and now."""
        return ()

    def focus_words(self) -> str:
        """Where the keys go, for the last row."""
        return ""

    def health_facts(self, view: View) -> HealthFacts:
        """The last row."""
        return HealthFacts(
            health=view.health(self.root),
            focus=self.focus_words(),
            receipt=view.last_receipt(),
            said=view.said,
            fresh=view.fresh,
        )


CardMaker = Callable[[], Widget]


def leave(screen: Screen[Any], result: Any = None) -> None:
    """Close a screen, once.

    Two quick keys reach the same screen before the first has closed it; the second finds another one on top, or none
    to go back to, and must do nothing (T4).
    """
    stack = screen.app.screen_stack
    if len(stack) > 1 and stack[-1] is screen:
        screen.dismiss(result)
