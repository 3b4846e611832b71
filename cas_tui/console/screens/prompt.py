"""One line in place of the key row: a yes-or-no that only its own key answers, or one line to type.

Both are opened by a key of the operator and by nothing else; every other key leaves.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from textual import events
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Horizontal
from textual.screen import ModalScreen
from textual.widgets import Input

from cas_tui import text
from cas_tui.console.commands import named
from cas_tui.console.ink import Cells, Row, Span
from cas_tui.console.screens.base import leave
from cas_tui.console.widgets.painted import Lines, Painted


class AskScreen(ModalScreen[str]):
    """A question on one line. The result is the key that was offered, or empty for any other."""

    DEFAULT_CSS = "AskScreen > Lines { dock: bottom; height: 1; margin: 0 0 1 0; }"

    def __init__(self, words: str, keys: tuple[str, ...], *, ink: str = "text strong") -> None:
        super().__init__()
        self._words = words
        self._keys = keys
        self._ink = ink

    def compose(self) -> ComposeResult:
        """The line."""
        yield Lines(id="ask")

    def on_mount(self) -> None:
        """Draw it over the key row."""
        self.on_resize()

    def on_resize(self) -> None:
        """The words are cut by the width."""
        self.query_one(Lines).show(Cells(self.size.width).put(" ").put(self._words, self._ink).row())

    def on_key(self, event: events.Key) -> None:
        """An offered key answers; any other leaves."""
        event.stop()
        event.prevent_default()
        leave(self, event.key if event.key in self._keys else "")


class Offer(Painted):
    """What the words typed so far mean."""

    def __init__(self) -> None:
        super().__init__()
        self._words = ""

    def show(self, words: str) -> None:
        """Say it."""
        self._words = words
        self.repaint()

    def rows(self, width: int, height: int) -> tuple[Row, ...]:
        """One row."""
        return ((Span(text.clip(self._words, width), "muted"),),)


class LineScreen(ModalScreen[str | None]):
    """One line to type. Enter submits it, Esc leaves with what it was before."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape", "leave", "leave")]
    DEFAULT_CSS = """
    LineScreen > Horizontal { dock: bottom; height: 1; margin: 0 0 1 0; }
    LineScreen Lines { width: auto; min-width: 3; }
    LineScreen Input { width: 1fr; min-width: 10; }
    LineScreen Offer { width: 1fr; min-width: 10; }
    """

    def __init__(
        self,
        sign: str,
        *,
        value: str = "",
        offer: Callable[[str], str] = lambda value: "",
        changed: Callable[[str], None] = lambda value: None,
    ) -> None:
        super().__init__()
        self._sign = sign
        self._value = value
        self._offer = offer
        self._changed = changed

    def compose(self) -> ComposeResult:
        """The sign, the line, what it means."""
        with Horizontal():
            sign = Lines()
            sign.styles.width = text.cells(self._sign) + 2
            yield sign
            line = Input(value=self._value, select_on_focus=False, compact=True)
            line.cursor_blink = False
            yield line
            yield Offer()

    def on_mount(self) -> None:
        """Type here."""
        self.query_one(Lines).show((Span(f" {self._sign} ", "muted"),))
        self.query_one(Input).focus()
        self.query_one(Offer).show(self._offer(self._value))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Say what it means now."""
        self.query_one(Offer).show(self._offer(event.value))
        self._changed(event.value)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Take it."""
        leave(self, event.value)

    def action_leave(self) -> None:
        """Leave it."""
        leave(self, None)


def offer_names(typed: str) -> str:
    """The names that begin as typed, for the go-to line."""
    wanted = " ".join(typed.casefold().split())
    names = [command.name for command in named() if command.name.startswith(wanted)]
    return "   ".join(names[:8]) if names else "no such pane or command"
