"""What stands between a key and a decision: a state machine without a terminal, and with time as an argument.

It knows when the card was painted, when it got the keys, which rows were on screen, and every key; it answers what a
key may do. It never looks at a clock and never sends anything (CONSOLE §4.3; SAFETY E2, E4, T5).

Times are seconds of one steady clock. A key carries the time at which it was read from the terminal, so that a key
typed before the card was painted is never taken for one typed after it.
"""

from __future__ import annotations

from math import ceil

from cas_tui.console.card.seen import Intervals
from cas_tui.console.card.standing import (
    ARM_S,
    CONFIRM_AFTER_S,
    CONFIRM_WITHIN_S,
    DEAF_S,
    DIGEST_CHARS,
    REPEAT_S,
    WHY,
    Act,
    Do,
    How,
    State,
    Subject,
)


class Guard:
    """The guards of one card; it outlives the requests that are shown on it one after the other."""

    def __init__(self) -> None:
        self.subject: Subject | None = None
        self.armed: str = ""
        """The option that waits for `y`, by its key."""
        self.line: str = ""
        """The option whose line is open, by its key."""
        self.lines_unseen = 0
        """For the words only; what counts is `extent`."""
        self.peek = True
        self.small = False
        self.locked = False
        self._seen = Intervals()
        self._extent: int | None = None
        self._pin: tuple[str, str, str] | None = None
        self._changed = False
        self._sent = False
        self._painted_at: float | None = None
        self._focused_at: float | None = None
        self._key_at = float("-inf")
        self._ready_at: float | None = None
        self._armed_at = 0.0
        self._typed = False
        self._last: dict[str, float] = {}
        self._spent = ""
        self._away = False
        self._back_at = float("-inf")
        self._first_click = False

    # What is shown

    def card_changed(self, subject: Subject | None) -> None:
        """Another card, or the same request as it is now."""
        old = self.subject
        self.subject = subject
        if subject is None or old is None or subject.request_id != old.request_id:
            self._forget()
        elif self._pin is None:
            if subject.shown != old.shown:
                self._forget()
        elif subject.shown != self._pin:
            self._changed = True
            self._stand_down()

    def _forget(self) -> None:
        self._seen.clear()
        self._extent = None
        self._pin = None
        self._changed = self._sent = False
        self._painted_at = None
        self.line = ""
        self._typed = False
        self._stand_down()

    def painted(self, digest: str, payload_id: str, at: float) -> None:
        """This version of the card is on the screen since `at`; what is decided is bound to it (E2)."""
        subject = self.subject
        if subject is None or (subject.digest, subject.payload_id) != (digest, payload_id):
            return
        # What waits on another act has no final form yet: there is nothing to be bound to.
        if self._pin is None and not subject.waiting:
            self._pin = subject.shown
            self._painted_at = at
            self._ready_at = None

    def laid_out(self, extent: int) -> None:
        """How many places the payload has; until this is known nothing counts as seen whole."""
        self._extent = extent

    def rows_seen(self, start: int, end: int) -> None:
        """The places from `start` up to `end` are on the screen."""
        if not self._changed:
            self._seen.add(start, end)

    @property
    def seen(self) -> Intervals:
        """What was on the screen so far."""
        return self._seen

    @property
    def all_seen(self) -> bool:
        """Whether the whole payload was on the screen (E4)."""
        return self._extent is not None and self._seen.covers(0, self._extent)

    @property
    def digest(self) -> str:
        """The digest that was on the card when it was painted: what a decision names."""
        return self._pin[0] if self._pin is not None else ""

    def review(self, at: float) -> None:
        """The operator looks again at a card that changed: everything starts anew."""
        self._forget()
        self._key_at = at

    # Focus

    def focused(self, on: bool, at: float) -> None:
        """The card got the keys, or lost them."""
        if on and self._focused_at is None:
            self._focused_at = at
            self._ready_at = None
        elif not on:
            self._focused_at = None
            self._stand_down()

    def app_focus(self, on: bool, at: float) -> None:
        """The terminal got its focus back, or lost it."""
        self._away = not on
        if on:
            self._back_at = at
            self._first_click = True
        self._stand_down()
        self._key_at = max(self._key_at, at)

    def _deaf(self, at: float) -> bool:
        return self._away or at < self._back_at + DEAF_S

    # Standing

    def state(self, at: float) -> State:
        """Where the card stands at this moment."""
        fixed = self._standing(at)
        if fixed is not None:
            return fixed
        if not self._is_ready(at):
            return State.ARMING
        return State.READY if self.all_seen else State.UNSEEN

    def _standing(self, at: float) -> State | None:
        """What stands in the way of any decision, however long one waits."""
        subject = self.subject
        if subject is None or self.peek or self._focused_at is None:
            return State.PEEK
        checks = (
            (subject.settled, State.DECIDED),
            (self._sent, State.SENT),
            (subject.expires_at is not None and at >= subject.expires_at, State.EXPIRED),
            (self._changed, State.CHANGED),
            (subject.waiting, State.WAITING),
            (self.locked, State.LOCKED),
            (self.small, State.SMALL),
        )
        return next((state for wrong, state in checks if wrong), None)

    def _since(self) -> float | None:
        if self._painted_at is None or self._focused_at is None:
            return None
        return max(self._painted_at, self._focused_at, self._key_at)

    def _is_ready(self, at: float) -> bool:
        if self._ready_at is None:
            since = self._since()
            if since is not None and at - since >= ARM_S:
                self._ready_at = since + ARM_S
        return self._ready_at is not None and at >= self._ready_at

    def _can_send(self, at: float) -> bool:
        if self._painted_at is None or self._focused_at is None:
            return False
        return at - max(self._painted_at, self._focused_at) >= ARM_S

    def arming_left(self, at: float, *, send: bool = False) -> float:
        """Seconds until the card is armed if no key comes; infinite while it is not painted."""
        if self._painted_at is None or self._focused_at is None:
            return float("inf")
        since = max(self._painted_at, self._focused_at) if send else self._since()
        return max(0.0, (since or 0.0) + ARM_S - at)

    def _stand_down(self) -> None:
        self._ready_at = None
        self.armed = ""

    # Keys

    def key(self, name: str, at: float) -> Act:
        """A key of the terminal, on the card itself. What is not the card's leads elsewhere, so the card arms anew."""
        if self._deaf(at):
            return self._dropped(at)
        state, left = self.state(at), self.arming_left(at)
        repeated = self._note(name, at)
        if self.armed:
            return self._confirm(name, at, state, repeated)
        how = self.subject.choices.get(name) if self.subject else None
        if how is None:
            self._ready_at = None
            self._key_at = max(self._key_at, at)
            return Act(Do.PASS)
        if repeated:
            return Act(Do.SAY, "the same key again: n first" if name == self._spent else "too fast", name)
        return self._choose(name, how, at, state, left)

    def move(self, name: str, at: float) -> bool:
        """A key that only moves or turns the view: it disarms, and keeps a card ready. False when it is discarded."""
        if self._deaf(at):
            self._dropped(at)
            return False
        self._is_ready(at)
        self._note(name, at)
        self.armed = ""
        return True

    def click(self, name: str, at: float) -> Act:
        """A click on an option: as its key, but never with the click that brought the focus."""
        if self._deaf(at) or self._first_click:
            self._first_click = False
            return Act(Do.SAY, "that click only brought the focus")
        return self.key(name, at)

    def paste(self, at: float) -> Act:
        """A paste decides nothing, and the card arms anew."""
        self._stand_down()
        self._key_at = max(self._key_at, at)
        return Act(Do.SAY, "a paste decides nothing")

    def _dropped(self, at: float) -> Act:
        self._key_at = max(self._key_at, at)
        self.armed = ""
        return Act(Do.DROP, "the terminal was away: that key was dropped")

    def _note(self, name: str, at: float) -> bool:
        """Take down the key; whether it is a repeat, or the key of the last decision with no other since."""
        last = self._last.get(name, float("-inf"))
        repeated = at - last < REPEAT_S or name == self._spent
        if len(self._last) > 64:
            self._last.clear()
        self._last[name] = max(at, last)
        if name != self._spent:
            self._spent = ""
        self._first_click = False
        if not self._is_ready(at):
            self._key_at = max(self._key_at, at)
        return repeated

    def _choose(self, name: str, how: How, at: float, state: State, left: float) -> Act:
        if how is How.SEND and state in (State.ARMING, State.UNSEEN, State.READY):
            if not self._can_send(at):
                return Act(Do.SAY, _not_yet(self.arming_left(at, send=True)), name)
            return self._decide(name, name)
        if state is State.UNSEEN and how not in (How.LINE, How.AFTER):
            return Act(Do.SAY, f"{_lines(self.lines_unseen)} unseen, space", name)
        if how is How.AFTER:
            return self._choose_after(name, at, state)
        if state is State.ARMING:
            return Act(Do.SAY, _not_yet(left), name)
        if state not in (State.READY, State.UNSEEN):
            return Act(Do.SAY, WHY[state], name)
        if how is How.ONCE:
            return self._decide(name, name)
        if how is How.APPROVE and self._tier == "T1":
            return self._decide(name, name)
        if how is How.APPROVE and self._tier == "T2":
            return self._arm(name, at)
        return self._open(name)

    def _choose_after(self, name: str, at: float, state: State) -> Act:
        if state is not State.DECIDED:
            return Act(Do.SAY, "nothing was done yet", name)
        if self._sent:
            return Act(Do.SAY, WHY[State.SENT], name)
        return self._open(name) if self._is_ready(at) else Act(Do.SAY, _not_yet(self.arming_left(at)), name)

    def _open(self, name: str) -> Act:
        self.line = name
        self._typed = False
        return Act(Do.OPEN, key=name)

    @property
    def _tier(self) -> str:
        # What has no tier, or one unknown to us, gets the most friction (E6).
        tier = self.subject.tier if self.subject else ""
        return tier if tier in ("T1", "T2") else "T3"

    @property
    def needs_digest(self) -> bool:
        """Whether approving takes a comment and characters of the digest."""
        return self._tier == "T3"

    def _arm(self, name: str, at: float) -> Act:
        self.armed = name
        self._armed_at = at
        return Act(Do.ARM, "press y to approve", name)

    def _confirm(self, name: str, at: float, state: State, repeated: bool) -> Act:
        option, self.armed = self.armed, ""
        waited = at - self._armed_at
        if name != "y":
            return Act(Do.DISARM, "not approved", option)
        if state is not State.READY:
            return Act(Do.DISARM, WHY.get(state, "not ready"), option)
        if waited < CONFIRM_AFTER_S or repeated:
            return Act(Do.DISARM, f"y came too soon: {option} again", option)
        if waited > CONFIRM_WITHIN_S:
            return Act(Do.DISARM, f"y came too late: {option} again", option)
        return self._decide(option, name)

    def tick(self, at: float) -> bool:
        """Time went by; whether what is drawn of the guard is different now."""
        if self.armed and at - self._armed_at > CONFIRM_WITHIN_S:
            self.armed = ""
            return True
        return False

    def _decide(self, option: str, key: str) -> Act:
        self._sent = True
        self._spent = key
        self.line = ""
        self._stand_down()
        return Act(Do.DECIDE, key=option)

    def refused(self, at: float) -> None:
        """The decision was not taken: the card is as it was, and arms anew."""
        self._sent = False
        self._stand_down()
        self._key_at = max(self._key_at, at)

    # A line that is typed

    def typed(self, name: str, at: float, *, printable: bool) -> bool:
        """A key into the open line; False when it is to be discarded. A paste does not count as typing."""
        if self._deaf(at):
            self._dropped(at)
            return False
        self._note(name, at)
        self._typed = self._typed or printable
        return True

    def close_line(self, at: float) -> None:
        """The line is left; the card arms anew, since the last keys were typing."""
        self.line = ""
        self._typed = False
        self._stand_down()
        self._key_at = max(self._key_at, at)

    def submit(self, at: float, *, text: str, digest_chars: str = "") -> Act:
        """Enter in the line that is open: the only thing it can send is what was typed there."""
        name = self.line
        how = self.subject.choices.get(name) if self.subject and name else None
        if self._deaf(at):
            return self._dropped(at)
        if how is None or self.subject is None:
            return Act(Do.DROP)
        fixed = self._standing(at)
        if fixed is not None and not (how is How.AFTER and fixed is State.DECIDED and not self._sent):
            return Act(Do.SAY, WHY[fixed], name)
        self._note("enter", at)
        if how in (How.APPROVE, How.COMMENT):
            return self._submit_approval(name, at, text, digest_chars)
        if not text.strip() or not self._typed:
            return Act(Do.SAY, "type a reason first", name)
        return self._decide(name, "enter")

    def _submit_approval(self, name: str, at: float, text: str, digest_chars: str) -> Act:
        subject = self.subject
        if subject is None or not self.all_seen:
            return Act(Do.SAY, f"{_lines(self.lines_unseen)} unseen, space", name)
        if not text.strip() or not self._typed:
            return Act(Do.SAY, "type a comment first", name)
        if not self.needs_digest:
            self.line = ""
            self._ready_at = at
            return self._arm(name, at)
        wanted = subject.digest.removeprefix("sha256:")[:DIGEST_CHARS]
        if len(wanted) < DIGEST_CHARS or digest_chars.strip().casefold() != wanted.casefold():
            return Act(Do.SAY, f"type the first {DIGEST_CHARS} characters of the digest", name)
        return self._decide(name, "enter")

    def edited(self, option: str, at: float) -> Act:
        """The editor gave back a changed text: one more decision, if the card still stands as it did."""
        fixed = self._standing(at)
        if fixed is not None:
            return Act(Do.SAY, WHY[fixed], option)
        if self.subject is None or self.subject.choices.get(option) is not How.EDIT or not self.all_seen:
            return Act(Do.DROP)
        return self._decide(option, option)


def _not_yet(left: float) -> str:
    return "not yet" if left == float("inf") else f"not yet, {max(0.1, ceil(left * 10 - 1e-6) / 10):.1f} s"


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count} lines" if count else "lines"
