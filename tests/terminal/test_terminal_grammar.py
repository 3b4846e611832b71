"""The oracle itself: what it lets pass, and that it catches what Textual lets through."""

from __future__ import annotations

import os
import sys

import pytest
from grammar import HIDDEN, not_restored, violations
from hostile import HOSTILE
from terminal_kit import terminal

APP = """
import sys
from textual.app import App
from textual.widgets import Static

class Mini(App):
    def compose(self):
        yield Static(sys.argv[1], markup=False)
    def on_mount(self):
        self.set_timer(0.3, self.exit)

Mini().run()
"""


def draw(words: str) -> bytes:
    """What a small program of Textual writes that shows these words without a care."""
    environ = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8"}
    with terminal([sys.executable, "-c", APP, words], environ=environ) as shown:
        assert shown.ended() == 0
        return shown.transcript


def test_a_plain_program_of_textual_stays_inside_the_grammar_and_restores_the_terminal() -> None:
    transcript = draw("plain words, ünïcode, 漢字")
    assert violations(transcript) == []
    assert not_restored(transcript) == []


def test_the_grammar_catches_what_textual_lets_through() -> None:
    found = violations(draw("a\x1b]52;c;aGk=\x07b\x1b[2Jc\x9b2Jd\u202ee"))
    assert {item.what for item in found} >= {"unknown control sequence", "C1 control 0x9b", "hidden character U+202E"}


CONTROLS = [(name, words) for name, words in HOSTILE if name.startswith(("E01", "E02", "E03", "E04", "E06", "E07"))]


@pytest.mark.parametrize("words", [words for _, words in CONTROLS], ids=[name for name, _ in CONTROLS])
def test_every_hostile_control_is_outside_the_grammar(words: str) -> None:
    start = b"\x1b[?2026$p\x1b[?2048$p"
    assert violations(start) == []
    assert violations(start + b"before" + words.encode("utf-8") + b"after")


def test_a_fault_is_named_with_its_place() -> None:
    (found,) = violations("voilà \x9b".encode())
    assert (found.offset, found.what) == (7, "C1 control 0x9b")
    (found,) = violations(b"ab\x1b[6ncd")
    assert str(found) == "unknown control sequence at byte 2: b'ab\\x1b[6ncd'"


def test_bells_and_line_ends_are_counted_not_waved_through() -> None:
    assert violations(b"\x07") and not violations(b"\x07", bells=1) and violations(b"\x07\x07", bells=1)
    assert violations(b"a\r\n") and not violations(b"a\r\n", lines=True)


def test_hidden_characters_of_the_corpus_are_hidden_here_too() -> None:
    assert all(HIDDEN.search(words) for name, words in HOSTILE if name in ("E10 every bidi", "E11 zero width"))


def test_a_terminal_left_in_another_mode_is_noticed() -> None:
    assert not_restored(b"\x1b[?1049h\x1b[?25l") != []
    again = draw("x") + b"\x1b[?1049h"
    assert not_restored(again) == [b"\x1b[?1049l"]
