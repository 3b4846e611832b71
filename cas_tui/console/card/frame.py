"""One card as rows: where each block stands at each size (SCREENS §3, §4, §5). Pure: card and guard in, rows out."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Final

from cas_tui import text
from cas_tui.console.card import contract, header, question
from cas_tui.console.card.deny import reason_rows
from cas_tui.console.card.guard import Guard
from cas_tui.console.card.options import (
    Option,
    inset_row,
    key_row,
    option_of,
    option_row,
    spots,
)
from cas_tui.console.card.payload import Layout
from cas_tui.console.card.receipt import receipt_line
from cas_tui.console.card.standing import DIGEST_CHARS, How, State
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, Span, rule
from cas_tui.model.shapes import Card, ContractRow, ReceiptLine
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.requests import RequestKind

COLUMNS_FROM: Final = 110
"""From this width contract and payload stand side by side."""
CONTRACT_WIDTH: Final = 48
WALL: Final = 3
SMALLEST: Final = (60, 12)


@dataclass
class Look:
    """How the operator looks at the card, and what is open on it."""

    whole: bool = True
    """Whether the card has the screen, or is one region of it."""
    focused: bool = True
    fold: str = "auto"
    """auto, payload (all room to it) or contract (nothing folded)."""
    top: int = 0
    policy: bool = False
    area_rows: int = 2
    answer: question.Answer = field(default_factory=question.Answer)
    editing: bool = False
    """Whether a text of the act is edited in place of the payload."""
    typing: str = ""
    """Where the operator types in a form: text, field, or nowhere."""
    wrap: bool = True
    split: bool = False


@dataclass
class Frame:
    """The drawn card: rows, and where things stand in it."""

    rows: list[Row]
    payload: tuple[int, int, int, int] = (0, 0, 0, 0)
    """x, y, width, height of the payload's rows."""
    places: dict[str, tuple[int, int, int, int]] = field(default_factory=dict)
    """Where the typed fields stand, by id."""
    spots: list[tuple[int, int, int, str]] = field(default_factory=list)
    """Options for the mouse: row, from column, to column, key."""
    selected: int = -1
    fits: bool = True


def payload_width(width: int) -> int:
    """The width of the payload at this width of the card."""
    return width - CONTRACT_WIDTH - WALL if width >= COLUMNS_FROM else width


class Painter:
    """Draws one card at one size."""

    def __init__(
        self,
        card: Card,
        guard: Guard,
        state: State,
        look: Look,
        layout: Layout,
        glyphs: Glyphs,
        width: int,
        height: int,
        receipt: ReceiptLine | None = None,
    ) -> None:
        self.card = card
        self.guard = guard
        self.state = state
        self.look = look
        self.layout = layout
        self.glyphs = glyphs
        self.width = width
        self.height = height
        self.receipt = receipt
        self.frame = Frame([])

    def draw(self) -> Frame:
        """The whole card."""
        frame = self.frame
        head, fits = self._head()
        foot = self._foot(self.height)
        body = self.height - len(head) - len(foot)
        frame.fits = fits and self.width >= SMALLEST[0] and self.height >= SMALLEST[1]
        frame.rows = head
        if self.width >= COLUMNS_FROM:
            self._side_by_side(body)
        else:
            self._stacked(body)
        blank = Cells(self.width).row()
        while len(frame.rows) < self.height - len(foot):
            frame.rows.append(blank)
        del frame.rows[max(0, self.height - len(foot)) :]
        start = len(frame.rows)
        frame.rows += foot
        frame.places = {name: (x, y + start, w, h) for name, (x, y, w, h) in self._lines.items()} | frame.places
        frame.spots = [(y + start, a, b, key) for y, a, b, key in self._spots]
        return frame

    def _cells(self) -> Cells:
        return Cells(self.width, ascii_only=self.glyphs.ascii)

    def _head(self) -> tuple[list[Row], bool]:
        most = max(header.MOST_SUMMARY, self.height // 3)
        if self._asks:
            # A long question stands whole in the block below, where it can be unfolded.
            most = 2
        act, fits = header.act_rows(self.card, self.width, self.glyphs, most=most)
        self._long_question = self._asks and not fits
        why = header.why_rows(self.card, self.width, self.glyphs)
        if self.look.whole:
            first = header.first_row(self.card, self.guard, self.state, self.width, self.glyphs)
        else:
            first = header.rule_row(
                self.card, self.guard, self.state, self.width, self.glyphs, focused=self.look.focused
            )
        return [first, *act, *why], fits or self.card.request.kind is not RequestKind.EFFECT

    def _entries(self, width: int) -> list[contract.Entry]:
        most = 40 if self.look.fold == "contract" else contract.MOST_ROWS
        card = self.card
        if self._long_question:
            asks = ContractRow("asks", card.summary, quoted=card.summary_quoted)
            card = replace(card, contract=(asks, *card.contract))
        return contract.entries(card, width, self.glyphs, most=most)

    # Contract and payload, or contract and form

    @property
    def _asks(self) -> bool:
        return self.card.request.kind is RequestKind.QUESTION

    def _contract_rule(self, width: int, hidden: int) -> Row:
        tail = f"{hidden} folded, f" if hidden else contract.tail(self.card, width)
        return rule(width, contract.title(self.card), tail, self.glyphs["rule"])

    def _payload_rule(self, width: int) -> Row:
        if self._asks:
            tail = "Enter or i types, Esc stops typing, draft is kept" if width >= 76 else "i types, Esc stops"
            return rule(width, "Answer", tail, self.glyphs["rule"])
        total = len(self.layout.lines)
        if not self.layout.complete:
            tail = f"laying out, {total} lines so far"
        elif self.guard.lines_unseen:
            tail = f"{text.plural(self.guard.lines_unseen, 'line')} unseen"
        else:
            tail = f"all {total} lines seen" if total > 1 else "seen whole"
        return rule(width, self._payload_title(width - len(tail) - 12), tail, self.glyphs["rule"])

    def _payload_title(self, room: int) -> str:
        kind, colon, name = self.card.payload_title.partition(": ")
        if not colon or (name.isascii() and all(char.isalnum() or char in "-_./+@" for char in name)):
            return text.line(self.card.payload_title, limit_cells=max(8, room), ascii_only=self.glyphs.ascii)
        ours = name.startswith(("a ", "the ")) and name.replace(" ", "").isalpha()
        limit = max(8, room - len(kind) - 2)
        if ours:
            return f"{kind}: {text.line(name, limit_cells=limit)}"
        # A path with anything unusual in it stands in quotes: a rule line is ours (T6).
        return f"{kind}: {text.quote(name, limit_cells=limit, exact=True, ascii_only=self.glyphs.ascii)}"

    def _stacked(self, body: int) -> None:
        width, frame = self.width, self.frame
        entries = self._entries(width)
        rows, hidden = contract.whole(entries), 0
        wanted = self._wanted()
        if self.look.fold == "payload":
            rows, hidden = self._flagged(entries)
        elif self.look.fold == "auto" and len(rows) + wanted + 2 > body:
            rows, hidden = contract.fold(entries, max(2, body - 2 - min(wanted, 6)))
        most = max(0, body - 2 - (1 if self._asks else 3))
        if len(rows) > most:
            frame.fits = frame.fits and most >= 1
            rows, hidden = rows[:most], max(1, hidden)
        if rows or hidden:
            frame.rows.append(self._contract_rule(width, hidden))
            frame.rows += rows
        frame.rows.append(self._payload_rule(width))
        start = len(frame.rows)
        height = max(0, body - (len(rows) + 1 if rows or hidden else 0) - 1)
        frame.rows += self._lower(0, start, width, height)

    def _flagged(self, entries: list[contract.Entry]) -> tuple[list[Row], int]:
        kept = [entry for entry in entries if entry.flagged]
        return contract.whole(kept), len(entries) - len(kept)

    def _wanted(self) -> int:
        if self._asks:
            return len(self.card.options) + len(self.card.form_fields) + 8
        return len(self.layout.lines) + (1 if self.card.payload_foot else 0)

    def _side_by_side(self, body: int) -> None:
        frame, width = self.frame, payload_width(self.width)
        entries = self._entries(CONTRACT_WIDTH)
        rows, hidden = contract.whole(entries), 0
        height = max(0, body - 1)
        if len(rows) > height:
            # What is flagged stays; of the rest, what has room.
            kept = {number for number, entry in enumerate(entries) if entry.flagged}
            used = sum(len(entries[number].rows) for number in kept)
            for number, entry in enumerate(entries):
                if number not in kept and used + len(entry.rows) <= height:
                    kept.add(number)
                    used += len(entry.rows)
            rows = contract.whole([entry for number, entry in enumerate(entries) if number in kept])[:height]
            hidden = len(entries) - len(kept)
        left = [self._contract_rule(CONTRACT_WIDTH, hidden), *rows]
        start = len(frame.rows)
        right = [self._payload_rule(width), *self._lower(CONTRACT_WIDTH + WALL, start + 1, width, height)]
        wall = Span(f" {self.glyphs['wall']} ", "rule")
        blank, other = Cells(CONTRACT_WIDTH).row(), Cells(width).row()
        for at in range(body):
            one = left[at] if at < len(left) else blank
            two = right[at] if at < len(right) else other
            frame.rows.append((*one, wall, *two))

    def _lower(self, x: int, y: int, width: int, height: int) -> list[Row]:
        """The payload, the form, or room for a text that is edited in place."""
        frame = self.frame
        if self.look.editing:
            frame.places["area"] = (x + 1, y, width - 2, max(1, height))
            return []
        if self._asks:
            form = question.draw(self.card, self.look.answer, width, height, self.glyphs, area_rows=self.look.area_rows)
            ax, ay, aw, ah = form.area
            frame.places["area"] = (x + ax, y + ay, aw, ah)
            lx, ly, lw = form.line
            frame.places["field"] = (x + lx, y + ly, lw, 1)
            if self.width < COLUMNS_FROM:
                frame.selected = y + form.cursor
            return form.rows
        frame.payload = (x, y, width, height)
        lines = [
            self.layout.draw(at) for at in range(self.look.top, min(self.look.top + height, len(self.layout.lines)))
        ]
        if len(lines) < height and self.card.payload_foot:
            foot = text.line(self.card.payload_foot, ascii_only=self.glyphs.ascii)
            lines.append(Cells(width).right(width, foot, "muted").row())
        return lines

    # The foot: options, or a line that is open, or what was decided

    def _foot(self, height: int) -> list[Row]:
        self._lines: dict[str, tuple[int, int, int, int]] = {}
        self._spots: list[tuple[int, int, int, str]] = []
        stroke = Cells(self.width).to(self.width, self.glyphs["rule"], "rule").row()
        rows = self._foot_rows()
        if self.look.whole:
            self._lines = {name: (x, y + 1, w, h) for name, (x, y, w, h) in self._lines.items()}
            self._spots = [(y + 1, a, b, key) for y, a, b, key in self._spots]
            return [stroke, *rows]
        return rows

    def _foot_rows(self) -> list[Row]:
        option = option_of(self.card, self.guard.line) if self.guard.line else None
        if self.look.editing:
            words = "ctrl+s proposes the edited act, Esc leaves it as it was"
            return self._pad_foot([self._cells().put(" ").put(words, "muted").row()])
        if option is not None and option.how is not How.EDIT:
            return self._line_rows(option)
        if self.guard.armed:
            # The subject of a commit is the agent's word, and the options are ours alone (T6).
            ours = self.card.request.title.partition(': "')[0]
            act = text.line(ours, limit_cells=self.width - 26, ascii_only=self.glyphs.ascii)
            words = text.pad(f" press y to approve: {act}", self.width)
            return self._pad_foot([self._cells().put(words, "text inverse").row()])
        live = self.state in (State.READY, State.UNSEEN)
        if not self.look.whole:
            row = inset_row(self.card, self.width, live, self.glyphs)
        else:
            row = option_row(self.card, self.width, live, self.glyphs)
        self._spots = [(0, a, b, key) for a, b, key in spots(self.card, row)]
        if self.card.settled or self.receipt is not None:
            row, self._spots = self._outcome(), []
        return self._pad_foot([row])

    def _pad_foot(self, rows: list[Row]) -> list[Row]:
        if self.look.whole and len(rows) == 1:
            rows.append(key_row(self.card, self.width, self.glyphs))
        return rows

    def _outcome(self) -> Row:
        cells = self._cells().put(" ")
        settled = text.line(self.card.settled, limit_cells=self.width // 2, ascii_only=self.glyphs.ascii)
        cells.put(settled or "sent", "text strong")
        if self.receipt is not None:
            ink = "ok" if self.receipt.observed and not self.receipt.outcome else "text"
            cells.put("   ").put(receipt_line(self.receipt, self.glyphs), ink)
        return cells.put("   ").put("n", "text").put(" next", "muted").row()

    def _line_rows(self, option: Option) -> list[Row]:
        approving = option.how in (How.APPROVE, How.COMMENT)
        prompt = f" {option.prompt}: "
        rows = [self._cells().put(prompt, "text strong").row()]
        self._lines["line"] = (len(prompt), 0, max(8, self.width - len(prompt) - 1), 1)
        if approving and self.guard.needs_digest:
            ask = f" first {DIGEST_CHARS} characters of the digest: "
            self._lines["digest"] = (len(ask), 1, 8, 1)
            cells = self._cells().put(ask, "text strong").to(len(ask) + 10)
            rows.append(cells.put("Enter goes on, and approves only when both are typed", "muted").row())
            return rows
        if approving:
            rows.append(self._cells().put(" Enter goes on, then y approves. Esc leaves the line", "muted").row())
            return rows
        policy = self.look.policy if option.verdict is Verdict.DENY else None
        reasons = option.verdict in (Verdict.DENY, Verdict.DISMISS)
        rows += reason_rows(self.width, self.glyphs, reasons=reasons, policy=policy)
        return rows
