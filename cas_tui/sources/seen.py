"""Remembers what was read from a file, so that a changed past is noticed and never merged in silence.

SAFETY D7, B01-B04.

Kept: the first bytes of the file, the last bytes before the reading position, and a hash of every 64 KiB read between.
The two windows are compared at every change. The hashes are compared when a file changed without growing or was
replaced, and otherwise one at a time, in turn. Pure except for the reader it is given.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from typing import Final

WINDOW: Final = 4096
"""Bytes of each of the two windows."""

BLOCK: Final = 1 << 16
"""Bytes under one hash."""

WHOLE_BLOCKS: Final = 64
"""How many of the newest hashes a whole comparison checks: 4 MiB, a few milliseconds."""

Reader = Callable[[int, int], bytes]
"""(length, offset) -> the bytes there now."""


def _hash(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=16).digest()


class Seen:
    """The memory of one file from `start`, where reading began, to `end`, where it stands."""

    def __init__(self, start: int, head: bytes) -> None:
        """`head` is what stands at offset 0, at most `WINDOW` bytes and not past `start`."""
        self.start = start
        self.end = start
        self._head = head
        self._tail = head if len(head) == start else b""
        self._blocks: list[bytes] = []
        self._open = bytearray()
        self._turn = 0

    def note(self, data: bytes) -> None:
        """Remember bytes just read at `end`."""
        if len(self._head) == self.end < WINDOW:
            self._head += data[: WINDOW - len(self._head)]
        self._tail = (self._tail + data[-WINDOW:])[-WINDOW:]
        self.end += len(data)
        self._open += data
        while len(self._open) >= BLOCK:
            self._blocks.append(_hash(bytes(self._open[:BLOCK])))
            del self._open[:BLOCK]

    @property
    def first_line(self) -> bytes:
        """The first line of the file as far as the head window holds it, with its newline; empty when nothing was."""
        cut = self._head.find(b"\n")
        return self._head if cut < 0 else self._head[: cut + 1]

    def differs(self, read: Reader, *, whole: bool, in_turn: bool = True) -> int | None:
        """Where the past is no longer what was read: an offset at or before the first difference; None when it is.

        `whole` also compares the newest `WHOLE_BLOCKS` hashes; without it `in_turn` compares one, a different one each
        time. Raises OSError as `read` does.
        """
        for expected, offset in ((self._head, 0), (self._tail, self.end - len(self._tail))):
            if expected and (found := read(len(expected), offset)) != expected:
                return offset + _first_difference(expected, found)
        if whole:
            if self._open:
                at = self.start + len(self._blocks) * BLOCK
                found = read(len(self._open), at)
                if found != self._open:
                    return at + _first_difference(bytes(self._open), found)
            indexes = range(max(0, len(self._blocks) - WHOLE_BLOCKS), len(self._blocks))
        elif self._blocks and in_turn:
            self._turn = (self._turn + 1) % len(self._blocks)
            indexes = range(self._turn, self._turn + 1)
        else:
            return None
        for index in indexes:
            at = self.start + index * BLOCK
            if _hash(read(BLOCK, at)) != self._blocks[index]:
                return at
        return None


def _first_difference(expected: bytes, found: bytes) -> int:
    for index, (one, other) in enumerate(zip(expected, found, strict=False)):
        if one != other:
            return index
    return min(len(expected), len(found))
