"""What can be decided on a card, with which key, and where it stands: one table for every kind of request.

The first place is for yes, the second for no, the third for leaving, whatever the kind (CONSOLE §4.3 rule 10). A key
that means nothing on a kind does nothing there, and says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from cas_tui import text
from cas_tui.console.card.standing import How
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.model.shapes import Card
from cas_tui.protocol.decisions import Verdict as V
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import RequestKind as K
from cas_tui.protocol.requests import RequestState as S


@dataclass(frozen=True, slots=True)
class Option:
    """One way to decide. `prompt` stands before the line that it opens; `place` is 1, 2, or 0 for the key row."""

    key: str
    words: str
    how: How
    verdict: V
    place: int = 0
    prompt: str = ""
    arguments: Mapping[str, Json] = field(default_factory=dict)


_APPROVE = Option("a", "approve once", How.APPROVE, V.APPROVE, 1, "comment")
_UNKNOWN: Final = (
    Option("h", "it happened", How.LINE, V.RECONCILE, 1, "it happened, seen how", {"happened": True}),
    Option("t", "it did not", How.LINE, V.RECONCILE, 2, "it did not happen, seen how", {"happened": False}),
)
_REVERT = Option("u", "put back", How.AFTER, V.REVERT, 0, "put it back, because")

_TABLE: Final[Mapping[K, tuple[Option, ...]]] = {
    K.EFFECT: (
        _APPROVE,
        Option("d", "deny, with reason", How.LINE, V.DENY, 2, "deny, because"),
        Option("e", "edit", How.EDIT, V.EDIT),
        Option("c", "comment", How.COMMENT, V.APPROVE, 0, "comment"),
    ),
    K.QUESTION: (
        Option("ctrl+s", "send answer", How.SEND, V.ANSWER, 1),
        Option("d", "dismiss, with reason", How.LINE, V.DISMISS, 2, "dismiss, because"),
    ),
    K.MISMATCH: (
        Option("o", "accept, as seen", How.ONCE, V.ACCEPT, 1),
        Option("D", "dispute, with reason", How.LINE, V.DISPUTE, 2, "dispute, because"),
    ),
    K.UNAPPROVED: (
        Option("o", "accept, as seen", How.ONCE, V.ACCEPT, 1),
        Option("u", "propose to undo", How.ONCE, V.REVERT, 2),
    ),
    K.ISSUE: (
        Option("o", "resolve, with note", How.LINE, V.RESOLVE, 1, "resolved, how"),
        Option("x", "dismiss, with reason", How.LINE, V.DISMISS, 2, "dismiss, because"),
        Option("i", "assign", How.LINE, V.ASSIGN, 0, "assign to"),
    ),
    K.OBLIGATION: (*_UNKNOWN, Option("x", "cancel", How.LINE, V.CANCEL, 0, "cancel, because")),
}

DECISION_KEYS: Final = frozenset("adyecoDuxhtiA") | {"ctrl+s"}
"""Keys that decide on some card; on any other card they stay on it and say that they do nothing."""

LEAVE: Final[Mapping[K, str]] = {K.QUESTION: "leave unanswered", K.EFFECT: "leave undecided"}
REVERTABLE: Final = frozenset({"fs_write", "fs_patch", "fs_restore"})


def options(card: Card) -> tuple[Option, ...]:
    """What this card offers, in order. Decided cards keep the words in their places; they are inert."""
    request = card.request
    if request.kind is K.EFFECT and request.state is S.UNKNOWN:
        return _UNKNOWN
    found = _TABLE[request.kind]
    if request.kind is K.EFFECT and request.state is S.SUCCEEDED and request.op_kind in REVERTABLE:
        return (*found, _REVERT)
    return found


def choices(card: Card) -> dict[str, How]:
    """The keys of the card that the request takes now, or took before it was decided, for the guard."""
    taken = set(card.verdicts)
    if card.settled or card.request.state is S.WAITING:
        return {option.key: option.how for option in options(card)}
    return {option.key: option.how for option in options(card) if str(option.verdict) in taken}


def option_of(card: Card, key: str) -> Option | None:
    """The option with this key."""
    return next((option for option in options(card) if option.key == key), None)


def _main(cells: Cells, card: Card, live: bool, leave: str) -> None:
    cells.put(" ")
    for option in sorted((item for item in options(card) if item.place), key=lambda item: item.place):
        on = live and option.key in choices(card)
        cells.put(f"[{option.key}]", "text strong" if on else "muted")
        cells.put(f" {option.words}   ", "text" if on else "muted")
    cells.put("Esc", "text").put(f" {leave}", "muted")


def option_row(card: Card, width: int, live: bool, glyphs: Glyphs) -> Row:
    """The row of options; muted while none can be used."""
    cells = Cells(width, ascii_only=glyphs.ascii)
    _main(cells, card, live, _leave(card))
    return cells.row()


def _leave(card: Card) -> str:
    return LEAVE.get(card.request.kind, "leave open")


def spots(card: Card, row: Row) -> list[tuple[int, int, str]]:
    """Where the options stand in a drawn row, for the mouse: from column, to column, key."""
    found, x = [], 0
    keys = {f"[{option.key}]": option.key for option in options(card)}
    for place, span in enumerate(row):
        wide = text.cells(span.text)
        if span.text in keys:
            words = row[place + 1].text.rstrip() if place + 1 < len(row) else ""
            found.append((x, x + wide + len(words), keys[span.text]))
        x += wide
    return found


def key_words(card: Card, *, whole: bool) -> tuple[tuple[tuple[str, str], ...], str]:
    """The other keys of the card with their words, and what is said about keys that do nothing here."""
    kind = card.request.kind
    if kind is K.QUESTION:
        return (("space", "choose"), ("i", "type"), ("f", "full"), ("z", "later"), ("n", "next"), ("?", "")), _INERT
    found: list[tuple[str, str]] = [(option.key, option.words) for option in options(card) if not option.place]
    if kind is K.EFFECT:
        found.insert(2, ("A", "rule"))
    found += [("m", "ask"), ("z", "later")]
    if whole:
        found += [("f", "full"), ("v", "split"), ("w", "wrap"), ("n", "next"), ("?", "")]
    inert = "" if kind is K.EFFECT and card.request.state is not S.UNKNOWN else _INERT
    return tuple(found), inert


_INERT: Final = "a does nothing here"


def key_row(card: Card, width: int, glyphs: Glyphs) -> Row:
    """The other keys, on a row of their own."""
    keys, inert = key_words(card, whole=True)
    room = width - 2 - (len(inert) + 2 if inert else 0)
    cells = Cells(width, ascii_only=glyphs.ascii).put(" ")
    _put_keys(cells, keys, room)
    if inert:
        cells.right(cells.x + 8 + len(inert) if cells.x + 8 + len(inert) < width else width - 1, inert, "muted")
    return cells.row()


def _put_keys(cells: Cells, keys: tuple[tuple[str, str], ...], room: int) -> None:
    for place, (key, words) in enumerate(keys):
        need = len(f"{key} {words}".rstrip()) + (2 if place else 0)
        if cells.x + need > room + 1:
            break
        cells.put("  " if place else "").put(key, "text").put(f" {words}" if words else "", "muted")


def inset_row(card: Card, width: int, live: bool, glyphs: Glyphs) -> Row:
    """Options and other keys on one row, where the card is one region among others; what has no room is in the help."""
    keys, inert = key_words(card, whole=False)
    tries = (
        (_leave(card), keys, "f v w" if card.request.kind is K.EFFECT else inert),
        (_leave(card), keys, ""),
        ("leave", keys, ""),
        ("leave", keys[:2], ""),
        ("leave", (), ""),
    )
    for leave, some, tail in tries:
        cells = Cells(width, ascii_only=glyphs.ascii)
        _main(cells, card, live, leave)
        words = "  ".join(part for part in (*(f"{key} {word}".rstrip() for key, word in some), tail) if part)
        if not words or cells.x + 3 + len(words) < width:
            break
    cells.to(width - 1 - len(words))
    _put_keys(cells, some, width)
    if tail:
        cells.put("  ").put(tail, "text" if tail == "f v w" else "muted")
    return cells.row()
