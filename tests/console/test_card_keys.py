"""The card under keys, in a running application: what is posted, what is said, and what is not."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from card_stage import (
    DIGEST,
    CardApp,
    ComposeMessage,
    DecisionRefused,
    LeaveCard,
    Place,
    card,
    long_payload,
    press,
    question,
    request,
    settle,
    take_up,
    tier,
)
from textual import events

from cas_tui.console.card.standing import State
from cas_tui.protocol.requests import RequestKind

SMALL = Place(0, 0, 80, 23)


def stage() -> CardApp:
    """A card on a small screen."""
    return CardApp(SMALL)


async def ready(pilot: Any, made: Any = None) -> CardApp:
    """A card that was taken up and is armed."""
    app: CardApp = pilot.app
    await take_up(pilot, made if made is not None else card())
    app.ticks.now += 1
    return app


async def test_a_approves_what_was_painted_and_nothing_else() -> None:
    """E2: the decision names request, digest, when it was shown, and that all of it was."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "a")
        (sent,) = app.decided
        assert (sent.root, sent.request_id, sent.verdict, sent.digest) == ("/r/docs", "q-docs", "approve", DIGEST)
        assert sent.shown_at == "2026-11-30T14:32:07.000Z" and sent.full_view
        await press(pilot, "a", "a", "enter", "a")
        assert len(app.decided) == 1


async def test_a_wrong_turn_answers_in_the_receipt_place() -> None:
    """While arming: how long; on unseen lines: how many, and the key that goes on."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app: Any = pilot.app
        await take_up(pilot, card(payload=long_payload(28), payload_id="long"))
        await press(pilot, "a", after=0.3)
        assert app.said == "not yet, 0.4 s"
        unseen = app.card.guard.lines_unseen
        assert 0 < unseen < 28
        await press(pilot, "a")
        assert app.said == f"{unseen} lines unseen, space"
        assert f"{unseen} lines unseen" in app.lines()[0]
        assert app.decided == []


@pytest.mark.parametrize(
    "keys", [["enter"] * 10, ["A"], ["ctrl+r"], ["ctrl+c"], ["q"], ["r"], ["escape"], ["Y", "D", "C"]]
)
async def test_these_keys_decide_nothing_on_a_ready_card(keys: list[str]) -> None:
    """Enter, caps lock, and the reflexes of other programs."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        assert app.card.state is State.READY
        await press(pilot, *keys)
        assert app.decided == []


async def test_holding_a_over_a_queue_of_five_decides_at_most_once() -> None:
    """T5: each decision is followed by the next card at once, as a careless queue would do."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        shown = 0
        for _ in range(90):
            app.ticks.now += 1 / 30
            await pilot.press("a")
            if len(app.decided) > shown:
                shown += 1
                app.card.show(card(f"q-{shown}"), None)
                await pilot.pause()
        assert len(app.decided) == 1


async def test_typing_into_the_answer_while_requests_arrive_decides_nothing() -> None:
    """CONSOLE §4.6: `wait, start at a`, with three new cards meanwhile."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question())
        await press(pilot, "i")
        for number, char in enumerate("wait, start at a"):
            await press(pilot, {" ": "space", ",": "comma"}.get(char, char), after=0.12)
            if number % 5 == 4:
                app.card.show(question(position=number, age_s=541.0 + number), None)
                await settle(pilot)
        assert app.decided == []
        assert app.card.look.answer.text == "wait, start at a"
        app.card.show(card("q-other"), None)
        await press(pilot, *"wait", after=0.05)
        assert app.decided == []


async def test_a_jump_to_the_end_leaves_approve_inert_and_pages_make_it_live() -> None:
    """E4: G shows the last page only; space counts what it shows."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, card(payload=long_payload(500), payload_id="long"))
        await press(pilot, "G", "a")
        assert app.decided == [] and app.card.state is State.UNSEEN
        await press(pilot, "g", *["space"] * 60)
        assert app.card.state is State.READY
        assert "all 500 lines seen" in "\n".join(app.lines())
        await press(pilot, "a")
        assert len(app.decided) == 1


async def test_rows_seen_at_one_width_are_seen_at_another() -> None:
    """E4, C27: a new size does not forget, and does not invent."""
    app = stage()
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot, card(payload=long_payload(40, 150), payload_id="long"))
        before = app.card.guard.lines_unseen
        app.placed.places = {"card": Place(0, 0, 100, 23)}
        await pilot.resize_terminal(100, 24)
        await settle(pilot)
        await settle(pilot)
        assert 0 < app.card.guard.lines_unseen <= before
        assert app.card.state is not State.READY


async def test_t2_asks_again_on_an_inverse_row() -> None:
    """T2: the row says what `y` would approve; the decision follows `y` alone."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, tier(card(), "T2"))
        await press(pilot, "a")
        assert app.lines()[21] == " press y to approve: Change README.md +3 -1"
        segment = app.screen._compositor.render_strips(app.size)[21]._segments[0]
        assert segment.style is not None and segment.style.reverse
        assert app.decided == []
        await press(pilot, "j")
        assert app.lines()[21].startswith(" [a] approve once")
        await press(pilot, "a", "y")
        assert [item.verdict for item in app.decided] == ["approve"]


async def test_t3_takes_a_comment_and_the_digest_and_pasting_does_not_count() -> None:
    """T3: two lines to type."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, tier(card(), "T3"))
        await press(pilot, "a")
        assert app.lines()[21].startswith(" comment:")
        assert app.lines()[22].startswith(" first 4 characters of the digest:")
        app.card.line.post_message(events.Paste("pasted reason"))
        await press(pilot, "enter")
        app.card.digest.post_message(events.Paste("9c41"))
        await settle(pilot)
        assert app.card.digest.value == ""
        await press(pilot, "enter")
        assert app.decided == []
        await press(pilot, *"9c4", "enter")
        assert app.said == "type the first 4 characters of the digest"
        await press(pilot, "1", "enter")
        assert [(item.verdict, item.comment) for item in app.decided] == [("approve", "pasted reason")]


async def test_d_opens_a_line_and_a_digit_is_a_reason() -> None:
    """A denial without a reason is not sent; what is typed goes to the agent."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "d")
        text = "\n".join(app.lines())
        for words in ("1 wrong file or scope", "3 apply the lesson first", "4 resolve the open question first"):
            assert words in text
        await press(pilot, "enter")
        assert app.said == "type a reason first" and app.decided == []
        await press(pilot, "3", "tab", *"!", "enter")
        (sent,) = app.decided
        assert (sent.verdict, sent.comment) == ("deny", "apply the lesson first!")
        assert dict(sent.arguments) == {"as_policy": True}
        assert app.focused is app.card


async def test_esc_leaves_the_line_and_then_the_card() -> None:
    """Esc goes back one level at a time, undecided."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "d", "2", "escape")
        assert app.of(LeaveCard) == [] and app.lines()[21].startswith(" [a] approve once")
        await press(pilot, "escape")
        assert len(app.of(LeaveCard)) == 1 and app.decided == []


async def test_a_card_that_changed_under_the_finger_refuses() -> None:
    """C7, F01: the file moved between paint and key; Enter looks again."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "d", "1")
        other = "sha256:" + "e" * 64
        app.card.show(card(request=request(digest=other), payload_id="p2"), None)
        await settle(pilot)
        await press(pilot, "enter")
        assert app.decided == [] and "CHANGED" in app.lines()[0]
        await press(pilot, "escape", "a")
        assert app.said == "changed since shown: Enter looks again" and app.decided == []
        await press(pilot, "enter")
        app.ticks.now += 1
        await press(pilot, "a")
        assert [item.digest for item in app.decided] == [other]


async def test_a_refused_decision_leaves_the_card_to_decide_again() -> None:
    """The loser of a race sees why and the card as it is."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "a")
        assert app.card.state is State.SENT
        app.card.post_message(DecisionRefused("q-docs", "storage failed"))
        await settle(pilot)
        await press(pilot, "n", "j", "a")
        assert len(app.decided) == 2


async def test_an_expired_card_decides_nothing() -> None:
    """Expiry is no answer, and counts to the second while the card is open."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, card(left_s=5.0))
        app.ticks.now += 5
        await press(pilot, "a")
        assert app.said.startswith("expired") and app.decided == []


async def test_enters_buffered_while_the_terminal_was_away() -> None:
    """F04: the terminal lost its focus on a READY card with a reason typed; ten Enters come with the focus."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "d", "1")
        app.post_message(events.AppBlur())
        await settle(pilot)
        app.post_message(events.AppFocus())
        await settle(pilot)
        for _ in range(10):
            app.ticks.now += 0.01
            await pilot.press("enter")
        assert app.decided == []


async def test_the_mouse_decides_only_on_an_option_and_never_with_the_focusing_click() -> None:
    """The click that gives the card its keys is not a decision."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app: Any = pilot.app
        app.card.show(card(), None)
        app.card.peek = False
        await settle(pilot)
        await pilot.click("#card", offset=(2, 21))
        assert app.decided == [] and app.focused is app.card
        app.ticks.now += 1
        await pilot.click("#card", offset=(40, 15))
        assert app.decided == []
        app.ticks.now += 1
        await pilot.click("#card", offset=(2, 21))
        assert len(app.decided) == 1


async def test_later_and_message_decide_nothing() -> None:
    """z leaves it; m opens a message about it."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, card(left_s=500.0))
        await press(pilot, "m", "z")
        (message,) = app.of(ComposeMessage)
        assert (message.root, message.draft) == ("/r/docs", "About Change README.md +3 -1: ")
        assert app.said == "later, expiry runs" and app.of(LeaveCard) and app.decided == []


async def test_without_an_editor_the_act_is_edited_in_place() -> None:
    """An edit is a decision of its own, with the changed field; unchanged text is none."""
    made = card(request=request(op_kind="fs_write", fields={"path": "a.txt", "content": "one\n"}))
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, made)
        await press(pilot, "e")
        assert app.focused is app.card.area
        await press(pilot, "escape")
        assert app.said == "not edited" and app.decided == []
        await press(pilot, "j", "e", "X", "ctrl+s")
        (sent,) = app.decided
        assert sent.verdict == "edit" and dict(sent.arguments) == {"fields": {"content": "Xone\n"}}


async def test_c_approves_with_a_comment_after_y() -> None:
    """Enter ends the comment; `y` approves."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "c", *"ok", "enter")
        assert app.decided == []
        await press(pilot, "y")
        assert [(item.verdict, item.comment) for item in app.decided] == [("approve", "ok")]


async def test_a_screen_too_small_decides_nothing() -> None:
    """E15: a card that cannot be fully shown is not decided on."""
    app = CardApp(Place(0, 0, 50, 10))
    async with app.run_test(size=(80, 24)) as pilot:
        await ready(pilot)
        await press(pilot, "a")
        assert app.decided == [] and app.card.state is State.SMALL


async def test_n_goes_past_the_card() -> None:
    """The card keeps only its own keys."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot)
        await press(pilot, "n")
        assert app.nexts == 1


async def test_a_mismatch_is_accepted_or_disputed() -> None:
    """Each kind has its own keys, behind the same guards."""
    made = card(request=request("q-m", RequestKind.MISMATCH), verdicts=("accept", "dispute"), contract=())
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, made)
        await press(pilot, "d", "D", "n", "o", "enter")
        assert [(item.verdict, item.comment) for item in app.decided] == [("dispute", "no")]
        app.card.show(replace(made, request=request("q-m2", RequestKind.MISMATCH)), None)
        await settle(pilot)
        await press(pilot, "j", "o")
        assert app.decided[-1].verdict == "accept"


# Questions


async def test_choose_type_and_send() -> None:
    """A choice, several lines of text, kept as policy; the draft is read back from the form."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question())
        await press(pilot, "j", "space", "i", *"so", "enter", *"it", "escape")
        assert app.card.look.answer.text == "so\nit"
        await press(pilot, "j", "space", "ctrl+s")
        (sent,) = app.decided
        assert sent.verdict == "answer"
        assert dict(sent.arguments) == {"text": "so\nit", "as": "policy", "choices": ["postgres"]}


async def test_ctrl_s_while_typing_sends() -> None:
    """ctrl+s counts from paint and focus, not from the last typed key."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question())
        await press(pilot, "i", *"yes", "ctrl+s", after=0.05)
        assert [dict(item.arguments)["text"] for item in app.decided] == ["yes"]
        assert app.focused is app.card


async def test_an_empty_answer_is_refused_and_a_draft_survives_leaving() -> None:
    """Esc keeps what was typed; another request does not get it."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question())
        await press(pilot, "ctrl+s")
        assert app.said == "an empty answer is not sent"
        await press(pilot, "i", *"draft", "escape")
        app.card.show(card(), None)
        await settle(pilot)
        app.card.show(question(), None)
        await settle(pilot)
        assert "   > draft" in app.lines()
        assert app.decided == []


async def test_d_dismisses_a_question_with_a_reason_and_a_does_nothing() -> None:
    """The places are the same as on every card."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question())
        await press(pilot, "a")
        assert app.said == "a does nothing on this question"
        await press(pilot, "d", *"no", "enter")
        assert [(item.verdict, item.comment) for item in app.decided] == [("dismiss", "no")]


async def test_a_form_asks_for_each_field() -> None:
    """Fields are typed one by one, on their own lines."""
    made = question(options=(), option_mode="form", form_fields=({"name": "host"}, {"name": "port"}))
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, made)
        await press(pilot, "i", *"db", "enter", "i", *"5", "escape", "ctrl+s")
        assert dict(app.decided[0].arguments)["fields"] == {"host": "db", "port": "5"}


async def test_many_choices_can_be_chosen() -> None:
    """Several of them, and taken back."""
    async with stage().run_test(size=(80, 24)) as pilot:
        app = await ready(pilot, question(option_mode="many"))
        await press(pilot, "space", "j", "space", "j", "space", "space", "ctrl+s")
        assert dict(app.decided[0].arguments)["choices"] == ["sqlite", "postgres"]
