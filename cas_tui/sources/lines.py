"""Cuts a stream of bytes into lines, holding the unfinished last one. Pure: no files, no decoding.

Only a newline ends a line (SAFETY A07, A08). What was cut does not depend on where the pieces were cut (A01, C32), and
memory stays flat however long a line grows (A09).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from cas_tui.protocol.decode import MAX_LINE_BYTES

EXCERPT_BYTES: Final = 4096
"""How much of a line that is too long is kept to be shown."""


@dataclass(frozen=True, slots=True)
class Line:
    """One line without its newline. `oversize`: over the limit; `raw` is only its first bytes."""

    offset: int
    raw: bytes
    oversize: bool = False


class LineCutter:
    """Feeds on consecutive bytes. `position` is the offset of the byte it wants next."""

    def __init__(self, position: int, *, limit: int = MAX_LINE_BYTES, skipping: bool = False) -> None:
        self.position = position
        self.line_start = position
        self._limit = limit
        self._held = bytearray()
        self._skipping = skipping

    @property
    def held(self) -> bytes:
        """The unfinished last line, as far as it was seen: in progress, not an error."""
        return bytes(self._held)

    def feed(self, data: bytes) -> list[Line]:
        """The lines that `data` completes. A line over the limit is reported once, as soon as it crosses it."""
        lines: list[Line] = []
        pieces = data.split(b"\n")
        last = pieces.pop()
        for piece in pieces:
            if self._skipping:
                self._skipping = False
            elif self._held:
                self._held += piece
                lines.append(self._line(bytes(self._held)))
            else:
                lines.append(self._line(piece))
            self._held.clear()
            self.position += len(piece) + 1
            self.line_start = self.position
        self.position += len(last)
        if not self._skipping:
            self._held += last
            if len(self._held) > self._limit:
                lines.append(self._line(bytes(self._held)))
                self._held.clear()
                self._skipping = True
        return lines

    def _line(self, raw: bytes) -> Line:
        if len(raw) > self._limit:
            return Line(self.line_start, raw[:EXCERPT_BYTES], oversize=True)
        return Line(self.line_start, raw)
