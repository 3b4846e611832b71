"""The tables the console is made from: keys, places, themes, signs, each held to what SCREENS §6 and §7 say."""

from __future__ import annotations

import re
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui.console import themes
from cas_tui.console.commands import COMMANDS, HELP, NEVER_APPROVE, PANES, find, keymap_fault, named
from cas_tui.console.glyphs import PAIRS
from cas_tui.console.screens.plan import plan, shape_of
from cas_tui.text import cells


def test_every_command_has_one_id_and_a_key_or_a_name() -> None:
    """A key row, a help and a keymap can be made from the table alone."""
    ids = [command.id for command in COMMANDS]
    assert len(ids) == len(set(ids))
    assert all(command.keys or command.name for command in COMMANDS)
    assert all(command.help for command in COMMANDS)
    names = [command.name for command in named()]
    assert len(names) == len(set(names))


def test_no_binding_needs_what_terminals_confuse() -> None:
    """No ctrl+shift, alt or function key; twins of backspace, tab, enter and esc, and tmux's keys stay free."""
    for command in COMMANDS:
        for key in filter(None, command.keys.split(",")):
            assert not re.search(r"alt\+|shift\+|super\+|^f\d+$", key), command.id
            assert key not in {"ctrl+h", "ctrl+i", "ctrl+j", "ctrl+m", "ctrl+left_square_bracket", "ctrl+a", "ctrl+b"}


def test_no_key_means_two_things_in_one_place() -> None:
    """Within a place a key is bound once."""
    for scopes in HELP.values():
        for scope in scopes:
            keys = [key for c in COMMANDS if c.scope == scope and c.action for key in c.keys.split(",") if key]
            assert len(keys) == len(set(keys)), scope


def test_a_keymap_may_not_put_a_decision_on_a_key_that_is_buffered_or_repeated() -> None:
    """Approve on Enter or Space is refused with its name (CONSOLE §4.2)."""
    for key in sorted(NEVER_APPROVE):
        assert "card.approve" in keymap_fault({"card.approve": f"a,{key}"})
    assert keymap_fault({"card.approve": "p"}) == ""
    assert "unknown" in keymap_fault({"nothing.here": "x"})


def test_goto_finds_by_name_by_beginning_and_by_digit() -> None:
    """An empty or unknown word finds nothing."""
    assert find("beliefs") is find("bel") is find("5")
    assert find("") is None
    assert find("zzz") is None
    for number, (_, _, name) in enumerate(PANES, 1):
        assert find(name) is find(str(number))


@given(
    st.integers(80, 320),
    st.integers(24, 120),
    st.booleans(),
    st.dictionaries(st.sampled_from([p[0] for p in PANES]), st.integers(0, 200)),
)
@settings(max_examples=300, deadline=None)
def test_panes_never_overlap_and_never_leave_the_screen(
    width: int, height: int, coach: bool, wants: dict[str, int]
) -> None:
    """At every size each pane has room for its rule and a row, and none covers another (C26)."""
    places = plan(width, height, coach=coach, wants=wants)
    assert shape_of(width, height) != "tiny"
    for name, place in places.items():
        assert place.width >= 1, name
        assert place.height >= 1, name
        assert place.x >= 0 and place.y >= 0 and place.x + place.width <= width and place.y + place.height <= height, (
            name
        )
    for (_, a), (_, b) in combinations(places.items(), 2):
        apart = a.x + a.width <= b.x or b.x + b.width <= a.x or a.y + a.height <= b.y or b.y + b.height <= a.y
        assert apart, (a, b)
    assert {"truth", "keys", "health", "queue", "stream"} <= set(places)


@given(st.integers(1, 79), st.integers(1, 200))
def test_too_narrow_is_tiny(width: int, height: int) -> None:
    """Below 80 columns nothing is planned as if there were room."""
    assert shape_of(width, height) == "tiny"


def luminance(colour: str) -> float:
    """Relative luminance of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours."""
    light, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("theme", [t for t in themes.load() if not t.ansi], ids=lambda theme: theme.name)
def test_every_text_pair_of_a_theme_is_readable(theme: themes.Theme) -> None:
    """At least 5.3:1 on the ground and on the raised row; diff rows on their own ground (SCREENS §7)."""
    tokens = theme.variables
    for ink in ("ink", "muted", "need", "danger", "ok", "agent", "mode"):
        for ground in ("ground", "raised"):
            assert contrast(tokens[ink], tokens[ground]) >= 5.3, (theme.name, ink, ground)
    for ink in ("add", "del"):
        assert contrast(tokens[ink], tokens[f"{ink}-ground"]) >= 5.3, (theme.name, ink)


def test_there_are_four_themes_and_the_terminal_may_choose() -> None:
    """Dark unless the terminal says light; a name with or without its prefix."""
    known = themes.load()
    assert {theme.name for theme in known} == {"cas-dark", "cas-light", "cas-contrast", "cas-ansi"}
    assert themes.choose(None, {}, known) == "cas-dark"
    assert themes.choose(None, {"COLORFGBG": "0;15"}, known) == "cas-light"
    assert themes.choose("light", {}, known) == "cas-light"
    assert themes.choose("no such", {}, known) == "cas-dark"


def test_every_sign_and_its_twin_are_one_cell() -> None:
    """Signs never shift what stands behind them (C4)."""
    for name, (sign, twin) in PAIRS.items():
        assert cells(sign) == cells(twin) == 1, name
        assert twin.isascii(), name
