"""The home screen: the queue, the fleet, and what is known of the selected run (SCREENS §1, §2, §5).

All panes exist from the start and at every size; a plan says which of them stand where. Keys go to one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.widget import Widget

from cas_tui import text
from cas_tui.console.commands import PANES, bindings
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.messages import (
    ComposeMessage,
    DecisionRefused,
    DecisionSent,
    LeaveCard,
    NextRequest,
    OpenCard,
    Say,
)
from cas_tui.console.panes.attention import AttentionPane
from cas_tui.console.panes.fleet import FleetLine, FleetPane
from cas_tui.console.panes.lines import LinesPane
from cas_tui.console.panes.pane import Pane
from cas_tui.console.panes.peek import Peek
from cas_tui.console.panes.stream import StreamPane
from cas_tui.console.screens.base import Key, PictureScreen, key
from cas_tui.console.screens.plan import plan, shape_of
from cas_tui.console.view import View
from cas_tui.console.widgets.chrome import Floor, HealthFacts, Wall
from cas_tui.console.widgets.coach import Coach
from cas_tui.console.widgets.keyed_list import KeyedList
from cas_tui.model.shapes import AttentionRow, FleetRow, Line, StreamRow

LINE_PANES = PANES[3:]


class HomeScreen(PictureScreen):
    """Everything of the selected run, as far as the size allows, around the one queue."""

    BINDINGS = bindings("home")
    context = "home"

    def __init__(
        self, glyphs: Glyphs, *, make_card: Callable[[], Any], open_detail: Callable[[str, str], None]
    ) -> None:
        super().__init__(glyphs)
        self.queue = AttentionPane(glyphs, winner=self._winner)
        self.fleet = FleetPane(glyphs, id="fleet")
        self.stream = StreamPane(glyphs)
        self.side = {name: LinesPane(glyphs, 4 + n, name, title) for n, (name, title, _) in enumerate(LINE_PANES)}
        self.fleet_line = FleetLine(glyphs)
        self.peek = Peek(glyphs)
        self.card: Any = make_card()
        self.coach = Coach()
        self.shape = "small"
        self.full = ""
        self._open_detail = open_detail
        self._selected: tuple[str, str] = ("", "")
        self._run = ""
        self._coached = False

    def compose(self) -> ComposeResult:
        """Every pane, once."""
        yield self.truth_line
        yield self.clock_face
        yield self.fleet_line
        yield self.queue
        yield self.fleet
        yield self.stream
        yield from self.side.values()
        yield self.peek
        yield self.card
        yield Wall(self.glyphs, id="wall-left")
        yield Wall(self.glyphs, id="wall-right")
        yield Floor(self.glyphs)
        yield self.coach
        yield self.key_row
        yield self.health_row

    @property
    def panes(self) -> dict[str, Pane]:
        """The numbered panes by id, in the order of their numbers."""
        return {"queue": self.queue, "fleet": self.fleet, "stream": self.stream, **self.side}

    def on_mount(self) -> None:
        """The keys go to the queue."""
        self._replan(self.app.size.width, self.app.size.height)
        self.queue.list.focus()

    def on_resize(self, event: events.Resize) -> None:
        """Another size may be another layout."""
        self._replan(event.size.width, event.size.height)

    def on_screen_suspend(self) -> None:
        """Another screen has the operator: rows go where they belong meanwhile."""
        self.queue.list.leave()

    def on_screen_resume(self) -> None:
        """The operator is back: the queue is shown as it is now, and holds still from then on."""
        self.app.publish()  # type: ignore[attr-defined]
        if self.queue.list.has_focus:
            self.queue.list.enter()

    # What is looked at

    @property
    def root(self) -> str:
        """The run of the row under the cursor; without one, the run that was looked at last."""
        return self._run

    @property
    def request_id(self) -> str:
        """The selected request."""
        return self._selected[1]

    def show(self, view: View) -> None:
        """Draw this moment, every pane that is on the screen."""
        self.view = view
        fleet = view.fleet()
        if self._run not in {row.root for row in fleet}:
            self._run = fleet[0].root if fleet else ""
        name = view.run_name(self._run)
        self.queue.show(view.attention())
        if self.fleet.display:
            self.fleet.show(fleet)
            self.fleet.mark(self._run)
        if self.fleet_line.display:
            self.fleet_line.show(fleet, self._run)
        if self.stream.display:
            self.stream.show(view.stream(self._run), name)
        for pane_name, pane in self.side.items():
            if pane.display:
                lines = view.lines(pane_name, self._run)
                pane.show(lines, self._tail(pane_name, lines), name if pane_name == "goals" or self.full else "")
        self._show_card(view, fleet)
        self._coached = view.coach
        super().show(view)
        self._replan(self.size.width, self.size.height)

    def _show_card(self, view: View, fleet: Sequence[FleetRow]) -> None:
        card = view.card(*self._selected)
        if self.peek.display:
            waiting = any(row.band == "needs" for row in view.attention())
            hint = "Nothing selected. n goes to what waits." if waiting else "What waits for you is shown here first."
            self.peek.show(card, next((row for row in fleet if row.root == self._selected[0]), None), hint)
        if self.card.display:
            self.card.locked = view.mode == "LOCKED"
            self.card.show(card, view.receipt(*self._selected))

    @staticmethod
    def _tail(pane: str, lines: Sequence[Line]) -> str:
        count = sum(1 for line in lines if line.detail and line.indent <= 1 and not line.muted)
        if pane == "goals" or not lines:
            return ""
        return {"citations": f"{count} pending", "issues": f"{count} open"}.get(pane, str(count))

    def _winner(self, row: AttentionRow) -> str:
        card = self.view.card(row.root, row.request_id) if self.view else None
        return card.settled if card else ""

    # Where it stands

    def _replan(self, width: int, height: int) -> None:
        shape = shape_of(width, height)
        if shape == "tiny":
            return
        if shape != self.shape:
            self.shape = shape
            for pane in self.panes.values():
                pane.shape = shape
            self.set_class(shape == "large", "-large")
        wants = {name: pane.wanted for name, pane in self.panes.items()}
        shown = set(self.placed.places)
        self.arrange_by(plan(width, height, full=self.full, coach=self._coached, wants=wants))
        if set(self.placed.places) != shown:
            self._keep_focus()
            self.call_after_refresh(self.again)

    def _keep_focus(self) -> None:
        """Keys never go to a pane that is not on the screen."""
        focused = self.focused
        if focused is not None and all(
            node.display for node in focused.ancestors_with_self if isinstance(node, Widget)
        ):
            return
        target = self.panes.get(self.full, self.queue)
        self.set_focus(target.list)

    def action_pane(self, number: int) -> None:
        """Go to a pane by its digit: focus it where it stands, else give it the whole body; again goes back."""
        name = PANES[number - 1][0]
        if self.full == name or (name == "queue" and self.full):
            self._fill("")
            self.set_focus(self.queue.list)
        elif not self.full and self.panes[name].display and not (self.shape == "small" and name == "stream"):
            self.set_focus(self.panes[name].list)
        else:
            self._fill(name)
            self.set_focus(self.panes[name].list)
        self.again()

    def action_full(self) -> None:
        """Give the focused pane the whole body, or take it back."""
        if self.full:
            self._fill("")
        else:
            name = next((name for name, pane in self.panes.items() if pane.list.has_focus), "")
            if name:
                self._fill(name)
        self.again()

    def _fill(self, name: str) -> None:
        self.full = name
        self._replan(self.size.width, self.size.height)

    def action_back(self) -> None:
        """One level back: out of a whole-body pane, off a filter, to the queue."""
        if self.full:
            self._fill("")
            self.set_focus(self.queue.list)
        elif any(pane.filter for pane in self.panes.values()):
            for pane in self.panes.values():
                pane.filter = ""
        else:
            self.set_focus(self.queue.list)
        self.again()

    @property
    def at_rest(self) -> bool:
        """Whether there is nothing to go back from."""
        return not self.full and self.queue.list.has_focus and not any(pane.filter for pane in self.panes.values())

    # The queue and the card

    def next_request(self, step: int) -> AttentionRow | None:
        """Move the cursor of the queue; at its end, take in what waits. None when there is no other row."""
        rows = self.queue.list
        before = rows.state.cursor
        rows.action_move(step)
        if rows.state.cursor == before and rows.state.newer:
            rows.action_take_in()
            rows.action_move(step)
        item = rows.state.current
        row = item.value if item is not None else None
        if not isinstance(row, AttentionRow) or rows.state.cursor == before:
            return None
        self._select(row.root, row.request_id)
        return row

    def action_next_row(self, step: int) -> None:
        """The next row that needs the operator. It asks nothing and decides nothing."""
        if self.full and self.full != "queue":
            self._fill("")
        on_card = self.card.has_focus_within
        if not on_card:
            self.set_focus(self.queue.list)
        if self.next_request(step) is None:
            self.post_message(Say("nothing else waits" if step > 0 else "this is the first"))
        self.again()

    def _select(self, root: str, request_id: str) -> None:
        self._selected = (root, request_id)
        self._run = root

    def on_keyed_list_moved(self, event: KeyedList.Moved) -> None:
        """The cursor of the queue or of the fleet says which run is looked at."""
        value = event.item.value if event.item else None
        if event.list is self.queue.list and isinstance(value, AttentionRow):
            self._select(value.root, value.request_id)
        elif event.list is self.fleet.list and isinstance(value, FleetRow):
            self._run = value.root
        self.again()

    def on_keyed_list_opened(self, event: KeyedList.Opened) -> None:
        """Enter: take up a request, open a run, or show a record whole."""
        value = event.item.value
        if isinstance(value, AttentionRow):
            if value.request_id:
                self.post_message(OpenCard(value.root, value.request_id))
            else:
                self._open_detail(value.root, value.key)
        elif isinstance(value, FleetRow):
            self._run = value.root
            self.post_message(OpenCard(value.root, ""))
        elif isinstance(value, Line | StreamRow) and value.detail:
            self._open_detail(self._run, value.detail)

    def take_up(self, root: str, request_id: str) -> bool:
        """Give the card the keys, where it stands on this screen; False when it needs a screen of its own."""
        if not self.card.display:
            return False
        self._select(root, request_id)
        self.card.peek = False
        self.set_focus(self.card)
        self.again()
        return True

    def on_leave_card(self, event: LeaveCard) -> None:
        """Undecided: the keys go back to the queue, on the same row."""
        event.stop()
        self.card.peek = True
        self.set_focus(self.queue.list)
        self.again()

    def on_next_request(self, event: NextRequest) -> None:
        """From the card."""
        event.stop()
        self.action_next_row(event.step)

    def on_descendant_focus(self) -> None:
        """Where the keys go is said on the last row; a card without the keys only peeks."""
        self.card.peek = not self.card.has_focus_within
        self.again()

    def on_decision_sent(self, event: DecisionSent) -> None:
        """The card wants to know."""
        self.card.post_message(DecisionSent(event.request, event.decision, event.host))

    def on_decision_refused(self, event: DecisionRefused) -> None:
        """The card wants to know."""
        self.card.post_message(DecisionRefused(event.request_id, event.line))

    # Filter and words at the foot

    def set_filter(self, words: str) -> None:
        """Show only rows with these words in the pane that has the keys."""
        pane = next((pane for pane in self.panes.values() if pane.list.has_focus), self.queue)
        pane.filter = words.strip()
        self.again()

    def action_filter(self) -> None:
        """Type a filter; rows follow while typing, Esc restores."""
        pane = next((pane for pane in self.panes.values() if pane.list.has_focus), self.queue)
        before = pane.filter

        def changed(words: str) -> None:
            pane.filter = words.strip()
            self.again()

        self.app.ask_line("/", before, changed)  # type: ignore[attr-defined]

    def keys(self, view: View) -> Sequence[Key]:
        """The keys of the pane that has them."""
        if self.card.has_focus_within:
            return (key("home.next"), key("page.back"), key("run.hold"), key("run.message"), *self._foot("q", "back"))
        found: list[Key] = []
        if self.queue.list.state.items and view.attention():
            found.append(key("home.next"))
        focused = next((pane for pane in self.panes.values() if pane.list.has_focus), None)
        if focused is not None and focused.list.state.current is not None:
            found.append(key("list.open"))
        found.append(key("home.filter"))
        if self._run:
            row = next((row for row in view.fleet() if row.root == self._run), None)
            found.append(key("run.resume") if row and row.held else key("run.hold"))
            found.append(key("run.message"))
        found.append(("1-9", "panes"))
        if self.queue.list.state.newer:
            found.append(key("list.newer"))
        return (*found, *self._foot("q", "back" if self.full else ""))

    def _foot(self, sign: str, words: str) -> tuple[Key, ...]:
        palette = (("ctrl+p", "palette"),) if self.shape == "large" else ()
        return (key("app.goto"), *palette, key("app.help"), (sign, words))

    def focus_words(self) -> str:
        """`1 Needs you`, or `card`."""
        if self.card.has_focus_within:
            return "card"
        for number, (name, title, _) in enumerate(PANES, 1):
            if self.panes[name].list.has_focus:
                return f"{number} {title}"
        return ""

    def health_facts(self, view: View) -> HealthFacts:
        """With the card's working directory while the card has the keys."""
        facts = super().health_facts(view)
        card = view.card(*self._selected) if self.card.has_focus_within else None
        if card is None:
            return facts
        receipt = view.receipt(*self._selected)
        return HealthFacts(
            facts.health, facts.focus, text.line(card.cwd), receipt, facts.said, "not decided", facts.fresh
        )

    def compose_message(self) -> None:
        """A message to the run that is looked at."""
        if self._run:
            self.post_message(ComposeMessage(self._run))
