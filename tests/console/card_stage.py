"""A stage for the card alone: one card on a screen with the health row of a console, and a clock that a test moves."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, ClassVar

from textual.app import App, ComposeResult
from textual.message import Message
from textual.screen import Screen

from cas_tui.console import themes
from cas_tui.console.card.card import CardView
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.messages import (
    ComposeMessage,
    Decide,
    DecisionRefused,
    DecisionSent,
    LeaveCard,
    NextRequest,
    Say,
)
from cas_tui.console.screens.base import PlacedLayout
from cas_tui.console.screens.plan import Place
from cas_tui.model.shapes import Card, ContractRow, PayloadRow, ReceiptLine
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

NOON = datetime(2026, 11, 30, 14, 32, 7, tzinfo=UTC)
DIGEST = "sha256:9c41e07b" + "0" * 56

PATCH = (
    PayloadRow(" ", 10, 10, "## Install"),
    PayloadRow(" ", 11, 11, ""),
    PayloadRow("-", 12, None, "python 3.9 or newer, then: pip install tool"),
    PayloadRow("+", None, 12, "python 3.11 or newer, then:"),
    PayloadRow("+", None, 13, "    python -m venv .venv"),
    PayloadRow("+", None, 14, "    .venv/bin/pip install tool"),
    PayloadRow(" ", 13, 15, "## Use"),
)
SAYS = ContractRow("says", "README shows Python 3.11 and the new install line", quoted=True, right="90 %")
REJECT = ContractRow("reject if", "any other line of README.md changes", quoted=True)
EARNED = ContractRow("= earned", "says 90 %; at 85-95 % on fs_patch right 17 of 18 (74-99 %)")
LEANS = 'B-12 "python >= 3.11" 0.9, checked 2h ago'


def request(request_id: str = "q-docs", kind: RequestKind = RequestKind.EFFECT, **more: Any) -> Request:
    """A pending request."""
    given: dict[str, Any] = {
        "state": RequestState.PENDING,
        "root": "/r/docs",
        "agent": "docs",
        "session_id": "s1",
        "created_at": "2026-11-30T14:29:04Z",
        "title": "Change README.md +3 -1",
        "digest": DIGEST,
        "op_kind": "fs_patch",
        "tier": Tier.T1 if kind is RequestKind.EFFECT else None,
        "fields": {"path": "README.md", "unified_diff": "--- a\n+++ b\n"},
    }
    return Request(request_id, kind, **{**given, **more})


def card(request_id: str = "q-docs", **more: Any) -> Card:
    """The card of the 80 column drawing."""
    given: dict[str, Any] = {
        "request": request(request_id),
        "run": "docs",
        "position": 2,
        "total": 3,
        "summary": "Change README.md: 3 lines added, 1 removed, mode stays 0644",
        "tier_because": "T1 because: reversible, inside the workspace, predicted, 17 of 18 right here",
        "tier_flags": (),
        "unpredicted": False,
        "unconfined": False,
        "predicted_at": "14:29:04",
        "prediction_id": "act-7f3a",
        "contract": (
            SAYS,
            REJECT,
            ContractRow("may fail", "context drift", quoted=True, right="known for this tool but not listed: none"),
            EARNED,
            ContractRow("= deed", "matches the promise: same file, same kind of act"),
            ContractRow("= leans on", LEANS, right="open questions: none"),
            ContractRow("= lessons", "none pending", right="seen before: no"),
        ),
        "payload_title": "Exact change: README.md",
        "payload": PATCH,
        "payload_foot": "end of file, newline kept",
        "payload_id": "p1",
        "left_s": None,
        "age_s": 180.0,
        "verdicts": ("approve", "deny", "edit"),
        "cwd": "~/src/docs",
    }
    return Card(**{**given, **more})


def tier(made: Card, name: str, **more: Any) -> Card:
    """The same card in another tier."""
    wanted = Tier(name)
    return replace(
        made, request=replace(made.request, tier=wanted), tier_because=f"{name} because: harder to undo", **more
    )


def long_payload(count: int, width: int = 20) -> tuple[PayloadRow, ...]:
    """So many added lines."""
    return tuple(PayloadRow("+", None, at + 1, f"line {at} ".ljust(width, ".")) for at in range(count))


def question(**more: Any) -> Card:
    """The card of the question drawing."""
    made = card(
        request=request(
            "q-api",
            RequestKind.QUESTION,
            digest="sha256:41d0aa93" + "0" * 56,
            title="question",
            root="/r/api",
            fields={"text": "Which database do the tests use?", "uncertainty": "U-3"},
        ),
        run="api",
        position=1,
        summary="Which database do the tests use?",
        summary_quoted=True,
        tier_because='asked because: mismatch act-3c10, said "tests pass", came "no such function"',
        contract=(
            ContractRow("says", "I found sqlite in conftest.py and postgres in ci.yml", quoted=True),
            ContractRow("impact", "every migration test", quoted=True, right='plan "ask, then rerun the 4 tests" '),
            ContractRow("= waits", "run api is parked; 2 plan steps (S-4, S-5) depend on the answer"),
            ContractRow("= leans on", 'B-7 "tests run on sqlite" 0.6, now doubted'),
        ),
        payload=(PayloadRow("", None, None, "Which database do the tests use?"),),
        payload_title="Question",
        payload_foot="",
        payload_id="p-q",
        age_s=540.0,
        verdicts=("answer", "dismiss"),
        options=("sqlite", "postgres", "both, by marker"),
        option_mode="one",
        source="learning.jsonl +8812",
    )
    return replace(made, **more)


class Ticks:
    """A clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        """The time."""
        return self.now


class CardApp(App[None]):
    """The card where a screen of the console has it."""

    CSS_PATH = "../../cas_tui/console/styles/console.tcss"
    AUTO_FOCUS = ""
    BINDINGS: ClassVar = [("n", "next", "next"), ("q", "note('q')", "q"), ("r", "note('r')", "r")]

    def __init__(self, place: Place, *, ascii_mode: bool = True, theme: str = "cas-dark") -> None:
        super().__init__()
        self.animation_level = "none"
        self.ticks = Ticks()
        self.card = CardView(glyphs=Glyphs(ascii_mode), clock=self.ticks, wall=lambda: NOON, id="card")
        self.placed = PlacedLayout()
        self.placed.places = {"card": place}
        self.told: list[Message] = []
        self.nexts = 0
        for item in themes.load():
            self.register_theme(item)
        self.theme = theme

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """As the console does."""
        return themes.fallback()

    def get_default_screen(self) -> Screen[None]:
        """A screen with the card on its place."""
        return CardStage(self.placed)

    def compose(self) -> ComposeResult:
        """The card alone."""
        yield self.card

    def action_next(self) -> None:
        """Count it."""
        self.nexts += 1

    def action_note(self, name: str) -> None:
        """A key went past the card."""

    def _keep(self, message: Message) -> None:
        self.told.append(message)

    on_decide = on_say = on_leave_card = on_compose_message = on_next_request = _keep

    def of(self, kind: type[Message]) -> list[Any]:
        """What was posted of this kind."""
        return [item for item in self.told if isinstance(item, kind)]

    @property
    def decided(self) -> list[Decide]:
        """Every decision that was posted."""
        return self.of(Decide)

    @property
    def said(self) -> str:
        """The last line for the receipt place."""
        lines = self.of(Say)
        return lines[-1].text if lines else ""

    def lines(self) -> list[str]:
        """The rows of the terminal."""
        strips = self.screen._compositor.render_strips(self.size)
        return ["".join(segment.text for segment in strip).rstrip() for strip in strips]


class CardStage(Screen[None]):
    """One widget on its place."""

    def __init__(self, placed: PlacedLayout) -> None:
        super().__init__()
        self.placed = placed

    @property
    def layout(self) -> PlacedLayout:
        """As the console's screens have it."""
        return self.placed


async def take_up(pilot: Any, made: Card, receipt: ReceiptLine | None = None) -> None:
    """Show a card, give it the keys, and wait until it was painted."""
    app = pilot.app
    app.card.show(made, receipt)
    app.card.peek = False
    app.card.focus()
    await settle(pilot)


async def settle(pilot: Any) -> None:
    """Until everything that was posted is done and painted."""
    for _ in range(3):
        await pilot.pause()


async def press(pilot: Any, *keys: str, after: float = 1.0) -> None:
    """Press keys, each so long after the one before."""
    for key in keys:
        pilot.app.ticks.now += after
        await pilot.press(key)
    await settle(pilot)


__all__ = [
    "CardApp", "ComposeMessage", "DecisionRefused", "DecisionSent", "LeaveCard", "NextRequest", "Place",
    "card", "long_payload", "press", "question", "request", "settle", "take_up", "tier",
]  # fmt: skip
