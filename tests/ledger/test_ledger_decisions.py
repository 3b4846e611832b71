"""Decisions and effects: the first answer wins, a start happens once, a no is final (E1, E2, E5, E8, A1)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from ledger_kit import BOB, ROOT, Zone, decision, request

from cas_tui.ledger import (
    AlreadyDecided,
    AlreadyStarted,
    ChangedSinceShown,
    Expired,
    Ledger,
    NotFound,
    NotTaken,
    StaleLease,
)
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.encode import timestamp
from cas_tui.protocol.requests import RequestKind, RequestState, Tier


@pytest.fixture
def zone(tmp_path: Path) -> Zone:
    return Zone(tmp_path / "zone" / "ledger.db")


@pytest.fixture
def ledger(zone: Zone) -> Iterator[Ledger]:
    with zone.create() as made:
        yield made


def test_the_second_decision_is_told_who_was_first(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request()])
    assert ledger.decisions.decide(decision()).state is RequestState.APPROVED
    with pytest.raises(AlreadyDecided, match="ana decided approve") as refused:
        ledger.decisions.decide(decision(verdict=Verdict.DENY, operator=BOB))
    assert refused.value.winner == decision()


def test_another_digest_than_the_pending_one_is_refused_and_nothing_is_recorded(ledger: Ledger) -> None:
    """E2."""
    ledger.requests.insert_pass([request()])
    before = ledger.audit.head()
    with pytest.raises(ChangedSinceShown, match="changed since shown"):
        ledger.decisions.decide(decision(digest="sha256:old"))
    assert ledger.audit.head() == before and ledger.decisions.unprocessed() == ()


def test_at_its_expiry_a_request_is_expired_and_says_so(zone: Zone, ledger: Ledger) -> None:
    ends = timestamp(zone.now)
    ledger.requests.insert_pass([request(expires_at=ends)])
    with pytest.raises(Expired, match="no answer is not a denial"):
        ledger.decisions.decide(decision())
    assert ledger.requests.get("r-1").state is RequestState.EXPIRED
    assert ledger.decisions.unprocessed() == ()


def test_what_is_due_expires_and_what_is_not_stays(zone: Zone, ledger: Ledger) -> None:
    soon = timestamp(zone.now)
    zone.forward(-60)
    ledger.requests.insert_pass([request("r-1", expires_at=soon), request("r-2")])
    assert ledger.expire_due(ROOT) == ()
    zone.forward(60)
    assert [item.request_id for item in ledger.expire_due(ROOT)] == ["r-1"]
    assert ledger.requests.get("r-2").state is RequestState.PENDING


def test_an_effect_is_started_once(zone: Zone, ledger: Ledger) -> None:
    """E1."""
    epoch = zone.lease(ledger)
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(decision())
    ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
    with pytest.raises(AlreadyStarted):
        ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
    assert ledger.effects.unfinished() == ("r-1",)
    ledger.effects.finish("r-1", RequestState.SUCCEEDED, {"status": "ok"})
    assert ledger.effects.unfinished() == () and ledger.requests.get("r-1").settled_at is not None


def test_a_host_whose_lease_went_on_starts_nothing(zone: Zone, ledger: Ledger) -> None:
    """SAFETY D05: a frozen holder that wakes up is stopped by the number, not by the clock."""
    old = zone.lease(ledger)
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(decision())
    zone.forward(60)
    new = zone.lease(ledger, pid=2)
    assert new > old
    with pytest.raises(StaleLease):
        ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=old)
    assert ledger.requests.get("r-1").state is RequestState.APPROVED
    with pytest.raises(StaleLease):
        ledger.lease.beat(old)


def test_a_held_run_starts_nothing(zone: Zone, ledger: Ledger) -> None:
    epoch = zone.lease(ledger)
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(decision())
    ledger.holds.hold(ROOT, BOB, "lunch")
    with pytest.raises(NotTaken, match="held"):
        ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
    assert ledger.effects.unfinished() == ()
    ledger.holds.resume(ROOT, BOB)
    ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)


@pytest.mark.parametrize("state", ["denied", "expired", "cancelled", "superseded", "waiting", "pending", "succeeded"])
def test_nothing_but_an_approval_leads_to_a_start(zone: Zone, ledger: Ledger, state: str) -> None:
    """E5: a no is final, whatever comes after."""
    epoch = zone.lease(ledger)
    ledger.requests.insert_pass([request(state=RequestState(state))])
    with pytest.raises(NotTaken):
        ledger.effects.start("r-1", "d-none", lease_epoch=epoch)
    if state not in ("pending",):
        with pytest.raises((NotTaken, AlreadyDecided)):
            ledger.decisions.decide(decision())


def test_an_unknown_outcome_is_closed_by_a_second_decision_only(zone: Zone, ledger: Ledger) -> None:
    """E8."""
    epoch = zone.lease(ledger)
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(decision())
    ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
    ledger.effects.mark_unknown("r-1", "the host ended")
    with pytest.raises(AlreadyStarted):
        ledger.effects.start("r-1", "d-r-1-approve", lease_epoch=epoch)
    found = ledger.decisions.decide(decision(verdict=Verdict.RECONCILE, comment="looked", arguments={"happened": True}))
    assert found.state is RequestState.RECONCILED and found.outcome["happened"] is True


def test_a_waiting_request_takes_no_verdict_until_it_is_shown(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request(state=RequestState.WAITING, digest="")])
    with pytest.raises(NotTaken):
        ledger.decisions.decide(decision(digest=""))
    later = replace(ledger.requests.get("r-1"), digest="sha256:new", tier=Tier.T2)
    shown = ledger.requests.show(later, was=RequestState.WAITING)
    assert shown.state is RequestState.PENDING and shown.tier is Tier.T2
    assert ledger.decisions.decide(decision(digest="sha256:new")).state is RequestState.APPROVED


def test_a_decision_row_names_operator_digest_view_policy_and_times(ledger: Ledger) -> None:
    """A1: for a denial as well."""
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(
        decision(verdict=Verdict.DENY, comment="no", full_view=True, shown_at="t", policy_version="p1", operator=BOB)
    )
    row = next(item for item in ledger.audit.rows() if item.kind == "decision")
    assert row.data["operator"] == BOB.as_json() and row.data["digest"] == "sha256:r-1"
    assert row.data["full_view"] is True and row.data["policy_version"] == "p1" and row.data["comment"] == "no"
    assert row.at and row.monotonic_ns > 0


def test_marks_are_kept_once_and_done_ends_a_decision(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request()])
    ledger.decisions.decide(decision())
    for stage in ("picked_up", "picked_up", "ran"):
        ledger.decisions.mark("d-r-1-approve", stage)
    assert ledger.decisions.stages("d-r-1-approve") == {"picked_up", "ran"}
    assert len(ledger.decisions.unprocessed()) == 1
    ledger.decisions.mark("d-r-1-approve", "done")
    assert ledger.decisions.unprocessed() == ()


def test_requests_are_found_by_a_prefix_that_is_theirs_alone(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request("r-ab1"), request("r-ab2"), request("r-c")])
    assert ledger.requests.find("r-c").request_id == "r-c"
    for name in ("r-ab", "", "x"):
        with pytest.raises(NotFound):
            ledger.requests.find(name)


def test_a_pass_is_inserted_whole_or_not_at_all(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request("r-1")])
    with pytest.raises(NotTaken):
        ledger.requests.insert_pass([request("r-2"), request("r-1")])
    with pytest.raises(NotFound):
        ledger.requests.get("r-2")


def test_the_same_act_is_known_again_by_its_words_alone(ledger: Ledger) -> None:
    ledger.requests.insert_pass([request("r-1", fields={"path": "a/./b", "content": "x"})])
    twin = ledger.requests.same_act(ROOT, "fs_write", {"content": "x", "path": "a/b"})
    assert twin is not None and twin.request_id == "r-1"
    assert ledger.requests.same_act(ROOT, "fs_write", {"content": "y", "path": "a/b"}) is None


def test_undecided_means_what_can_still_change(ledger: Ledger) -> None:
    states = [RequestState.PENDING, RequestState.APPROVED, RequestState.UNKNOWN, RequestState.SUCCEEDED]
    ledger.requests.insert_pass([request(f"r-{state}", state=state) for state in states])
    ledger.requests.insert_pass([request("i", kind=RequestKind.ISSUE, state=RequestState.ASSIGNED)])
    found = {item.request_id for item in ledger.requests.list(root=ROOT, undecided=True)}
    assert found == {"r-pending", "r-approved", "r-unknown", "i"}
