"""Folding: the same picture however the records arrive, bounded, cheap, and nothing merged that is not the same."""

from __future__ import annotations

import time
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from picturing import NOW, ROOT, Files, ago, event, ledger, picture, state

from cas_tui.model import journal as journals
from cas_tui.model import rows
from cas_tui.model.fold import fold
from cas_tui.model.journal import MAX_LOOSE, MAX_MALFORMED, MAX_PAIRS, with_records
from cas_tui.model.pairs import KEPT_PER_GROUP, Pair
from cas_tui.model.persistent import Draft, PMap
from cas_tui.model.picture import Picture, empty
from cas_tui.protocol.decode import Malformed
from cas_tui.protocol.events import FileStatus, RecordsRead, StateRead

Lines = list[tuple[str, Any]]


@st.composite
def telemetry(draw: st.DrawFn) -> Lines:
    """A small history with repeated ids, several sessions, missing halves and lines that are no records."""
    files = Files()
    for _ in range(draw(st.integers(0, 14))):
        files.session = draw(st.sampled_from(["s-1", "s-2"]))
        files.agent = draw(st.sampled_from(["docs", "operator:ana"]))
        name = draw(st.sampled_from(["a", "b", "c"]))
        nonce = draw(st.sampled_from([None, "n-1"]))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            files.said(name, confidence=draw(st.sampled_from([0.9, 7])), run_nonce=nonce)
        elif kind == 1:
            match = draw(st.sampled_from(["matched", "mismatched", None]))
            files.came(name, match=match, outcome=draw(st.sampled_from([None, "denied"])), run_nonce=nonce)
        elif kind == 2:
            files.learned(name, draw(st.sampled_from(["belief", "user_query"])), persistent_ref="B-1", run_nonce=nonce)
        else:
            files.line("observation", b"{")
    return files.lines


def told(made: Picture) -> Any:
    """All that can be seen of a picture."""
    run = made.runs.get(ROOT)
    if run is None:
        return None
    journal = run.journal
    return (
        [repr(item) for item in journals.ordered(journal)],
        journal.totals,
        sorted(map(repr, journal.open.values())),
        sorted(map(repr, journal.malformed)),
        rows.stream(made, ROOT, NOW),
        rows.fleet(made, NOW),
    )


def one_by_one(lines: Lines) -> Picture:
    made = empty()
    for file, item in lines:
        made = fold(made, event(ROOT, file, [item]))
    return made


@settings(max_examples=120, deadline=None)
@given(telemetry(), st.randoms(use_true_random=False))
def test_any_order_of_arrival_gives_the_same_picture(lines: Lines, random: Any) -> None:
    """SAFETY A16, A17: pairs and rows do not depend on which file was read first."""
    shuffled = list(lines)
    random.shuffle(shuffled)
    assert told(one_by_one(shuffled)) == told(one_by_one(lines))


@settings(max_examples=80, deadline=None)
@given(telemetry(), st.data())
def test_the_size_of_the_pieces_does_not_matter(lines: Lines, data: st.DataObject) -> None:
    """One event with many records is the same as many events with one."""
    made = empty()
    by_file: dict[str, list[Any]] = {}
    for file, item in lines:
        by_file.setdefault(file, []).append(item)
    for file, items in by_file.items():
        while items:
            length = data.draw(st.integers(1, len(items)))
            made = fold(made, event(ROOT, file, items[:length]))
            items = items[length:]
    assert told(made) == told(one_by_one(lines))


@settings(max_examples=80, deadline=None)
@given(telemetry())
def test_reading_the_same_lines_again_changes_nothing(lines: Lines) -> None:
    """D7: a page read twice counts once."""
    once = one_by_one(lines)
    again = once
    for file, item in lines:
        again = fold(again, event(ROOT, file, [item]))
    assert told(again) == told(once)
    assert again is once


@settings(max_examples=80, deadline=None)
@given(telemetry())
def test_the_picture_before_stays_as_it_was(lines: Lines) -> None:
    """A fold shares with the picture before it and changes nothing of it."""
    made, before, seen = empty(), [], []
    for file, item in lines:
        before.append(made)
        seen.append(told(made))
        made = fold(made, event(ROOT, file, [item]))
    assert [told(item) for item in before] == seen


@settings(max_examples=80, deadline=None)
@given(telemetry())
def test_the_running_totals_are_those_of_the_pairs(lines: Lines) -> None:
    made = one_by_one(lines)
    if ROOT not in made.runs:
        return
    journal = made.runs[ROOT].journal
    kept = journals.pairs(journal)
    assert journal.totals.judged == sum(pair.judged for pair in kept)
    assert journal.totals.right == sum(pair.right for pair in kept)
    assert journal.totals.mismatched == sum(pair.mismatched for pair in kept)
    assert {pair.key for pair in kept if pair.open and not pair.operator} == set(journal.open.values())
    assert sum(len(pair.records) for pair in kept) == len([1 for _, item in lines if not isinstance(item, Malformed)])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 700), st.integers())))
def test_a_draft_is_a_dict_and_its_base_stays(steps: list[tuple[bool, int, int]]) -> None:
    model: dict[int, int] = {}
    current: PMap[int, int] = PMap()
    for keep, key, value in steps:
        base, size = current, len(current)
        draft = Draft(current)
        if keep:
            draft.set(key, value)
            model[key] = value
        else:
            draft.drop(key)
            model.pop(key, None)
        current = draft.done()
        assert len(base) == size
        assert len(current) == len(model)
        assert current.get(key) == model.get(key)
        assert (key in current) == (key in model)
    assert sorted(current.values()) == sorted(model.values())


def history(count: int) -> tuple[RecordsRead, RecordsRead]:
    files = Files()
    for number in range(count):
        files.said(f"a{number}")
        files.came(f"a{number}")
    predictions, observations, _ = files.events()
    return predictions, observations


def test_only_the_newest_pairs_are_kept_and_the_rest_is_counted() -> None:
    """D9: what is not kept is said, in the first row of the stream."""
    predictions, observations = history(MAX_PAIRS + 40)
    made = picture(predictions, observations)
    journal = made.runs[ROOT].journal
    assert journal.dropped == 40
    assert journal.totals.right == MAX_PAIRS
    assert len(journal.groups) == MAX_PAIRS + 40  # observations whose prediction was dropped are loose, and bounded
    assert "40 older acts not kept" in rows.stream(made, ROOT, NOW)[0].observed


def test_records_without_a_prediction_never_push_out_whole_acts() -> None:
    predictions, observations = history(MAX_PAIRS + 3 * MAX_LOOSE)
    journal = picture(predictions, observations).runs[ROOT].journal
    assert journal.totals.right == MAX_PAIRS
    assert len(journal.loose) == MAX_LOOSE
    assert journal.dropped_loose == 2 * MAX_LOOSE


def test_malformed_lines_are_bounded_and_counted() -> None:
    files = Files()
    for _ in range(MAX_MALFORMED + 7):
        files.line("prediction", b"{")
    journal = picture(files).runs[ROOT].journal
    assert (len(journal.malformed), journal.malformed_dropped) == (MAX_MALFORMED, 7)


def test_one_id_repeated_without_end_stays_bounded() -> None:
    """SAFETY A16: a flood of one id costs a bounded group, not the square of its length."""
    files = Files()
    for number in range(3 * KEPT_PER_GROUP):
        files.said("a", expects=str(number))
    journal = picture(files).runs[ROOT].journal
    assert len(journals.pairs(journal)) == KEPT_PER_GROUP
    assert journals.pairs(journal)[-1].prediction.expected_observation == str(3 * KEPT_PER_GROUP - 1)  # type: ignore[union-attr]


def test_huge_lines_are_bounded_by_their_bytes() -> None:
    files = Files()
    for number in range(140):
        files.said(f"a{number}", expects="x" * 1_000_000)
    journal = picture(files).runs[ROOT].journal
    assert journal.size <= journals.MAX_BYTES
    assert journal.dropped == 140 - len(journal.groups)


def test_folding_record_by_record_costs_in_proportion_to_their_number() -> None:
    """A record added to 5,000 pairs copies a few small parts: four times as many cost about four times as much."""
    predictions, observations = history(MAX_PAIRS)
    full = picture(predictions, observations).runs[ROOT].journal
    more = Files()
    for number in range(2_000):
        more.said(f"b{number}")
    records = [item for _, item in more.lines]

    def cost(start: Any, count: int) -> float:
        journal, begun = start, time.process_time()
        for record in records[:count]:
            journal = with_records(journal, (record,))  # type: ignore[arg-type]
        return time.process_time() - begun

    cost(full, 200)
    small, large = min(cost(full, 500) for _ in range(3)), min(cost(full, 2_000) for _ in range(3))
    assert large < 10 * small
    bare = min(cost(journals.Journal(), 2_000) for _ in range(3))
    assert large < 8 * bare


def test_a_rewritten_file_is_marked_and_its_unchanged_lines_are_not_conflicts() -> None:
    """D7: what was folded from the old content stays, marked; a line that is still there is one line."""
    files = Files()
    files.said("a", expects="one")
    files.said("b", expects="old text")
    made = picture(files, FileStatus(ROOT, "predictions.jsonl", "rewritten"))
    after = Files()
    after.said("b", expects="new text")
    after.said("a", expects="one")
    made = fold(made, after.events()[0])
    by_id: dict[str, list[Pair]] = {}
    for pair in journals.pairs(made.runs[ROOT].journal):
        by_id.setdefault(pair.action_id, []).append(pair)
    assert len(by_id["a"]) == 1 and not by_id["a"][0].conflict
    assert len(by_id["b"]) == 2 and "different texts" in by_id["b"][0].conflict
    flags = [flag for row in rows.stream(made, ROOT, NOW) for flag in row.flags]
    assert "from before its file was rewritten" in flags


def test_a_torn_state_never_empties_the_panes() -> None:
    """SAFETY D02: the last good document stays, and the pane says how old it is."""
    made = picture(state(active_goals=[{"id": "G-1", "description": "Docs install"}]))
    made = fold(made, StateRead(ROOT, None, ago(0), "torn"))
    lines = rows.goals(made, ROOT, NOW)
    assert any("torn" in line.text for line in lines)
    assert any(line.text == "Docs install" for line in lines)


def test_a_ledger_that_fails_for_a_moment_keeps_its_queue() -> None:
    from picturing import effect

    made = picture(ledger([effect()]))
    made = fold(made, ledger(fault="unreadable: locked"))
    assert [row.request_id for row in rows.attention(made, NOW)] == ["r-1"]
    assert "ledger" in rows.truth(made, NOW).alarm
