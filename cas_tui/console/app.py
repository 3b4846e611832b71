"""The console's composition root: it owns the picture's feed, the screens, and the way to the loop. Nothing else does.

It draws no row itself and knows no pane's insides; it never writes a file.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from textual import events
from textual.app import App
from textual.screen import Screen

from cas_tui import text
from cas_tui.console import content, themes
from cas_tui.console.actions import Actions
from cas_tui.console.commands import bindings
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.messages import (
    ComposeMessage,
    Decide,
    DecisionSent,
    Hold,
    OpenCard,
    Resume,
    Say,
    SendMessage,
)
from cas_tui.console.operator import OperatorDesk
from cas_tui.console.palette import Commands
from cas_tui.console.screens.base import PictureScreen
from cas_tui.console.screens.card_screen import CardScreen
from cas_tui.console.screens.home import HomeScreen
from cas_tui.console.screens.message import MessageScreen
from cas_tui.console.screens.pages import DetailScreen, TooSmall
from cas_tui.console.screens.plan import shape_of
from cas_tui.console.screens.run import RunScreen
from cas_tui.console.view import DemoInfo, View
from cas_tui.console.wiring import Clock, Doors, Wiring, wire

SAID_S = 6.0
"""How long one line stays in the receipt place."""
FRESH_S = 10.0
"""How long a receipt that reached observed is drawn in the ok ink."""


class ConsoleApp(Actions, App[None]):
    """The console on one or many memory roots."""

    CSS_PATH = "styles/console.tcss"
    COMMANDS: ClassVar[set[Any]] = {Commands}
    ENABLE_COMMAND_PALETTE = True
    AUTO_FOCUS = ""
    BINDINGS = bindings("app")

    def __init__(
        self,
        roots: Sequence[Path],
        *,
        environ: Mapping[str, str],
        clock: Clock,
        ids: Callable[[], str],
        doors: Doors,
        demo: DemoInfo | None = None,
        ascii_mode: bool = False,
        theme: str | None = None,
        keymap: Mapping[str, str] | None = None,
        wiring: Wiring | None = None,
        make_card: Callable[[], Any] | None = None,
    ) -> None:
        # Told that the terminal draws its own colours, Textual drops all of ours under NO_COLOR; otherwise it would
        # turn them into greys, which are colours too, and draw black on black under an ansi theme (C25).
        super().__init__(ansi_color=True if environ.get("NO_COLOR") else None)
        self.animation_level = "none"
        self.demo = demo
        self.clock = clock
        self.ids = ids
        self.glyphs = Glyphs(ascii_mode)
        self.desk = OperatorDesk(doors)
        self.wiring = wiring or wire(roots, environ, clock)
        self.drafts: dict[str, str] = {}
        self.coach_on = demo is not None
        self._make_card = make_card or self._real_card
        self._since = clock()
        self._said = ("", 0.0)
        self._last: tuple[str, str] | None = None
        self._observed_at: float | None = None
        self._key_at = time.monotonic()
        self._known_needs: frozenset[str] | None = None
        known = themes.load()
        for item in known:
            self.register_theme(item)
        self.theme = themes.choose(theme, environ, known)
        if keymap:
            self.set_keymap(keymap)
        self.home: HomeScreen = HomeScreen(self.glyphs, make_card=self._make_card, open_detail=self.open_detail)

    def _real_card(self) -> Any:
        from cas_tui.console.card.card import CardView

        return CardView(id="card")

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Every token, so that a style sheet can name it under any theme."""
        return themes.fallback()

    def get_default_screen(self) -> Screen[None]:
        """Home: it is there from the first paint on."""
        return self.home

    # Starting, stopping, signals

    def on_load(self) -> None:
        """Read the newest part of every file before the first paint."""
        self.wiring.feed.first()

    def on_mount(self) -> None:
        """Draw, then watch."""
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
            try:
                loop.add_signal_handler(number, self.exit, None, 128 + number)
            except (NotImplementedError, RuntimeError, ValueError):
                # Not the main thread, or a platform without handlers: the default stands.
                break
        self.app_resume_signal.subscribe(self, self._resumed)
        self.publish()
        self.call_after_refresh(self.publish)
        self.set_interval(1.0, self.publish)
        self.run_worker(self.wiring.feed.run(self.publish), name="feed", exit_on_error=True)

    def on_unmount(self) -> None:
        """Close the files."""
        self.wiring.feed.close()

    def _resumed(self, _: object) -> None:
        # The terminal comes back blank, and the watch may have missed something meanwhile (C21).
        self.action_read_again()

    def on_resize(self, event: events.Resize) -> None:
        """Below the smallest size nothing is drawn and nothing can be decided."""
        tiny = shape_of(event.size.width, event.size.height) == "tiny"
        if tiny and not isinstance(self.screen, TooSmall):
            self.push_screen(TooSmall())
        elif not tiny and isinstance(self.screen, TooSmall):
            self.pop_screen()

    def _fatal_error(self) -> None:
        # Textual would print a traceback with the values of local variables: text of a run among them (E16).
        error = self._exception
        self.panic(
            content.last_words(f"cas-tui stopped: {type(error).__name__}: {text.line(str(error), limit_cells=400)}")
        )

    async def on_event(self, event: events.Event) -> None:
        """Note when a key came; then as ever."""
        if isinstance(event, events.Key):
            self._key_at = time.monotonic()
        await super().on_event(event)

    # Drawing

    @property
    def looked_at(self) -> PictureScreen:
        """The topmost screen that draws the picture."""
        return next((s for s in reversed(self.screen_stack) if isinstance(s, PictureScreen)), self.home)

    def moment(self) -> View:
        """The picture now."""
        now = time.monotonic()
        said, until = self._said
        mode = "LOCKED" if self.desk.locked else "DEMO" if self.demo else "LIVE"
        view = View(
            picture=self.wiring.feed.picture,
            now=self.clock(),
            rows=self.wiring.rows,
            mode=mode,
            since=self._since.astimezone().strftime("%H:%M"),
            said=said if now < until else "",
            last=self._last,
            sent=self._last is not None,
            fresh=self._observed_at is not None and now - self._observed_at < FRESH_S,
            coach=self.coach_on,
            quiet_s=now - self._key_at,
        )
        if mode != "LOCKED" and view.truth().all_held:
            view = View(**{**_fields(view), "mode": "HELD"})
        return view

    def publish(self) -> None:
        """Give the screen that is looked at this moment; it redraws what changed."""
        if not self.is_running or not self.screen_stack:
            return
        view = self.moment()
        receipt = view.last_receipt()
        if receipt is None or not receipt.observed:
            self._observed_at = None
        elif self._observed_at is None:
            self._observed_at = time.monotonic()
        self._ring(view)
        screen = self.looked_at
        screen.show(view)
        if view.coach:
            self.coach(view, screen)

    def _ring(self, view: View) -> None:
        needs = frozenset(row.key for row in view.attention() if row.band == "needs" and not row.settled)
        if self._known_needs is not None and needs - self._known_needs:
            self.bell()
        self._known_needs = needs

    def say(self, words: str) -> None:
        """One line in the receipt place, for a while."""
        self._said = (words, time.monotonic() + SAID_S)
        self.publish()

    # What views ask for

    def on_say(self, message: Say) -> None:
        """Into the receipt place."""
        self.say(message.text)

    def on_decide(self, message: Decide) -> None:
        """Commit it in a thread and tell the card; what comes of it arrives through the sources."""
        self.run_worker(self._decide(message), name="decide", exit_on_error=True)

    async def _decide(self, message: Decide) -> None:
        self.say("saving the decision")
        answer = await self.desk.decide(message)
        if isinstance(answer, DecisionSent):
            self._last = (message.root, message.request_id)
            self._said = ("", 0.0)
            self._observed_at = None
        else:
            self.say(answer.line)
        self.looked_at.post_message(answer)
        self.wiring.feed.again()
        self.publish()

    def on_open_card(self, message: OpenCard) -> None:
        """On home where there is room, else on a screen of its own; a run without request opens the run."""
        if not message.request_id:
            self.push_screen(RunScreen(self.glyphs, message.root, open_detail=self.open_detail), self.back_home)
        elif not (self.screen is self.home and self.home.take_up(message.root, message.request_id)):
            screen = CardScreen(
                self.glyphs,
                message.root,
                message.request_id,
                make_card=self._make_card,
                next_request=self.next_request,
            )
            self.push_screen(screen, self.back_home)
        self.call_after_refresh(self.publish)

    def next_request(self, step: int) -> Any:
        """The next row of the queue, from a card that covers it."""
        self.home.show(self.moment())
        return self.home.next_request(step)

    def back_home(self, _: object = None) -> None:
        """Home draws the newest moment, with the keys where they were."""
        self.call_after_refresh(self.publish)

    def open_detail(self, root: str, record: str) -> None:
        """One record whole."""
        self.push_screen(DetailScreen(self.glyphs, root, record), self.back_home)
        self.call_after_refresh(self.publish)

    def on_compose_message(self, message: ComposeMessage) -> None:
        """Open the composer, with the draft that was left there."""
        draft = self.drafts.get(message.root) or message.draft
        keep = self.drafts.__setitem__
        self.push_screen(MessageScreen(self.glyphs, message.root, draft, keep=keep), self.back_home)
        self.call_after_refresh(self.publish)

    def on_send_message(self, message: SendMessage) -> None:
        """Leave it with the run."""
        self.run_worker(self._tell(self.desk.message(message.root, message.text)), name="message")

    def on_hold(self, message: Hold) -> None:
        """Hold one run, or all."""
        roots = [row.root for row in self.moment().fleet()] if message.root is None else [message.root]
        self.run_worker(self._all([self.desk.hold(root) for root in roots]), name="hold")

    def on_resume(self, message: Resume) -> None:
        """Let a run go on."""
        self.run_worker(self._tell(self.desk.resume(message.root)), name="resume")

    async def _tell(self, call: Any) -> None:
        self.say(await call)

    async def _all(self, calls: Sequence[Any]) -> None:
        lines = [await call for call in calls]
        failed = [line for line in lines if line.startswith("not done")]
        self.say(failed[0] if failed else lines[0] if len(lines) == 1 else f"{len(lines)} runs held; R resumes one")


def _fields(view: View) -> dict[str, Any]:
    return {name: getattr(view, name) for name in view.__dataclass_fields__}
