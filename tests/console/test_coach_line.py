"""The coach line changes by what happened, takes no key, and ends when told (SCREENS §8)."""

from __future__ import annotations

from pathlib import Path

from console_stage import Stage, console, row, screen_text

from cas_tui.console.view import DemoInfo
from cas_tui.console.widgets.coach import SHORT, Seen, advice
from cas_tui.text import cells

STORY = (
    (Seen(), "A scripted agent works in a scratch git repository. Nothing of yours is touched."),
    (Seen(acts=1), "Reading needs no approval. You are called only when it wants to change something."),
    (Seen(acts=1, predicted=True), "Before it acts it says what will happen, and what would prove it wrong."),
    (Seen(acts=1, predicted=True, waiting="effect"), "It wants to change a file. Press n."),
    (Seen(acts=1, waiting="effect", selected=True), "This is a look. Press Enter to take it up. Enter never decides."),
    (
        Seen(waiting="effect", selected=True, on_card=True, card_kind="effect", card_tier="T1"),
        "Above: its promise. Below: the exact change, all of it. a approves this and nothing else, d refuses.",
    ),
    (
        Seen(on_card=True, card_kind="effect", card_tier="T1", decided=1, observed=True),
        "Done means observed: its own record now says so. `git log` will show it. Press n.",
    ),
    (Seen(on_card=True, card_kind="effect", card_tier="T2", decided=1), "Harder to undo, so it asks twice: a, then y."),
    (Seen(decided=2, mismatched=1), "It was wrong, and wrote down why. Its next act must cite that lesson."),
    (
        Seen(waiting="question", decided=2, mismatched=1),
        "It asks you. n, Enter, type, ctrl+s. Your answer becomes a belief you can follow.",
    ),
    (
        Seen(decided=2, answered=1, mismatched=1, observed=True),
        "Next it will try something you should refuse. ? shows the keys of where you are.",
    ),
)


def test_each_beat_of_the_story_has_its_line() -> None:
    """Beat by beat, as designed."""
    for seen, line in STORY:
        assert advice(seen)[0] == line
        assert cells(line) <= 110
        assert cells(SHORT.get(line, line)) <= 78


async def test_the_coach_line_takes_one_row_and_no_key_and_can_be_ended(tmp_path: Path) -> None:
    """It stands above the keys at every size; `:coach` gives the row back."""
    demo = DemoInfo(tmp_path, tmp_path / "memory", tmp_path / "workspace")
    stage = Stage(attention_rows=(row("docs", "effect", "Change README.md +3 -1", "T1", 1),))
    for size in ((80, 24), (120, 40), (200, 60)):
        app = console(stage, demo=demo)
        async with app.run_test(size=size) as pilot:
            for _ in range(3):
                await pilot.pause()
            assert "DEMO" in screen_text(app)[0]
            assert screen_text(app)[-3] == " It wants to change a file. Press n."
            focused = app.focused
            await pilot.press("n")
            for _ in range(2):
                await pilot.pause()
            assert app.focused is focused
            assert screen_text(app)[-3].startswith(" This is a look.")
            await pilot.press("colon", *"coach", "enter")
            for _ in range(3):
                await pilot.pause()
            assert "This is a look" not in "\n".join(screen_text(app))


async def test_after_fifteen_quiet_seconds_it_repeats_the_key_that_goes_on(tmp_path: Path) -> None:
    """Only the one key."""
    demo = DemoInfo(tmp_path, tmp_path / "memory", tmp_path / "workspace")
    app = console(Stage(attention_rows=(row("docs", "effect", "Change README.md +3 -1", "T1", 1),)), demo=demo)
    async with app.run_test(size=(80, 24)) as pilot:
        await pilot.pause()
        app._key_at -= 16
        app.publish()
        await pilot.pause()
        assert screen_text(app)[-3].startswith(" n goes on. ")
