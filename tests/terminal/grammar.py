"""What may be written to the terminal: the vocabulary of Textual's Linux driver and printable text, and nothing else.

`violations` reads a whole transcript of a pty, byte by byte, and names everything that is not on the list with its
offset and what stood around it (SAFETY T1, §6.6). It knows nothing of our program: a byte is allowed because the
driver has a use for it, never because we happen to write it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

MODES = ("1049", "1000", "1002", "1003", "1006", "1015", "1004", "2004", "2026", "2048", "25", "7")
"""Private modes: alternate screen, mouse, focus, paste, synchronised output, resize in band, cursor, line wrap."""

CONTROL = re.compile(
    rb"\x1b\[(?:"
    rb"\?(?:" + "|".join(MODES).encode() + rb")[hl]"
    rb"|\?(?:2026|2048)\$p"  # asks the terminal what it can do, once at the start
    rb"|>[0-9]{1,3}u|<u"  # kitty keyboard: push and pop
    rb"|[0-9]{1,4};[0-9]{1,4}H"
    rb"|[0-9]{1,3}(?:;[0-9]{1,3}){0,40}m|m"
    rb")"
    rb"|\x1b\]22;(?:default|pointer|text)\x07"  # the shape of the mouse pointer
    rb"|\r?\n(?=\x1b\[[0-9]+;[0-9]+H)"  # from one row of a whole screen to the next
)
"""Every control sequence that is allowed. No erase, no scroll, no title, no clipboard, no link, no query of colours."""

RARE = re.compile(rb"\x1b\[(?:\?(?!2026[hl])[0-9]+[hl]|\?[0-9]+\$p|>[0-9]+u|<u)")
"""Sequences that belong to the start and the end alone: each at most twice there, the questions once."""
HIDDEN = re.compile("[\xad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufffe\uffff\U000e0000-\U000e0fff]")
"""Printable as far as a terminal is concerned, but it turns or hides text: ours never writes it (T3)."""


@dataclass(frozen=True, slots=True)
class Violation:
    """One byte or character that is not ours, `offset` bytes into the transcript."""

    offset: int
    what: str
    around: bytes

    def __str__(self) -> str:
        return f"{self.what} at byte {self.offset}: {self.around!r}"


def violations(transcript: bytes, *, bells: int = 0, lines: bool = False, starts: int = 1) -> list[Violation]:
    """Everything in a transcript that the grammar does not know.

    Args:
        bells: how often the terminal may ring; a bell is ours only where something arrived.
        lines: whether CR and LF are allowed, which the program writes only outside the alternate screen.
        starts: how often the program took the terminal: once, and once more after each suspension.
    """
    return list(_violations(transcript, bells, b"\r\n" if lines else b"", starts))


def _violations(transcript: bytes, bells: int, ends: bytes, starts: int) -> Iterator[Violation]:
    at, rare = 0, Counter[bytes]()
    while at < len(transcript):
        byte = transcript[at]
        if (found := CONTROL.match(transcript, at)) is not None:
            word = found.group()
            rare[word] += bool(RARE.fullmatch(word))
            if rare[word] > starts * (1 if word.endswith(b"p") else 2):
                yield _violation(transcript, at, "more often than a start and an end write it")
            at = found.end()
        elif byte == 0x1B:
            yield _violation(transcript, at, "unknown control sequence")
            at += 1
        elif byte < 0x20 or byte == 0x7F:
            if byte == 0x07 and bells > 0:
                bells -= 1
            elif byte not in ends:
                yield _violation(transcript, at, f"control byte {byte:#04x}")
            at += 1
        else:
            end = at
            while end < len(transcript) and transcript[end] >= 0x20 and transcript[end] != 0x7F:
                end += 1
            yield from _in_text(transcript, at, end)
            at = end


def _in_text(transcript: bytes, start: int, end: int) -> Iterator[Violation]:
    """The faults of one run of bytes without a C0 control."""
    try:
        words = transcript[start:end].decode("utf-8")
    except UnicodeDecodeError as error:
        yield _violation(transcript, start + error.start, "not UTF-8")
        return
    for place, char in enumerate(words):
        if "\x80" <= char <= "\x9f":
            what = f"C1 control {ord(char):#x}"
        elif HIDDEN.match(char):
            what = f"hidden character U+{ord(char):04X}"
        else:
            continue
        yield _violation(transcript, start + len(words[:place].encode()), what)


def _violation(transcript: bytes, at: int, what: str) -> Violation:
    return Violation(at, what, bytes(transcript[max(0, at - 30) : at + 30]))


RESTORED = (b"\x1b[?1049l", b"\x1b[?1000l", b"\x1b[?1003l", b"\x1b[?2004l", b"\x1b[?1004l", b"\x1b[?25h", b"\x1b[<u")
"""What a program must have written at its end, whatever ended it (C19)."""


def not_restored(transcript: bytes) -> list[bytes]:
    """The modes that were left on: switched on after they were last switched off, or never switched off."""
    left = []
    for off in RESTORED:
        on = {b"\x1b[?25h": b"\x1b[?25l", b"\x1b[<u": b"\x1b[>"}.get(off, off[:-1] + b"h")
        if transcript.rfind(off) <= transcript.rfind(on):
            left.append(off)
    return left
