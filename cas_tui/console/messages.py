"""The console's vocabulary on one page: what a view asks of the application, and what it is told.

A view posts one of these and never calls anything itself; `app.py` is the only place that acts on them (PROTOCOL §5,
DESIGN rule 2). Answers go back without bubbling, so that a screen may hand one on to its card.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from textual.message import Message

from cas_tui.protocol.decisions import Decision, Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import Request


@dataclass
class Decide(Message):
    """The operator decided. `digest` is what stood on the card when it was painted (E2)."""

    root: str
    request_id: str
    verdict: Verdict
    digest: str | None = None
    comment: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)
    shown_at: str | None = None
    full_view: bool = False


@dataclass
class OpenCard(Message):
    """Take up one request: give the card focus, or open it on the whole screen."""

    root: str
    request_id: str


@dataclass
class LeaveCard(Message):
    """Leave the card undecided; the focus goes back to where it came from."""


@dataclass
class NextRequest(Message):
    """From a card: go to the next row of *Needs you*, then *Review* (`step` is 1 or -1)."""

    step: int = 1


@dataclass
class Hold(Message):
    """Start no new effect in this run; in all runs when `root` is None."""

    root: str | None


@dataclass
class Resume(Message):
    """Let a held run go on."""

    root: str


@dataclass
class SendMessage(Message):
    """Words of the operator to one run."""

    root: str
    text: str


@dataclass
class ComposeMessage(Message):
    """Open the composer for one run, with `draft` already in it."""

    root: str
    draft: str = ""


@dataclass
class Say(Message):
    """One line of ours for the receipt place: why a key did nothing, or what it did."""

    text: str


@dataclass
class DecisionSent(Message, bubble=False):
    """The decision is durable. What came of it arrives through the sources, not here."""

    request: Request
    decision: Decision
    host: str = ""


@dataclass
class DecisionRefused(Message, bubble=False):
    """The decision was not taken; `line` (ours) says why and what to do."""

    request_id: str
    line: str
