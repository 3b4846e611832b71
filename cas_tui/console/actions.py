"""What the keys that work everywhere do. The table of them is `commands`; what they need of the console is `app`."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from cas_tui import text
from cas_tui.console.commands import Command, find
from cas_tui.console.messages import ComposeMessage, Hold, LeaveCard, Resume
from cas_tui.console.screens.pages import HelpScreen
from cas_tui.console.screens.prompt import AskScreen, LineScreen, offer_names
from cas_tui.console.view import View
from cas_tui.console.widgets.coach import Coach, Seen
from cas_tui.protocol.requests import RequestKind, RequestState

if TYPE_CHECKING:
    from textual.app import App

    _Base = App[None]
else:
    _Base = object

AGAIN_S = 3.0
"""Within this time a second S holds every run."""


class Actions(_Base):
    """Mixed into the application; keeps only what a second key press needs to know of the first."""

    if TYPE_CHECKING:
        home: Any
        desk: Any
        wiring: Any
        glyphs: Any
        coach_on: bool

        @property
        def looked_at(self) -> Any: ...
        def back_home(self, _: object = None) -> None: ...
        def moment(self) -> View: ...
        def publish(self) -> None: ...
        def say(self, words: str) -> None: ...

    _held_at: float | None = None
    _leaving: AskScreen | None = None

    # Runs

    def action_hold(self) -> None:
        """Hold the run under the cursor at once; again, or on a held run: hold all."""
        root = self.looked_at.root
        now = time.monotonic()
        again = self._held_at is not None and now - self._held_at < AGAIN_S
        row = next((row for row in self.moment().fleet() if row.root == root), None)
        self._held_at = now
        if not root:
            self.say("no run to hold")
        elif again or (row is not None and row.held):
            self.action_hold_all()
        else:
            self.post_message(Hold(root))

    def action_hold_all(self) -> None:
        """Hold every run."""
        self.post_message(Hold(None))

    def action_resume(self) -> None:
        """Ask, then let the run under the cursor go on: the dangerous direction asks."""
        view = self.moment()
        row = next((row for row in view.fleet() if row.root == self.looked_at.root), None)
        if row is None or not row.held:
            self.say("this run is not held")
            return
        root = row.root

        def answered(key: str | None) -> None:
            if key == "y":
                self.post_message(Resume(root))
            else:
                self.say("still held")

        name = text.line(row.name, limit_cells=24, ascii_only=self.glyphs.ascii)
        self.push_screen(AskScreen(f"Resume {name}? y resumes, any other key leaves it held", ("y",)), answered)

    def action_message(self) -> None:
        """A message to the run that is looked at."""
        root = self.looked_at.root
        if root:
            self.post_message(ComposeMessage(root))
        else:
            self.say("no run to write to")

    # Names

    def action_goto(self) -> None:
        """Type where to go."""

        async def answered(words: str | None) -> None:
            if not words:
                return
            command = find(words)
            if command is None:
                self.say(f"no such pane or command: {text.line(words, limit_cells=30)}")
            else:
                await self.run_command(command)

        self.push_screen(LineScreen(":", offer=offer_names), answered)

    async def run_command(self, command: Command) -> None:
        """Do what a name says, as its key would where it works."""
        if command.scope == "home" and self.looked_at is not self.home:
            while len(self.screen_stack) > 1:
                self.pop_screen()
        if command.action:
            await self.run_action(command.action)

    def ask_line(self, sign: str, value: str, changed: Callable[[str], None]) -> None:
        """A line to type that takes effect while typing; Esc brings back what was."""

        def answered(words: str | None) -> None:
            if words is None:
                changed(value)

        self.push_screen(LineScreen(sign, value=value, changed=changed), answered)

    def action_help(self) -> None:
        """The keys of where you are."""
        screen = self.looked_at
        card = getattr(screen, "card", None)
        context = "card" if card is not None and card.has_focus_within else screen.context
        if not isinstance(screen, HelpScreen):
            self.push_screen(HelpScreen(self.glyphs, context, screen.root), self.back_home)
            self.call_after_refresh(self.publish)

    # Reading, looks

    def action_read_again(self) -> None:
        """Look at every file now and draw everything anew. It changes nothing else."""
        self.wiring.feed.again()
        self.refresh(layout=True)
        self.screen.refresh(layout=True)
        self.publish()

    def action_pick_theme(self, name: str) -> None:
        """Another theme."""
        self.theme = name

    def action_lock(self) -> None:
        """No decision from here until unlocked."""
        self.desk.locked = True
        self.say("locked: looking only")

    def action_unlock(self) -> None:
        """Ask to type it."""

        def answered(words: str | None) -> None:
            if (words or "").strip() == "unlock":
                self.desk.locked = False
                self.say("unlocked")
            elif self.desk.locked:
                self.say("still locked")

        self.push_screen(LineScreen("type unlock:"), answered)

    # Copying, leaving

    def action_copy_or_hint(self) -> None:
        """Copy what is selected; it never quits."""
        selected = self.screen.get_selected_text()
        if selected:
            self.copy_to_clipboard("\n".join(text.line(part) for part in selected[:70_000].split("\n")))
            self.say("sent to the terminal clipboard")
        else:
            self.say("ctrl+q leaves")

    async def action_leave(self) -> None:
        """At home, ask on one line; elsewhere q goes back. A second ctrl+q leaves at once."""
        if self._leaving is not None and self.screen is self._leaving:
            self.exit()
            return
        self._leaving = AskScreen(self._leave_words(), ("y", "ctrl+q"))
        self.push_screen(self._leaving, self._left)

    async def action_quit_or_back(self) -> None:
        """q: back to home, and from home the leaving line."""
        home = self.home
        if self.looked_at is home and home.card.has_focus_within:
            home.post_message(LeaveCard())
        elif self.looked_at is home and home.full:
            home.action_back()
        else:
            await self.action_leave()

    def _leave_words(self) -> str:
        view = self.moment()
        waiting = view.truth().needs_you
        going = sum(1 for row in view.fleet() if row.host_alive)
        keeps = f"{text.plural(going, 'run')} {'keeps' if going == 1 else 'keep'} running" if going else "nothing runs"
        waits = f"{waiting} {'waits' if waiting == 1 else 'wait'} for you" if waiting else "nothing waits for you"
        return f"Leave? {keeps}, {waits}. y leaves, any other key stays"

    def _left(self, key: str | None) -> None:
        self._leaving = None
        if key in ("y", "ctrl+q"):
            self.exit()

    # The demo's coach line

    def action_coach(self) -> None:
        """End it."""
        self.coach_on = False
        self.publish()

    def coach(self, view: View, screen: Any) -> None:
        """Tell the coach line what happened."""
        line = getattr(screen, "coach", None)
        if isinstance(line, Coach):
            line.show(self._seen(view, screen), view.quiet_s)

    def _seen(self, view: View, screen: Any) -> Seen:
        root = screen.root or next((row.root for row in view.fleet()), "")
        pairs = view.stream(root)
        requests = view.requests(root)
        waiting = next((row for row in view.attention() if row.band == "needs" and not row.waiting_on), None)
        on_card = screen is not self.home or bool(screen.card.has_focus_within)
        card = view.card(screen.root, screen.request_id) if on_card and screen.request_id else None
        receipt = view.last_receipt()
        return Seen(
            acts=sum(1 for row in pairs if row.latency_s is not None or row.folded),
            predicted=any(row.glyph == "needs" for row in pairs),
            waiting=waiting.kind if waiting else "",
            waiting_tier=waiting.tier if waiting else "",
            selected=bool(waiting) and waiting is not None and screen.request_id == waiting.request_id,
            on_card=on_card and card is not None,
            card_kind=str(card.request.kind) if card else "",
            card_tier=str(card.request.tier or "") if card else "",
            decided=sum(1 for r in requests if r.kind is RequestKind.EFFECT and _decided(r.state)),
            answered=sum(1 for r in requests if r.state is RequestState.ANSWERED),
            observed=bool(receipt and receipt.observed) and (not on_card or bool(card and card.settled)),
            mismatched=sum(1 for row in pairs if row.verdict == "mismatched"),
        )


def _decided(state: RequestState) -> bool:
    return state not in (RequestState.WAITING, RequestState.PENDING, RequestState.EXPIRED, RequestState.CANCELLED)
