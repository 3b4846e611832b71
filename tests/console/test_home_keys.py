"""What the keys of the home screen do, and what arrivals do not do (SCREENS §1, §6; CONSOLE §4.3)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from console_stage import CardDouble, Stage, console, fleet, row, screen_text
from textual.pilot import Pilot

from cas_tui.console.messages import DecisionRefused, DecisionSent
from cas_tui.console.screens.card_screen import CardScreen
from cas_tui.console.screens.pages import DetailScreen, HelpScreen, TooSmall
from cas_tui.console.screens.prompt import AskScreen
from cas_tui.console.screens.run import RunScreen
from cas_tui.model.shapes import ReceiptLine
from cas_tui.protocol.requests import RequestKind


async def settle(pilot: Pilot[Any]) -> None:
    """Let messages and one paint pass."""
    for _ in range(3):
        await pilot.pause()


async def test_arrival_moves_neither_cursor_nor_focus() -> None:
    """A new request is a count and a row, never a selection (CONSOLE §4.3.1)."""
    stage = Stage(attention_rows=())
    app = console(stage)
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        focused = app.focused
        assert "Nothing needs you." in "\n".join(screen_text(app))
        stage.attention_rows = (row("docs", "effect", "Change README.md +3 -1", "T1", 1),)
        app.publish()
        await settle(pilot)
        assert app.focused is focused
        assert app.home.queue.list.state.cursor is None
        assert "* 1 waits for you" in screen_text(app)[0]
        await pilot.press("n")
        assert app.home.request_id == "q-docs"


async def test_rows_hold_still_under_the_cursor_and_dot_takes_newer_ones_in() -> None:
    """Arrivals wait behind a count; a decided row stays, struck through, with the winner's words (SCREENS §1.3)."""
    stage = Stage()
    app = console(stage)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n")
        before = [item.key for item in app.home.queue.list.state.items]
        stage.attention_rows = (
            row("new", "effect", "Change setup.cfg +1", "T1", 0),
            *(r for r in stage.attention_rows if r.request_id != "q-api"),
        )
        stage.cards["q-api"] = replace(stage.card(None, "/r/docs", "q-docs", None), settled="answered by ana 14:31")  # type: ignore[arg-type,type-var]
        app.publish()
        await settle(pilot)
        assert [item.key for item in app.home.queue.list.state.items] == before
        shown = "\n".join(screen_text(app))
        assert "answered by ana 14:31" in shown
        assert "1 newer" in shown
        assert "setup.cfg" not in shown
        await pilot.press("full_stop")
        await settle(pilot)
        assert "setup.cfg" in "\n".join(screen_text(app))
        assert app.home.request_id == "q-docs"


async def test_a_request_that_waits_on_another_cannot_be_selected() -> None:
    """It stands muted, says after what, and n passes over it (SCREENS §1.2)."""
    first = row("docs", "effect", "Change README.md +3 -1", "T1", 2)
    second = replace(row("docs", "effect", "Commit 1 file", "T2", 2), key="w", request_id="q-w", waiting_on="README.md")
    app = console(Stage(attention_rows=(first, second, row("api", "question", "Which?", "", 1))))
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n")
        assert app.home.request_id == "q-api"
        assert any("Commit 1 file  after README.md" in line for line in screen_text(app))


@pytest.mark.parametrize("size", [(80, 24), (119, 39)])
async def test_enter_opens_the_card_on_the_whole_screen_where_room_is_short(size: tuple[int, int]) -> None:
    """Enter only opens; Esc goes back to the same row (SCREENS §1.4)."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=size) as pilot:
        await pilot.press("n", "n", "enter")
        await settle(pilot)
        assert isinstance(app.screen, CardScreen)
        assert "CARD q-docs LIVE" in screen_text(app)[0]
        await pilot.press("enter", "enter")
        assert told == []
        await pilot.press("n")
        await settle(pilot)
        assert "CARD q-deps LIVE" in screen_text(app)[0]
        await pilot.press("escape")
        await settle(pilot)
        assert app.screen is app.home
        assert app.home.request_id == "q-deps"
        assert app.home.queue.list.has_focus


async def test_enter_gives_the_card_the_keys_where_it_stands_on_home() -> None:
    """From 120×40 the card stays below the queue; it peeks until Enter and peeks again after leaving."""
    app = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n")
        await settle(pilot)
        assert "CARD q-docs PEEK" in screen_text(app)[14]
        await pilot.press("enter")
        await settle(pilot)
        assert "CARD q-docs LIVE" in screen_text(app)[14]
        assert "focus card" in screen_text(app)[-1]
        await pilot.press("q")
        await settle(pilot)
        assert "CARD q-docs PEEK" in screen_text(app)[14]
        assert app.home.queue.list.has_focus


async def test_a_decision_goes_through_the_door_and_the_card_is_told() -> None:
    """One durable call; the receipt place says how far it got and never more (CONSOLE §4.3.13)."""
    stage = Stage()
    told: list[tuple[str, Any]] = []
    app = console(stage, told=told)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n", "enter", "a")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "decide"])
        await settle(pilot)
        assert [name for name, _ in told] == ["decide"]
        assert told[0][1][2]["digest"].startswith("9c41e07b")
        card = app.home.card
        assert isinstance(card, CardDouble)
        assert isinstance(card.answers[0], DecisionSent)
        assert screen_text(app)[-1].endswith("receipt: sent")
        stage.receipts["q-docs"] = ReceiptLine("q-docs", written=True, picked_up=True, ran=False, observed=False)
        app.publish()
        await settle(pilot)
        assert screen_text(app)[-1].endswith("receipt: sent > written > picked up")


async def test_a_refused_decision_says_why_and_changes_nothing() -> None:
    """The door's one line stands in the receipt place, made safe (T1)."""
    app = console(refuse="changed since shown \x1b[2J: look again")
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n", "enter", "a")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "decide"])
        await settle(pilot)
        assert isinstance(app.home.card.answers[0], DecisionRefused)
        assert "changed since shown" in screen_text(app)[-1]
        assert "\x1b" not in screen_text(app)[-1]


async def test_locked_decides_nothing_and_ctrl_r_never_unlocks() -> None:
    """A refresh reflex is no unlock; unlocking asks to type the word (SCREENS §6)."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("colon", *"lock", "enter")
        await settle(pilot)
        assert "LOCKED" in screen_text(app)[0]
        await pilot.press("ctrl+r", "n", "n", "enter", "a")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "decide"])
        await settle(pilot)
        assert told == []
        assert "locked" in screen_text(app)[-1]
        await pilot.press("escape", "colon", *"unlock", "enter")
        await settle(pilot)
        await pilot.press(*"yes", "enter")
        await settle(pilot)
        assert "LOCKED" in screen_text(app)[0]
        await pilot.press("colon", *"unlock", "enter")
        await settle(pilot)
        await pilot.press(*"unlock", "enter")
        await settle(pilot)
        assert "LOCKED" not in screen_text(app)[0]


async def test_s_holds_the_run_under_the_cursor_and_s_again_holds_all() -> None:
    """One key from anywhere; the second one widens it (SCREENS §6)."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n", "S")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "hold"])
        assert told == [("hold", "/r/docs")]
        await pilot.press("S")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "hold"])
        assert len(told) == 8


async def test_resuming_asks_and_only_y_confirms() -> None:
    """The dangerous direction asks."""
    told: list[tuple[str, Any]] = []
    stage = Stage(fleet_rows=tuple(replace(r, held=r.name == "docs") for r in fleet()))
    app = console(stage, told=told)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n", "R", "enter")
        await settle(pilot)
        assert told == []
        await pilot.press("R", "y")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "resume"])
        assert told == [("resume", "/r/docs")]


async def test_digits_replace_the_body_on_a_small_screen_and_the_same_digit_returns() -> None:
    """Panes 2 to 9 by a digit; again or Esc goes back (SCREENS §2)."""
    app = console()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n")
        for number, words in ((5, "B-12 python"), (9, "Locale files"), (3, "fs_read README.md"), (2, "bench")):
            await pilot.press(str(number))
            await settle(pilot)
            assert screen_text(app)[2].startswith(f"-- {number} ")
            assert words in "\n".join(screen_text(app)[3:])
            await pilot.press(str(number) if number % 2 else "escape")
            await settle(pilot)
            assert screen_text(app)[2].startswith("-- 1 Needs you")


async def test_digits_move_the_focus_where_the_pane_stands() -> None:
    """On a large screen nothing is replaced; f fills the screen with the focused pane."""
    app = console()
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("n", "n", "5")
        await settle(pilot)
        assert app.home.side["beliefs"].list.has_focus
        assert "focus 5 Beliefs" in screen_text(app)[-1]
        await pilot.press("f")
        await settle(pilot)
        assert screen_text(app)[1].startswith("-- 5 Beliefs")
        await pilot.press("f")
        await settle(pilot)
        assert screen_text(app)[1].startswith("-- 2 Fleet")
        assert app.home.side["beliefs"].list.has_focus


async def test_filter_follows_typing_and_esc_brings_back_what_was() -> None:
    """Only rows with these words; nothing is lost."""
    app = console()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("slash", *"locale")
        await settle(pilot)
        shown = "\n".join(screen_text(app)[3:12])
        assert "Locale files" in shown
        assert "README" not in shown
        await pilot.press("escape")
        await settle(pilot)
        assert "README" in "\n".join(screen_text(app)[3:12])


async def test_help_lists_the_keys_of_where_you_are() -> None:
    """The same table, another place (SCREENS §6)."""
    app = console()
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("question_mark")
        await settle(pilot)
        assert isinstance(app.screen, HelpScreen)
        assert "On the home screen" in "\n".join(screen_text(app))
        await pilot.press("escape", "n", "n", "enter", "question_mark")
        await settle(pilot)
        assert "On a READY card only" in "\n".join(screen_text(app))


async def test_a_message_keeps_its_draft_and_ctrl_s_sends_it() -> None:
    """Enter is a new line; Esc keeps what was typed; the demo's m and letters are text here."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n", "m", *"Sa q", "escape")
        await settle(pilot)
        assert app.screen is app.home
        assert told == []
        await pilot.press("m", "enter", *"two", "ctrl+s")
        await app.workers.wait_for_complete([w for w in app.workers if w.name == "message"])
        assert told == [("message", "Sa q\ntwo")]
        assert app.screen is app.home


async def test_leaving_says_what_goes_on_and_only_y_or_ctrl_q_leaves() -> None:
    """q asks on one line; any other key stays; ctrl+q twice leaves (SCREENS §6)."""
    app = console()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("q")
        await settle(pilot)
        assert isinstance(app.screen, AskScreen)
        assert "7 runs keep running, 3 wait for you" in screen_text(app)[22]
        await pilot.press("enter")
        await settle(pilot)
        assert app.screen is app.home
        await pilot.press("ctrl+q", "ctrl+q")
        await settle(pilot)
        assert app.return_code == 0
        assert not app.is_running or app._exit


async def test_ctrl_c_never_quits_and_decides_nothing() -> None:
    """It copies, or says which key leaves."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n", "enter", "ctrl+c")
        await settle(pilot)
        assert "ctrl+q leaves" in screen_text(app)[-1]
        assert told == []


async def test_below_the_smallest_size_is_one_line_and_no_key_decides() -> None:
    """80×24 is needed; growing again brings home back (SCREENS §1.6)."""
    told: list[tuple[str, Any]] = []
    app = console(told=told)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n", "enter")
        await pilot.resize_terminal(72, 20)
        await settle(pilot)
        assert isinstance(app.screen, TooSmall)
        assert screen_text(app)[0] == "80×24 needed, this is 72×20"
        await pilot.press("a", "y", "enter")
        assert told == []
        await pilot.resize_terminal(80, 24)
        await settle(pilot)
        await settle(pilot)
        assert screen_text(app)[2].startswith("-- 1 Needs you")


@pytest.mark.parametrize(
    "size", [(1, 1), (2, 2), (20, 5), (79, 24), (80, 23), (80, 24), (133, 41), (199, 59), (300, 100)]
)
async def test_every_size_starts_and_shows_something(size: tuple[int, int]) -> None:
    """No size crashes the console (C26, E15)."""
    app = console()
    async with app.run_test(size=size, notifications=True) as pilot:
        await settle(pilot)
        await pilot.press("n", "n")
        await settle(pilot)
        assert len(screen_text(app)) == size[1]


async def test_enter_on_a_run_opens_its_tabs_and_a_record_opens_whole() -> None:
    """Fleet, run, record; Esc goes back one level each time."""
    app = console()
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("2", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, RunScreen)
        assert "docs" in screen_text(app)[1]
        await pilot.press("3", "j", "enter")
        await settle(pilot)
        assert isinstance(app.screen, DetailScreen)
        assert "observations.jsonl +8812" in "\n".join(screen_text(app))
        await pilot.press("escape", "escape")
        await settle(pilot)
        assert app.screen is app.home


async def test_goto_and_palette_offer_the_same_names() -> None:
    """`:` goes by the beginning of a name; an unknown one says so."""
    app = console()
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        await pilot.press("colon", *"unc", "enter")
        await settle(pilot)
        assert screen_text(app)[2].startswith("-- 6 Uncertainties")
        await pilot.press("colon", *"zzz", "enter")
        await settle(pilot)
        assert "no such pane or command" in screen_text(app)[-1]
        await pilot.press("ctrl+p", *"issues")
        await settle(pilot)
        await pilot.press("enter")
        await settle(pilot)
        await settle(pilot)
        assert screen_text(app)[2].startswith("-- 9 Issues")


async def test_an_alarm_replaces_the_middle_of_the_truth_line() -> None:
    """One sentence and what to do; the counts give way (SCREENS §1.1)."""
    app = console(Stage(alarm="host of docs lost 12s ago: cas-tui run docs starts it again"))
    async with app.run_test(size=(80, 24)) as pilot:
        await settle(pilot)
        assert "host of docs lost 12s ago" in screen_text(app)[0]
        assert "wait for you" not in screen_text(app)[0]


async def test_a_card_of_an_unapproved_kind_opens_like_any_other() -> None:
    """Unknown or unapproved rows are requests of *Needs you* (SCREENS §1.2)."""
    stage = Stage(attention_rows=(row("docs", "unapproved", "README.md changed without approval", "", 5),))
    made = stage.card(None, "/r/docs", "q-docs", None)  # type: ignore[arg-type]
    assert made is not None
    stage.cards["q-docs"] = replace(made, request=replace(made.request, kind=RequestKind.UNAPPROVED))
    app = console(stage)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "enter")
        await settle(pilot)
        assert isinstance(app.screen, CardScreen)


async def test_the_count_of_newer_rows_is_shown_where_there_is_no_review_band_yet() -> None:
    """A held list says on its own rule line that something waits behind it."""
    stage = Stage(attention_rows=(row("docs", "effect", "Change README.md +3 -1", "T1", 1),))
    app = console(stage)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n")
        stage.attention_rows += (row("i18n", "issue", "Locale files have no owner", "", 0),)
        app.publish()
        await settle(pilot)
        assert "1 newer --" in screen_text(app)[2]


async def test_rows_go_where_they_belong_while_the_operator_is_on_a_card() -> None:
    """Coming back from a card of its own screen shows the queue as it is now."""
    stage = Stage()
    app = console(stage)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.press("n", "n", "enter")
        await settle(pilot)
        stage.attention_rows = tuple(r for r in stage.attention_rows if r.request_id != "q-api")
        await pilot.press("escape")
        await settle(pilot)
        assert "Which database" not in "\n".join(screen_text(app)[4:12])
        assert app.home.request_id == "q-docs"
