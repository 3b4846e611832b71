"""The home screen in ASCII mode is, row by row, what SCREENS §2 and §5 draw.

The files in tests/snapshots are those drawings, but for the keys of later parts in the key row, and the right-hand cells
of the side panes, which end at the pane's edge as numbers do. The card is the real one.
"""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from console_stage import Stage, attention, console, row, screen_text

SNAPSHOTS = Path(__file__).parent.parent / "snapshots"


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> None:
    """The drawings' local time is UTC."""
    monkeypatch.setenv("TZ", "UTC")
    time.tzset()


async def drawn(width: int, height: int) -> list[str]:
    """The console at this size, the second row of the queue selected, three rows arrived since."""
    stage = Stage(
        attention_rows=attention(long_ask=width >= 120), counts=(3, 4), size="large" if width >= 200 else "medium"
    )
    if width >= 200:
        stage.stream_rows = tuple(pair for pair in stage.stream_rows if pair.action != "git_status")
    app = console(stage, make_card=None)
    async with app.run_test(size=(width, height), notifications=True) as pilot:
        await pilot.press("n", "n")
        stage.attention_rows += tuple(
            row(f"new{n}", "issue", "arrived while the cursor is in the list", "", 1) for n in range(3)
        )
        app.publish()
        await pilot.pause()
        await pilot.pause()
        return screen_text(app)


@pytest.mark.parametrize(("width", "height"), [(80, 24), (120, 40), (200, 60)])
async def test_home_is_drawn_as_designed(width: int, height: int) -> None:
    """Every row of the terminal equals the drawing."""
    wanted = (SNAPSHOTS / f"home_{width}x{height}.txt").read_text(encoding="ascii").splitlines()
    assert await drawn(width, height) == wanted


async def test_without_ascii_every_row_has_the_same_width() -> None:
    """The signs of the terminal are one cell each: rows are as wide as their ASCII twins (C4)."""
    app = console(ascii_mode=False)
    async with app.run_test(size=(120, 40)) as pilot:
        await pilot.pause()
        from cas_tui.text import cells

        assert all(cells(line) <= 120 for line in screen_text(app))
