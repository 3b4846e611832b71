"""One request on the whole screen, where home has no room for its card (SCREENS §3, §4)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType

from cas_tui import text
from cas_tui.console.commands import bindings
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.messages import DecisionRefused, DecisionSent, LeaveCard, NextRequest, Say
from cas_tui.console.screens.base import Key, PictureScreen, leave
from cas_tui.console.screens.plan import Place, shape_of
from cas_tui.console.view import View
from cas_tui.console.widgets.chrome import HealthFacts
from cas_tui.console.widgets.coach import Coach
from cas_tui.model.shapes import AttentionRow


class CardScreen(PictureScreen):
    """The card, live, with the health row under it. It closes without deciding."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings("page"), *bindings("card-page")]
    context = "card"

    def __init__(
        self,
        glyphs: Glyphs,
        root: str,
        request_id: str,
        *,
        make_card: Callable[[], Any],
        next_request: Callable[[int], AttentionRow | None],
    ) -> None:
        super().__init__(glyphs)
        self._root = root
        self._request_id = request_id
        self._next = next_request
        self._coached = False
        self.coach = Coach()
        self.card: Any = make_card()

    def compose(self) -> ComposeResult:
        """The card and the last row."""
        yield self.card
        yield self.coach
        yield self.health_row

    def on_mount(self) -> None:
        """The operator opened it: it has the keys."""
        self._replan(self.app.size.width, self.app.size.height)
        self.card.peek = False
        self.set_focus(self.card)

    def on_resize(self, event: events.Resize) -> None:
        """The card has all rows but the last ones."""
        self._replan(event.size.width, event.size.height)

    def _replan(self, width: int, height: int) -> None:
        if shape_of(width, height) == "tiny":
            return
        foot = height - 1 - int(self._coached)
        places = {"card": Place(0, 0, width, foot), "health": Place(0, height - 1, width, 1)}
        if self._coached:
            places["coach"] = Place(0, foot, width, 1)
        self.arrange_by(places)

    @property
    def root(self) -> str:
        """The run of the card."""
        return self._root

    @property
    def request_id(self) -> str:
        """The request of the card."""
        return self._request_id

    def show(self, view: View) -> None:
        """Draw this moment."""
        self.view = view
        if view.coach != self._coached:
            self._coached = view.coach
            self._replan(self.size.width, self.size.height)
        self.card.locked = view.mode == "LOCKED"
        self.card.show(view.card(self._root, self._request_id), view.receipt(self._root, self._request_id))
        self.health_row.show(self.health_facts(view))

    def keys(self, view: View) -> Sequence[Key]:
        """The card draws its own."""
        return ()

    def health_facts(self, view: View) -> HealthFacts:
        """The run's host, the working directory, and this request's receipt."""
        card = view.card(self._root, self._request_id)
        return HealthFacts(
            health=view.health(self._root),
            focus="",
            cwd=text.line(card.cwd, limit_cells=28) if card else "",
            receipt=view.receipt(self._root, self._request_id),
            said=view.said,
            idle="not decided",
            fresh=view.fresh,
        )

    def action_back(self) -> None:
        """Back to home, undecided."""
        leave(self, None)

    def on_leave_card(self, event: LeaveCard) -> None:
        """The card asks to be left."""
        event.stop()
        leave(self, None)

    def on_next_request(self, event: NextRequest) -> None:
        """The card asks for the next one."""
        event.stop()
        self.action_next_row(event.step)

    def action_next_row(self, step: int) -> None:
        """The next request, on this screen; it arms anew."""
        row = self._next(step)
        if row is None:
            self.post_message(Say("nothing else waits" if step > 0 else "this is the first"))
            return
        if not row.request_id:
            leave(self, None)
            return
        self._root, self._request_id = row.root, row.request_id
        self.again()

    def on_decision_sent(self, event: DecisionSent) -> None:
        """The card wants to know."""
        self.card.post_message(DecisionSent(event.request, event.decision, event.host))

    def on_decision_refused(self, event: DecisionRefused) -> None:
        """The card wants to know."""
        self.card.post_message(DecisionRefused(event.request_id, event.line))
