"""A look at the selected request on a small screen: two rows of its contract and the first changed rows.

It takes no key. Enter opens the card on the whole screen.
"""

from __future__ import annotations

from collections.abc import Sequence

from cas_tui import text
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, rule
from cas_tui.console.panes.fleet import ENOUGH
from cas_tui.console.widgets.painted import Painted
from cas_tui.model.shapes import Card, FleetRow, PayloadRow
from cas_tui.protocol.requests import RequestKind


class Peek(Painted):
    """The peek region of the small layout."""

    def __init__(self, glyphs: Glyphs) -> None:
        super().__init__(id="peek")
        self._glyphs = glyphs
        self._card: Card | None = None
        self._fleet: FleetRow | None = None
        self._hint = ""

    def show(self, card: Card | None, fleet: FleetRow | None, hint: str) -> None:
        """Show this card, or the hint when there is none."""
        self._card, self._fleet, self._hint = card, fleet, hint
        self.repaint()

    def rows(self, width: int, height: int) -> Sequence[Row]:
        """The rule line and the look."""
        if self._card is None:
            return (
                rule(width, "Card", "", self._glyphs["rule"]),
                self._cells(width).put(f" {self._hint}", "muted").row(),
            )
        card = self._card
        name = text.line(card.run, limit_cells=16, ascii_only=self._glyphs.ascii)
        title = f"{name}: {text.line(card.request.title, ascii_only=self._glyphs.ascii)}"
        tail = text.line(card.settled, ascii_only=self._glyphs.ascii) or "peek, Enter opens"
        rows = [rule(width, title, tail, self._glyphs["rule"]), *self._contract(card, width)]
        return (*rows, *self._payload(card, width, height - len(rows)))

    def _cells(self, width: int) -> Cells:
        return Cells(width, ascii_only=self._glyphs.ascii)

    def _contract(self, card: Card, width: int) -> list[Row]:
        if card.unpredicted:
            cells = self._cells(width).put(" UNPREDICTED: the agent said nothing about this act.", "danger strong")
            return [cells.row()]
        rows = []
        effect = card.request.kind is RequestKind.EFFECT
        told = [row for row in card.contract if not row.label.startswith("=")][:2]
        for place, row in enumerate(told):
            right = f"says {text.line(row.right)}" if effect and row.label == "says" and row.right else row.right
            if effect and place == 1:
                right = self._record()
            right = text.line(right, limit_cells=24, ascii_only=self._glyphs.ascii)
            room = width - 13 - (text.cells(right) + 1 if right else 0)
            label = "expects" if effect and row.label == "says" else row.label
            cells = self._cells(width).put(" ").put(label, "danger" if row.flagged else "muted", 10).to(12)
            cells = cells.quote(row.text, room) if row.quoted else cells.said(row.text, "text", room)
            rows.append(cells.right(width - 1, right, "muted").row())
        return rows

    def _record(self) -> str:
        fleet = self._fleet
        if fleet is None or fleet.judged < ENOUGH:
            return "no record"
        return f"right {fleet.right} of {fleet.judged}"

    def _payload(self, card: Card, width: int, room: int) -> list[Row]:
        changed = [row for row in card.payload if row.mark in ("+", "-")]
        rows = changed or list(card.payload)
        if room <= 0 or not rows:
            return []
        # The last row is kept for what is left: a peek never looks like the whole.
        shown = rows[: max(1, room - 1)]
        drawn = [self._row(row, width) for row in shown]
        left = len(rows) - len(shown)
        if left:
            noun = (
                text.plural(left, "more changed line", "more changed lines")
                if changed
                else text.plural(left, "more line", "more lines")
            )
            drawn.append(self._cells(width).right(width, f"{noun} in the card", "muted").row())
        return drawn

    def _row(self, row: PayloadRow, width: int) -> Row:
        cells = self._cells(width)
        if not row.mark:
            return cells.to(4).said(row.text, "text" if row.ours else "agent").row()
        number = row.old if row.mark == "-" else row.new
        ink = {"+": "add", "-": "del"}.get(row.mark, "muted")
        cells.right(6, "" if number is None else str(number), "muted").to(9)
        return cells.put(row.mark, ink).put(" ", ink).said(row.text, ink).row()
