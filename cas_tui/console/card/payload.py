"""The payload as rows of a given width: every character of it, wrapped, each row knowing which part of it it shows.

Laying out is done in steps, so that a line of a megabyte or twenty thousand rows never stop the keys (SAFETY T4).
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from cas_tui import text
from cas_tui.console.card.seen import Intervals
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import BLANK, Cells, Row
from cas_tui.model.shapes import PayloadRow

CHUNK: Final = 2048
"""Characters that are laid out in one step."""
SPLIT_FROM: Final = 140
"""Columns that old and new side by side need."""


class Piece(NamedTuple):
    """A part of one payload row that fits the width. It shows the places from `start` up to `seen_end`."""

    source: int
    shown: str
    first: bool
    start: int
    end: int
    seen_end: int


Line = tuple[Piece | None, Piece | None]
"""One row of the screen: one piece, or old and new side by side."""


class Columns(NamedTuple):
    """Where the numbers end and where mark and text begin."""

    old: int
    new: int
    mark: int
    text: int


def columns(rows: Sequence[PayloadRow]) -> Columns:
    """Wide enough for the largest line number; a payload without marks has its text further left."""
    if not any(row.mark for row in rows):
        return Columns(0, 0, 2, 4)
    most = max((max(row.old or 0, row.new or 0) for row in rows), default=0)
    digits = len(str(most))
    old = max(5, digits + 1)
    new = old + max(4, digits + 1)
    return Columns(old, new, new + 3, new + 5)


class Layout:
    """A payload at one width. `step` until it is `complete`; what is laid out can be drawn before that."""

    def __init__(
        self, rows: Sequence[PayloadRow], width: int, *, glyphs: Glyphs, wrap: bool = True, split: bool = False
    ) -> None:
        self.rows = rows
        self.width = width
        self.split = split and width >= SPLIT_FROM and any(row.mark in ("+", "-") for row in rows)
        self.wrap = wrap
        self.lines: list[Line] = []
        self.extent = 0
        self.complete = False
        self.columns = columns(rows)
        self._glyphs = glyphs
        self._half = (width - 3) // 2 if self.split else width
        self._room = max(2, self._half - self.columns.text)
        self._starts: list[int] = []
        self._work = self._lay_out()

    def step(self, chunks: int = 1) -> bool:
        """Lay out about so many chunks more; whether it is complete."""
        for _ in range(chunks):
            if self.complete or next(self._work, None) is None:
                self.complete = True
                break
        return self.complete

    # Laying out

    def _lay_out(self) -> Iterator[bool]:
        done = 0
        if self.split:
            for left, right in self._pairs():
                pieces: list[list[Piece]] = [[], []]
                # A context row stands on both sides and counts once.
                for side, source in enumerate((left, right)):
                    if source is not None and not (side == 1 and source == left):
                        for part in self._pieces(source):
                            pieces[side] += part
                            yield True
                if left == right:
                    pieces[1] = pieces[0]
                for at in range(max(map(len, pieces))):
                    self._add(
                        (pieces[0][at] if at < len(pieces[0]) else None, pieces[1][at] if at < len(pieces[1]) else None)
                    )
        else:
            for source in range(len(self.rows)):
                for part in self._pieces(source):
                    for piece in part:
                        self._add((piece, None))
                    done += 1
                    if done % 64 == 0 or len(self.rows[source].text) > CHUNK:
                        yield True

    def _add(self, line: Line) -> None:
        self.lines.append(line)
        piece = line[0] or line[1]
        assert piece is not None
        self._starts.append(piece.start)

    def _pairs(self) -> Iterator[tuple[int | None, int | None]]:
        """Old and new rows side by side: removed ones against the added ones that follow."""
        removed: list[int] = []
        added: list[int] = []

        def flush() -> Iterator[tuple[int | None, int | None]]:
            for at in range(max(len(removed), len(added))):
                yield (removed[at] if at < len(removed) else None, added[at] if at < len(added) else None)
            removed.clear()
            added.clear()

        for source, row in enumerate(self.rows):
            if row.mark == "-":
                if added:
                    yield from flush()
                removed.append(source)
            elif row.mark == "+":
                added.append(source)
            else:
                yield from flush()
                yield source, source
        yield from flush()

    def _pieces(self, source: int) -> Iterator[list[Piece]]:
        """The pieces of one payload row, some at a time."""
        raw = self.rows[source].text
        start, first, carry = self.extent, True, ""
        for shown, last in self._shown(raw):
            if not self.wrap:
                carry += shown
                if not last:
                    continue
                cut = text.clip(carry, self._room)
                end = start + len(carry) + 1
                seen = end if cut == carry else start + max(0, len(cut) - len(text.ELLIPSIS))
                self.extent = end
                yield [Piece(source, cut, True, start, end, seen)]
                return
            rows = text.wrap(carry + shown, self._room)
            carry = "" if last else rows[-1]
            made = []
            for at, part in enumerate(rows if last else rows[:-1]):
                end = start + len(part) + int(last and at == len(rows) - 1)
                made.append(Piece(source, part, first, start, end, end))
                start, first = end, False
            self.extent = start
            yield made

    def _shown(self, raw: str) -> Iterator[tuple[str, bool]]:
        """The row through the gate, a long one in chunks; whether it is the last chunk."""
        ascii_only = self._glyphs.ascii
        at = 0
        while len(raw) - at > CHUNK:
            end = _cut(raw, at + CHUNK)
            # The letter behind keeps spaces at the end of a chunk from being taken for the end of the row.
            yield text.line(raw[at:end] + "x", exact=True, ascii_only=ascii_only)[:-1], False
            at = end
        yield text.line(raw[at:], exact=True, ascii_only=ascii_only), True

    # What was seen

    def visible(self, top: int, height: int) -> Iterator[tuple[int, int]]:
        """The places that rows `top` and following show."""
        for line in self.lines[top : top + height]:
            for piece in line:
                if piece is not None:
                    yield piece.start, piece.seen_end

    def unseen(self, seen: Intervals) -> int:
        """How many rows were not on the screen as a whole."""
        if self.split:
            return sum(
                any(piece is not None and not seen.covers(piece.start, piece.end) for piece in line)
                for line in self.lines
            )
        count, last = 0, -1
        for start, end in seen.gaps(self.extent):
            first = max(bisect_right(self._starts, start) - 1, last + 1)
            behind = bisect_left(self._starts, end)
            count += max(0, behind - first)
            last = max(last, behind - 1)
        return count

    def first_unseen(self, seen: Intervals) -> int | None:
        """The first row that was not on the screen as a whole."""
        for start, _ in seen.gaps(self.extent):
            return max(0, bisect_right(self._starts, start) - 1)
        return None

    def place_of(self, at: int) -> int:
        """The place that row `at` begins with, to find it again at another width."""
        return self._starts[at] if 0 <= at < len(self._starts) else self.extent

    def row_of(self, place: int) -> int:
        """The row that shows a place."""
        return max(0, bisect_right(self._starts, place) - 1) if not self.split else 0

    # Drawing

    def draw(self, at: int) -> Row:
        """One row of the screen."""
        if not 0 <= at < len(self.lines):
            return BLANK
        cells = Cells(self.width, ascii_only=self._glyphs.ascii)
        left, right = self.lines[at]
        if left is not None:
            self._draw(cells, left, 0)
        if self.split:
            cells.to(self._half).put(f" {self._glyphs['wall']} ", "rule")
            if right is not None:
                self._draw(cells, right, self._half + 3)
        return cells.row()

    def _draw(self, cells: Cells, piece: Piece, x: int) -> None:
        row, places = self.rows[piece.source], self.columns
        if not row.mark:
            if row.ours:
                cells.to(x + 1).put(piece.shown, "muted")
            else:
                cells.to(x + 2).put(self._glyphs["wall"], "rule").to(x + places.text).put(piece.shown, "agent")
            return
        ink = {"+": "add", "-": "del"}.get(row.mark, "text")
        if piece.first:
            cells.right(x + places.old, "" if row.old is None else str(row.old), "muted")
            cells.right(x + places.new, "" if row.new is None else str(row.new), "muted")
        cells.to(x + places.mark).put(f"{row.mark if piece.first else ' '} ", ink).put(piece.shown, ink)
        if ink != "text":
            cells.to(x + self._half, " ", ink)


def _cut(raw: str, at: int) -> int:
    """A place at or after `at` where a row can be cut without parting what belongs together: before a plain letter."""
    for place in range(at, min(at + 256, len(raw))):
        if raw[place].isascii() and raw[place].isalnum() and raw[place - 1] != "\\":
            return place
    return min(at, len(raw))
