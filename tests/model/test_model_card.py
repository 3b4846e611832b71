"""The decision card: what was promised, what was computed about it, and every row of what would change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from picturing import NOW, ROOT, Files, ago, alive, decided, effect, ledger, other, picture, row, state

from cas_tui.model import rows
from cas_tui.model.earned import band, wilson
from cas_tui.model.lint import promise_and_deed
from cas_tui.model.rows.payload import payload
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.events import Progress
from cas_tui.protocol.requests import PathImage, PreImage, RequestKind, RequestState, Tier


def promised(**more: object) -> Files:
    files = Files()
    said = {
        "action": "fs_patch README.md",
        "expects": "README shows Python 3.11",
        "falsifier": "any other line changes",
    }
    files.said("act-1", **(said | {"expected_failure_modes": ["context drift"], "timestamp": ago(183)} | more))  # type: ignore[arg-type]
    return files


def test_the_card_of_a_patch_reads_as_promised() -> None:
    """SCREENS §3: who, kind, tier and why, the promise, what we know about it, and the exact change."""
    beliefs = [{"id": "B-12", "claim": "python >= 3.11", "confidence": 0.9, "evidence_refs": ["pyproject.toml"]}]
    artifacts = [{"id": "A-1", "type": "file", "location": "pyproject.toml", "last_verified_at": ago(7_200)}]
    world = state(beliefs=beliefs, artifacts=artifacts, tool_models={"fs_patch": {"failure_modes": ["Context drift"]}})
    card = rows.card(picture(promised(belief_refs=["B-12"]), world, ledger([effect()])), ROOT, "r-1", NOW)
    assert card is not None
    assert (card.run, card.position, card.total) == ("docs", 1, 1)
    assert card.tier_because == "T1 because: reversible, inside the workspace, predicted"
    assert (card.unpredicted, card.prediction_id, card.predicted_at) == (False, "act-1", "14:29:04")
    assert card.verdicts == ("approve", "deny", "edit")
    assert card.cwd == "/home/ana/src/docs"
    assert [(item.label, item.text, item.right) for item in card.contract] == [
        ("says", "README shows Python 3.11", "90 %"),
        ("reject if", "any other line changes", ""),
        ("may fail", "context drift", "known for this tool but not listed: none"),
        ("= earned", "says 90 %; no record on fs_patch (0 judged)", ""),
        ("= deed", "matches the promise: same file, same kind of act", ""),
        ("= leans on", 'B-12 "python >= 3.11" 0.9, checked 2h ago', ""),
        ("= open", "no uncertainty touches README.md", ""),
        ("= lessons", "cites belief B-12; none pending", ""),
        ("= before", "not seen before", ""),
    ]
    assert not any(item.flagged for item in card.contract)
    assert [item.quoted for item in card.contract[:3]] == [True, True, True]
    assert (card.payload_title, card.payload_foot) == ("Exact change: README.md", "end of file, newline kept")
    assert [(item.mark, item.old, item.new) for item in card.payload] == [("-", 12, None), ("+", None, 12)]


def test_an_act_without_a_prediction_is_unpredicted_and_promises_nothing() -> None:
    card = rows.card(picture(ledger([effect(prediction=None, action_id="", tier=Tier.T3)])), ROOT, "r-1", NOW)
    assert card is not None
    assert card.unpredicted
    assert card.contract == ()


def test_a_prediction_that_was_not_read_is_said_to_be_missing_and_not_unpredicted() -> None:
    card = rows.card(picture(ledger([effect()])), ROOT, "r-1", NOW)
    assert card is not None
    assert not card.unpredicted
    assert row(card, "= missing").flagged


def test_an_unknown_request_has_no_card() -> None:
    assert rows.card(picture(ledger()), ROOT, "r-1", NOW) is None
    assert rows.card(picture(ledger()), "/nowhere", "r-1", NOW) is None


def judged(files: Files, right: int, wrong: int, confidence: float = 0.9, action: str = "fs_patch a.md") -> None:
    for number in range(right + wrong):
        name = f"{action}-{confidence}-{number}"
        files.said(name, action=action, confidence=confidence)
        files.came(name, match="matched" if number < right else "mismatched")


def earned_row(files: Files, **more: object) -> str:
    return row(rows.card(picture(files, ledger([effect(**more)])), ROOT, "r-1", NOW), "= earned").text  # type: ignore[arg-type]


def test_earned_confidence_is_counted_in_the_band_of_what_is_said_now() -> None:
    """CONSOLE §3.2: never a percentage without its n; the interval is Wilson's."""
    files = promised()
    judged(files, 17, 1)
    judged(files, 0, 9, confidence=0.4)
    judged(files, 5, 5, action="fs_write b.md")
    assert earned_row(files) == "says 90 %; at 85-95 % on fs_patch right 17 of 18 (74-99 %)"


def test_under_ten_judged_acts_there_is_no_record() -> None:
    files = promised()
    judged(files, 9, 0)
    assert earned_row(files) == "says 90 %; no record on fs_patch (9 judged)"
    judged(files, 6, 0, confidence=0.3)
    assert earned_row(files).startswith("says 90 %; on fs_patch, at any confidence, right 15 of 15")


def test_an_overconfident_agent_is_flagged() -> None:
    files = promised()
    judged(files, 3, 9)
    assert row(rows.card(picture(files, ledger([effect()])), ROOT, "r-1", NOW), "= earned").flagged


def test_operators_denials_bad_numbers_and_conflicts_are_not_counted() -> None:
    """PROTOCOL §5.5, SAFETY A16-A18: what was not executed, or not clear, proves nothing about the agent."""
    files = promised()
    judged(files, 10, 0)
    files.said("denied", action="fs_patch a.md")
    files.came("denied", match="mismatched", outcome="denied")
    files.said("odd", action="fs_patch a.md", confidence=1.1)
    files.came("odd", match="mismatched")
    files.said("twice", action="fs_patch a.md")
    files.said("twice", action="fs_patch a.md", expects="another")
    files.came("twice")
    files.said("open", action="fs_patch a.md")
    files.came("alone", match="mismatched")
    files.agent = "operator:ana"
    judged(files, 0, 3, confidence=0.8)
    assert earned_row(files).endswith("right 10 of 10 (72-100 %)")


def test_the_mismatch_of_a_repeated_id_still_counts_against_the_agent() -> None:
    """A conflict cannot be used to hide a miss."""
    files = Files()
    files.said("a")
    files.said("a", expects="another")
    files.came("a", match="mismatched")
    assert rows.fleet(picture(files), NOW)[0].mismatched == 1


@settings(max_examples=200)
@given(st.integers(0, 500), st.integers(0, 500))
def test_the_interval_holds_the_share_and_stays_within_bounds(right: int, wrong: int) -> None:
    low, high = wilson(right, right + wrong)
    assert 0 <= low <= high <= 1
    if right + wrong:
        assert low - 1e-9 <= right / (right + wrong) <= high + 1e-9


@settings(max_examples=200)
@given(st.floats(0, 1))
def test_each_confidence_lies_in_its_band(confidence: float) -> None:
    low, high = band(confidence)
    assert low - 1e-9 <= confidence <= high + 1e-9


@pytest.mark.parametrize(
    ("action", "more", "flagged"),
    [
        ("fs_patch README.md", {}, False),
        ("fs_patch ./README.md", {}, False),
        ("update the README.md install section", {}, False),
        ("fs_read README.md", {}, True),
        ("fs_patch README.md", {"path": ".github/workflows/ci.yml"}, True),
        ("write docs/index.md", {}, True),
        ("improve things", {}, False),
        (
            "git_commit Mention ci.yml",
            {"op_kind": "git_commit", "fields": {"message": "Mention ci.yml\n\nmore"}},
            False,
        ),
        ("git_commit Mention ci.yml", {"op_kind": "git_commit", "fields": {"message": "Remove the tests"}}, True),
        ("fs_write my notes.md", {"op_kind": "fs_write", "fields": {"path": "my notes.md", "content": ""}}, False),
        ("git_stage all safe changes", {"op_kind": "git_stage", "fields": {}}, False),
        ("delete README.md", {}, True),
    ],
)
def test_a_promise_is_compared_with_the_deed(action: str, more: dict[str, object], flagged: bool) -> None:
    """CONSOLE §3.5."""
    request = effect(path=str(more["path"])) if "path" in more else effect(**more)  # type: ignore[arg-type]
    finding = promise_and_deed(action, request)
    assert finding.flagged is flagged, finding.text


def test_a_deed_that_touches_more_than_was_promised_is_flagged() -> None:
    more = PreImage({"README.md": PathImage("absent"), "setup.py": PathImage("absent")})
    finding = promise_and_deed("patch README.md", effect(pre_image=more))
    assert finding.flagged and '"setup.py"' in finding.text


def test_beliefs_that_do_not_hold_are_flagged() -> None:
    """CONSOLE §3.7: superseded, or not in STATE at all."""
    beliefs = [{"id": "B-1", "claim": "old"}, {"id": "B-2", "claim": "new", "supersedes": "B-1"}]
    made = picture(promised(belief_refs=["B-1", "B-9"]), state(beliefs=beliefs), ledger([effect()]))
    card = rows.card(made, ROOT, "r-1", NOW)
    assert card is not None
    texts = [item.text for item in card.contract if item.flagged]
    assert texts == ['B-1 "old" no number, superseded by B-2', "B-9, which is not in STATE"]


def test_an_ignored_lesson_is_shown_with_its_text() -> None:
    """CONSOLE §3.6."""
    pending = [{"type": "belief", "ref": "B-9", "created_at": ago(400), "source_action_id": "act-0"}]
    world = state(beliefs=[{"id": "B-9", "claim": "CI runs make docs"}], pending_citations=pending)
    shown = row(rows.card(picture(promised(), world, ledger([effect()])), ROOT, "r-1", NOW), "= lessons")
    assert (shown.text, shown.flagged) == ('1 pending lesson not cited: belief B-9 "CI runs make docs"', True)
    cited = row(
        rows.card(picture(promised(belief_refs=["B-9"]), world, ledger([effect()])), ROOT, "r-1", NOW), "= lessons"
    )
    assert not cited.flagged
    later = state(pending_citations=[{**pending[0], "created_at": ago(10)}])
    since = row(rows.card(picture(promised(), later, ledger([effect()])), ROOT, "r-1", NOW), "= lessons")
    assert (since.text, since.flagged) == ("1 lesson pending since", False)


def test_open_uncertainties_that_name_the_file_stand_on_the_card() -> None:
    """CONSOLE §3.8."""
    items = [
        {"id": "U-2", "question": "is README.md generated?", "plan_to_resolve": "read setup.cfg"},
        {"id": "U-3", "question": "which database?"},
    ]
    made = picture(promised(), state(uncertainties=items), ledger([effect()]))
    shown = row(rows.card(made, ROOT, "r-1", NOW), "= open")
    assert (shown.text, shown.flagged) == ('U-2 "is README.md generated?", plan "read setup.cfg"', True)


def test_known_ways_to_fail_that_were_not_listed_are_flagged() -> None:
    """CONSOLE §3.11."""
    world = state(tool_models={"fs_patch": {"failure_modes": ["context drift", "disk full"]}})
    card = rows.card(picture(promised(), world, ledger([effect()])), ROOT, "r-1", NOW)
    assert card is not None
    assert any(item.flagged and '"disk full"' in item.text for item in card.contract)


def test_the_same_act_denied_before_is_said() -> None:
    earlier = effect("r-0", state=RequestState.DENIED)
    made = picture(promised(), ledger([effect(seen_before="r-0"), earlier], [decided("r-0", Verdict.DENY, at=540)]))
    shown = row(rows.card(made, ROOT, "r-1", NOW), "= before")
    assert (shown.text, shown.flagged) == ("the same act: denied by ana, 9m ago", True)


def test_the_contract_quotes_every_agent_word_so_that_it_cannot_speak_for_us() -> None:
    """SAFETY T6: a claim that closes its quote stays inside it."""
    beliefs = [{"id": 'B" 0.9, verified', "claim": 'x" 0.9, checked 1s ago'}]
    made = picture(promised(belief_refs=['B" 0.9, verified']), state(beliefs=beliefs), ledger([effect()]))
    shown = row(rows.card(made, ROOT, "r-1", NOW), "= leans on").text
    assert shown == '"B\\" 0.9, verified" "x\\" 0.9, checked 1s ago" no number'


def test_each_changed_line_is_a_row_however_many_there_are() -> None:
    """SAFETY E4: approval can only cover what has a row."""
    many = [["+", None, number, f"line {number}"] for number in range(1, 3_001)]
    shown = payload(effect(display={"kind": "diff", "path": "a", "rows": many, "foot": ""}))
    assert [item.text for item in shown.rows] == [f"line {number}" for number in range(1, 3_001)]


def test_an_op_that_has_no_display_shows_each_of_its_fields() -> None:
    """SAFETY E2: argv one argument a row, nothing left out."""
    request = effect(op_kind="exec", fields={"argv": ["make", "a b", ""], "stdin": "x\ny"}, display={})
    shown = payload(request)
    assert [item.text for item in shown.rows] == ["argv", "make", "a b", "", "stdin", "x", "y"]
    assert [item.ours for item in shown.rows] == [True, False, False, False, True, False, False]


def test_commits_stages_branches_and_what_cannot_be_shown_have_their_rows() -> None:
    commit = {
        "kind": "commit",
        "message": "One\n\nTwo",
        "author": "a <a@b>",
        "parent": "",
        "branch": "main",
        "files": [["M", "README.md", 3, 1]],
    }
    texts = [item.text for item in payload(effect(display=commit)).rows]
    assert texts == [
        *("message", "One", "", "Two", "author", "a <a@b>", "branch", "main"),
        *("no parent: the first commit", "1 file", "M README.md  +3 -1"),
    ]
    stage = {"kind": "stage", "files": [["M", "a"]], "left_out": [["b", "ignored"]]}
    assert [item.text for item in payload(effect(display=stage)).rows] == [
        "M a",
        "left out, not staged: 1 file",
        "b: ignored",
    ]
    branch = {"kind": "branch", "name": "fix", "at": "abc", "from": "main"}
    assert [item.text for item in payload(effect(display=branch)).rows][1::2] == ["fix", "abc", "main"]
    opaque = {"kind": "opaque", "path": "a.bin", "size": 5_000, "reason": "binary", "sha256": "sha256:1"}
    texts = [item.text for item in payload(effect(display=opaque, fields={"path": "a.bin", "content": "x"})).rows]
    assert texts[0] == "cannot be shown: binary"
    assert "sha256:1" in texts


def test_a_mode_change_is_a_row() -> None:
    display = {"kind": "diff", "path": "a", "rows": [], "mode": "0644 becomes 0755"}
    assert [item.text for item in payload(effect(display=display)).rows] == [
        "no line changes",
        "mode 0644 becomes 0755",
    ]


@settings(max_examples=100)
@given(
    st.lists(st.tuples(st.sampled_from(" +-"), st.none() | st.integers(1, 9), st.none(), st.text()), max_size=5),
    st.data(),
)
def test_the_payload_id_changes_with_any_row(
    found: list[tuple[str, int | None, None, str]], data: st.DataObject
) -> None:
    """SAFETY E2, T5: what was on screen and what is pending differ visibly to the card."""
    lines = [list(item) for item in found]
    one = payload(effect(display={"kind": "diff", "path": "a", "rows": lines}))
    same = payload(effect(display={"kind": "diff", "path": "a", "rows": [list(item) for item in lines]}))
    assert one.id == same.id
    changed = [list(item) for item in lines]
    if changed and data.draw(st.booleans()):
        changed[data.draw(st.integers(0, len(changed) - 1))][3] += "x"
    else:
        changed.insert(data.draw(st.integers(0, len(changed))), ["+", 5, 5, "new"])
    assert payload(effect(display={"kind": "diff", "path": "a", "rows": changed})).id != one.id


def test_the_card_of_a_question_says_what_hangs_on_it() -> None:
    """SCREENS §4."""
    files = Files()
    files.said("act-3c10", action="exec make test", expects="tests pass", belief_refs=["B-7"])
    files.came("act-3c10", "no such function", match="mismatched")
    files.learned("act-3c10", "user_query", rationale="I found sqlite and postgres", persistent_ref="user_query")
    request = other(
        RequestKind.QUESTION,
        "q-1",
        {
            "text": "Which database do the tests use?",
            "query": {"type": "one", "options": ["sqlite", "postgres", "both"]},
            "uncertainty": "U-3",
        },
        action_id="act-3c10",
        source={"file": "learning.jsonl", "offset": 0},
    )
    world = state(
        beliefs=[{"id": "B-7", "claim": "tests run on sqlite", "confidence": 0.6}],
        uncertainties=[
            {"id": "U-3", "question": "which db", "impact": "every migration test", "plan_to_resolve": "ask"}
        ],
        current_plan=[
            {"step_id": "S-4", "intent": "fix U-3 tests", "status": "pending"},
            {"step_id": "S-5", "intent": "rerun after U-3", "status": "pending"},
            {"step_id": "S-1", "intent": "find U-3", "status": "done"},
        ],
    )
    card = rows.card(picture(files, world, ledger([request])), ROOT, "q-1", NOW)
    assert card is not None
    assert (card.summary, card.summary_quoted) == ("Which database do the tests use?", True)
    assert card.tier_because == 'asked because: mismatch act-3c10, said "tests pass", came "no such function"'
    assert card.source == "learning.jsonl +0"
    assert (card.options, card.option_mode) == (("sqlite", "postgres", "both"), "one")
    assert card.verdicts == ("answer", "dismiss")
    assert [(item.label, item.text) for item in card.contract] == [
        ("says", "I found sqlite and postgres"),
        ("resolves", 'U-3 "which db"'),
        ("impact", "every migration test"),
        ("plan", "ask"),
        ("= waits", "the run is parked; 2 plan steps (S-4, S-5) depend on it"),
        ("= leans on", 'B-7 "tests run on sqlite" 0.6, now doubted'),
    ]


@pytest.mark.parametrize(
    ("query", "mode"),
    [
        ({"type": "many", "options": ["a"]}, "many"),
        ({"type": "one", "options": []}, "text"),
        ({"type": "form"}, "text"),
        ({"type": "form", "fields": [{"name": "x"}]}, "form"),
        ({"type": "weird", "options": ["a", 3]}, "one"),
        ({"type": ["one"]}, "text"),
        ("no object", "text"),
    ],
)
def test_an_unusual_question_is_answered_by_text_and_never_by_a_default(query: object, mode: str) -> None:
    """CONSOLE §4.3.10."""
    card = rows.card(
        picture(ledger([other(RequestKind.QUESTION, "q-1", {"text": "?", "query": query})])), ROOT, "q-1", NOW
    )
    assert card is not None and card.option_mode == mode


def test_the_card_of_a_mismatch_begins_with_what_would_prove_it_wrong() -> None:
    """CONSOLE §3.3: one sentence to check instead of a log."""
    files = promised()
    files.came("act-1", "two lines changed", match="mismatched", raw_ref="raw/s-1/act-1.txt")
    files.learned("act-1", "belief", persistent_ref="B-9")
    request = other(RequestKind.MISMATCH, "m-1", {"expected": "x", "observed": "y"}, action_id="act-1")
    made = picture(files, state(beliefs=[{"id": "B-9", "claim": "c"}]), ledger([request]))
    card = rows.card(made, ROOT, "m-1", NOW)
    assert card is not None
    assert [(item.label, item.text) for item in card.contract] == [
        ("reject if", "any other line changes"),
        ("said", "README shows Python 3.11"),
        ("came", "two lines changed"),
        ("act", "fs_patch README.md"),
        ("= raw", "raw/s-1/act-1.txt"),
        ("= learned", "belief B-9"),
        ("= lamps", "missed yes  learned yes  saved yes  cited not yet"),
    ]
    assert card.verdicts == ("accept", "dispute")


def test_the_card_of_an_unapproved_change_lists_each_path_as_it_was_and_is() -> None:
    image = {"type": "file", "mode": "0644", "sha256": "sha256:" + "a" * 64}
    fields = {
        "changes": [{"path": "x.py", "was": "absent", "now": image}, {"path": "git:head", "was": "1", "now": "2"}],
        "when": "while the agent ran",
        "confinement": "unconfined: no bubblewrap",
    }
    card = rows.card(picture(ledger([other(RequestKind.UNAPPROVED, "u-1", fields)])), ROOT, "u-1", NOW)
    assert card is not None
    assert [(item.mark, item.text) for item in card.payload] == [
        ("", "x.py"),
        ("-", "absent"),
        ("+", "file 0644 sha256:aaaaaaaaaaaa"),
        ("", "git:head"),
        ("-", "1"),
        ("+", "2"),
    ]
    assert "made while the agent ran" in row(card, "= found").text
    assert row(card, "= who").flagged
    assert card.verdicts == ("accept", "revert")


def test_an_unknown_outcome_says_so_first_and_takes_only_a_reconciliation() -> None:
    """SAFETY E8."""
    card = rows.card(picture(promised(), ledger([effect(state=RequestState.UNKNOWN)])), ROOT, "r-1", NOW)
    assert card is not None
    assert card.contract[0].label == "= unknown"
    assert card.verdicts == ("reconcile",)
    assert card.settled == ""


def test_a_decided_card_says_who_and_when_and_takes_nothing_more() -> None:
    made = picture(promised(), ledger([effect(state=RequestState.APPROVED)], [decided("r-1", Verdict.APPROVE, at=127)]))
    card = rows.card(made, ROOT, "r-1", NOW)
    assert card is not None
    assert (card.settled, card.verdicts) == ("approved by ana 14:30", ())


def test_a_receipt_goes_as_far_as_the_ledger_says() -> None:
    """CONSOLE §4.3.13: sent is not done."""
    decision = decided("r-1", Verdict.APPROVE)
    request = effect(state=RequestState.STARTED)
    assert rows.receipt(picture(ledger([request])), ROOT, "r-1") is None
    first = rows.receipt(picture(ledger([request], [decision])), ROOT, "r-1")
    assert first is not None and (first.written, first.picked_up, first.ran, first.observed) == (
        True,
        False,
        False,
        False,
    )
    made = picture(ledger([request], [decision], [Progress("r-1", True, True, False)]))
    assert rows.receipt(made, ROOT, "r-1") == replace(first, picked_up=True, ran=True)


def test_the_position_counts_only_what_can_be_decided() -> None:
    waiting = effect("r-2", state=RequestState.WAITING, after="r-1")
    question = other(RequestKind.QUESTION, "q-1", {"text": "?"}, created_at=ago(999))
    issue = other(RequestKind.ISSUE, "i-1", {"title": "x"})
    card = rows.card(picture(ledger([effect(), waiting, question, issue])), ROOT, "r-1", NOW)
    assert card is not None and (card.position, card.total) == (2, 2)


def test_held_unconfined_and_hostless_are_on_the_card() -> None:
    made = picture(ledger([effect()], held=True, host=alive(alive=False, confinement="unconfined: no bubblewrap")))
    card = rows.card(made, ROOT, "r-1", NOW)
    assert card is not None and (card.held, card.unconfined, card.host_alive) == (True, True, False)


@pytest.mark.parametrize(("name", "text"), HOSTILE, ids=[name for name, _ in HOSTILE])
def test_no_text_breaks_a_card(name: str, text: str) -> None:
    """T4, SAFETY group E: hostile text in every field makes rows, and never an error."""
    files = Files()
    try:
        files.said(
            "act-1", action=text, expects=text, falsifier=text, belief_refs=[text], expected_failure_modes=[text]
        )
        files.came("act-1", text, match="mismatched")
        files.learned("act-1", "belief", persistent_ref=text, rationale=text)
    except TypeError:
        files = Files()  # A lone surrogate cannot be written as JSON; it reaches us through an escape instead.
        files.line(
            "prediction",
            b'{"action_id":"act-1","agent":"a","session_id":"s-1","timestamp":"","action":"\\ud800",'
            b'"expected_observation":"\\udfff","confidence":0.5}',
        )
    fields = {"path": text, "text": text, "title": text, "changes": [{"path": text, "was": text, "now": text}]}
    for kind in RequestKind:
        request = other(kind, "x-1", fields, op_kind="fs_write", action_id="act-1", prediction="act-1")
        made = picture(files, ledger([request]))
        card = rows.card(made, ROOT, "x-1", NOW)
        assert card is not None
        assert card.payload_id.startswith("sha256:")
        assert rows.attention(made, NOW) and rows.stream(made, ROOT, NOW)
        assert all(rows.detail(made, ROOT, item.detail, NOW) for item in rows.stream(made, ROOT, NOW))
