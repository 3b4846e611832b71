"""The contract block: what the agent promised, in quotes, and what we computed about the promise, behind `=`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.model.shapes import Card, ContractRow
from cas_tui.protocol.requests import RequestKind

TEXT_AT: Final = 12
"""The column of the text; labels stand before it."""
SECOND_AT: Final = 54
"""The column of a second short fact on the same row."""
UNPREDICTED: Final = "UNPREDICTED: the agent said nothing about this act."
MOST_ROWS: Final = 4
"""Rows one text may take; more of it is in the detail of the record."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact, drawn; `flagged` ones never fold."""

    rows: tuple[Row, ...]
    flagged: bool = False


def title(card: Card) -> str:
    """The heading of the block."""
    if card.request.kind is RequestKind.EFFECT:
        return "Contract: what the agent promised"
    return "What hangs on it"


def tail(card: Card, width: int) -> str:
    """At the right of the heading: which prediction, and when; or where a question was found."""
    if card.request.kind is not RequestKind.EFFECT:
        return text.line(card.source, limit_cells=max(8, width // 2))
    if width < 60 or not card.prediction_id:
        return ""
    # An action id is the agent's word: only a plain one may stand in a rule line (T6).
    name = card.prediction_id if _plain_id(card.prediction_id) else "prediction"
    gap = "  " if width < 90 else "   "
    return f"{name}{gap}{text.line(card.predicted_at)}".rstrip()


def _plain_id(name: str) -> bool:
    return len(name) <= 24 and name.isascii() and all(char.isalnum() or char in "-_." for char in name)


def words_wrap(shown: str, width: int) -> list[str]:
    """Safe text in rows, broken at spaces where there are any; nothing is dropped."""
    rows: list[str] = []
    while text.cells(shown) > width:
        piece = text.wrap(shown[: 4 * width + 8], width)[0]
        space = piece.rfind(" ")
        if len(piece) < len(shown) and shown[len(piece)] == " ":
            space = len(piece)
        cut = piece[: space + 1] if space > 0 else piece
        rows.append(cut.rstrip(" ") if cut.strip() else cut)
        shown = shown[len(cut) :] if space != len(piece) else shown[space + 1 :]
    rows.append(shown)
    return rows


def entries(card: Card, width: int, glyphs: Glyphs, *, most: int = MOST_ROWS) -> list[Entry]:
    """Every fact of the block at this width, in its order."""
    if card.unpredicted and card.request.kind is RequestKind.EFFECT:
        row = Cells(width).put(" ").put(UNPREDICTED, "danger strong").row()
        rest = [item for item in card.contract if item.flagged]
        return [Entry((row,), True), *_entries(rest, width, glyphs, most)]
    return _entries(card.contract, width, glyphs, most)


def _entries(rows: Sequence[ContractRow], width: int, glyphs: Glyphs, most: int) -> list[Entry]:
    second = max((text.cells(row.right) for row in rows if row.label.startswith("=")), default=0)
    found: list[Entry] = []
    at = 0
    while at < len(rows):
        row = rows[at]
        behind = rows[at + 1] if at + 1 < len(rows) else None
        if behind is not None and _fits_beside(row, behind, width):
            found.append(Entry((_beside(row, behind, width, glyphs),)))
            at += 2
            continue
        found.append(Entry(tuple(_draw(row, width, glyphs, most, second)), row.flagged))
        at += 1
    return found


def _fits_beside(row: ContractRow, behind: ContractRow, width: int) -> bool:
    """Whether two short computed facts can share a row."""
    if any(not item.label.startswith("=") or item.right or item.flagged or item.quoted for item in (row, behind)):
        return False
    if len(row.text) + len(behind.text) > width:
        return False
    return (
        TEXT_AT + text.cells(text.line(row.text)) + 2 <= SECOND_AT
        and SECOND_AT + 1 + max(10, text.cells(behind.label)) + text.cells(text.line(behind.text)) < width
    )


def _beside(row: ContractRow, behind: ContractRow, width: int, glyphs: Glyphs) -> Row:
    cells = Cells(width, ascii_only=glyphs.ascii)
    cells.put(" ").put(text.line(row.label), "muted").to(TEXT_AT).said(row.text, "text").to(SECOND_AT)
    cells.put(text.pad(text.line(behind.label), max(11, len(behind.label) + 1)), "muted").said(behind.text, "text")
    return cells.row()


def _draw(row: ContractRow, width: int, glyphs: Glyphs, most: int, second: int) -> list[Row]:
    ascii_only = glyphs.ascii
    # Time depends on what can be shown, not on how long the text is (C5).
    limit = width * (most + 1)
    value = row.text[:limit] if len(row.text) > limit else row.text
    shown = (
        text.quote(value, exact=True, ascii_only=ascii_only)
        if row.quoted
        else text.line(value, exact=True, ascii_only=ascii_only)
    )
    right = text.line(row.right, limit_cells=max(0, width - TEXT_AT - 10), ascii_only=ascii_only)
    ink = "agent" if row.quoted else "danger" if row.flagged else "text"
    room = max(8, width - TEXT_AT - (0 if width >= 60 else 1))
    pieces = words_wrap(shown, room)
    if len(pieces) > most or len(value) < len(row.text):
        pieces = pieces[:most]
        pieces[-1] = text.clip(pieces[-1], room - 4) + " ..."
    below: list[str] = []
    if right and width < 60 and text.cells(right) > 12:
        below, right = words_wrap(text.line(row.right, limit_cells=4 * room, ascii_only=ascii_only), room), ""
    if right:
        pieces = _make_room(pieces, room, text.cells(right))
    drawn = []
    for place, piece in enumerate(pieces):
        cells = Cells(width, ascii_only=ascii_only).put(" ")
        if place == 0:
            cells.put(text.line(row.label, limit_cells=TEXT_AT - 2), "danger" if row.flagged else "muted")
        cells.to(TEXT_AT).put(piece, ink)
        if right and place == len(pieces) - 1:
            if row.label.startswith("="):
                cells.to(max(cells.x + 2, width - 2 - second)).put(right, "muted")
            else:
                cells.right(width if width >= 60 else width - 1, right, "muted")
        drawn.append(cells.row())
    for piece in below:
        drawn.append(Cells(width, ascii_only=ascii_only).to(TEXT_AT).put(piece, "muted").row())
    return drawn


def _make_room(pieces: list[str], room: int, wide: int) -> list[str]:
    """The last row leaves room for the cell at its right."""
    if text.cells(pieces[-1]) + 2 + wide <= room:
        return pieces
    return [*pieces[:-1], *words_wrap(pieces[-1], max(8, room - wide - 2))]


def fold(found: Sequence[Entry], room: int) -> tuple[list[Row], int]:
    """The first two facts and every flagged one, within `room` rows where that can be; and how many are left out."""
    kept = [entry for place, entry in enumerate(found) if place < 2 or entry.flagged]
    if sum(len(entry.rows) for entry in kept) > room:
        kept = [entry if entry.flagged else Entry(entry.rows[:1]) for entry in kept]
    rows = [row for entry in kept for row in entry.rows]
    return rows, len(found) - len(kept)


def whole(found: Sequence[Entry]) -> list[Row]:
    """Every row."""
    return [row for entry in found for row in entry.rows]
