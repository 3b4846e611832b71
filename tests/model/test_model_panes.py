"""The stream, the panes of STATE, citations, obligations, issues, detail: one row for each fact, none invented."""

from __future__ import annotations

from dataclasses import replace

import pytest
from picturing import NOW, ROOT, Files, ago, alive, effect, ledger, other, picture, state

from cas_tui.model import rows
from cas_tui.model.picture import empty
from cas_tui.model.rows.stream import MOST_ROWS, stream
from cas_tui.protocol.events import FileStatus, IssueFile, IssuesRead, StateRead
from cas_tui.protocol.requests import RequestKind, RequestState

PANES = ("goals", "beliefs", "uncertainties", "citations", "obligations", "issues")


def verdicts(*events: object) -> list[tuple[str, str]]:
    return [(row.action, row.verdict) for row in stream(picture(*events), ROOT, NOW, folded=False)]  # type: ignore[arg-type]


def test_matched_acts_fold_and_what_came_out_wrong_stays() -> None:
    """CONSOLE §3.4: mismatch first; the newest acts are never folded."""
    files = Files()
    for number in range(5):
        files.act(f"a{number}")
    files.said("bad")
    files.came("bad", "1 changed file", match="mismatched")
    for number in range(7):
        files.act(f"b{number}")
    found = rows.stream(picture(files), ROOT, NOW)
    assert [(row.folded, row.verdict) for row in found] == [
        (5, "as expected"),
        (0, "mismatched"),
        (3, "as expected"),
        *[(0, "as expected")] * 4,
    ]


def test_a_folded_row_keeps_its_key_while_more_acts_join_it() -> None:
    """SCREENS §1.3: the cursor follows the key."""
    files = Files()
    for number in range(8):
        files.act(f"a{number}")
    first = rows.stream(picture(files), ROOT, NOW)[0]
    files.act("a9")
    after = rows.stream(picture(files), ROOT, NOW)[0]
    assert (first.key, first.folded + 1) == (after.key, after.folded)


def test_each_pair_has_the_word_of_what_became_of_it() -> None:
    files = Files()
    files.said("gone", timestamp=ago(900))
    files.act("fine")
    files.said("no", action="fs_patch a")
    files.came("no", match="mismatched", outcome="denied")
    files.said("lost", action="fs_patch b")
    files.came("lost", match="mismatched", outcome="unknown")
    files.came("alone")
    files.came("mine", unpredicted=True)
    files.said("act-1", action="fs_patch README.md")
    files.said("act-2", action="git_stage")
    files.said("act-3", action="git_commit x")
    files.said("now", action="fs_read z", timestamp=ago(1))
    waiting = effect("r-2", state=RequestState.WAITING, prediction="act-2", action_id="act-2")
    started = effect("r-3", state=RequestState.STARTED, prediction="act-3", action_id="act-3")
    assert verdicts(files, ledger([effect(), waiting, started])) == [
        ("fs_read README.md", "orphan"),
        ("fs_read README.md", "as expected"),
        ("fs_patch a", "denied"),
        ("fs_patch b", "unknown"),
        ("alone", "no prediction"),
        ("mine", "unpredicted"),
        ("fs_patch README.md", "waits for you"),
        ("git_stage", "waits in line"),
        ("git_commit x", "started"),
        ("fs_read z", "open"),
    ]


def test_an_observation_whose_prediction_lies_before_what_was_read_is_not_called_unpredicted() -> None:
    files = Files()
    files.came("old")
    cut = FileStatus(ROOT, "predictions.jsonl", "live", size=9_000, unread_before=5_000)
    found = rows.stream(picture(files, cut), ROOT, NOW)
    assert [row.verdict for row in found] == ["not kept", "prediction not read"]
    assert found[0].observed == "4.9 KiB of predictions.jsonl not read"


def test_an_observation_without_a_match_is_inferred_and_a_typo_is_flagged() -> None:
    """PROTOCOL §4 rows 1 and 5."""
    files = Files()
    files.said("a")
    files.came("a", match=None)
    files.learned("a", "belief", error_class="EXCUTION_ERROR", persistent_ref="beliefs.B-1")
    made = picture(files)
    row = rows.stream(made, ROOT, NOW)[0]
    assert (row.verdict, row.flags) == ("as expected", ("typo EXCUTION_ERROR",))
    assert any("inferred from success" in line.text for line in rows.detail(made, ROOT, row.detail, NOW))


@pytest.mark.parametrize("kind", ["prediction", "observation", "learning"])
def test_a_malformed_line_has_its_row_with_file_offset_and_reason(kind: str) -> None:
    """D9, SAFETY A14: shown where it stands, in the stream, in detail and for other programs."""
    files = Files()
    files.act("a")
    bad = files.line(kind, b'{"action_id": 3}')  # type: ignore[arg-type]
    files.act("b")
    made = picture(files)
    found = stream(made, ROOT, NOW, folded=False)
    assert [row.verdict for row in found] == ["as expected", "malformed", "as expected"]
    assert found[1].action == f"{bad.file} +{bad.offset}"  # type: ignore[union-attr]
    assert found[1].observed == f"not a {kind}: action_id is not a string"
    lines = rows.detail(made, ROOT, found[1].detail, NOW)
    assert any("action_id is not a string" in line.text for line in lines)
    assert any('{"action_id": 3}' in line.text for line in lines)
    assert rows.as_json(made, NOW)["runs"][0]["malformed"] == [
        {"file": bad.file, "offset": bad.offset, "reason": found[1].observed}  # type: ignore[union-attr]
    ]


def test_a_repeated_id_is_a_shown_conflict_and_never_merged() -> None:
    """SAFETY A16: linked by (session, nonce, id, ordinal)."""
    files = Files()
    files.said("a", expects="one")
    files.said("a", expects="two")
    files.came("a", "came one")
    files.came("a", "came two")
    files.session = "s-2"
    files.act("a")
    found = stream(picture(files), ROOT, NOW, folded=False)
    assert [(row.expected, row.observed) for row in found] == [
        ("one", "came one"),
        ("two", "came two"),
        ("text", "text"),
    ]
    assert "id predicted 2 times, different texts" in found[0].flags
    assert all("the same id in 1 other session" in row.flags for row in found)
    assert rows.as_json(picture(files), NOW)["runs"][0]["conflicts"][0]["action_id"] == "a"


def test_acts_of_another_run_nonce_are_marked() -> None:
    """SAFETY A20."""
    files = Files()
    files.said("a", run_nonce="other")
    files.said("b", run_nonce="mine")
    found = rows.stream(picture(files, state(run_nonce="mine")), ROOT, NOW)
    assert ["of another run_nonce" in row.flags for row in found] == [True, False]


@pytest.mark.parametrize(
    "stamp", ["", "yesterday", "2026-11-30T10:00:00", "9999-12-31T23:59:60Z", "1969-01-01T00:00:00+14:00"]
)
def test_a_time_that_is_none_is_shown_as_claimed_and_orders_nothing(stamp: str) -> None:
    """SAFETY A19: order is by file position."""
    files = Files()
    files.said("a", action="first", timestamp=stamp)
    files.came("a", match="mismatched", timestamp=stamp)
    files.said("b", action="second", timestamp=ago(99_999))
    made = picture(files, ledger(host=alive(phase="idle")))
    found = rows.stream(made, ROOT, NOW)
    assert [row.action for row in found] == ["first", "second"]
    assert found[0].at == stamp
    assert rows.detail(made, ROOT, found[0].detail, NOW)
    assert rows.fleet(made, NOW)


def test_the_stream_is_bounded_and_says_what_lies_before() -> None:
    files = Files()
    for number in range(MOST_ROWS + 50):
        files.said(f"a{number}")
        files.came(f"a{number}", match="mismatched")
    found = rows.stream(picture(files), ROOT, NOW)
    assert len(found) == MOST_ROWS + 1
    assert found[0].observed == "50 older rows not drawn"


def test_operator_records_are_marked() -> None:
    files = Files(agent="operator:ana")
    files.act("op-1", action="approve r-1")
    assert rows.stream(picture(files), ROOT, NOW)[0].operator


def lesson(files: Files) -> None:
    files.said("a", action="fs_patch a.md", timestamp=ago(500))
    files.came("a", match="mismatched", timestamp=ago(499))
    files.learned("a", "belief", persistent_ref="beliefs.B-9", timestamp=ago(498))


def lamps(*events: object) -> tuple[bool | None, ...]:
    found = stream(picture(*events), ROOT, NOW, folded=False)  # type: ignore[arg-type]
    return next(row.lamps for row in found if row.lamps)


def test_four_lamps_follow_a_mismatch_to_the_citation_of_its_lesson() -> None:
    """CONSOLE §3.9: missed, learned, in STATE, cited; a lamp that is not due is neither on nor off."""
    files = Files()
    files.said("a", action="fs_patch a.md", timestamp=ago(500))
    files.came("a", match="mismatched", timestamp=ago(499))
    assert lamps(files, state()) == (True, None, None, None)
    files.learned("a", "belief", persistent_ref="beliefs.B-9", timestamp=ago(498))
    kept = state(beliefs=[{"id": "B-9", "claim": "c"}])
    assert lamps(files, state()) == (True, True, False, None)
    assert lamps(files, kept) == (True, True, True, None)
    files.act("look", action="git_status", timestamp=ago(400))
    assert lamps(files, kept) == (True, True, True, None)  # looking is not consequential
    files.said("b", action="fs_patch b.md", timestamp=ago(300))
    assert lamps(files, kept) == (True, True, True, False)
    files.said("c", action="fs_patch b.md", timestamp=ago(200), belief_refs=["B-9"])
    assert lamps(files, kept) == (True, True, True, True)


def test_a_prediction_made_before_the_lesson_is_not_blamed_for_not_citing_it() -> None:
    """Predictions of one pass stand in the file before the lesson of its first act is known."""
    files = Files()
    files.said("a", action="fs_patch a.md", timestamp=ago(500))
    files.said("b", action="fs_patch b.md", timestamp=ago(500))
    files.came("a", match="mismatched", timestamp=ago(400))
    files.learned("a", "belief", persistent_ref="B-9", timestamp=ago(399))
    assert lamps(files, state(beliefs=[{"id": "B-9", "claim": "c"}]))[3] is None


def test_a_mismatch_that_taught_nothing_has_a_dark_lamp() -> None:
    files = Files()
    files.said("a")
    files.came("a", match="mismatched")
    files.learned("a")
    assert lamps(files, state()) == (True, False, None, None)


def test_the_citations_pane_shows_what_is_pending_and_the_lamps_of_each_lesson() -> None:
    files = Files()
    lesson(files)
    pending = [{"type": "belief", "ref": "B-9", "created_at": ago(498), "source_action_id": "a"}]
    found = rows.citations(picture(files, state(pending_citations=pending)), ROOT, NOW)
    assert [(line.label, line.text, line.right) for line in found] == [
        ("", "belief B-9 waits to be cited, from a", "8m"),
        ("beliefs.B-9".removeprefix("beliefs."), "missed yes  learned yes  saved no  cited not yet", "8m"),
    ]


def test_goals_stand_by_priority_and_promises_by_how_late_they_are() -> None:
    """CONSOLE §0: overdue first, and no row pretends that something wakes for a promise."""
    world = state(
        active_goals=[
            {"id": "G-2", "description": "Later", "priority": "low"},
            {"id": "G-1", "description": "Docs install on 3.11", "priority": "high"},
        ],
        current_plan=[{"step_id": "S-1", "intent": "find", "status": "done"}, {"step_id": "S-2", "intent": "patch"}],
        commitments=[
            {"id": "C-2", "to_whom": "Bo", "promise": "tests", "due": ago(-3_600)},
            {"id": "C-1", "to_whom": "Ana", "promise": "docs by noon", "due": ago(9_120)},
            {"id": "C-3", "to_whom": "Bo", "promise": "kept", "status": "met"},
        ],
    )
    found = [(line.label, line.text, line.right) for line in rows.goals(picture(world), ROOT, NOW)]
    assert found == [
        ("G-1 high", "Docs install on 3.11", ""),
        ("G-2 low", "Later", ""),
        ("S-1", "find", ""),
        ("S-2", "patch", ""),
        ("", "Promises", ""),
        ("to Ana", "docs by noon", "2h overdue"),
        ("", "no wake owns this promise", ""),
        ("to Bo", "tests", "due in 1h"),
        ("", "no wake owns this promise", ""),
    ]


def test_a_superseded_belief_stands_muted_under_the_one_that_replaced_it() -> None:
    items = [
        {"id": "B-1", "claim": "old", "confidence": 0.4},
        {"id": "B-2", "claim": "new", "confidence": 0.9, "supersedes": "B-1", "evidence_refs": ["a"]},
    ]
    files = Files()
    files.act("a", timestamp=ago(60))
    found = rows.beliefs(picture(files, state(beliefs=items)), ROOT, NOW)
    assert [(line.label, line.text, line.right, line.indent) for line in found] == [
        ("B-2", "new", "0.9", 0),
        ("", "from a, 1m ago", "", 1),
        ("B-1", "old", "0.4", 1),
        ("", "superseded; no evidence named", "", 2),
    ]


def test_beliefs_that_supersede_each_other_in_a_ring_are_all_shown() -> None:
    items = [{"id": "B-1", "claim": "x", "supersedes": "B-2"}, {"id": "B-2", "claim": "y", "supersedes": "B-1"}]
    texts = [line.text for line in rows.beliefs(picture(state(beliefs=items)), ROOT, NOW)]
    assert "x" in texts and "y" in texts


def test_a_belief_names_what_leans_on_it() -> None:
    """CONSOLE §3.7, the other way round."""
    files = Files()
    files.said("act-1", action="fs_patch README.md", belief_refs=["B-1"])
    made = picture(files, state(beliefs=[{"id": "B-1", "claim": "x"}]), ledger([effect()]))
    assert any("1 waiting act leans on it" in line.text for line in rows.beliefs(made, ROOT, NOW))


def test_items_of_state_that_are_not_as_they_should_be_are_said() -> None:
    made = picture(state(beliefs=[{"claim": "no id"}]))
    assert rows.beliefs(made, ROOT, NOW)[0].flagged
    assert rows.as_json(made, NOW)["runs"][0]["state_faults"] == ["beliefs[0].id is missing or not a string"]


def test_an_obligation_says_what_is_left_and_who_wakes() -> None:
    item = {
        "obligation_id": "O-3",
        "owner": "docs",
        "state": "registered",
        "trigger": {"type": "file.changed"},
        "action": {"kind": "wake"},
        "budget": 5,
        "fired": 3,
        "expires_at": ago(-6 * 86_400 - 60),
        "wake_owner": None,
        "firings": [{"source_event_id": "e", "state": "delivered"}] * 3,
    }
    texts = [line.text for line in rows.obligations(picture(ledger(obligations=(item,))), ROOT, NOW)]
    assert texts == [
        "when file.changed: wake, owner docs",
        "registered, 2 of 5 left, ends in 6d",
        "wake: no automatic wake, reconcile by hand",
        "last: triggered yes  delivered yes  acted upon -  completed -",
    ]
    assert rows.fleet(picture(ledger(obligations=(item,))), NOW)[0].obligations == 1


def issue(name: str, status: str, title: str, **entries: str) -> IssueFile:
    return IssueFile(name, tuple({"id": name, "status": status, **entries}.items()), f"# MCA\n\n{title}")


def test_open_issues_stand_before_settled_ones() -> None:
    files = IssuesRead(
        ROOT,
        (
            issue("a.md", "resolved", "Wheel lacks py.typed"),
            issue("b.md", "open", "Locale files have no owner", created=ago(2_400)),
        ),
    )
    request = other(RequestKind.ISSUE, "i-1", {"file": "gone.md", "title": "Was here"})
    found = rows.issues(picture(files, ledger([request])), ROOT, NOW)
    assert [(line.text, line.right, line.muted) for line in found] == [
        ("Locale files have no owner", "40m", False),
        ("Was here", "1m", False),
        ("Wheel lacks py.typed", "-", True),
    ]


@pytest.mark.parametrize("pane", PANES)
def test_an_empty_pane_is_one_line_that_says_what_would_fill_it(pane: str) -> None:
    """SCREENS §1.6."""
    (line,) = getattr(rows, pane)(picture(state()), ROOT, NOW)
    assert line.muted and len(line.text) > 20


@pytest.mark.parametrize("pane", PANES)
def test_a_root_without_any_file_opens_and_says_so(pane: str) -> None:
    nothing = picture(StateRead(ROOT, None, ago(1), "missing"))
    assert len(getattr(rows, pane)(nothing, ROOT, NOW)) == 1
    assert len(getattr(rows, pane)(empty(), "/nowhere", NOW)) == 1


def test_detail_shows_every_field_of_every_record_with_file_offset_and_age() -> None:
    """D9: unknown keys too."""
    files = Files()
    files.said("act-1", action="fs_patch README.md", trace_id="t-1", surprise={"deep": [1]}, falsifier="two\nlines")
    files.came("act-1")
    files.learned("act-1", rationale="why")
    made = picture(files, ledger([effect()]))
    lines = rows.detail(made, ROOT, rows.stream(made, ROOT, NOW)[0].detail, NOW)
    shown = {(line.label, line.text) for line in lines}
    assert {("trace_id", "t-1"), ("surprise", '{"deep":[1]}'), ("falsifier", "two"), ("", "lines")} <= shown
    assert {("rationale", "why"), ("request_id", "r-1")} <= shown
    heads = [(line.text, line.right) for line in lines if line.heading]
    assert ("Prediction", "predictions.jsonl +0") in heads
    assert any(line.label == "when" and "1m ago" in line.text and "UTC" in line.text for line in lines)
    assert rows.detail(made, ROOT, "r-1", NOW)[0].text == "Request r-1: effect, pending"


def test_detail_of_a_record_that_is_gone_says_so() -> None:
    for key in ("", "nonsense", '["pair","s",null,"a",0]', '["pair"]', '["belief"]', "[1]", '["belief",{"a":1}]'):
        (line,) = rows.detail(picture(state()), ROOT, key, NOW)
        assert "no longer" in line.text


def test_every_detail_a_pane_names_can_be_opened() -> None:
    files = Files()
    lesson(files)
    files.line("learning", b"nonsense")
    world = state(
        active_goals=[{"id": "G", "description": "d"}],
        beliefs=[{"id": "B", "claim": "c"}],
        uncertainties=[{"id": "U", "question": "q", "impact": "a long impact indeed"}],
        current_plan=[{"intent": "x"}],
        commitments=[{"id": "C", "to_whom": "x", "promise": "p"}],
        pending_citations=[{"type": "belief", "ref": "B", "created_at": ago(1), "source_action_id": "a"}],
        wrong=1,
    )
    issues = IssuesRead(ROOT, (issue("a.md", "open", "t"),))
    held = ledger([effect()], obligations=({"obligation_id": "O"},))
    made = picture(files, replace(world), issues, held)
    details = [line.detail for pane in PANES for line in getattr(rows, pane)(made, ROOT, NOW) if line.detail]
    details += [row.detail for row in rows.stream(made, ROOT, NOW) if row.detail]
    assert len(details) > 10
    for key in (*details, '["state"]', '["run"]'):
        assert "no longer" not in rows.detail(made, ROOT, key, NOW)[0].text, key


def test_row_keys_are_unique_within_a_pane() -> None:
    """SCREENS §1.3: the cursor follows the key, so two rows never share one."""
    files = Files()
    lesson(files)
    twice = [{"id": "X", "claim": "c"}, {"id": "X", "claim": "d"}]
    world = state(
        beliefs=twice,
        uncertainties=[{"id": "U", "question": "q"}] * 2,
        active_goals=[{"id": "G", "description": "d"}] * 2,
    )
    made = picture(files, world)
    for pane in PANES:
        keys = [line.key for line in getattr(rows, pane)(made, ROOT, NOW)]
        assert len(keys) == len(set(keys)), pane


def test_records_without_a_prediction_stand_by_their_own_place() -> None:
    """SAFETY A19: after the act whose observation precedes theirs in the file, whatever time they claim."""
    files = Files()
    files.act("a")
    files.came("alone", timestamp=ago(99_999))
    files.learned("lesson", "belief", persistent_ref="B-1")
    files.act("b")
    assert [row[0] for row in verdicts(files)] == ["fs_read README.md", "lesson", "alone", "fs_read README.md"]


def test_stream_keys_are_unique() -> None:
    files = Files()
    for _ in range(3):
        files.said("same")
        files.came("same", match="mismatched")
        files.line("prediction", b"{")
    keys = [row.key for row in rows.stream(picture(files), ROOT, NOW)]
    assert len(keys) == len(set(keys)) == 6


def test_evidence_that_names_an_act_dates_the_belief() -> None:
    files = Files()
    files.said("act-status", timestamp=ago(7_201))
    files.came("act-status", timestamp=ago(7_200))
    items = [{"id": "B-9", "claim": "c", "evidence_refs": ["observations.jsonl act-status"]}]
    lines = rows.beliefs(picture(files, state(beliefs=items)), ROOT, NOW)
    assert lines[1].text == 'from "observations.jsonl act-status", 2h ago'
