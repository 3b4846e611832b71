"""The drawings of the card, row by row, in the ASCII mode."""

from __future__ import annotations

from dataclasses import replace

import pytest
from card_stage import EARNED, REJECT, SAYS, CardApp, Place, card, press, question, request, settle, take_up, tier

from cas_tui.console.card.standing import State
from cas_tui.model.shapes import ContractRow, ReceiptLine
from cas_tui.protocol.requests import RequestKind, RequestState

SMALL = r"""
 * docs   effect fs_patch   T1   2 of 3     READY   no expiry   sha256:9c41e07b
 Change README.md: 3 lines added, 1 removed, mode stays 0644
 T1 because: reversible, inside the workspace, predicted, 17 of 18 right here
-- Contract: what the agent promised --------------------- act-7f3a  14:29:04 --
 says       "README shows Python 3.11 and the new install line"             90 %
 reject if  "any other line of README.md changes"
 may fail   "context drift"             known for this tool but not listed: none
 = earned   says 90 %; at 85-95 % on fs_patch right 17 of 18 (74-99 %)
 = deed     matches the promise: same file, same kind of act
 = leans on B-12 "python >= 3.11" 0.9, checked 2h ago     open questions: none
 = lessons  none pending                                  seen before: no
-- Exact change: README.md --------------------------------- all 7 lines seen --
   10  10     ## Install
   11  11
   12       - python 3.9 or newer, then: pip install tool
       12   + python 3.11 or newer, then:
       13   +     python -m venv .venv
       14   +     .venv/bin/pip install tool
   13  15     ## Use
                                                       end of file, newline kept
--------------------------------------------------------------------------------
 [a] approve once   [d] deny, with reason   Esc leave undecided
 e edit  c comment  A rule  m ask  z later  f full  v split  w wrap  n next  ?
"""

MEDIUM = r"""
-- docs   effect fs_patch   T1   2 of 3 ----------------------------- PEEK, Enter opens   no expiry   sha256:9c41e07b --
 Change README.md: 3 lines added, 1 removed, mode stays 0644
 T1 because: reversible, inside the workspace, predicted, 17 of 18 right here
-- Contract: what the agent promised ----------- | -- Exact change: README.md ---------------------- all 7 lines seen --
 says       "README shows Python 3.11 and the    |    10  10     ## Install
            new install line"              90 %  |    11  11
 reject if  "any other line of README.md         |    12       - python 3.9 or newer, then: pip install tool
            changes"                             |        12   + python 3.11 or newer, then:
 may fail   "context drift"                      |        13   +     python -m venv .venv
                                                 |        14   +     .venv/bin/pip install tool
 = earned   says 90 %; at 85-95 % on fs_patch    |    13  15     ## Use
            right 17 of 18 (74-99 %)             |                                             end of file, newline kept
 = deed     matches the promise                  |
 = leans on B-12 "python >= 3.11" 0.9, 2h ago    |
 = open     no uncertainty touches README.md     |
 = lessons  none pending                         |
 = before   not seen before                      |
 [a] approve once   [d] deny, with reason   Esc leave undecided        e edit  c comment  A rule  m ask  z later  f v w
"""

LARGE = r"""
-- docs   effect fs_patch   T1   2 of 3 ------------------- READY   no expiry   sha256:9c41e07b --
 Change README.md: 3 lines added, 1 removed, mode stays 0644
 T1 because: reversible, inside the workspace, predicted, 17 of 18 right here
-- Contract: what the agent promised -------------------------------------- act-7f3a   14:29:04 --
 says       "README shows Python 3.11 and the new install line"                               90 %
 reject if  "any other line of README.md changes"
 may fail   "context drift"                                  known for this tool, not listed: none
 = earned   says 90 %; at 85-95 % on fs_patch right 17 of 18 (74-99 %)
 = deed     matches the promise: same file, same kind of act
 = leans on B-12 "python >= 3.11" 0.9, checked 2h ago
 = open     no uncertainty touches README.md          = lessons  none pending
 = before   not seen before
-- Exact change: README.md --------------------------------------------------- all 7 lines seen --
   10  10     ## Install
   11  11
   12       - python 3.9 or newer, then: pip install tool
       12   + python 3.11 or newer, then:
       13   +     python -m venv .venv
       14   +     .venv/bin/pip install tool
   13  15     ## Use
                                                                         end of file, newline kept
"""

QUESTION = r"""
 * api    question   waits 9m   1 of 3      READY   no expiry   sha256:41d0aa93
 "Which database do the tests use?"
 asked because: mismatch act-3c10, said "tests pass", came "no such function"
-- What hangs on it ------------------------------------ learning.jsonl +8812 --
 says       "I found sqlite in conftest.py and postgres in ci.yml"
 impact     "every migration test"           plan "ask, then rerun the 4 tests"
 = waits    run api is parked; 2 plan steps (S-4, S-5) depend on the answer
 = leans on B-7 "tests run on sqlite" 0.6, now doubted
-- Answer ----------------- Enter or i types, Esc stops typing, draft is kept --
   ( ) sqlite                        choices offered by the agent: 3
   ( ) postgres
   ( ) both, by marker
   text:
   > postgres 16, started by make db. sqlite is only for the docs example.
   >

   keep as   (o) belief    ( ) policy    ( ) resolves U-3
   becomes   belief "postgres 16, started by ma..." cited to this question
   then      sent > written > picked up > cited by the next prediction

--------------------------------------------------------------------------------
 [ctrl+s] send answer   [d] dismiss, with reason   Esc leave unanswered
 space choose  i type  f full  z later  n next  ?        a does nothing here
"""


def rows(drawing: str) -> list[str]:
    """A drawing as rows."""
    return drawing.strip("\n").split("\n")


def compact() -> tuple[ContractRow, ...]:
    """The contract as the model gives it: one fact a row."""
    return (
        SAYS,
        REJECT,
        ContractRow("may fail", "context drift", quoted=True, right="known for this tool, not listed: none"),
        EARNED,
        ContractRow("= deed", "matches the promise: same file, same kind of act"),
        ContractRow("= leans on", 'B-12 "python >= 3.11" 0.9, checked 2h ago'),
        ContractRow("= open", "no uncertainty touches README.md"),
        ContractRow("= lessons", "none pending"),
        ContractRow("= before", "not seen before"),
    )


async def test_the_card_on_a_small_screen_is_the_drawing() -> None:
    """SCREENS §3, all 23 rows of it."""
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, card())
        app.ticks.now += 1
        app.card.repaint()
        await settle(pilot)
        assert app.lines()[:23] == rows(SMALL)


async def test_contract_and_payload_stand_side_by_side_on_a_medium_screen() -> None:
    """SCREENS §5 at 120 columns: contract 48, payload 69; a card without the keys peeks."""
    made = list(compact())
    made[2] = ContractRow("may fail", "context drift", quoted=True)
    made[4] = replace(made[4], text="matches the promise")
    made[5] = replace(made[5], text='B-12 "python >= 3.11" 0.9, 2h ago')
    # The drawing has an empty row between what the agent said and what we computed.
    made.insert(3, ContractRow("", ""))
    app = CardApp(Place(0, 14, 120, 18))
    async with app.run_test(size=(120, 40)) as pilot:
        app.card.show(card(contract=tuple(made)), None)
        await settle(pilot)
        assert app.card.state is State.PEEK
        assert app.lines()[14:32] == rows(MEDIUM)


async def test_the_card_in_the_middle_of_a_large_screen_is_the_drawing() -> None:
    """SCREENS §5 at 200 columns: short computed facts share a row, options stay at the foot."""
    app = CardApp(Place(47, 14, 98, 42))
    async with app.run_test(size=(200, 60)) as pilot:
        await take_up(pilot, card(contract=compact()))
        app.ticks.now += 1
        app.card.repaint()
        await settle(pilot)
        drawn = [line[47:] for line in app.lines()[14:56]]
        assert drawn[:21] == rows(LARGE)
        assert not any(drawn[21:41])
        foot = " [a] approve once   [d] deny, with reason   Esc leave   e edit  c comment  A rule  m ask  z later"
        assert drawn[41] == foot


async def test_the_question_is_the_drawing() -> None:
    """SCREENS §4; the question itself is the agent's and so stands in quotes."""
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, question())
        app.card.look.answer.text = "postgres 16, started by make db. sqlite is only for the docs example."
        app.ticks.now += 1
        app.card.repaint()
        await settle(pilot)
        assert app.lines()[:23] == rows(QUESTION)


async def test_a_long_payload_folds_the_contract_but_never_a_flag() -> None:
    """The contract gives way to the payload: two rows of it stay, and each row with a flag."""
    from card_stage import long_payload

    flagged = ContractRow("= deed", "another file than promised", flagged=True)
    made = card(contract=(SAYS, REJECT, EARNED, flagged, *compact()[5:]), payload=long_payload(60), payload_id="long")
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, made)
        text = app.lines()
        assert text[3].endswith("folded, f --")
        assert text[4].startswith(" says") and text[5].startswith(" reject if")
        assert text[6] == " = deed     another file than promised"
        assert text[7].startswith("-- Exact change")
        await press(pilot, "f")
        assert app.lines()[4] == text[6], "even with all room to the payload"
        await press(pilot, "f")
        assert any(line.startswith(" = earned") for line in app.lines())


async def test_an_act_without_a_prediction_says_so_in_place_of_the_contract() -> None:
    """UNPREDICTED is one danger line."""
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, tier(card(unpredicted=True, contract=(), tier_flags=("new path",), unconfined=True), "T3"))
        assert app.lines()[2] == " T3 because: UNCONFINED: can act without asking, new path, harder to undo"
        assert app.lines()[4] == " UNPREDICTED: the agent said nothing about this act."
        strip = app.screen._compositor.render_strips(app.size)[4]
        inks = {segment.style.color.name for segment in strip if segment.text.strip() and segment.style}
        assert inks == {app.theme_variables["danger"].lower()}


@pytest.mark.parametrize(
    ("kind", "verdicts", "first", "second"),
    [
        (RequestKind.MISMATCH, ("accept", "dispute"), "[o] accept, as seen", "[D] dispute, with reason"),
        (RequestKind.UNAPPROVED, ("accept", "revert"), "[o] accept, as seen", "[u] propose to undo"),
        (RequestKind.ISSUE, ("assign", "resolve", "dismiss"), "[o] resolve, with note", "[x] dismiss, with reason"),
        (RequestKind.OBLIGATION, ("reconcile", "cancel"), "[h] it happened", "[t] it did not"),
    ],
)
async def test_every_kind_has_yes_no_and_leave_in_the_same_places(
    kind: RequestKind, verdicts: tuple[str, ...], first: str, second: str
) -> None:
    """Constant geometry: yes first, no second, leave third; `a` says that it does nothing here."""
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        made = card(request=request("q-x", kind), verdicts=verdicts, contract=(), tier_because="")
        await take_up(pilot, made)
        assert app.lines()[21].startswith(f" {first}   {second}   Esc leave")
        assert app.lines()[22].endswith("a does nothing here")
        await press(pilot, "a")
        assert app.said == f"a does nothing on this {kind}"
        assert app.decided == []


async def test_an_unknown_outcome_offers_only_what_the_operator_found() -> None:
    """E8: it is never approved again; the operator says what happened."""
    made = card(request=request(state=RequestState.UNKNOWN), verdicts=("reconcile",))
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, made)
        assert app.lines()[21] == " [h] it happened   [t] it did not   Esc leave undecided"
        assert "unknown outcome fs_patch" in app.lines()[0]
        await press(pilot, "a", "t", "s", "a", "w")
        assert app.decided == []
        await press(pilot, "enter")
        assert [(item.verdict, item.comment, dict(item.arguments)) for item in app.decided] == [
            ("reconcile", "saw", {"happened": False})
        ]


async def test_a_decided_card_stays_and_shows_its_receipt() -> None:
    """The receipt names what was reached and nothing else."""
    app = CardApp(Place(0, 0, 80, 23))
    async with app.run_test(size=(80, 24)) as pilot:
        await take_up(pilot, card())
        done = card(settled="approved by ana 14:30", verdicts=())
        app.card.show(done, ReceiptLine("q-docs", True, True, False, False))
        await settle(pilot)
        assert "DECIDED BY ana 14:30" in app.lines()[0]
        assert app.lines()[21] == " approved by ana 14:30   sent > written > picked up   n next"
