"""The guard against everything an operator, a keyboard, a terminal or an agent can do at the wrong moment."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.console.card.guard import Guard
from cas_tui.console.card.seen import Intervals
from cas_tui.console.card.standing import Act, Do, How, State, Subject

CHOICES = {"a": How.APPROVE, "d": How.LINE, "c": How.COMMENT, "e": How.EDIT}
DIGEST = "sha256:9c41e07b00"


def subject(number: int = 0, tier: str = "T1", digest: str = DIGEST, **more: object) -> Subject:
    """One request."""
    return replace(Subject(f"q-{number}", digest, f"p-{digest}", tier, CHOICES), **more)  # type: ignore[arg-type]


def live(tier: str = "T1", *, seen: bool = True, **more: object) -> Guard:
    """A guard whose card was taken up, painted and read at time 0."""
    guard = Guard()
    guard.peek = False
    guard.card_changed(subject(tier=tier, **more))
    take_up(guard, 0.0, seen=seen)
    return guard


def take_up(guard: Guard, at: float, *, seen: bool = True) -> None:
    """Focus, paint, lay out, and see all of it."""
    guard.focused(True, at)
    paint(guard, at, seen=seen)


def paint(guard: Guard, at: float, *, seen: bool = True) -> None:
    """The card is on the screen."""
    assert guard.subject is not None
    guard.painted(guard.subject.digest, guard.subject.payload_id, at)
    guard.laid_out(100)
    if seen:
        guard.rows_seen(0, 100)


def decides(act: Act) -> bool:
    """Whether the key decided."""
    return act.do is Do.DECIDE


# Arming


def test_a_card_arms_after_paint_and_focus_and_a_quiet_while() -> None:
    """T5: paint and focus and 0.7 s without a key; before that the receipt place says how long."""
    guard = live()
    assert guard.state(0.5) is State.ARMING
    act = guard.key("a", 0.3)
    assert (act.do, act.words) == (Do.SAY, "not yet, 0.4 s")
    assert guard.state(0.9) is State.ARMING
    assert guard.state(1.01) is State.READY
    assert decides(guard.key("a", 1.01))


def test_without_paint_or_without_focus_nothing_arms() -> None:
    """T5: a card that was never on the screen, or has not the keys, never decides."""
    guard = Guard()
    guard.peek = False
    guard.card_changed(subject())
    guard.focused(True, 0.0)
    assert guard.key("a", 60.0).words == "not yet"
    guard.focused(False, 61.0)
    paint(guard, 61.0)
    assert guard.state(90.0) is State.PEEK
    assert guard.key("a", 90.0).words == "Enter first"


def test_a_key_read_before_the_paint_is_not_one_after_it() -> None:
    """T5: a key that was typed ahead carries its own time."""
    guard = live()
    guard.focused(False, 5.0)
    guard.focused(True, 5.0)
    assert not decides(guard.key("a", 4.9))


@pytest.mark.parametrize("name", ["enter", "q", "escape", "r", "ctrl+r", "ctrl+c", "A", "Y", "D", "C", "space", "y"])
def test_nothing_but_its_own_key_approves(name: str) -> None:
    """Enter, q, Esc, r, ctrl+r, ctrl+c and capitals decide nothing on a READY card."""
    for tier in ("T1", "T2", "T3"):
        assert live(tier).key(name, 2.0).do is Do.PASS


def test_a_key_that_leads_elsewhere_arms_the_card_anew() -> None:
    """What was typed on the way to another place and back is not for the card."""
    guard = live()
    assert guard.key(":", 2.0).do is Do.PASS
    assert not decides(guard.key("a", 2.5))
    guard = live()
    assert guard.move("j", 2.0)
    assert decides(guard.key("a", 2.1))


# Repeats


def test_holding_a_over_five_requests_decides_at_most_once() -> None:
    """T5: a held key, thirty times a second for three seconds, with a new card after every decision."""
    guard = live()
    number, decided = 0, 0
    for tick in range(90):
        at = 1.0 + tick / 30
        if decides(guard.key("a", at)):
            decided += 1
            number += 1
            guard.card_changed(subject(number))
            paint(guard, at)
    assert decided == 1


def test_a_slow_repeat_still_needs_another_key_between_two_decisions() -> None:
    """CONSOLE §4.3 rule 4: between two decisions a different key."""
    guard = live()
    assert decides(guard.key("a", 1.0))
    for number in range(1, 5):
        guard.card_changed(subject(number))
        paint(guard, float(number))
        assert guard.key("a", number + 5.0).words == "the same key again: n first"
    guard.move("n", 20.0)
    assert guard.state(21.0) is State.READY
    assert decides(guard.key("a", 21.0))


def test_the_same_key_within_the_repeat_time_is_dropped() -> None:
    """A refused decision does not let the rest of a held key through."""
    guard = live("T2")
    assert guard.key("a", 1.0).do is Do.ARM
    assert guard.key("a", 1.1).do is Do.DISARM
    assert guard.key("a", 1.4).words == "too fast"
    assert guard.key("a", 1.7).words == "too fast"
    assert guard.key("a", 2.2).do is Do.ARM


# Focus of the terminal


def test_enters_buffered_while_the_terminal_was_away_do_nothing() -> None:
    """F04: ten Enters, and a's and y's, that arrive with the focus."""
    guard = live("T2")
    guard.app_focus(False, 2.0)
    for name in ("enter", "a", "y"):
        assert guard.key(name, 3.0).do is Do.DROP
    guard.app_focus(True, 10.0)
    for tick in range(10):
        assert guard.key("enter", 10.01 + tick / 100).do is Do.DROP
        assert guard.key("a", 10.02 + tick / 100).do is Do.DROP
    assert guard.key("a", 10.6).words.startswith("not yet")
    assert guard.key("a", 11.5).do is Do.ARM


def test_the_click_that_brought_the_focus_is_only_that() -> None:
    """F05: the first click after the terminal came back selects nothing, whenever it comes."""
    guard = live()
    guard.app_focus(True, 5.0)
    assert guard.click("a", 9.0).words == "that click only brought the focus"
    assert decides(guard.click("a", 9.5))


def test_a_paste_never_decides_and_disarms() -> None:
    """F05: pasted text is not typing, anywhere on a card."""
    guard = live("T2")
    guard.key("a", 2.0)
    assert guard.paste(2.1).words == "a paste decides nothing"
    assert guard.state(2.5) is State.ARMING
    assert not decides(guard.key("y", 2.5))
    guard = live()
    guard.key("d", 2.0)
    assert guard.submit(3.0, text="pasted reason").words == "type a reason first"


# What was shown


def test_a_card_that_changed_decides_nothing_until_it_was_looked_at_again() -> None:
    """E2, C7: digest, payload or tier differ from what was painted."""
    for other in (subject(digest="sha256:ffff"), subject(tier="T2"), subject(payload_id="other")):
        guard = live()
        guard.card_changed(other)
        assert guard.state(5.0) is State.CHANGED
        assert guard.key("a", 5.0).words.startswith("changed since shown")
        assert guard.key("d", 6.0).words.startswith("changed since shown")
        guard.review(7.0)
        assert guard.state(7.5) is State.ARMING
        paint(guard, 7.5)
        assert guard.state(8.3) is State.READY
        assert guard.digest == other.digest


def test_the_digest_of_a_decision_is_the_painted_one() -> None:
    """E2: what is decided names what stood on the screen."""
    guard = live()
    assert guard.digest == DIGEST
    guard.painted("sha256:other", "p", 3.0)
    assert guard.digest == DIGEST


def test_approve_waits_until_every_row_was_on_the_screen() -> None:
    """E4: a jump to the end does not count what lies between; refusing the unseen is safe."""
    guard = live(seen=False)
    guard.rows_seen(0, 40)
    guard.rows_seen(90, 100)
    guard.lines_unseen = 12
    assert guard.state(2.0) is State.UNSEEN
    assert guard.key("a", 2.0).words == "12 lines unseen, space"
    assert guard.key("c", 3.0).words == "12 lines unseen, space"
    assert guard.key("d", 4.0).do is Do.OPEN
    guard.close_line(5.0)
    guard.rows_seen(40, 90)
    assert guard.state(6.0) is State.READY
    assert decides(guard.key("a", 6.0))


def test_what_is_not_laid_out_yet_is_not_seen() -> None:
    """E4: an unfinished layout has no end that could have been seen."""
    guard = Guard()
    guard.peek = False
    guard.card_changed(subject())
    guard.focused(True, 0.0)
    guard.painted(DIGEST, f"p-{DIGEST}", 0.0)
    guard.rows_seen(0, 10**9)
    assert guard.state(5.0) is State.UNSEEN


def test_expired_waiting_locked_and_small_cards_say_why() -> None:
    """Each state that stands in the way has its own words."""
    cases = [
        (live(expires_at=3.0), State.EXPIRED, "expired: no answer in time"),
        (live(waiting=True), State.WAITING, "an earlier act comes first"),
        (live(settled=True), State.DECIDED, "already decided"),
    ]
    locked, small = live(), live()
    locked.locked = small.small = True
    cases += [(locked, State.LOCKED, "locked: :unlock first"), (small, State.SMALL, "too small to decide: make")]
    for guard, state, words in cases:
        assert guard.state(4.0) is state
        assert guard.key("a", 4.0).words.startswith(words)
        assert guard.key("d", 5.0).words.startswith(words)


# Tiers


def test_t2_takes_y_after_a_moment_and_any_other_key_returns() -> None:
    """T2: `a`, then `y` at least 0.3 s and at most 10 s later."""
    guard = live("T2")
    assert guard.key("a", 1.0).do is Do.ARM
    assert decides(guard.key("y", 1.31))
    for name, at in (("y", 1.2), ("y", 12.0), ("a", 1.5), ("enter", 1.5), ("n", 1.5), ("Y", 1.5), ("escape", 1.5)):
        guard = live("T2")
        guard.key("a", 1.0)
        assert guard.key(name, at).do is Do.DISARM
        assert not decides(guard.key("y", at + 1.0))


def test_an_armed_card_stands_down_by_itself() -> None:
    """After ten seconds the question is withdrawn."""
    guard = live("T2")
    guard.key("a", 1.0)
    assert not guard.tick(10.9)
    assert guard.tick(11.1)
    assert guard.armed == ""


@pytest.mark.parametrize("tier", ["T3", "T0", "", "T9"])
def test_t3_takes_a_comment_and_characters_of_the_digest(tier: str) -> None:
    """T3, and whatever tier is not known (E6)."""
    guard = live(tier)
    assert guard.key("a", 1.0).do is Do.OPEN
    assert guard.submit(2.0, text="because", digest_chars="9c41").words == "type a comment first"
    guard.typed("b", 2.1, printable=True)
    assert guard.submit(2.2, text="  ", digest_chars="9c41").words == "type a comment first"
    for wrong in ("", "9c4", "9c42", "9c41e"):
        assert guard.submit(2.3, text="because", digest_chars=wrong).do is Do.SAY
    assert decides(guard.submit(2.4, text="because", digest_chars="9C41"))


def test_a_comment_on_t1_still_takes_y() -> None:
    """Enter ends the comment and approves nothing."""
    guard = live()
    assert guard.key("c", 1.0).do is Do.OPEN
    guard.typed("x", 1.5, printable=True)
    assert guard.submit(1.6, text="x").do is Do.ARM
    assert decides(guard.key("y", 2.0))


def test_a_refusal_needs_typed_words() -> None:
    """Enter submits only the line that was opened and typed into."""
    guard = live()
    guard.key("d", 1.0)
    assert guard.submit(1.1, text="").words == "type a reason first"
    assert guard.typed("1", 1.5, printable=True)
    assert decides(guard.submit(1.6, text="wrong file or scope"))


def test_a_form_is_sent_by_paint_and_focus_not_by_the_last_key() -> None:
    """SCREENS §4: ctrl+s right after typing; but not right after the card was painted."""
    guard = Guard()
    guard.peek = False
    guard.card_changed(subject(tier="", choices={"ctrl+s": How.SEND, "d": How.LINE}))
    take_up(guard, 0.0, seen=False)
    assert guard.key("ctrl+s", 0.5).words == "not yet, 0.2 s"
    guard.typed("x", 0.9, printable=True)
    assert decides(guard.key("ctrl+s", 0.95))


def test_a_refused_decision_can_be_made_again_after_arming() -> None:
    """The loser of a race, or a full disk, leaves the card as it was."""
    guard = live()
    assert decides(guard.key("a", 1.0))
    assert guard.state(1.1) is State.SENT
    guard.refused(2.0)
    assert guard.state(2.1) is State.ARMING
    guard.move("n", 3.0)
    assert decides(guard.key("a", 4.0))


# Any sequence at all


@dataclass
class Witness:
    """Watches what went into a guard and knows, without its help, whether a decision was allowed."""

    guard: Guard = field(default_factory=Guard)
    now: float = 0.0
    version: tuple[str, str] = ("q-0", DIGEST)
    painted: float | None = None
    focus: float | None = None
    back: float = -99.0
    away: bool = False
    disturbed: float = -99.0
    keys: list[tuple[float, str]] = field(default_factory=list)
    decided: list[float] = field(default_factory=list)
    seen: set[int] = field(default_factory=set)
    typed: bool = False

    def quiet_gap(self) -> bool:
        """Whether 0.7 s without a key lay between the last disturbance and now."""
        assert self.painted is not None and self.focus is not None
        start = max(self.painted, self.focus, self.disturbed)
        marks = [start, *(at for at, _ in self.keys if at > start), self.now]
        return any(after - before >= 0.7 for before, after in pairwise(marks))

    def judge(self, name: str, tier: str, how: str) -> None:
        """Called at each decision, before its key is noted."""
        assert self.painted is not None and self.focus is not None, "painted and focused"
        assert self.now - self.painted >= 0.7 and self.now - self.focus >= 0.7
        assert not self.away and self.now - self.back >= 0.5, "the terminal is here"
        assert self.guard.digest == self.version[1], "bound to what was painted"
        if self.decided:
            between = [key for at, key in self.keys if at >= self.decided[-1]]
            assert set(between) - {between[0]} if between else False, "another key between two decisions"
        if how == "line":
            assert self.typed and name == "enter"
            return
        assert self.seen == set(range(10)), "everything was seen"
        assert all(self.now - at >= 0.4 for at, key in self.keys if key == name), "no repeat"
        assert self.quiet_gap()
        if tier == "T1":
            assert name == "a"
        else:
            assert tier == "T2" and name == "y"
            at, key = self.keys[-1]
            assert key == "a" and 0.3 <= self.now - at <= 10.0


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("wait"), st.sampled_from([0.01, 0.1, 0.3, 0.41, 0.71, 0.8, 3.0, 11.0])),
        st.tuples(st.just("key"), st.sampled_from([*"aaayydAYqr:", "enter", "ctrl+c"])),
        st.tuples(st.just("move"), st.sampled_from(["j", "space", "n"])),
        st.tuples(st.just("see"), st.integers(0, 9)),
        st.tuples(st.just("see all"), st.just(0)),
        st.tuples(st.just("paint"), st.just(0)),
        st.tuples(st.just("show"), st.integers(0, 2)),
        st.tuples(st.just("change"), st.integers(0, 1)),
        st.tuples(st.just("review"), st.just(0)),
        st.tuples(st.just("focus"), st.booleans()),
        st.tuples(st.just("app"), st.booleans()),
        st.tuples(st.just("paste"), st.just(0)),
        st.tuples(st.just("type"), st.booleans()),
        st.tuples(st.just("submit"), st.sampled_from(["", "because"])),
        st.tuples(st.just("close"), st.just(0)),
        st.tuples(st.just("refused"), st.just(0)),
    ),
    max_size=24,
)


@settings(max_examples=500, deadline=None)
@given(steps=STEPS, tier=st.sampled_from(["T1", "T2"]), warm=st.booleans())
def test_no_sequence_decides_unless_every_rule_holds(steps: list[tuple[str, object]], tier: str, warm: bool) -> None:
    """T5, E2, E4: whatever happens in whatever order, a decision has every guard behind it."""
    witness = Witness()
    guard = witness.guard
    guard.peek = False
    guard.card_changed(subject(tier=tier))
    begin = [("focus", True), ("paint", 0), ("see all", 0), ("wait", 0.8)] if warm else []
    for step, value in [*begin, *steps]:
        witness.now += 0.001
        _take(witness, step, value, tier)


def _take(witness: Witness, step: str, value: object, tier: str) -> None:
    guard, now = witness.guard, witness.now
    if step == "wait":
        assert isinstance(value, float)
        witness.now += value
    elif step == "key":
        act = guard.key(str(value), now)
        if decides(act):
            witness.judge(str(value), tier, "key")
            witness.decided.append(now)
        if act.do is Do.OPEN:
            witness.typed = False
        if act.do is Do.PASS:
            witness.disturbed = now
        witness.keys.append((now, str(value)))
    elif step == "move":
        guard.move(str(value), now)
        witness.keys.append((now, str(value)))
    elif step in ("see", "see all"):
        for row in range(10) if step == "see all" else [int(str(value))]:
            if witness.painted is not None:
                guard.rows_seen(row * 10, row * 10 + 10)
                witness.seen.add(row)
    elif step == "paint":
        assert guard.subject is not None
        shown = (guard.subject.request_id, guard.subject.digest)
        guard.painted(guard.subject.digest, guard.subject.payload_id, now)
        guard.laid_out(100)
        if witness.painted is None:
            witness.version, witness.painted = shown, now
    elif step in ("show", "change"):
        _show(witness, step, int(str(value)), tier)
    elif step == "review":
        guard.review(now)
        witness.painted, witness.seen = None, set()
        witness.disturbed = now
    elif step == "focus":
        guard.focused(bool(value), now)
        witness.focus = (witness.focus if witness.focus is not None else now) if value else None
    elif step == "app":
        guard.app_focus(bool(value), now)
        witness.away = not value
        witness.back = now if value else witness.back
        witness.disturbed = now
    elif step == "paste":
        guard.paste(now)
        witness.disturbed = now
    elif step == "type":
        if guard.line and guard.typed("x", now, printable=bool(value)) and value:
            witness.typed = True
        witness.keys.append((now, "x"))
    elif step == "submit":
        if decides(guard.submit(now, text=str(value))):
            assert value
            witness.judge("enter", tier, "line")
            witness.decided.append(now)
        witness.keys.append((now, "enter"))
    elif step == "close":
        guard.close_line(now)
        witness.disturbed, witness.typed = now, False
    else:
        guard.refused(now)
        witness.disturbed = now


def _show(witness: Witness, step: str, value: int, tier: str) -> None:
    guard = witness.guard
    assert guard.subject is not None
    if step == "show":
        wanted = subject(value, tier)
    else:
        number = int(guard.subject.request_id[2:])
        wanted = subject(number, tier, digest=f"sha256:{value}{value}{value}{value}")
    if wanted.request_id != guard.subject.request_id or (
        witness.painted is None and wanted.shown != guard.subject.shown
    ):
        witness.painted, witness.seen, witness.typed = None, set(), False
    guard.card_changed(wanted)


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 12)), max_size=30), st.integers(0, 70))
def test_intervals_are_a_set_of_places(parts: list[tuple[int, int]], total: int) -> None:
    """What was seen is exactly what was added, whatever the order."""
    made, plain = Intervals(), set()
    for start, length in parts:
        made.add(start, start + length)
        plain |= set(range(start, start + length))
    gaps = {place for start, end in made.gaps(total) for place in range(start, end)}
    assert gaps == set(range(total)) - plain
    assert made.covers(0, total) == (not gaps)
