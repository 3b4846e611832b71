"""Every key, paste and click on the card: what moves goes to the payload, what decides goes to the guard.

Mixed into the widget, which draws. Nothing here posts a decision; that is `Acting`, after the guard.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import events

from cas_tui import text
from cas_tui.console.card.acting import Acting
from cas_tui.console.card.frame import Frame, payload_width
from cas_tui.console.card.options import DECISION_KEYS
from cas_tui.console.card.payload import Layout
from cas_tui.console.card.standing import Do, State
from cas_tui.console.messages import LeaveCard, Say
from cas_tui.model.shapes import Card

MOVES = {
    "down": 1, "j": 1, "up": -1, "k": -1, "space": 0, "pagedown": 0, "pageup": 0, "ctrl+d": 0, "ctrl+u": 0,
    "g": 0, "home": 0, "G": 0, "end": 0, "f": 0, "v": 0, "w": 0,
}  # fmt: skip


class Handling(Acting):
    """What comes from the keyboard and the mouse."""

    if TYPE_CHECKING:
        frame: Frame
        _layout_made: Layout | None
        _layout_for: tuple[object, ...]

        @property
        def state(self) -> State: ...
        @property
        def _has_payload(self) -> bool: ...
        def _sync_focus(self, *, back: bool = False) -> None: ...

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
        at_end = self.look.top + height >= last - 1
        if (
            name == "space"
            and at_end
            and self._layout_made
            and (gap := self._layout_made.first_unseen(self.guard.seen))
        ):
            # The rows that a jump or a hurried page left out are one key away.
            self.look.top = gap
            self.repaint()
        elif name in ("g", "home"):
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
