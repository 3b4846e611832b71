"""The card on the screen: it draws the frame, hands every key to the guard, and posts what the guard lets pass.

It decides nothing itself, keeps no picture, and never calls the loop; an answer comes back as a message and through
`show` (DESIGN rule 2).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from textual import events
from textual.app import ComposeResult
from textual.layout import Layout as WidgetLayout
from textual.timer import Timer

from cas_tui.console.card import question
from cas_tui.console.card.deny import TypedArea, TypedLine
from cas_tui.console.card.frame import Frame, Look, Painter, payload_width
from cas_tui.console.card.guard import Guard
from cas_tui.console.card.handling import Handling
from cas_tui.console.card.options import choices
from cas_tui.console.card.payload import Layout
from cas_tui.console.card.standing import State, Subject
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.messages import DecisionRefused, DecisionSent
from cas_tui.console.screens.base import PlacedLayout
from cas_tui.console.screens.plan import Place
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import Card, ReceiptLine
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.requests import RequestKind, RequestState

SYNC_CHUNKS = 12
"""Steps of laying out that are done before the first paint; the rest follows between keys."""


class CardView(Handling, Painted, can_focus=True):
    """One request, with its guards. `peek` shows it without any live key."""

    DEFAULT_CSS = """
    CardView { height: 1fr; overflow: hidden hidden; }
    CardView > TypedLine { display: none; }
    CardView > TypedArea { display: none; }
    """

    def __init__(
        self,
        *,
        glyphs: Glyphs | None = None,
        clock: Callable[[], float] | None = None,
        wall: Callable[[], datetime] | None = None,
        id: str | None = None,
    ) -> None:
        super().__init__(id=id)
        self.guard = Guard()
        self.placed = PlacedLayout()
        self.card: Card | None = None
        self.receipt: ReceiptLine | None = None
        self.look = Look()
        self.frame = Frame([])
        self.line = TypedLine(id="line", key=self.line_key, back=self._child_back)
        self.digest = TypedLine(id="digest", key=self.line_key, back=self._child_back)
        self.digest.pasting = False
        self.field = TypedLine(id="field", key=self.field_key, back=self._child_back)
        self.area = TypedArea(id="area", key=self.area_key, back=self._child_back)
        self.answers: dict[str, question.Answer] = {}
        self.shown_at: str | None = None
        self._glyphs = glyphs
        self._clock = clock
        self._wall = wall
        self._peek = True
        self._layout_made: Layout | None = None
        self._layout_for: tuple[Any, ...] = ()
        self._timer: Timer | None = None
        self._drawn_for: tuple[Any, ...] = ()
        self._painting = False

    # What others ask of it

    def show(self, card: Card | None, receipt: ReceiptLine | None) -> None:
        """Show this card, as it is now. What was on the screen stays bound to what it was (E2)."""
        now = self.now()
        old = self.card
        self.card, self.receipt = card, receipt
        if card is None or old is None or old.request.request_id != card.request.request_id:
            self._leave_lines(old)
            self.look = Look(answer=self._answer_of(card))
            self._layout_for = ()
        self.guard.card_changed(None if card is None else self._subject(card, now))
        self.repaint()

    @property
    def peek(self) -> bool:
        """Whether the card only shows: it has no live key then."""
        return self._peek

    @peek.setter
    def peek(self, on: bool) -> None:
        if on == self._peek:
            return
        self._peek = self.guard.peek = on
        if self._timer is not None:
            (self._timer.pause if on else self._timer.resume)()
        self._sync_focus()
        self.repaint()

    @property
    def locked(self) -> bool:
        """Whether decisions are off in this console."""
        return self.guard.locked

    @locked.setter
    def locked(self, on: bool) -> None:
        if on != self.guard.locked:
            self.guard.locked = on
            self.repaint()

    @property
    def state(self) -> State:
        """Where the card stands now."""
        return self.guard.state(self.now())

    # Its insides

    @property
    def glyphs(self) -> Glyphs:
        """The signs it draws with: given, or the console's."""
        if self._glyphs is None:
            found = getattr(self.app, "glyphs", None)
            self._glyphs = found if isinstance(found, Glyphs) else Glyphs()
        return self._glyphs

    def now(self) -> float:
        """The guard's clock."""
        return self._clock() if self._clock is not None else time.monotonic()

    def at(self, event: events.Event) -> float:
        """When an input event was read from the terminal; never later than now."""
        return self._clock() if self._clock is not None else min(event.time, time.monotonic())

    @property
    def layout(self) -> WidgetLayout:
        """The typed fields stand where the frame says."""
        return self.placed

    def compose(self) -> ComposeResult:
        """The fields that can be typed in; all are there from the start (C9)."""
        yield self.line
        yield self.digest
        yield self.field
        yield self.area

    def on_mount(self) -> None:
        """Watch the time while a card is live."""
        for child in (self.line, self.digest, self.field, self.area):
            child.display = False
        self._timer = self.set_interval(0.1, self._tick, pause=self._peek)

    def _subject(self, card: Card, now: float) -> Subject:
        request = card.request
        return Subject(
            request_id=f"{request.root}\0{request.request_id}",
            digest=request.digest,
            payload_id=card.payload_id,
            tier=str(request.tier or ""),
            choices=choices(card),
            settled=bool(card.settled),
            waiting=request.state is RequestState.WAITING,
            expires_at=None if card.left_s is None else now + card.left_s,
        )

    def _answer_of(self, card: Card | None) -> question.Answer:
        if card is None:
            return question.Answer()
        if len(self.answers) > 64:
            self.answers.pop(next(iter(self.answers)))
        return self.answers.setdefault(f"{card.request.root}\0{card.request.request_id}", question.Answer())

    # Drawing

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """The frame, as rows."""
        card = self.card
        if card is None:
            self.frame = Frame([Cells(width).put(" Nothing is selected.", "muted").row()])
            return self.frame.rows
        self.look.whole = self._is_whole
        self.look.focused = self.has_focus_within
        layout = self._layout(card, width)
        # Twice at most: how high the payload is, and so what is in view, is known after the first drawing.
        for _ in range(2):
            self.guard.lines_unseen = layout.unseen(self.guard.seen) if self._has_payload else 0
            frame = Painter(
                card, self.guard, self.state, self.look, layout, self.glyphs, width, height, self.receipt
            ).draw()
            top = self._clamped(layout, frame.payload[3])
            if top == self.look.top:
                break
            self.look.top = top
        hidden = self._has_payload and frame.payload[3] < 1 and not self.look.editing
        self.guard.small = not frame.fits or hidden
        self.frame = frame
        return frame.rows

    @property
    def _has_payload(self) -> bool:
        return self.card is not None and self.card.request.kind is not RequestKind.QUESTION

    @property
    def _is_whole(self) -> bool:
        """Whether the card has the screen: it then begins at the first row."""
        return self.region.y == 0

    def _clamped(self, layout: Layout, height: int) -> int:
        foot = 1 if self.card is not None and self.card.payload_foot else 0
        return max(0, min(self.look.top, len(layout.lines) + foot - height))

    def _layout(self, card: Card, width: int) -> Layout:
        inner = payload_width(width)
        wanted = (card.request.request_id, card.payload_id, inner, self.look.wrap, self.look.split, self.glyphs.ascii)
        made = self._layout_made
        if made is None or wanted != self._layout_for:
            same = self._layout_for[:2] == wanted[:2]
            place = made.place_of(self.look.top) if made is not None and same else None
            made = Layout(card.payload, inner, glyphs=self.glyphs, wrap=self.look.wrap, split=self.look.split)
            self._layout_made, self._layout_for = made, wanted
            if not made.step(SYNC_CHUNKS):
                self.set_timer(0.001, self._go_on)
            if place is not None:
                self.look.top = made.row_of(place)
            elif not same:
                self.look.top = 0
        if made.complete and self._has_payload:
            self.guard.laid_out(made.extent)
        elif not self._has_payload:
            self.guard.laid_out(0)
        return made

    def _go_on(self) -> None:
        made = self._layout_made
        if made is None or made.complete or not self.is_placed:
            return
        until = time.monotonic() + 0.015
        while not made.step() and time.monotonic() < until:
            pass
        if made.complete:
            self.repaint()
        else:
            self.set_timer(0.005, self._go_on)

    def selected(self, y: int) -> bool:
        """The row of the form that the cursor is on."""
        return y == self.frame.selected and self.has_focus

    def repaint(self) -> None:
        """Draw again what changed; then the guard is told what is on the screen."""
        super().repaint()
        if self.card is not None and not self._painting and self.is_placed:
            self._painting = True
            self.call_after_refresh(self._was_painted)

    def render_line(self, y: int) -> Any:
        """One line; a first drawing is a painting too."""
        if self._drawn_width != self.size.width and not self._painting:
            self._painting = True
            self.call_after_refresh(self._was_painted)
        return super().render_line(y)

    def _was_painted(self) -> None:
        self._painting = False
        card = self.card
        if card is None or not self.is_on_screen_now:
            return
        self._place_fields()
        if self.size.width != self._drawn_width or not self.frame.rows:
            return
        made, (_, _, _, height) = self._layout_made, self.frame.payload
        before = self.state
        self.guard.painted(card.request.digest, card.payload_id, self.now())
        if self._has_payload and made is not None and self._layout_for[1:2] == (card.payload_id,):
            for start, end in made.visible(self.look.top, height):
                self.guard.rows_seen(start, end)
            unseen = made.unseen(self.guard.seen)
            if unseen != self.guard.lines_unseen or self.state is not before:
                self.repaint()
        elif self.state is not before:
            self.repaint()
        if self.shown_at is None or self._drawn_for != (card.request.request_id, card.request.digest, card.payload_id):
            self._drawn_for = (card.request.request_id, card.request.digest, card.payload_id)
            wall = self._wall or getattr(self.app, "clock", None)
            self.shown_at = timestamp(wall()) if wall is not None else None

    @property
    def is_on_screen_now(self) -> bool:
        """Whether it is part of the screen that is looked at. A card that was just closed is part of none."""
        if not self.is_placed or not self.display or self.size.height <= 0:
            return False
        return self.app.screen in self.ancestors

    def _place_fields(self) -> None:
        wanted = {name: Place(*place) for name, place in self.frame.places.items() if name in self.open_fields()}
        if wanted == self.placed.places:
            return
        self.placed.places = wanted
        for child in (self.line, self.digest, self.field, self.area):
            child.display = (child.id or "") in wanted
        self.refresh(layout=True)

    # Time and focus

    def _tick(self) -> None:
        now = self.now()
        self._sync_focus()
        changed = self.guard.tick(now)
        state = self.guard.state(now)
        if changed or state is not getattr(self, "_ticked", None):
            self._ticked = state
            self.repaint()

    def _sync_focus(self, *, back: bool = False) -> None:
        now = self.now()
        if back:
            self.guard.app_focus(True, now)
        elif not self.app.app_focus:
            self.guard.app_focus(False, now)
        self.guard.focused(self.is_on_screen_now and self.has_focus_within and not self._peek, now)

    def on_focus(self, event: events.Focus) -> None:
        """It has the keys."""
        self._sync_focus(back=event.from_app_focus)
        self.repaint()

    def on_blur(self) -> None:
        """It has them no more, or one of its fields has."""
        self._sync_focus()
        self.repaint()

    def _child_back(self, from_app: bool) -> None:
        self._sync_focus(back=from_app)
        self.repaint()

    def on_descendant_blur(self) -> None:
        """A field lost the keys."""
        self._sync_focus()
        self.repaint()

    # What came of a decision

    def on_decision_sent(self, event: DecisionSent) -> None:
        """It is durable; the receipt follows through the sources."""
        if self.card is not None and event.request.request_id == self.card.request.request_id:
            self.repaint()

    def on_decision_refused(self, event: DecisionRefused) -> None:
        """It was not taken: the card is as it was, and arms anew."""
        if self.card is not None and event.request_id == self.card.request.request_id:
            self.guard.refused(self.now())
            self.repaint()
