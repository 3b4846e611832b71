"""The difference of two contents as rows for a card: every changed line is there, or no row is (SAFETY E4, T3).

The rows are computed by libgit2's own diff and then checked: applying them to the old content must give the new one.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import pygit2
from pygit2.enums import DiffOption

from cas_tui.effects import flags
from cas_tui.protocol.decode import Json

Row = tuple[str, int | None, int | None, bytes]
"""Mark (space, plus, minus), old and new line number from 1, the line without its newline."""

_BIDI: Final = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
CONTEXT: Final = 3


@dataclass(frozen=True, slots=True)
class Difference:
    """Rows in file order with `CONTEXT` unchanged lines around each change; counts of added and removed lines."""

    rows: tuple[Row, ...]
    added: int
    removed: int


def lines_of(data: bytes) -> list[bytes]:
    """The lines without their newlines; a last line without one counts as a line."""
    if not data:
        return []
    lines = data.split(b"\n")
    if lines[-1] == b"":
        lines.pop()
    return lines


def difference(old: bytes, new: bytes) -> Difference | None:
    """How `old` becomes `new`; None when the rows could not be proven complete."""
    if old == new:
        return Difference((), 0, 0)
    patch = pygit2.Patch.create_from(old, new, flag=DiffOption.FORCE_TEXT, context_lines=CONTEXT)
    rows = [row for hunk in patch.hunks for row in _rows(hunk.lines)]
    if _applied(lines_of(old), rows) != lines_of(new):
        return None
    added = sum(1 for row in rows if row[0] == "+")
    removed = sum(1 for row in rows if row[0] == "-")
    return Difference(tuple(rows), added, removed)


def _rows(lines: Iterable[pygit2.DiffLine]) -> Iterator[Row]:
    for line in lines:
        # The marks = < > announce a missing final newline; the foot of the card says that.
        if line.origin in " +-":
            old = line.old_lineno if line.old_lineno > 0 else None
            new = line.new_lineno if line.new_lineno > 0 else None
            yield line.origin, old, new, line.raw_content.removesuffix(b"\n")


def _applied(old: list[bytes], rows: list[Row]) -> list[bytes] | None:
    result: list[bytes] = []
    at = 0
    for mark, old_no, _, text in rows:
        if mark == "+":
            result.append(text)
            continue
        if old_no is None or old_no - 1 < at:
            return None
        # The gap before this row is untouched; it goes before lines already added only if none were.
        gap = old[at : old_no - 1]
        if gap:
            result.extend(gap)
        if old[old_no - 1] != text:
            return None
        if mark == " ":
            result.append(text)
        at = old_no
    result.extend(old[at:])
    return result


def counts(old: bytes, new: bytes) -> tuple[int, int]:
    """Added and removed lines; binary contents count as nothing."""
    if is_binary(old) or is_binary(new):
        return 0, 0
    patch = pygit2.Patch.create_from(old, new, context_lines=0)
    _, added, removed = patch.line_stats
    return added, removed


def rows_json(rows: Iterable[Row]) -> list[Json]:
    """The rows as JSON: bytes that are not UTF-8 become backslash escapes (and `text_flags` says so)."""
    return [[mark, old, new, text.decode("utf-8", "backslashreplace")] for mark, old, new, text in rows]


def is_binary(data: bytes) -> bool:
    """Whether a NUL byte makes this no text at all."""
    return b"\0" in data


def foot(old: bytes | None, new: bytes | None) -> str:
    """What stands under the rows about the end of the file."""
    if new is None:
        return "end of file, the file is removed"
    if not new:
        return "the file is empty"
    has = new.endswith(b"\n")
    had = old.endswith(b"\n") if old else None
    if had is None:
        return "end of file, ends with a newline" if has else "end of file, no newline at the end"
    if has:
        return "end of file, newline kept" if had else "end of file, newline added"
    return "end of file, newline removed" if had else "end of file, no newline at the end, as before"


def text_flags(texts: Iterable[bytes]) -> list[str]:
    """Flags of what a reader could misread in these lines."""
    found: set[str] = set()
    for raw in texts:
        if raw.isascii():
            _control(raw.decode("ascii"), found)
            continue
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError:
            found.add(flags.NOT_UTF8)
            text = raw.decode("utf-8", "replace")
        _control(text, found)
        if any(char in _BIDI for char in text):
            found.add(flags.BIDI)
        if any(unicodedata.category(char) in ("Cf", "Co", "Cn") and char not in _BIDI for char in text):
            found.add(flags.INVISIBLE)
    return sorted(found)


def _control(text: str, found: set[str]) -> None:
    body = text.removesuffix("\r")
    if any((char < " " and char != "\t") or "\x7f" <= char < "\xa0" for char in body):
        found.add(flags.CONTROL)
