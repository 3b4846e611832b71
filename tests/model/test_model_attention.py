"""The queue, the fleet and the truth line: what needs the operator, in which order, and what is only to look at."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from picturing import ANA, NOW, ROOT, Files, ago, alive, decided, effect, ledger, other, picture, state

from cas_tui.model import journal as journals
from cas_tui.model import rows
from cas_tui.model.attention import counts
from cas_tui.model.picture import names
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.events import FileStatus, HostStatus, LoopFiles
from cas_tui.protocol.requests import Request, RequestKind, RequestState, Tier

OTHER = "/home/ana/agents/api/memory"


def queue(*requests: Request, **more: object) -> list[tuple[str, str, str]]:
    made = picture(ledger(requests, **more))  # type: ignore[arg-type]
    return [(row.band, row.kind, row.request_id) for row in rows.attention(made, NOW)]


def test_what_a_run_waits_for_stands_above_what_is_only_to_look_at() -> None:
    """SCREENS §1.2: a Review row never sorts above a Needs-you row, however old it is."""
    old_issue = other(RequestKind.ISSUE, "i-1", {"title": "Locale files"}, created_at=ago(9_000))
    mismatch = other(RequestKind.MISMATCH, "m-1", {"expected": "a", "observed": "b"}, created_at=ago(900))
    due = other(RequestKind.OBLIGATION, "o-1", {}, created_at=ago(7_000))
    question = other(RequestKind.QUESTION, "q-1", {"text": "Which?"}, created_at=ago(540))
    unapproved = other(RequestKind.UNAPPROVED, "u-1", {"changes": []}, created_at=ago(1))
    assert queue(mismatch, unapproved, old_issue, effect(), question, due) == [
        ("needs", "question", "q-1"),
        ("needs", "effect", "r-1"),
        ("needs", "unapproved", "u-1"),
        ("review", "issue", "i-1"),
        ("review", "due", "o-1"),
        ("review", "mismatch", "m-1"),
    ]


def test_an_unknown_outcome_always_needs_the_operator() -> None:
    """SAFETY E8."""
    assert queue(effect(state=RequestState.UNKNOWN)) == [("needs", "unknown", "r-1")]


def test_a_waiting_request_stands_right_under_what_it_waits_on_and_does_not_count() -> None:
    first = effect("r-1", created_at=ago(100), ordinal=0)
    stage = effect("r-2", state=RequestState.WAITING, after="r-1", created_at=ago(100), ordinal=1, title="Stage 1 file")
    commit = effect("r-3", state=RequestState.WAITING, after="r-2", created_at=ago(100), ordinal=2, title="Commit")
    elder = other(RequestKind.QUESTION, "q-1", {"text": "Which?"}, created_at=ago(50))
    made = picture(ledger([elder, commit, stage, first]))
    found = rows.attention(made, NOW)
    assert [row.request_id for row in found] == ["r-1", "r-2", "r-3", "q-1"]
    assert [row.waiting_on for row in found] == ["", "Change README.md +1 -1", "Stage 1 file", ""]
    assert rows.truth(made, NOW).needs_you == 2


def test_a_ring_of_waiting_requests_is_shown_all_the_same() -> None:
    """T4: no input hides a request."""
    one = effect("r-1", state=RequestState.WAITING, after="r-2")
    two = effect("r-2", state=RequestState.WAITING, after="r-1")
    assert sorted(item[2] for item in queue(one, two)) == ["r-1", "r-2"]


@st.composite
def many_requests(draw: st.DrawFn) -> list[Request]:
    made: list[Request] = []
    for number in range(draw(st.integers(0, 8))):
        kind = draw(st.sampled_from(list(RequestKind)))
        state_ = draw(st.sampled_from(list(RequestState)))
        earlier = draw(st.sampled_from([None, *(item.request_id for item in made)]))
        made.append(
            other(kind, f"x-{number}", {}, state=state_, after=earlier, created_at=ago(draw(st.integers(0, 99))))
        )
    return made


@settings(max_examples=150, deadline=None)
@given(many_requests())
def test_each_undecided_request_has_exactly_one_row_and_the_bands_never_mix(requests: list[Request]) -> None:
    made = picture(ledger(requests))
    found = rows.attention(made, NOW)
    undecided = {RequestState.WAITING, RequestState.PENDING, RequestState.UNKNOWN}
    assert sorted(row.request_id for row in found) == sorted(r.request_id for r in requests if r.state in undecided)
    bands = [row.band for row in found]
    assert bands == sorted(bands)
    truth = rows.truth(made, NOW)
    assert (truth.needs_you, truth.review) == counts(found)
    for band in ("needs", "review"):
        ages = [row.age_s for row in found if row.band == band and not row.waiting_on]
        assert ages == sorted(ages, reverse=True)


def test_the_ask_is_ours_for_effects_and_quoted_for_questions() -> None:
    """SAFETY T6."""
    question = other(RequestKind.QUESTION, "q-1", {"text": "Which database?"}, title="ignored")
    shown = {row.kind: row for row in rows.attention(picture(ledger([effect(), question])), NOW)}
    assert (shown["effect"].ask, shown["effect"].quoted) == ("Change README.md +1 -1", False)
    assert (shown["question"].ask, shown["question"].quoted) == ("Which database?", True)


def test_agent_text_in_a_sentence_of_ours_cannot_end_its_quotes() -> None:
    """SAFETY T6: a summary that closes the quote and goes on in our voice stays inside the quotes."""
    fields = {"expected": 'ok", came "ok" as it should', "observed": "end\\"}
    shown = rows.attention(picture(ledger([other(RequestKind.MISMATCH, "m-1", fields)])), NOW)[0]
    assert shown.ask == 'said "ok\\", came \\"ok\\" as it should", came "end\\\\"'


def test_expiry_counts_down_and_the_first_one_is_on_the_truth_line() -> None:
    soon, later = effect("r-1", expires_at=ago(-60)), effect("r-2", expires_at=ago(-1_740))
    made = picture(ledger([soon, later]))
    assert sorted(row.left_s or 0 for row in rows.attention(made, NOW)) == [60.0, 1_740.0]
    assert rows.truth(made, NOW).first_expiry_s == 60.0


def test_settled_requests_come_back_only_for_a_list_that_must_hold_still() -> None:
    """SCREENS §1.3: an answered row stays where it was, with the winner's name, while the cursor is in the list."""
    done = effect("r-1", state=RequestState.SUCCEEDED)
    made = picture(ledger([done, effect("r-2")], [decided("r-1", Verdict.APPROVE, at=5)]))
    assert [row.request_id for row in rows.attention(made, NOW)] == ["r-2"]
    kept = rows.attention(made, NOW, NOW.replace(minute=0))
    assert [(row.request_id, row.settled) for row in kept] == [("r-1", "approved by ana 14:32"), ("r-2", "")]
    assert counts(kept) == (1, 0)
    assert rows.attention(made, NOW, NOW)[0].request_id == "r-2"


def test_an_expired_request_is_worded_as_no_answer_and_nobody_denied_it() -> None:
    """CONSOLE §4.4."""
    assert rows.settled_words(effect(state=RequestState.EXPIRED), ()) == "expired, no answer"


def slow(files: Files, count: int = 20, took: float = 40) -> None:
    for number in range(count):
        files.said(f"w{number}", action="fs_write a.md", timestamp=ago(5_000 - number))
        files.came(f"w{number}", timestamp=ago(5_000 - number - took))


def test_an_act_open_far_longer_than_its_kind_takes_is_stuck() -> None:
    """CONSOLE §3.4: named as an act, with the p95 it is measured against."""
    files = Files()
    slow(files)
    files.said("late", action="fs_write b.md", timestamp=ago(660))
    row = rows.attention(picture(files, ledger()), NOW)[0]
    assert (row.kind, row.band, row.ask) == ("stuck", "review", "fs_write open 11m, p95 is 40s")
    assert rows.fleet(picture(files, ledger()), NOW)[0].note == "fs_write open 11m, p95 is 40s"


def test_what_waits_for_the_operator_is_not_stuck() -> None:
    """Never infer "waiting" from silence, nor "stuck" from waiting."""
    files = Files()
    files.said("act-1", action="fs_patch README.md", timestamp=ago(6_000))
    made = picture(files, ledger([effect()]))
    assert [row.kind for row in rows.attention(made, NOW)] == ["effect"]


def test_an_act_of_a_run_without_a_living_host_is_left_behind_and_not_stuck() -> None:
    files = Files()
    files.said("a", timestamp=ago(600))
    gone = picture(files, ledger(host=alive(alive=False, heartbeat_at=ago(300))))
    assert rows.attention(gone, NOW) == ()
    assert rows.stream(gone, ROOT, NOW)[-1].verdict == "orphan"


def test_an_agent_that_never_observes_fills_the_queue_with_three_rows_at_most() -> None:
    files = Files()
    for number in range(40):
        files.said(f"a{number}", timestamp=ago(900 - number))
    found = rows.attention(picture(files, ledger()), NOW)
    assert len(found) == 3
    assert "37 more" in found[-1].ask


def test_operator_acts_are_never_stuck_and_never_counted() -> None:
    """PROTOCOL §5.5: an operator's records count in nobody's calibration."""
    files = Files(agent="operator:ana")
    files.said("a", timestamp=ago(600))
    files.act("b")
    made = picture(files, ledger())
    assert rows.attention(made, NOW) == ()
    run = rows.fleet(made, NOW)[0]
    assert (run.right, run.judged, run.mismatched) == (0, 0, 0)


def test_the_fleet_puts_runs_that_need_the_operator_first_then_by_name() -> None:
    lint, build = "/r/lint/memory", "/r/build/memory"
    made = picture(
        ledger(root=lint, host=alive(phase="agent", phase_since=ago(2))),
        ledger(root=build, host=alive(phase="idle")),
        ledger([effect()]),
        ledger([replace(effect("r-9"), root=OTHER, created_at=ago(540))], root=OTHER),
    )
    found = [(row.name, row.group, row.waits_s) for row in rows.fleet(made, NOW)]
    assert found == [
        ("api", "Needs you", 540.0),
        ("docs", "Needs you", 180.0),
        ("lint", "Working", None),
        ("build", "Done", None),
    ]


def test_a_held_run_an_unconfined_agent_and_a_long_call_are_said() -> None:
    made = picture(ledger(held=True, host=alive(confinement="unconfined: no bubblewrap", phase="idle")))
    row = rows.fleet(made, NOW)[0]
    assert (row.held, row.glyph, row.unconfined) == (True, "held", True)
    assert rows.truth(made, NOW).all_held
    long = picture(ledger(host=alive(phase="agent", phase_since=ago(780))))
    assert (rows.fleet(long, NOW)[0].group, rows.fleet(long, NOW)[0].note) == (
        "Quiet, look",
        "the agent command has run 13m",
    )


def test_two_runs_of_one_name_are_told_apart() -> None:
    made = picture(ledger(root="/a/x/docs/memory"), ledger(root="/a/y/docs/memory"), ledger(root="/a/api"))
    assert list(names(made).values()) == ["x/docs", "y/docs", "api"]


def test_the_truth_line_says_the_worst_first_and_stays_short() -> None:
    """SCREENS §1.1: ledger, then a lost host, then stale data, then an unapproved change."""
    lost = alive(alive=False, heartbeat_at=ago(12))
    change = other(RequestKind.UNAPPROVED, "u-1", {"changes": [{"path": "x"}]})
    assert rows.truth(picture(ledger([effect()])), NOW).alarm == ""
    said = [
        rows.truth(picture(ledger([change])), NOW).alarm,
        rows.truth(picture(ledger([change]), FileStatus(ROOT, "learning.jsonl", "unreadable")), NOW).alarm,
        rows.truth(picture(ledger([effect()], host=lost)), NOW).alarm,
        rows.truth(picture(ledger([effect()], host=lost, fault="unreadable: disk")), NOW).alarm,
    ]
    assert said[0].startswith("docs: a change nobody approved")
    assert said[1] == "docs: learning.jsonl cannot be read"
    assert said[2] == "docs: host gone 12s; :host or approving starts one"
    assert said[3] == "docs: the ledger cannot be read; deciding is off"
    long = "/r/" + "a-very-long-name-of-an-agent" + "/memory"
    worst = picture(
        ledger([replace(effect(), root=long)], root=long, host=lost), FileStatus(long, "x" * 90, "unreadable")
    )
    said.append(rows.truth(worst, NOW).alarm)
    assert all(len(words) <= 60 for words in said)


def test_a_host_whose_heartbeat_stops_is_gone_without_any_new_event() -> None:
    """SAFETY D9: what was alive when it was read is not alive for ever."""
    made = picture(ledger([effect()], host=alive(heartbeat_at=ago(0))))
    assert rows.health(made, ROOT, NOW).host == "ok 4127"
    later = NOW.replace(second=20)
    assert rows.health(made, ROOT, later).host == "gone 13s"
    assert "host gone" in rows.truth(made, later).alarm


def test_a_host_that_ended_with_nothing_undone_is_no_alarm() -> None:
    made = picture(ledger(host=alive(alive=False, heartbeat_at=ago(999))))
    assert rows.truth(made, NOW).alarm == ""
    assert rows.health(made, ROOT, NOW).host_ok


def test_a_run_without_a_ledger_is_no_fault() -> None:
    made = picture(state(), ledger(host=HostStatus(), fault="none yet"))
    health = rows.health(made, ROOT, NOW)
    assert (health.host, health.ledger, health.ledger_ok) == ("none", "none yet", True)


def test_run_nonces_that_disagree_are_surfaced() -> None:
    """SAFETY A20, PROTOCOL §4 row 7."""
    made = picture(state(run_nonce="one"), LoopFiles(ROOT, nonce_file="two\n"), ledger(host=alive(phase="idle")))
    assert rows.fleet(made, NOW)[0].note == "run_nonce.txt and STATE.json name different runs"


def test_counts_since_the_operator_was_here() -> None:
    files = Files()
    files.act("a", timestamp=ago(900))
    files.said("b")
    files.came("b", match="mismatched", timestamp=ago(10))
    by_rule = decided("r-1", Verdict.APPROVE, at=20, rule_id="rule-1")
    made = picture(files, ledger([effect(tier=Tier.T1)], [by_rule, decided("r-2", Verdict.DENY, at=9_999)]))
    from cas_tui.model.rows.truth import truth

    since = truth(made, NOW, NOW.replace(minute=31))
    assert (since.acts, since.mismatched, since.by_rule) == (2, 1, 1)
    since = truth(made, NOW, NOW.replace(minute=32, second=0))
    assert (since.acts, since.mismatched, since.by_rule) == (0, 0, 0)
    assert ANA.name == "ana"


def test_looking_at_the_queue_and_the_fleet_does_not_walk_every_pair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty runs that write all day cost the screen nothing but their newest records."""
    files = Files()
    slow(files)
    files.said("young", timestamp=ago(5))
    made = picture(files, state(), ledger([effect()]))

    def walk(_: object) -> None:
        raise AssertionError("walked")

    monkeypatch.setattr(journals, "ordered", walk)
    monkeypatch.setattr(journals, "pairs", walk)
    assert rows.attention(made, NOW) and rows.fleet(made, NOW) and rows.truth(made, NOW)
    assert rows.card(picture(ledger([effect(prediction=None)])), ROOT, "r-1", NOW)


def test_a_claimed_time_far_ahead_does_not_make_a_silent_run_look_busy() -> None:
    """SAFETY A19."""
    files = Files()
    files.said("a", timestamp="9999-12-31T23:59:59Z")
    assert rows.fleet(picture(files), NOW)[0].silent_s is None
    files.came("a", timestamp=ago(500))
    assert rows.fleet(picture(files), NOW)[0].silent_s == 500.0


def test_an_open_act_of_an_earlier_session_is_left_behind() -> None:
    """SAFETY A17: a crash in the middle of an act leaves an orphan, not a stuck act."""
    files = Files()
    files.said("old", timestamp=ago(900))
    files.session = "s-2"
    files.said("new", timestamp=ago(5))
    made = picture(files, ledger(host=alive(phase="agent")))
    assert rows.attention(made, NOW) == ()
    assert [row.verdict for row in rows.stream(made, ROOT, NOW)] == ["orphan", "open"]
