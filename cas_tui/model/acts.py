"""What became of an act: the verdict of a pair, the request behind it, whether it is open, stuck or left behind."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache

from cas_tui.model import journal as journals
from cas_tui.model.journal import Journal
from cas_tui.model.pairs import Pair
from cas_tui.model.picture import RunPicture
from cas_tui.model.words import since, until
from cas_tui.protocol.decisions import Decision
from cas_tui.protocol.machines import is_terminal
from cas_tui.protocol.requests import Request, RequestKind, RequestState

LEASE_STALE_S = 5.0
"""A heartbeat older than this is of a host that is gone (PROTOCOL §5.3)."""
STUCK_AT_LEAST_S = 60.0
UNHOSTED_LIVE_S = 3_600.0
"""A run no host of ours runs counts as live this long after its last record."""
AHEAD_S = 60.0
"""A claimed instant further ahead of us than this is not believed."""
FEW_LATENCIES = 5
_LATENCIES = 200

WAITING_WORDS = {
    RequestState.WAITING: ("none", "waits in line"),
    RequestState.PENDING: ("needs", "waits for you"),
    RequestState.APPROVED: ("working", "approved"),
    RequestState.STARTED: ("working", "started"),
    RequestState.UNKNOWN: ("unknown", "unknown"),
    RequestState.SUPERSEDED: ("none", "superseded"),
    RequestState.DENIED: ("none", "denied"),
    RequestState.EXPIRED: ("none", "expired"),
    RequestState.CANCELLED: ("none", "cancelled"),
}
"""Glyph and word for an effect whose observation is not written yet."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Glyph and word for one pair."""

    glyph: str
    word: str


def host_alive(run: RunPicture, now: datetime) -> bool:
    """Whether the host lives: as last read, and with a heartbeat that has not gone stale since."""
    host = run.host
    beat = since(host.heartbeat_at, now)
    return host.alive and (beat is None or beat <= LEASE_STALE_S)


def effects_by_action(run: RunPicture) -> Mapping[tuple[str, str], Request]:
    """(session, action_id) → the newest effect request that claims it."""
    found: dict[tuple[str, str], Request] = {}
    for request in run.requests:
        if request.kind is RequestKind.EFFECT:
            for action in (request.action_id, request.prediction):
                if action:
                    found[(request.session_id, action)] = request
    return found


def undecided(request: Request) -> bool:
    """Whether an operator can still say something: waiting, pending, or unknown."""
    if request.kind is RequestKind.ISSUE and request.state is RequestState.ASSIGNED:
        return False
    return request.state in (RequestState.WAITING, RequestState.PENDING, RequestState.UNKNOWN)


def unfinished(request: Request) -> bool:
    """Whether the host still has something to do for it, or the operator something to say."""
    return not is_terminal(request.kind, request.state)


def decision_of(request: Request, decisions: tuple[Decision, ...]) -> Decision | None:
    """The decision that settled the request: the newest one on it."""
    mine = [item for item in decisions if item.request_id == request.request_id]
    return max(mine, key=lambda item: item.decided_at) if mine else None


def newest_session(journal: Journal) -> str | None:
    """The session of the last act an agent predicted."""
    return max(journal.fronts, key=lambda name: journal.fronts[name].last, default=None)


def last_activity_s(run: RunPicture, now: datetime) -> float | None:
    """Seconds since the claimed instant of the last record of any file, or of STATE; None when unknown.

    An instant that lies ahead of us tells nothing about how long a run has been silent (SAFETY A19).
    """
    stamps = [stamp for _, stamp in run.journal.tails.values()]
    if run.state is not None:
        stamps.append(run.state.updated_at)
    ages = []
    for stamp in stamps:
        left = until(stamp, now)
        if left is not None and left <= AHEAD_S:
            ages.append(max(0.0, -left))
    return min(ages) if ages else None


def live(run: RunPicture, now: datetime) -> bool:
    """Whether the run goes on: a living host; or, where none of ours ever was, a recent record."""
    if run.host.role:
        return host_alive(run, now)
    silent = last_activity_s(run, now)
    return silent is not None and silent <= UNHOSTED_LIVE_S


@lru_cache(maxsize=64)
def latencies(journal: Journal) -> Mapping[str, tuple[float, ...]]:
    """Act kind → newest measured spans from prediction to observation, in seconds, sorted.

    Acts that an operator decides about spend their time waiting for the operator; they are in here like others, since
    a journal does not say how long that was. Callers compare only acts that wait for nobody.
    """
    found: dict[str, list[float]] = {}
    for pair in reversed(journals.pairs(journal)):
        if pair.executed and not pair.operator and (span := pair.latency_s) is not None:
            spans = found.setdefault(pair.act_kind, [])
            if len(spans) < _LATENCIES:
                spans.append(span)
    return {kind: tuple(sorted(spans)) for kind, spans in found.items()}


def p95(run: RunPicture, kind: str) -> float | None:
    """The 95th percentile of the act kind's latency in seconds; None under `FEW_LATENCIES` measured acts."""
    spans = latencies(run.journal).get(kind, ())
    if len(spans) < FEW_LATENCIES:
        return None
    return spans[min(len(spans) - 1, int(0.95 * len(spans)))]


def overtaken(journal: Journal, pair: Pair) -> bool:
    """Whether a later act of the open pair's session was observed already, or another session began after it."""
    if pair.prediction is None or not pair.open:
        return False
    if pair.session_id != newest_session(journal):
        return True
    front = journal.fronts[pair.session_id]
    at = (pair.epochs[0], pair.prediction.place.offset)
    return front.observed is not None and front.observed > at


def left_behind(run: RunPicture, pair: Pair, now: datetime) -> bool:
    """Whether an open prediction will not be observed any more, as far as anyone can see (SAFETY A17)."""
    if overtaken(run.journal, pair):
        return True
    waited = since(pair.timestamp, now)
    return not live(run, now) and (waited is None or waited > STUCK_AT_LEAST_S)


def stuck(run: RunPicture, now: datetime) -> tuple[Pair, ...]:
    """Open agent predictions of a live run that nothing and nobody is known to hold up, older than they should be."""
    if not len(run.journal.open) or not live(run, now):
        return ()
    claimed = effects_by_action(run)
    found = []
    for known in run.journal.open.values():
        group = run.journal.groups.get(known)
        for pair in group.pairs if group else ():
            waited = since(pair.timestamp, now)
            if not pair.open or pair.operator or waited is None or waited <= STUCK_AT_LEAST_S:
                continue
            request = claimed.get((pair.session_id, pair.action_id))
            if overtaken(run.journal, pair) or (request is not None and undecided(request)):
                continue
            # Last, since it looks at every pair.
            if waited > (p95(run, pair.act_kind) or 0.0):
                found.append(pair)
    found.sort(key=lambda pair: (pair.timestamp, pair.key[2], pair.ordinal))
    return tuple(found)


def verdict(run: RunPicture, pair: Pair, request: Request | None, now: datetime) -> Verdict:
    """The word and glyph for one pair, from its records first and from the ledger where they say nothing yet."""
    if pair.observation is not None:
        return _observed(pair, history_cut(run))
    if pair.prediction is None:
        return Verdict("blank", "learned only")
    if request is not None and request.state in WAITING_WORDS:
        return Verdict(*WAITING_WORDS[request.state])
    if request is not None:
        return Verdict("working", str(request.state))
    if left_behind(run, pair, now):
        return Verdict("flagged", "orphan")
    return Verdict("working", "open")


def history_cut(run: RunPicture) -> bool:
    """Whether predictions lie before what was read, or were dropped: then one may be missing only here."""
    status = run.files.get("predictions.jsonl")
    return run.journal.dropped > 0 or (status is not None and status.unread_before > 0)


def _observed(pair: Pair, cut: bool) -> Verdict:
    came = pair.observation
    assert came is not None
    if came.outcome != "executed":
        return Verdict("unknown" if came.outcome == "unknown" else "none", came.outcome)
    if pair.prediction is None:
        if came.raw.get("unpredicted"):
            return Verdict("flagged", "unpredicted")
        return Verdict("none", "prediction not read") if cut else Verdict("flagged", "no prediction")
    if came.matched:
        return Verdict("done", "as expected")
    return Verdict("failed", "mismatched")
