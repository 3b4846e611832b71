"""Words of the operator to one run. Enter is a new line; ctrl+s sends; Esc leaves and keeps the draft."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widgets import TextArea

from cas_tui.console.glyphs import Glyphs
from cas_tui.console.messages import Say, SendMessage
from cas_tui.console.panes.pane import RuleLine
from cas_tui.console.screens.base import Key, PictureScreen, leave
from cas_tui.console.screens.plan import Place, first_row, shape_of
from cas_tui.console.view import View


class MessageScreen(PictureScreen):
    """The composer for one run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("ctrl+s", "send", "send the message", show=False, id="message.send", priority=True),
        Binding("escape", "back", "back, the draft is kept", show=False, id="message.back", priority=True),
    ]
    context = "composer"

    def __init__(self, glyphs: Glyphs, root: str, draft: str, *, keep: Callable[[str, str], None]) -> None:
        super().__init__(glyphs)
        self._root = root
        self._draft = draft
        self._keep = keep
        self.rule_line = RuleLine(glyphs)
        self.rule_line.id = "rule"
        self.area = TextArea(draft, id="area", soft_wrap=True, show_line_numbers=False, compact=True)
        self.area.cursor_blink = False

    def compose(self) -> ComposeResult:
        """A rule line and the text."""
        yield self.truth_line
        yield self.clock_face
        yield self.rule_line
        yield self.area
        yield self.key_row
        yield self.health_row

    def on_mount(self) -> None:
        """Type here."""
        self._replan(self.app.size.width, self.app.size.height)
        self.set_focus(self.area)
        self.area.move_cursor(self.area.document.end)

    def on_resize(self, event: events.Resize) -> None:
        """The text has the body."""
        self._replan(event.size.width, event.size.height)

    def _replan(self, width: int, height: int) -> None:
        if shape_of(width, height) == "tiny":
            return
        places = {
            **first_row(width),
            "rule": Place(0, 1, width, 1),
            "area": Place(1, 2, width - 2, height - 4),
        }
        places |= {"keys": Place(0, height - 2, width, 1), "health": Place(0, height - 1, width, 1)}
        self.arrange_by(places)

    @property
    def root(self) -> str:
        """The run it goes to."""
        return self._root

    def show(self, view: View) -> None:
        """Draw this moment; the text is the operator's."""
        self.rule_line.show(f"Message to {view.run_name(self._root)}", "it is delivered with the next input of the run")
        super().show(view)

    def keys(self, view: View) -> Sequence[Key]:
        """Only what works while typing."""
        return (("ctrl+s", "send"), ("Esc", "back, the draft is kept"))

    def focus_words(self) -> str:
        """Typing."""
        return "typing"

    def action_send(self) -> None:
        """Send it; an empty message is not one."""
        words = self.area.text.strip()
        if not words:
            self.post_message(Say("an empty message is not sent"))
            return
        self._keep(self._root, "")
        self.app.post_message(SendMessage(self._root, words))
        leave(self, None)

    def action_back(self) -> None:
        """Leave, and keep what was typed."""
        self._keep(self._root, self.area.text)
        leave(self, None)
