"""A card that is closed while its timers, paints and keys are on their way harms nobody (T4, C11)."""

from __future__ import annotations

from textual.app import App, ComposeResult
from textual.screen import Screen

from cas_tui.console.card.card import CardView


class Holder(Screen[None]):
    def compose(self) -> ComposeResult:
        yield CardView()


async def test_a_card_whose_screen_is_gone_is_on_no_screen_and_draws_nothing() -> None:
    app: App[None] = App()
    async with app.run_test(size=(80, 24)) as pilot:
        for _ in range(30):
            screen = Holder()
            await app.push_screen(screen)
            card = screen.query_one(CardView)
            card.peek = False
            app.pop_screen()
            card._tick()
            card.repaint()
            card.on_blur()
            await pilot.pause()
            assert not card.is_on_screen_now
            card._tick()
            card._was_painted()
            card.on_descendant_blur()
            card.repaint()
