"""The gate: untrusted text in, text that is safe to show out. Nothing else builds display text from data.

Every character that cannot be seen, or that would act on a terminal, is shown as a *mark*: its name between angle
brackets, as in `⟨ESC⟩`, `⟨RLO⟩`, `⟨U+E0041⟩`, or `⟨xFF⟩` for a byte that is not UTF-8. A literal `⟨` in the text is
itself shown as a mark, so a mark cannot be counterfeited. A tab is `⇥` and three spaces (and a literal `⇥` is a mark).
Nothing is ever dropped: from what is shown, the text can be read back (SAFETY T1, T3).

With `exact=True`, for decision views, also shown as marks: trailing spaces (`⟨SPx3⟩`), spaces other than U+0020, and
every accent or letter that is not in composed form, so that two texts which look the same are the same.
With `ascii_only=True` marks are written `\\<ESC>`, and a literal `\\` before a `<` is itself a mark.

Widths are in terminal cells and are the sum over the characters, which the gate makes true: what would join cells in
some terminals and not in others (joiners, variation selectors, flags, skin tones) is a mark.

Text that went through the gate is a plain `str`; it must reach a widget as content, never as markup (T2).
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Final, Literal

from wcwidth import wcwidth

from cas_tui.codepoints import hidden_name, label, odd_space_name
from cas_tui.suspicions import Suspicion, suspicious

__all__ = [
    "Suspicion",
    "age",
    "block",
    "cells",
    "clip",
    "is_safe",
    "line",
    "pad",
    "percent",
    "plural",
    "quote",
    "safe",
    "size",
    "span",
    "suspicious",
    "wrap",
]

ELLIPSIS: Final = "..."
MOST_MARKS: Final = 3
"""Combining marks shown on one base; further ones are shown as marks of ours (SAFETY E14)."""

_TAB: Final = "⇥   "
_TAB_SIGN: Final = "⇥"

# Runs of characters that need no look at each: Basic Latin, Latin, Cyrillic, common signs, kana, Han, Hangul.
_PLAIN: Final = re.compile(
    "[\x20-\x7e\xa1-\xac\xae-\u02ff\u0400-\u0482\u048a-\u052f\u2010-\u2027\u2030-\u205e\u2190-\u21e4\u2500-\u25ff"
    "\u2713-\u2718\u3001-\u3003\u3041-\u3096\u30a1-\u30fa\u4e00-\u9fff\uac00-\ud7a3]*"
)
_SHOWN: Final = re.compile(_PLAIN.pattern.replace("]*", "⟨⟩⇥]*"))
_TOKEN: Final = re.compile(r"⟨[^⟩]{1,9}⟩|\\<[^>]{1,9}>|⇥   |.", re.DOTALL)


def line(
    value: str | bytes | None, *, limit_cells: int | None = None, exact: bool = False, ascii_only: bool = False
) -> str:
    """Untrusted text as one safe line; a line feed in it is the mark `⟨LF⟩`. None is the empty line. Never raises.

    With `limit_cells` the result is clipped to that width, in time that depends on the width and not on the text.
    """
    if limit_cells is not None and value is not None:
        # A cell takes at most four characters (a base and three marks) and a character at most four bytes.
        most = 4 * max(limit_cells, 0) + 8
        value = value[: 4 * most] if isinstance(value, bytes) else value[:most]
    shown = _render(_decode(value), exact, ascii_only)
    return shown if limit_cells is None else clip(shown, limit_cells)


def block(value: str | bytes | None, *, exact: bool = False, ascii_only: bool = False) -> tuple[str, ...]:
    """Untrusted text as safe lines, split at line feeds and nowhere else; a final line feed gives a last empty line."""
    return tuple(_render(part, exact, ascii_only) for part in _decode(value).split("\n"))


def quote(
    value: str | bytes | None, *, limit_cells: int | None = None, exact: bool = False, ascii_only: bool = False
) -> str:
    """Untrusted text as one safe line in double quotes that it cannot close (SAFETY T6).

    `limit_cells` counts the quotes. A text with a `"` in it, or with a `\\` at its end, has both escaped by `\\`.
    """
    inner = None if limit_cells is None else max(limit_cells - 2, 0)
    shown = line(value, limit_cells=inner, exact=exact, ascii_only=ascii_only)
    if '"' in shown or shown.endswith("\\"):
        shown = shown.replace("\\", "\\\\").replace('"', '\\"')
        shown = shown if inner is None else _clip_quoted(shown, inner)
    return f'"{shown}"'


def _clip_quoted(shown: str, limit: int) -> str:
    cut = clip(shown, limit)
    if cut == shown:
        return shown
    # Clipping between an escaping \ and what it escapes would let the closing quote be taken for an inner one.
    body = cut.removesuffix(ELLIPSIS)
    odd = (len(body) - len(body.rstrip("\\"))) % 2
    return body[: len(body) - odd] + cut[len(body) :]


def _decode(value: str | bytes | None) -> str:
    if value is None:
        return ""
    if isinstance(value, bytes):
        return value.decode("utf-8", "surrogateescape")
    return value


def _render(text: str, exact: bool, ascii_only: bool) -> str:
    plain = _PLAIN.fullmatch(text) is not None
    if plain and not (exact and text.endswith(" ")) and not (ascii_only and "\\<" in text):
        return text
    body, trailing = text, 0
    if exact:
        body = text.rstrip(" ")
        trailing = len(text) - len(body)
    shown: list[str] = []
    base, marks = "", 0
    for index, char in enumerate(body):
        name = _name(char, exact, ascii_only)
        if not name and wcwidth(char) == 0:
            # A combining mark: only on a base, only so many, and in decision views only in composed form.
            marks += 1
            if base and marks <= MOST_MARKS and not (exact and not unicodedata.is_normalized("NFC", base + char)):
                base += char
                shown.append(char)
                continue
            name = label(char)
        elif name or (char == "\\" and ascii_only and body.startswith("<", index + 1)):
            base, name = "", name or "\\"
        if name:
            shown.append(_mark(name, ascii_only))
        else:
            base, marks = ("" if char == " " else char), 0
            shown.append(char)
    if trailing:
        shown.append(_mark("SP" if trailing == 1 else f"SPx{trailing}", ascii_only))
    return "".join(shown)


@lru_cache(maxsize=8192)
def _name(char: str, exact: bool, ascii_only: bool) -> str:
    if char in ("⟨", _TAB_SIGN):
        return "" if ascii_only else label(char)
    if name := hidden_name(char):
        return name
    if exact:
        if name := odd_space_name(char):
            return name
        if not unicodedata.is_normalized("NFC", char):
            return label(char)
    return ""


def _mark(name: str, ascii_only: bool) -> str:
    if ascii_only:
        return f"\\<{name}>"
    return _TAB if name == "TAB" else f"⟨{name}⟩"


def is_safe(shown: str) -> bool:
    """Whether a text could have come from the gate: nothing hidden in it, and no accent without a letter below it."""
    if _SHOWN.fullmatch(shown):
        return True
    marks, base = 0, False
    for char in shown:
        if hidden_name(char):
            return False
        if wcwidth(char) == 0:
            marks += 1
            if not base or marks > MOST_MARKS:
                return False
        else:
            marks, base = 0, char != " "
    return True


def safe(shown: str) -> str:
    """Text that should have gone through the gate already, put through it now if it cannot have been.

    Marks in it are taken at their word, so this is a last defence of the terminal and no replacement for `line`.
    """
    return shown if is_safe(shown) else line(shown)


def cells(shown: str) -> int:
    """The width of safe text in terminal cells."""
    if shown.isascii():
        return len(shown)
    return sum(max(wcwidth(char), 0) for char in shown)


def clip(shown: str, width: int) -> str:
    """Safe text cut to at most `width` cells; a cut is visible as `...`."""
    if len(shown) <= width and shown.isascii():
        return shown
    if width <= len(ELLIPSIS):
        return shown if _fits(shown, width) else ELLIPSIS[: max(width, 0)]
    used = keep = 0
    for index, char in enumerate(shown):
        used += max(wcwidth(char), 0)
        if used <= width - len(ELLIPSIS):
            keep = index + 1
        if used > width:
            return shown[:keep] + ELLIPSIS
    return shown


def _fits(shown: str, width: int) -> bool:
    return len(shown) <= 4 * max(width, 0) + 4 and cells(shown) <= width


def wrap(shown: str, width: int) -> tuple[str, ...]:
    """Safe text in rows of at most `width` cells (never below 2), cut by cells; a mark that fits a row is kept whole.

    Joining the rows gives the text back: nothing is added or dropped, spaces at the cut included.
    """
    width = max(width, 2)
    if shown.isascii() and "\\<" not in shown:
        return tuple(shown[at : at + width] for at in range(0, len(shown), width)) or ("",)
    rows: list[str] = []
    row: list[str] = []
    used = 0
    for token in _TOKEN.findall(shown):
        wide = cells(token)
        for part in token if wide > width else (token,):
            need = cells(part)
            if used + need > width:
                rows.append("".join(row))
                row, used = [], 0
            row.append(part)
            used += need
    rows.append("".join(row))
    return tuple(rows)


def pad(shown: str, width: int, align: Literal["left", "right"] = "left") -> str:
    """Safe text clipped and filled with spaces to exactly `width` cells."""
    cut = clip(shown, width)
    fill = " " * (width - cells(cut))
    return fill + cut if align == "right" else cut + fill


def age(seconds: float | None) -> str:
    """An age in one unit: `9s`, `9m`, `2h`, `3d`; `-` when it is not known. An age below zero is `0s`."""
    if seconds is None or seconds != seconds or seconds == float("inf"):
        return "-"
    whole = int(max(seconds, 0))
    for unit, length, until in (("s", 1, 60), ("m", 60, 3600), ("h", 3600, 48 * 3600)):
        if whole < until:
            return f"{whole // length}{unit}"
    return f"{whole // 86400}d"


def span(seconds: float | None) -> str:
    """How long something took or how fresh it is: like `age`, but with a tenth below ten seconds, `0.2s`."""
    if seconds is None or seconds != seconds or not 0 <= seconds < 10:
        return age(seconds)
    return f"{int(seconds * 10) / 10:.1f}s"


def percent(fraction: float | None) -> str:
    """A share as `92 %`; never `100 %` or `0 %` unless it is exactly that; `-` when it is not known."""
    if fraction is None or fraction != fraction:
        return "-"
    rounded = round(fraction * 100)
    if fraction < 1:
        rounded = min(rounded, 99)
    if fraction > 0:
        rounded = max(rounded, 1)
    return f"{rounded} %"


def plural(count: int, one: str, many: str | None = None) -> str:
    """A count and its noun: `1 file`, `2 files`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def size(count: int) -> str:
    """A number of bytes: `712 bytes`, `16 KiB`, `4.2 MiB`."""
    if count < 1024:
        return plural(count, "byte")
    value = float(count)
    for unit in ("KiB", "MiB", "GiB"):
        value /= 1024
        if value < 1024 or unit == "GiB":
            break
    return f"{value:.0f} {unit}" if value >= 10 else f"{value:.1f} {unit}"
