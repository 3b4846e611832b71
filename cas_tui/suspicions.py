"""What a reader of untrusted text should be warned of, as named findings.

The gate in `text` already makes such characters visible; this module says that they are there, for the flags of a
decision (SAFETY T3, E10-E12). It decides nothing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from cas_tui.codepoints import (
    BIDI,
    hidden_name,
    is_right_to_left,
    label,
    odd_space_name,
    passes_for_latin,
    script,
)

_MOST_CODE_POINTS: Final = 8
_WORD: Final = re.compile(r"[^\W\d_]+")
_ODD: Final = re.compile(r"[^\x20-\x7e\n]")
_TRAILING: Final = re.compile(r"(?<![ \t])[ \t]++(?=\r?(?:\n|\Z))")
_GAP: Final = re.compile(r"(?<=\S)[ \t]{3,}+(?=\S)")
_WIDE_GAP_CELLS: Final = 24
"""A gap within a line that is at least so wide can push what follows off the screen."""
_MOST_MARKS: Final = 3


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One kind of finding in one text.

    Attributes:
        name: bidi, right_to_left, invisible, control, surrogate, not_utf8, unassigned, odd_space, mixed_script,
            lookalike, not_normalised, mark_pile, trailing_space, tab, carriage_return or long_space_run.
        count: how often it occurs.
        code_points: the distinct characters concerned (`U+202E`), the first few of them.
        detail: the same in words, all of them ours and safe to show.
    """

    name: str
    count: int
    code_points: tuple[str, ...]
    detail: str


_WORDS: Final[dict[str, str]] = {
    "bidi": "characters that reorder text",
    "right_to_left": "letters written from right to left",
    "invisible": "characters that cannot be seen",
    "control": "control characters",
    "surrogate": "halves of a character",
    "not_utf8": "bytes that are not UTF-8",
    "unassigned": "characters without a public meaning",
    "odd_space": "spaces that are not plain ones",
    "mixed_script": "a word in two alphabets",
    "lookalike": "letters that pass for Latin ones",
    "not_normalised": "letters put together from parts",
    "mark_pile": "accents piled on one letter, or on none",
    "trailing_space": "spaces at the end of a line",
    "tab": "tabs",
    "carriage_return": "carriage returns",
    "long_space_run": "a gap wide enough to hide what follows",
}


def suspicious(value: str | bytes | None) -> tuple[Suspicion, ...]:
    """Every kind of finding in an untrusted text, the worst first; empty for ordinary text. Never raises."""
    text = value.decode("utf-8", "surrogateescape") if isinstance(value, bytes) else value or ""
    found: dict[str, list[str]] = {}
    for char in _ODD.findall(text):
        if name := _kind(char):
            found.setdefault(name, []).append(char)
    if not text.isascii():
        _words(text, found)
        _marks(text, found)
    if trailing := len(_TRAILING.findall(text)):
        found["trailing_space"] = [" "] * trailing
    if gaps := [gap for gap in _GAP.findall(text) if len(gap) + 7 * gap.count("\t") >= _WIDE_GAP_CELLS]:
        found["long_space_run"] = [" "] * len(gaps)
    return tuple(_suspicion(name, found[name]) for name in _WORDS if name in found)


def _suspicion(name: str, chars: list[str]) -> Suspicion:
    distinct = list(dict.fromkeys(chars))
    shown = () if name in ("trailing_space", "long_space_run") else tuple(map(label, distinct[:_MOST_CODE_POINTS]))
    more = ", ..." if len(distinct) > _MOST_CODE_POINTS else ""
    points = f" ({', '.join(shown)}{more})" if shown else ""
    return Suspicion(name, len(chars), shown, _WORDS[name] + points)


def _kind(char: str) -> str:
    if char in " \n":
        return ""
    if char in "\t\r":
        return "tab" if char == "\t" else "carriage_return"
    code = ord(char)
    if code in BIDI:
        return "bidi"
    if hidden_name(char):
        category = unicodedata.category(char)
        if 0xDC80 <= code <= 0xDCFF:
            return "not_utf8"
        return {"Cc": "control", "Cs": "surrogate", "Co": "unassigned", "Cn": "unassigned"}.get(category, "invisible")
    if code < 0x80:
        return ""
    if odd_space_name(char):
        return "odd_space"
    if is_right_to_left(char):
        return "right_to_left"
    return ""


def _words(text: str, found: dict[str, list[str]]) -> None:
    has_latin = any(char.isascii() and char.isalpha() for char in text)
    for word in _WORD.findall(text):
        if word.isascii():
            continue
        scripts = {name for char in word if (name := script(char))}
        if len(scripts) > 1:
            _extend(found, "mixed_script", word, lambda char: bool(script(char)) and script(char) != "LATIN")
        elif has_latin and all(map(passes_for_latin, word)):
            _extend(found, "lookalike", word, passes_for_latin)
    _extend(found, "lookalike", text, lambda char: not char.isalpha() and passes_for_latin(char))
    _extend(found, "lookalike", text, lambda char: script(char) == "LATIN" and passes_for_latin(char))


def _marks(text: str, found: dict[str, list[str]]) -> None:
    room = 0
    for char in text:
        if not unicodedata.category(char).startswith("M"):
            room = 0 if char in " \n" else _MOST_MARKS
        elif not hidden_name(char):
            if room == 0:
                found.setdefault("mark_pile", []).append(char)
            room = max(room - 1, 0)
    if not unicodedata.is_normalized("NFC", text):
        _extend(found, "not_normalised", text, lambda char: unicodedata.combining(char) > 0 or not _stable(char))


def _stable(char: str) -> bool:
    return unicodedata.is_normalized("NFC", char)


def _extend(found: dict[str, list[str]], name: str, chars: Iterable[str], wanted: Callable[[str], bool]) -> None:
    if hits := [char for char in chars if wanted(char)]:
        found.setdefault(name, []).extend(hits)
