"""Every key of the console in one table: binding id, keys, what it does, where it works, its `:` name (SCREENS §6).

Bindings, the key row, the help of where you are, the palette and the go-to line are all made from this table. Decision
keys stand here for the help only; the card alone acts on them, behind its guards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from textual.binding import Binding, BindingType


@dataclass(frozen=True, slots=True)
class Command:
    """One thing the operator can do.

    Attributes:
        id: the name a keymap uses; never changes.
        keys: Textual key names, comma separated; empty for what has a name only.
        action: the Textual action; empty where the card handles the key itself.
        scope: who binds it: app, home, list, page (a screen over home), card.
        where: where it works, in words for the help.
        help: what it does, one line.
        label: words in the key row; empty when it is not shown there.
        shown: how the key is written.
        name: what `:` and the palette call it; empty when neither offers it.
    """

    id: str
    keys: str
    action: str
    scope: str
    help: str
    shown: str = ""
    label: str = ""
    name: str = ""


PANES: Final = (
    ("queue", "Needs you", "needs you"),
    ("fleet", "Fleet", "fleet"),
    ("stream", "Stream", "stream"),
    ("goals", "Goals and plan", "goals"),
    ("beliefs", "Beliefs", "beliefs"),
    ("uncertainties", "Uncertainties", "uncertainties"),
    ("citations", "Citations", "citations"),
    ("obligations", "Obligations", "obligations"),
    ("issues", "Issues", "issues"),
)
"""Panes 1 to 9: id, title, `:` name."""


def _panes() -> tuple[Command, ...]:
    return tuple(
        Command(f"pane.{number}", str(number), f"screen.pane({number})", "home", f"pane {number}: {title}", name=name)
        for number, (_, title, name) in enumerate(PANES, 1)
    )


COMMANDS: Final[tuple[Command, ...]] = (
    # Lists and readers
    Command("list.down", "j,down", "move(1)", "list", "next row", "j"),
    Command("list.up", "k,up", "move(-1)", "list", "row before", "k"),
    Command("list.first", "g,home", "end(-1)", "list", "first row", "g"),
    Command("list.last", "G,end", "end(1)", "list", "last row", "G"),
    Command("list.half_down", "ctrl+d", "half_page(1)", "list", "half a page down", "ctrl+d"),
    Command("list.half_up", "ctrl+u", "half_page(-1)", "list", "half a page up", "ctrl+u"),
    Command("list.page_down", "pagedown", "page(1)", "list", "a page down", "PgDn"),
    Command("list.page_up", "pageup", "page(-1)", "list", "a page up", "PgUp"),
    Command("list.open", "enter", "open", "list", "open the card or the record; never decides", "Enter", "open"),
    Command("list.newer", "full_stop", "take_in", "list", "take in newer rows", ".", "newer"),
    # Home
    Command(
        "home.next", "n", "screen.next_row(1)", "home", "next row that needs you, then review", "n", "next", "next"
    ),
    Command("home.previous", "N", "screen.next_row(-1)", "home", "the row before", "N", name="previous"),
    Command(
        "home.filter", "slash", "screen.filter", "home", "show only rows with these words", "/", "filter", "filter"
    ),
    Command("home.full", "f", "screen.full", "home", "focused pane on the whole screen", "f", name="full"),
    Command("home.back", "escape", "screen.back", "home", "back one level, drafts are kept", "Esc", name="back"),
    *_panes(),
    # Decisions: the card acts on these, and only when READY
    Command("card.approve", "a", "", "card", "approve (T1), arm (T2, T3)", "a"),
    Command("card.confirm", "y", "", "card", "confirm an armed approval", "y"),
    Command("card.deny", "d", "", "card", "deny or dismiss, with a reason", "d"),
    Command("card.send", "ctrl+s", "", "card", "send an answer", "ctrl+s"),
    Command("card.edit", "e", "", "card", "edit the act before approving it", "e"),
    Command("card.comment", "c", "", "card", "approve with a comment", "c"),
    Command("card.later", "z", "", "card", "later; the expiry runs", "z"),
    Command("card.accept", "o", "", "card", "accept a mismatch or an unapproved change as seen", "o"),
    Command("card.revert", "u", "", "card", "propose to undo, as a new request", "u"),
    Command("card.dispute", "D", "", "card", "dispute a match", "D"),
    # Whole screens over home
    Command("page.back", "escape,q", "screen.back", "page", "back", "Esc", "back"),
    Command("page.next", "n", "screen.next_row(1)", "card-page", "next request", "n", "next"),
    Command("page.previous", "N", "screen.next_row(-1)", "card-page", "the request before", "N"),
    # Everywhere
    Command("run.hold", "S", "app.hold", "app", "hold the run under the cursor; again: hold all", "S", "hold", "hold"),
    Command("run.hold_all", "", "app.hold_all", "app", "hold all runs", "S S", name="hold all"),
    Command("run.resume", "R", "app.resume", "app", "resume a held run; y confirms", "R", "resume", "resume"),
    Command("run.message", "m", "app.message", "app", "message to that run", "m", "message", "message"),
    Command("app.goto", "colon", "app.goto", "app", "go to a pane or command by name", ":", "go to"),
    Command("app.palette", "ctrl+p", "app.command_palette", "app", "palette", "ctrl+p"),
    Command("app.help", "question_mark", "app.help", "app", "keys of where you are", "?", "help", "help"),
    Command("app.read_again", "ctrl+r", "app.read_again", "app", "read again and redraw", "ctrl+r", name="read again"),
    Command("app.lock", "", "app.lock", "app", "no decision from this console until unlocked", name="lock"),
    Command("app.unlock", "", "app.unlock", "app", "decisions on again; asks to type unlock", name="unlock"),
    Command("app.coach", "", "app.coach", "app", "end the coach line of the demo", name="coach"),
    Command("app.dark", "", "app.pick_theme('cas-dark')", "app", "dark theme", name="theme dark"),
    Command("app.light", "", "app.pick_theme('cas-light')", "app", "light theme", name="theme light"),
    Command(
        "app.contrast",
        "",
        "app.pick_theme('cas-contrast')",
        "app",
        "theme without red and green",
        name="theme contrast",
    ),
    Command("app.ansi", "", "app.pick_theme('cas-ansi')", "app", "the terminal's own colours", name="theme ansi"),
    Command("app.suspend", "ctrl+z", "app.suspend_process", "app", "suspend", "ctrl+z", name="suspend"),
    Command("app.copy", "ctrl+c", "app.copy_or_hint", "app", "copy the selection; never quits", "ctrl+c"),
    Command("app.quit", "q", "app.quit_or_back", "app", "leave; y confirms", "q", "leave", "leave"),
    Command("app.leave", "ctrl+q", "app.leave", "app", "leave; a second ctrl+q leaves at once", "ctrl+q"),
)

BY_ID: Final[Mapping[str, Command]] = {command.id: command for command in COMMANDS}

HELP: Final[Mapping[str, tuple[str, ...]]] = {
    "home": ("list", "home", "app"),
    "card": ("card", "card-page", "page", "app"),
    "page": ("list", "page", "app"),
}
"""For each place: the scopes whose keys work there, in the order the help shows them."""

SCOPE_TITLES: Final[Mapping[str, str]] = {
    "list": "In lists and readers",
    "home": "On the home screen",
    "card": "On a READY card only",
    "card-page": "On a whole-screen card",
    "page": "Here",
    "app": "Everywhere but while typing",
}

_PRIORITY: Final = frozenset({"app.leave"})
"""Bindings that work while typing too."""

NEVER_APPROVE: Final = frozenset({"enter", "space", "escape", "ctrl+m", "ctrl+j", "ctrl+i", "ctrl+h"})
"""Keys that a keymap must not put a decision on: they are what terminals buffer, repeat and confuse (CONSOLE §4.2)."""


def bindings(scope: str) -> list[BindingType]:
    """The bindings of one scope, with their ids so that a keymap can move them."""
    return [
        Binding(command.keys, command.action, command.help, show=False, id=command.id, priority=command.id in _PRIORITY)
        for command in COMMANDS
        if command.scope == scope and command.keys and command.action
    ]


def named() -> tuple[Command, ...]:
    """What `:` and the palette offer."""
    return tuple(command for command in COMMANDS if command.name)


def find(words: str) -> Command | None:
    """The command that `:` means: the exact name, else the only or first one that begins so. A digit is its pane."""
    wanted = " ".join(words.casefold().split())
    if not wanted:
        return None
    if wanted in BY_ID:
        return BY_ID[wanted]
    if wanted.isascii() and wanted.isdigit():
        return BY_ID.get(f"pane.{wanted}")
    offered = named()
    for command in offered:
        if command.name == wanted:
            return command
    return next((command for command in offered if command.name.startswith(wanted)), None)


def keymap_fault(keymap: Mapping[str, str]) -> str:
    """Why a keymap is refused, or empty: an unknown id, or a decision on a key that terminals buffer."""
    for name, keys in keymap.items():
        if name not in BY_ID:
            return f"unknown binding id: {name}"
        taken = {key.strip() for key in keys.split(",")}
        if name.startswith("card.") and taken & NEVER_APPROVE:
            return f"{name} may not be on {', '.join(sorted(taken & NEVER_APPROVE))}"
    return ""
