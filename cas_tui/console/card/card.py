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

from cas_tui import text
from cas_tui.console.card import question
from cas_tui.console.card.acting import Acting
from cas_tui.console.card.deny import TypedArea, TypedLine
from cas_tui.console.card.frame import Frame, Look, Painter, payload_width
from cas_tui.console.card.guard import Guard
from cas_tui.console.card.options import DECISION_KEYS, choices
from cas_tui.console.card.payload import Layout
from cas_tui.console.card.standing import Act, Do, State, Subject
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.console.messages import DecisionRefused, DecisionSent, LeaveCard, Say
from cas_tui.console.screens.base import PlacedLayout
from cas_tui.console.screens.plan import Place
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import Card, ReceiptLine
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.requests import RequestKind, RequestState

SYNC_CHUNKS = 12
"""Steps of laying out that are done before the first paint; the rest follows between keys."""
MOVES = {
    "down": 1, "j": 1, "up": -1, "k": -1, "space": 0, "pagedown": 0, "pageup": 0, "ctrl+d": 0, "ctrl+u": 0,
    "g": 0, "home": 0, "G": 0, "end": 0, "f": 0, "v": 0, "w": 0,
}  # fmt: skip


class CardView(Acting, Painted, can_focus=True):
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
        if made is None or made.complete or not self.is_mounted:
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
        if self.card is not None and not self._painting and self.is_mounted:
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
        if self._has_payload and made is not None and self._layout_for[1] == card.payload_id:
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
        """Whether it is part of the screen that is looked at."""
        return self.is_mounted and self.app.screen is self.screen and self.display and self.size.height > 0

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

    # Keys

    def on_key(self, event: events.Key) -> None:
        """Every key on the card itself goes to the guard; what is not the card's goes on to the bindings."""
        if not self.has_focus or self.card is None:
            return
        self._sync_focus()
        name, at = key_name(event), self.at(event)
        if self.is_form_key(name):
            moved = self.guard.move(name, at)
            self._swallow(event)
            if moved:
                self.form_key(name)
        elif name in MOVES and self._has_payload:
            moved = self.guard.move(name, at)
            self._swallow(event)
            if moved:
                self.turn(name)
        elif name == "enter":
            self._swallow(event)
            self._enter(at)
        elif name in ("z", "m"):
            self._swallow(event)
            if self.guard.move(name, at):
                self.aside(name)
        elif name == "escape" and not self.guard.armed:
            self._swallow(event)
            if self.guard.move(name, at):
                self.post_message(LeaveCard())
        else:
            self._to_guard(event, name, at)
        self.repaint()

    def _to_guard(self, event: events.Key, name: str, at: float) -> None:
        if name == "ctrl+s" and self.is_question and self.look.answer.is_empty:
            self._swallow(event)
            self.post_message(Say("an empty answer is not sent"))
            return
        act = self.guard.key(name, at)
        if act.do is Do.PASS:
            if name in DECISION_KEYS:
                self._swallow(event)
                self.post_message(Say(nothing_here(self.card, name)))
            return
        self._swallow(event)
        self.obey(act)

    def _enter(self, at: float) -> None:
        if self.state is State.CHANGED:
            self.guard.review(at)
            self._layout_for = ()
            self.shown_at = None
            self.post_message(Say("look again: this is how it is now"))
        elif self.guard.move("enter", at) and not self.is_question:
            self.post_message(Say("Enter decides nothing"))

    @staticmethod
    def _swallow(event: events.Event) -> None:
        event.stop()
        event.prevent_default()

    def on_paste(self, event: events.Paste) -> None:
        """A paste on the card decides nothing."""
        self._swallow(event)
        self.obey(self.guard.paste(self.now()))
        self.repaint()

    # Mouse

    def on_click(self, event: events.Click) -> None:
        """The mouse scrolls and opens; it decides only on an option of a card that is ready."""
        key = next((key for y, a, b, key in self.frame.spots if event.y == y and a <= event.x < b), "")
        if key and self.has_focus:
            if key == "ctrl+s" and self.look.answer.is_empty:
                self.post_message(Say("an empty answer is not sent"))
                return
            self.obey(self.guard.click(key, self.at(event)))
            self.repaint()

    def on_mouse_scroll_down(self, event: events.MouseScrollDown) -> None:
        """Three rows down."""
        self.scroll_payload(3)
        event.stop()

    def on_mouse_scroll_up(self, event: events.MouseScrollUp) -> None:
        """Three rows up."""
        self.scroll_payload(-3)
        event.stop()

    # Moving in the payload

    def scroll_payload(self, rows: int) -> None:
        """Show other rows of the payload."""
        self.look.top = max(0, self.look.top + rows)
        self.repaint()

    def turn(self, name: str) -> None:
        """A key that moves in the payload or turns the view."""
        height = max(1, self.frame.payload[3])
        page = max(1, height - 1)
        last = len(self._layout_made.lines) + 1 if self._layout_made else 0
        steps = {"space": page, "pagedown": page, "pageup": -page, "ctrl+d": height // 2, "ctrl+u": -(height // 2)}
        if name in ("g", "home"):
            self.look.top = 0
        elif name in ("G", "end"):
            self.look.top = last
        elif name == "f":
            self.fold()
        elif name == "v":
            self.split_view(payload_width(self.size.width))
        elif name == "w":
            self.look.wrap = not self.look.wrap
            self.post_message(Say("lines wrap" if self.look.wrap else "long lines are cut; only what is seen counts"))
        else:
            self.scroll_payload(steps.get(name, MOVES[name]))

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


def key_name(event: events.Key) -> str:
    """A letter by itself, so that a capital is never its small letter; anything else by Textual's name."""
    if event.character is not None and event.is_printable and len(event.character) == 1 and event.character != " ":
        return event.character
    return event.key


def nothing_here(card: Card | None, name: str) -> str:
    """Why a decision key of another kind does nothing on this card."""
    if name == "A":
        return "no rule is offered: a rule needs a record of matched acts"
    if name == "y":
        return "nothing waits for y"
    kind = text.line(str(card.request.kind)) if card is not None else "card"
    return f"{name} does nothing on this {kind}"


__all__ = ["Act", "CardView", "key_name", "nothing_here"]
