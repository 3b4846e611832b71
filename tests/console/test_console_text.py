"""Whatever a run writes, the console shows it, inert, in its own place (SAFETY T1, T2, T4, T6; CRAFT C1 to C5)."""

from __future__ import annotations

from dataclasses import replace

import pytest
from console_stage import Stage, attention, card, console, fleet, goals, screen_text, stream
from hostile import FORBIDDEN, HOSTILE

from cas_tui.model.shapes import Line
from cas_tui.text import cells


class HostileStage(Stage):
    """The same rows with one hostile string in every field that a run can write."""

    def poison(self, words: str) -> None:
        """Put `words` everywhere."""
        self.words = words
        self.attention_rows = tuple(replace(r, run=words, ask=words, waiting_on="", settled="") for r in attention())
        self.fleet_rows = tuple(replace(r, name=words, note=words) for r in fleet())
        self.stream_rows = tuple(
            replace(r, action=words, expected=words, observed=words, learned=words, at=words) for r in stream()
        )
        made = card()
        self.cards["q-docs"] = replace(
            made,
            run=words,
            cwd=words,
            request=replace(made.request, title=words),
            contract=tuple(replace(r, text=words, right=words) for r in made.contract),
            payload=tuple(replace(r, text=words) for r in made.payload),
        )

    def goals(self, picture: object, root: str, now: object) -> tuple[Line, ...]:
        """Every field hostile."""
        return tuple(replace(line, text=self.words, label=self.words, right=self.words) for line in goals())

    beliefs = uncertainties = citations = obligations = issues = goals

    def detail(self, picture: object, root: str, key: str, now: object) -> tuple[Line, ...]:
        """Every field hostile, quoted and not."""
        return tuple(
            replace(line, text=self.words, label=self.words, quoted=n % 2 == 0) for n, line in enumerate(goals())
        )


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
async def test_hostile_text_reaches_no_row_unmade_safe_and_moves_no_column(size: tuple[int, int]) -> None:
    """Every string of group E through every pane: no crash, nothing forbidden drawn, no row grows (T1, T4, T6)."""
    stage = HostileStage()
    stage.poison("")
    app = console(stage, ascii_mode=False)
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.press("n", "n")
        panes = ("", "2", "3", "4") if size[0] < 200 else ("",)
        for pane in panes:
            if pane:
                await pilot.press(pane)
            for name, words in HOSTILE:
                stage.poison(words)
                app.publish()
                await pilot.pause()
                for line in screen_text(app):
                    assert not FORBIDDEN.search(line), (name, line)
                    assert cells(line) <= size[0], (name, line)
                    assert "cas-tui" in screen_text(app)[0]
            if pane:
                await pilot.press("escape")


async def test_detail_shows_hostile_text_whole_and_inert() -> None:
    """A record is wrapped, not cut (C5)."""
    stage = HostileStage()
    stage.poison("x" * 500)
    app = console(stage)
    async with app.run_test(size=(80, 24), notifications=True) as pilot:
        app.open_detail("/r/docs", "any")
        for _ in range(4):
            await pilot.pause()
        shown = "".join(line.strip() for line in screen_text(app))
        assert shown.count("x") > 1000
        for name, words in HOSTILE:
            stage.poison(words)
            app.publish()
            await pilot.pause()
            for line in screen_text(app):
                assert not FORBIDDEN.search(line), (name, line)


async def test_with_nothing_to_decide_the_screen_has_no_colour() -> None:
    """The calm rule: text, muted and rules, and no other colour (SCREENS §7)."""
    stage = Stage(
        attention_rows=(),
        fleet_rows=tuple(replace(r, group="Working", glyph="working") for r in fleet() if r.glyph != "needs"),
        stream_rows=tuple(replace(r, glyph="done", verdict="as expected") for r in stream()),
    )
    app = console(stage, theme="dark")
    async with app.run_test(size=(200, 60)) as pilot:
        for _ in range(3):
            await pilot.pause()
        tokens = app.theme_variables
        calm = {tokens[name].lower() for name in ("ink", "muted", "rule", "ground", "raised")}
        seen = set()
        for strip in app.screen._compositor.render_strips(app.size):
            for segment in strip:
                for colour in (segment.style.color, segment.style.bgcolor) if segment.style else ():
                    if colour is not None and colour.triplet is not None:
                        seen.add(colour.triplet.hex.lower())
        assert seen <= calm, seen - calm


async def test_the_number_of_widgets_does_not_grow_with_the_run() -> None:
    """Ten rows or ten thousand: the same widgets (C9), and only the newest are drawn."""
    stage = Stage()
    app = console(stage)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.press("n", "n")
        before = len(list(app.screen.walk_children()))
        one = stage.stream_rows[-1]
        stage.stream_rows = tuple(replace(one, key=f"k{n}", action=f"fs_read {n}") for n in range(10_000))
        app.publish()
        for _ in range(3):
            await pilot.pause()
        assert len(list(app.screen.walk_children())) == before
        assert "fs_read 9999" in "\n".join(screen_text(app))


async def test_a_moment_without_change_repaints_nothing() -> None:
    """No region is refreshed when no row changed (C10)."""
    stage = Stage()
    app = console(stage)
    async with app.run_test(size=(200, 60)) as pilot:
        await pilot.press("n", "n")
        for _ in range(5):
            await pilot.pause()
        asked: list[object] = []
        kinds = [w for w in app.screen.walk_children() if hasattr(w, "refresh")]
        for widget in kinds:
            widget.refresh = lambda *regions, _w=widget, **more: asked.append((_w, regions))  # type: ignore[method-assign,assignment]
        app.publish()
        assert asked == []
