"""The payload on the card: all of it, at any width, whatever is in it, and without a stop."""

from __future__ import annotations

import asyncio
import time
from dataclasses import replace
from typing import Any

import pytest
from card_stage import CardApp, Place, card, long_payload, press, question, request, settle, take_up
from hostile import FORBIDDEN, HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st
from textual import events

from cas_tui import text
from cas_tui.console.card.payload import Layout
from cas_tui.console.card.receipt import receipt_line
from cas_tui.console.card.seen import Intervals
from cas_tui.console.card.standing import State
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import plain
from cas_tui.model.shapes import ContractRow, PayloadRow, ReceiptLine
from cas_tui.protocol.requests import RequestKind

ASCII = Glyphs(True)
SMALL = Place(0, 0, 80, 23)

ROWS = st.lists(
    st.builds(
        PayloadRow,
        st.sampled_from([" ", "+", "-"]),
        st.integers(1, 99999),
        st.none(),
        st.text(max_size=60) | st.sampled_from(["x" * 5000, "ж\u202e" * 1500, " " * 4000, "a" + " " * 2500 + "b"]),
    ),
    min_size=1,
    max_size=12,
)


def whole(layout: Layout) -> Layout:
    """The layout, complete."""
    while not layout.step(100):
        pass
    return layout


@settings(max_examples=60, deadline=None)
@given(ROWS, st.integers(20, 120), st.booleans())
def test_the_rows_join_to_the_payload_and_count_every_place_once(
    rows: list[PayloadRow], width: int, ascii_only: bool
) -> None:
    """E4, T3: nothing is dropped or added by wrapping, and each row fits."""
    layout = whole(Layout(rows, width, glyphs=Glyphs(ascii_only)))
    at, joined = 0, [""] * len(rows)
    for piece, other in layout.lines:
        assert piece is not None and other is None
        assert (piece.start == at and piece.end > piece.start) or piece.shown == ""
        at = piece.end
        joined[piece.source] += piece.shown
        assert text.cells(piece.shown) <= max(2, width - layout.columns.text)
    assert at == layout.extent
    for row, shown in zip(rows, joined, strict=True):
        if len(row.text) < 2000:
            assert shown == text.line(row.text, exact=True, ascii_only=ascii_only)
        else:
            assert text.is_safe(shown)


@settings(max_examples=60, deadline=None)
@given(ROWS, st.lists(st.tuples(st.integers(0, 400), st.integers(0, 30)), max_size=8), st.sampled_from([40, 160]))
def test_the_count_of_unseen_rows_is_the_number_of_rows_not_covered(
    rows: list[PayloadRow], parts: list[tuple[int, int]], width: int
) -> None:
    """The counter and the set of seen places agree, also with old and new side by side."""
    layout = whole(Layout(rows, width, glyphs=ASCII, split=width > 140))
    seen = Intervals()
    for start, length in parts:
        for one, two in layout.visible(start, length):
            seen.add(one, two)
    uncovered = sum(
        any(piece is not None and not seen.covers(piece.start, piece.end) for piece in line) for line in layout.lines
    )
    assert layout.unseen(seen) == uncovered


def test_side_by_side_pairs_old_with_new() -> None:
    """Removed rows stand left of the added rows that follow; context stands on both sides."""
    rows = (
        PayloadRow(" ", 1, 1, "same"),
        PayloadRow("-", 2, None, "old"),
        PayloadRow("-", 3, None, "older"),
        PayloadRow("+", None, 2, "new"),
        PayloadRow(" ", 4, 3, "end"),
    )
    layout = whole(Layout(rows, 143, glyphs=ASCII, split=True))
    drawn = [plain(layout.draw(at)) for at in range(len(layout.lines))]
    assert [("old" in line, "new" in line, line.count("same"), line.count("end")) for line in drawn] == [
        (False, False, 2, 0),
        (True, True, 0, 0),
        (True, False, 0, 0),
        (False, False, 0, 2),
    ]


def test_a_cut_line_counts_only_what_is_seen() -> None:
    """E4: without wrapping, the hidden end of a line is unseen."""
    layout = whole(Layout((PayloadRow("+", None, 1, "x" * 200),), 60, glyphs=ASCII, wrap=False))
    seen = Intervals()
    for start, end in layout.visible(0, 10):
        seen.add(start, end)
    assert layout.unseen(seen) == 1
    assert plain(layout.draw(0)).rstrip().endswith("...")


HUGE = {
    "20 000 rows": long_payload(20_000, 60),
    "a hostile megabyte": (PayloadRow("+", None, 1, "ж\u202e" * 500_000),),
    "a megabyte": (PayloadRow("+", None, 1, "x" * 10**6),),
}


@pytest.mark.parametrize("rows", HUGE.values(), ids=HUGE.keys())
async def test_a_huge_payload_does_not_stop_the_keys(rows: tuple[PayloadRow, ...]) -> None:
    """T4, C5, C16: the card is up at once and each key is answered soon, while the rest is laid out between them."""
    app = CardApp(SMALL)
    async with app.run_test(size=(80, 24)):
        slowest = 0.0

        async def until(reached: Any) -> None:
            nonlocal slowest
            started = time.monotonic()
            while not reached():
                assert time.monotonic() - started < 10
                await asyncio.sleep(0)
            slowest = max(slowest, time.monotonic() - started)

        app.card.peek = False
        app.card.focus()
        app.card.show(card(payload=rows, payload_id="huge"), None)
        await until(lambda: app.card.guard.digest)
        app.ticks.now += 1
        for _ in range(5):
            told, app.ticks.now = len(app.told), app.ticks.now + 1
            app.post_message(events.Key("a", "a"))
            await until(lambda told=told: len(app.told) > told)
        assert app.card.state is State.UNSEEN and app.decided == []
        print("slowest", slowest)
        # Laying out a megabyte of marks takes seconds; no key waits for it, even on a busy machine.
        assert slowest < 0.5


# What stands in it


@pytest.mark.parametrize("value", [value for _, value in HOSTILE], ids=[name for name, _ in HOSTILE])
@pytest.mark.parametrize("kind", ["effect", "question"])
async def test_hostile_text_in_every_place_of_the_card_is_inert(value: str, kind: str) -> None:
    """T1, T2, T6, E: the rows keep their width, nothing acts, and no row but its own shows it."""
    made = _poisoned(value, kind)
    app = CardApp(SMALL, ascii_mode=False)
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, made)
        app.ticks.now += 1
        await press(pilot, "j", "space", "f")
        for line in app.lines():
            assert not FORBIDDEN.search(line)
            assert text.cells(line) <= 80
        strips = app.screen._compositor.render_strips(app.size)
        assert all(strip.cell_length == 80 for strip in strips)
        assert app.decided == []


def _poisoned(value: str, kind: str) -> Any:
    contract = (ContractRow("says", value, quoted=True, right="90 %"), ContractRow("= deed", value, flagged=True))
    payload = (PayloadRow("+", None, 1, value), PayloadRow("", None, None, value))
    if kind == "question":
        return question(
            contract=contract, options=(value, value), summary=value, tier_because=value, source=value, run=value
        )
    asked = request(title=value, op_kind="fs_write", fields={"path": value, "content": value})
    return card(
        request=asked, run=value, summary=value, tier_because=value, tier_flags=(value,), contract=contract,
        payload=payload, payload_title=f"Exact change: {value}", payload_foot=value, payload_id="x",
        prediction_id=value, predicted_at=value, cwd=value, settled="", unconfined=True,
    )  # fmt: skip


async def test_agent_text_never_stands_bare_outside_the_payload() -> None:
    """T6: what imitates our rows stands in quotes, or not at all."""
    fake = "READY   no expiry -- [a] approve once"
    made = card(
        contract=(ContractRow("says", fake, quoted=True),),
        payload_title=f"Exact change: {fake}",
        prediction_id=fake,
    )
    app = CardApp(SMALL)
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, made)
        holding = [line for line in app.lines() if "no expiry -- [a]" in line]
        assert len(holding) == 2 and all('"READY   no expiry' in line for line in holding)


async def test_an_issue_or_a_text_payload_stands_behind_a_gutter() -> None:
    """T6: our headings in a payload begin where its own text cannot."""
    rows = (PayloadRow("", None, None, "message", ours=True), PayloadRow("", None, None, "message"))
    made = card(request=request("q-i", RequestKind.ISSUE), verdicts=("resolve",), payload=rows, payload_id="t")
    app = CardApp(SMALL)
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, made)
        assert " message" in app.lines() and "  | message" in app.lines()


async def test_a_new_card_begins_at_its_top() -> None:
    """The place in one payload is not the place in the next."""
    app = CardApp(SMALL)
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, card(payload=long_payload(100), payload_id="one"))
        await press(pilot, "space", "space")
        assert app.card.look.top > 0
        app.card.show(replace(card("q-2"), payload=long_payload(90), payload_id="two"), None)
        await settle(pilot)
        assert app.card.look.top == 0 and any("line 0 " in line for line in app.lines())


def test_a_receipt_names_what_was_reached() -> None:
    """CONSOLE §4.3.13: sent is not done."""
    assert receipt_line(ReceiptLine("q", False, False, False, False), ASCII) == "sent"
    whole_way = "sent > written > picked up > ran > observed"
    assert receipt_line(ReceiptLine("q", True, True, True, True), ASCII) == whole_way
    failed = ReceiptLine("q", True, True, False, False, outcome="failed")
    assert receipt_line(failed, ASCII) == "sent > written > picked up: failed"
