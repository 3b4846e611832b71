"""State machines as tables: which verdict a request kind takes, and which state may follow which (PROTOCOL §5.4)."""

from __future__ import annotations

from typing import Final

from cas_tui.protocol.decisions import Verdict as V
from cas_tui.protocol.requests import RequestKind as K
from cas_tui.protocol.requests import RequestState as S

VERDICTS: Final[dict[K, frozenset[V]]] = {
    K.EFFECT: frozenset({V.APPROVE, V.DENY, V.EDIT, V.RECONCILE}),
    K.QUESTION: frozenset({V.ANSWER, V.DISMISS}),
    K.MISMATCH: frozenset({V.ACCEPT, V.DISPUTE}),
    K.OBLIGATION: frozenset({V.RECONCILE, V.CANCEL}),
    K.ISSUE: frozenset({V.ASSIGN, V.RESOLVE, V.DISMISS}),
    K.UNAPPROVED: frozenset({V.ACCEPT, V.REVERT}),
}

NEXT: Final[dict[K, dict[S, frozenset[S]]]] = {
    K.EFFECT: {
        S.WAITING: frozenset({S.PENDING, S.CANCELLED}),
        S.PENDING: frozenset({S.APPROVED, S.DENIED, S.EXPIRED, S.CANCELLED, S.SUPERSEDED}),
        S.APPROVED: frozenset({S.STARTED, S.DENIED, S.CANCELLED, S.EXPIRED}),
        S.STARTED: frozenset({S.SUCCEEDED, S.FAILED, S.UNKNOWN}),
        S.UNKNOWN: frozenset({S.RECONCILED}),
    },
    K.QUESTION: {S.PENDING: frozenset({S.ANSWERED, S.DISMISSED})},
    K.MISMATCH: {S.PENDING: frozenset({S.ACCEPTED, S.DISPUTED})},
    K.OBLIGATION: {S.PENDING: frozenset({S.RECONCILED, S.CANCELLED})},
    K.ISSUE: {
        S.PENDING: frozenset({S.ASSIGNED, S.RESOLVED, S.DISMISSED}),
        S.ASSIGNED: frozenset({S.RESOLVED, S.DISMISSED}),
    },
    K.UNAPPROVED: {S.PENDING: frozenset({S.ACCEPTED, S.REVERTED})},
}
"""For each kind: state → the states that may follow. A state without an entry is terminal."""

AFTER_VERDICT: Final[dict[V, S]] = {
    V.APPROVE: S.APPROVED,
    V.DENY: S.DENIED,
    V.EDIT: S.SUPERSEDED,
    V.RECONCILE: S.RECONCILED,
    V.ANSWER: S.ANSWERED,
    V.DISMISS: S.DISMISSED,
    V.ACCEPT: S.ACCEPTED,
    V.DISPUTE: S.DISPUTED,
    V.REVERT: S.REVERTED,
    V.CANCEL: S.CANCELLED,
    V.ASSIGN: S.ASSIGNED,
    V.RESOLVE: S.RESOLVED,
}
"""The state a verdict leads to."""


def may_follow(kind: K, state: S, after: S) -> bool:
    """Whether a request of `kind` may go from `state` to `after`."""
    return after in NEXT[kind].get(state, frozenset())


def is_terminal(kind: K, state: S) -> bool:
    """Whether nothing can follow `state`. `approved`, `started` and `unknown` are not terminal."""
    return not NEXT[kind].get(state)


def takes(kind: K, state: S, verdict: V) -> bool:
    """Whether an operator may give `verdict` on a request of `kind` in `state`."""
    if verdict not in VERDICTS[kind]:
        return False
    if kind is K.EFFECT:
        wanted = S.UNKNOWN if verdict is V.RECONCILE else S.PENDING
        return state is wanted
    return may_follow(kind, state, AFTER_VERDICT[verdict])
