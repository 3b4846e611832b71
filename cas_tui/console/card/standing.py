"""The words of the guard: where a card can stand, what a key needs, what a key does, and why it does nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

ARM_S: Final = 0.7
"""Without a key for this long, after paint and focus, a card is armed."""
REPEAT_S: Final = 0.4
"""The same decision key again within this time is a repeat of the keyboard."""
CONFIRM_AFTER_S: Final = 0.3
CONFIRM_WITHIN_S: Final = 10.0
DEAF_S: Final = 0.5
"""After the terminal got its focus back, input is discarded for this long."""
DIGEST_CHARS: Final = 4


class State(StrEnum):
    """Where a card stands. Only READY lets an approval pass; UNSEEN lets a refusal pass."""

    PEEK = "PEEK"
    SMALL = "TOO SMALL"
    LOCKED = "LOCKED"
    DECIDED = "DECIDED"
    SENT = "SENT"
    EXPIRED = "EXPIRED"
    CHANGED = "CHANGED"
    WAITING = "WAITING"
    ARMING = "ARMING"
    UNSEEN = "UNSEEN"
    READY = "READY"


class How(StrEnum):
    """What a key needs before it decides."""

    APPROVE = "approve"
    """By tier: T1 at once, T2 after `y`, T3 after a comment and characters of the digest."""
    COMMENT = "comment"
    """A comment first, then as APPROVE, but never without `y`."""
    ONCE = "once"
    """At once, when READY."""
    LINE = "line"
    """A line of text: a reason. Also while rows are unseen, because refusing the unseen is safe."""
    SEND = "send"
    """A form: armed by paint and focus alone, since the keys before it were typing."""
    AFTER = "after"
    """A line of text about what was decided and done: only when it was."""
    EDIT = "edit"
    """An editor, when READY; what it gives back is one more decision."""


class Do(StrEnum):
    """What the card is to do about a key."""

    PASS = "pass"
    DROP = "drop"
    SAY = "say"
    ARM = "arm"
    DISARM = "disarm"
    OPEN = "open"
    DECIDE = "decide"


@dataclass(frozen=True, slots=True)
class Act:
    """An answer: what to do, the words for the receipt place, and the option's key that it is about."""

    do: Do
    words: str = ""
    key: str = ""


@dataclass(frozen=True, slots=True)
class Subject:
    """What the guard has to know of the card that is shown. `expires_at` is on the guard's clock."""

    request_id: str
    digest: str
    payload_id: str
    tier: str = ""
    choices: Mapping[str, How] = field(default_factory=dict)
    settled: bool = False
    waiting: bool = False
    expires_at: float | None = None

    @property
    def shown(self) -> tuple[str, str, str]:
        """What a decision is bound to, besides the request: any change of it needs a new look (E2)."""
        return self.digest, self.payload_id, self.tier


WHY: Final[Mapping[State, str]] = {
    State.PEEK: "Enter first",
    State.SMALL: "too small to decide: make the terminal larger",
    State.LOCKED: "locked: :unlock first",
    State.DECIDED: "already decided",
    State.SENT: "sent, waiting for the receipt",
    State.EXPIRED: "expired: no answer in time",
    State.CHANGED: "changed since shown: Enter looks again",
    State.WAITING: "an earlier act comes first",
}
"""Why a decision key does nothing, for the receipt place."""
