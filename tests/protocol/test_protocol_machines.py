"""The state machines of requests: what may follow, what ends, which verdict is taken when (PROTOCOL §5.4, E5)."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from cas_tui.protocol.decisions import Verdict as V
from cas_tui.protocol.machines import AFTER_VERDICT, NEXT, VERDICTS, is_terminal, may_follow, takes
from cas_tui.protocol.requests import RequestKind as K
from cas_tui.protocol.requests import RequestState as S

ENDS = {
    K.EFFECT: {S.DENIED, S.EXPIRED, S.CANCELLED, S.SUPERSEDED, S.SUCCEEDED, S.FAILED, S.RECONCILED},
    K.QUESTION: {S.ANSWERED, S.DISMISSED},
    K.MISMATCH: {S.ACCEPTED, S.DISPUTED},
    K.OBLIGATION: {S.RECONCILED, S.CANCELLED},
    K.ISSUE: {S.RESOLVED, S.DISMISSED},
    K.UNAPPROVED: {S.ACCEPTED, S.REVERTED},
}
"""Where each kind may end, from the document and not from the table under test."""

FROM = {
    (K.EFFECT, V.APPROVE): {S.PENDING}, (K.EFFECT, V.DENY): {S.PENDING}, (K.EFFECT, V.EDIT): {S.PENDING},
    (K.EFFECT, V.RECONCILE): {S.UNKNOWN}, (K.QUESTION, V.ANSWER): {S.PENDING}, (K.QUESTION, V.DISMISS): {S.PENDING},
    (K.MISMATCH, V.ACCEPT): {S.PENDING}, (K.MISMATCH, V.DISPUTE): {S.PENDING}, (K.OBLIGATION, V.RECONCILE): {S.PENDING},
    (K.OBLIGATION, V.CANCEL): {S.PENDING}, (K.ISSUE, V.ASSIGN): {S.PENDING},
    (K.ISSUE, V.RESOLVE): {S.PENDING, S.ASSIGNED},
    (K.ISSUE, V.DISMISS): {S.PENDING, S.ASSIGNED},
    (K.UNAPPROVED, V.ACCEPT): {S.PENDING}, (K.UNAPPROVED, V.REVERT): {S.PENDING},
}  # fmt: skip
"""Which verdict each kind takes, and in which states; every other combination is refused."""


def reachable(kind: K) -> set[S]:
    seen, queue = set(), [S.WAITING if kind is K.EFFECT else S.PENDING]
    while queue:
        state = queue.pop()
        if state not in seen:
            seen.add(state)
            queue.extend(after for after in S if may_follow(kind, state, after))
    return seen


@pytest.mark.parametrize("kind", K)
def test_each_kind_ends_where_it_should(kind: K) -> None:
    """The reachable states without a follower are exactly the documented ends."""
    assert {state for state in reachable(kind) if is_terminal(kind, state)} == ENDS[kind]
    assert set(NEXT[kind]) <= reachable(kind)


@pytest.mark.parametrize("kind", K)
@pytest.mark.parametrize("state", S)
def test_nothing_follows_an_end(kind: K, state: S) -> None:
    """E5: denied, expired, cancelled and superseded are final, and no verdict is taken any more."""
    if state in ENDS[kind]:
        assert not [after for after in S if may_follow(kind, state, after)]
        assert not [verdict for verdict in V if takes(kind, state, verdict)]


@pytest.mark.parametrize("kind", K)
@pytest.mark.parametrize("verdict", V)
def test_each_verdict_is_taken_exactly_where_it_should(kind: K, verdict: V) -> None:
    """PROTOCOL §5.4: the whole table of kind, state and verdict."""
    assert {state for state in S if takes(kind, state, verdict)} == FROM.get((kind, verdict), set())
    assert (verdict in VERDICTS[kind]) == ((kind, verdict) in FROM)


def test_every_verdict_leads_where_the_machine_allows() -> None:
    """A verdict that is taken leads to a state that may follow; every verdict leads somewhere."""
    assert set(AFTER_VERDICT) == set(V)
    for (kind, verdict), states in FROM.items():
        assert all(may_follow(kind, state, AFTER_VERDICT[verdict]) for state in states)


def test_an_effect_starts_only_when_approved_and_ends_only_when_started() -> None:
    """E1, E4, E8: only `approved` leads to `started`, only `started` to an outcome, only a hand out of `unknown`."""
    for state in S:
        assert may_follow(K.EFFECT, state, S.STARTED) == (state is S.APPROVED)
        assert may_follow(K.EFFECT, state, S.APPROVED) == (state is S.PENDING)
        for outcome in (S.SUCCEEDED, S.FAILED, S.UNKNOWN):
            assert may_follow(K.EFFECT, state, outcome) == (state is S.STARTED)
        assert may_follow(K.EFFECT, state, S.RECONCILED) == (state is S.UNKNOWN)
        assert not may_follow(K.EFFECT, state, state)
    for state in (S.APPROVED, S.STARTED, S.UNKNOWN):
        assert not is_terminal(K.EFFECT, state)


class Walk(RuleBasedStateMachine):
    """Any walk of allowed steps, verdicts among them."""

    @initialize(kind=st.sampled_from(K))
    def start(self, kind: K) -> None:
        self.kind = kind
        self.state = S.WAITING if kind is K.EFFECT else S.PENDING
        self.started = 0
        self.denied = False

    @rule(after=st.sampled_from(S))
    def step(self, after: S) -> None:
        if may_follow(self.kind, self.state, after):
            self._go(after)

    @rule(verdict=st.sampled_from(V))
    def decide(self, verdict: V) -> None:
        if takes(self.kind, self.state, verdict):
            self._go(AFTER_VERDICT[verdict])

    @precondition(lambda self: is_terminal(self.kind, self.state))
    @rule(after=st.sampled_from(S))
    def end(self, after: S) -> None:
        assert not may_follow(self.kind, self.state, after)

    def _go(self, after: S) -> None:
        assert not is_terminal(self.kind, self.state)
        self.started += after is S.STARTED
        self.denied |= after in (S.DENIED, S.EXPIRED, S.CANCELLED, S.SUPERSEDED)
        self.state = after

    @invariant()
    def at_most_once_and_never_after_no(self) -> None:
        """E1, E5: a request starts at most once, and one that was refused is at its end."""
        if hasattr(self, "state"):
            assert self.started <= 1
            assert not self.denied or is_terminal(self.kind, self.state)


TestWalk = Walk.TestCase
TestWalk.settings = settings(max_examples=100, stateful_step_count=12, deadline=None)
