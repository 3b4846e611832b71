"""The gate on the hostile corpus and on all of Unicode: nothing that acts, nothing that hides, nothing dropped."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from hostile import FORBIDDEN, HOSTILE, HOSTILE_BYTES
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.content import Content

from cas_tui import codepoints, text

MODES = [(exact, ascii_only) for exact in (False, True) for ascii_only in (False, True)]
ODD = st.sampled_from(
    "\t\n\r\x1b\x07\x9b\u202e\u200d\ufe0f\u0301\u0345\u1161\u3164⟨⟩⇥<>\\\"' a\u00e9e\ud800\udcff\U000e0041漢🇩👍🏽"
)
TEXT = st.text(st.one_of(ODD, st.characters()), max_size=40)


def read_back(shown: str, ascii_only: bool) -> str:
    """The text that a shown line stands for: written from the description of the marks, not from the code."""
    names = {name: code for code, name in codepoints.NAMES.items()}
    pattern = r"\\<(.[^>]*)>" if ascii_only else r"⟨([^⟩]+)⟩|(⇥)   "

    def source(found: re.Match[str]) -> str:
        name = found[1]
        if name is None:
            return "\t"
        if name.startswith("SP"):
            return " " * int(name[3:] or 1)
        if name.startswith("x"):
            return chr(0xDC00 + int(name[1:], 16))
        if name.startswith("U+"):
            return chr(int(name[2:], 16))
        return "\\" if name == "\\" else chr(names[name])

    return re.sub(pattern, source, shown)


@given(TEXT)
@settings(max_examples=400)
def test_a_shown_line_can_be_read_back(value: str) -> None:
    """T3: in every mode the text can be recovered from what is shown, so different texts are shown differently."""
    for exact, ascii_only in MODES:
        assert read_back(text.line(value, exact=exact, ascii_only=ascii_only), ascii_only) == value


@given(st.binary(max_size=40))
@settings(max_examples=200)
def test_bytes_can_be_read_back(value: bytes) -> None:
    """T3, A04: also of bytes that are not UTF-8, every one can be recovered."""
    for exact, ascii_only in MODES:
        shown = text.line(value, exact=exact, ascii_only=ascii_only)
        assert read_back(shown, ascii_only).encode("utf-8", "surrogateescape") == value


@given(TEXT)
@settings(max_examples=200)
def test_a_block_is_its_lines(value: str) -> None:
    """A block splits at line feeds only (A08) and loses none of them."""
    lines = text.block(value, exact=True)
    assert "\n".join(read_back(line, False) for line in lines) == value
    assert len(lines) == value.count("\n") + 1


@given(TEXT)
@settings(max_examples=300)
def test_nothing_hidden_leaves_the_gate(value: str) -> None:
    """T1: no control, bidi, zero-width, tag, surrogate, private or unassigned character gets out; E14: marks end."""
    for exact, ascii_only in MODES:
        shown = text.line(value, exact=exact, ascii_only=ascii_only)
        assert not FORBIDDEN.search(shown)
        assert text.is_safe(shown)
        assert not any(unicodedata.category(char)[0] == "C" for char in shown)
        shown.encode("utf-8")
        assert not re.search("[\u0300-\u036f]{4}", shown)


@given(TEXT)
@settings(max_examples=200)
def test_what_looks_the_same_is_the_same_in_decision_views(value: str) -> None:
    """T3: exact lines are in composed form, without odd spaces and without a space at the end."""
    shown = text.line(value, exact=True)
    assert unicodedata.is_normalized("NFC", shown)
    assert not shown.endswith(" ") or shown.endswith("⇥   ")
    assert not re.search(r"[^\S ]", shown)


@pytest.mark.parametrize(
    ("name", "value"), [*HOSTILE, *HOSTILE_BYTES], ids=lambda item: item if isinstance(item, str) else ""
)
def test_the_corpus_is_inert(name: str, value: str | bytes) -> None:
    """E01-E15, A04: every hostile string passes whole, inert, and as wide as Textual thinks it is."""
    for exact, ascii_only in MODES:
        shown = text.line(value, exact=exact, ascii_only=ascii_only)
        assert not FORBIDDEN.search(shown), name
        back = read_back(shown, ascii_only)
        assert (back.encode("utf-8", "surrogateescape") if isinstance(value, bytes) else back) == value
        content = Content(shown)
        assert content.plain == shown
        assert content.cell_length == text.cells(shown)


def test_every_character_of_unicode_is_shown_or_marked() -> None:
    """T1, T3: alone and after a letter, each code point is shown so that it can be read back, with its true width."""
    # The planes that hold more than unassigned numbers; the others are sampled by the properties above.
    for first in (*range(0, 0x20000, 1024), 0x2F800, 0x3FC00, 0xE0000, 0xF0000, sys.maxunicode - 1023):
        value = "".join("a" + chr(code) for code in range(first, first + 1024))
        shown = text.line(value, exact=True)
        assert read_back(shown, False) == value, hex(first)
        assert text.is_safe(shown) and not FORBIDDEN.search(shown), hex(first)


def test_the_width_of_every_shown_character_is_the_one_textual_uses() -> None:
    """C4, T6: for what the gate lets through, cells are counted as the drawing side counts them."""
    shown = [text.line("a" + chr(code)) for code in range(0x20, 0x20000)]
    for part in range(0, len(shown), 4096):
        for item in shown[part : part + 4096]:
            assert Content(item).cell_length == text.cells(item), ascii(item)


def test_the_short_way_and_the_long_way_agree() -> None:
    """The characters that are let through without a look would be let through with one."""
    for code in range(0x110000):
        char = chr(code)
        if text._PLAIN.fullmatch(char):
            assert not text._name(char, True, False) and unicodedata.combining(char) == 0 and text.cells(char) > 0


@given(TEXT)
@settings(max_examples=100)
def test_the_gate_lets_its_own_work_pass(value: str) -> None:
    """What came out of the gate is not changed by the last defence; and that makes anything safe."""
    for exact, ascii_only in MODES:
        shown = text.line(value, exact=exact, ascii_only=ascii_only)
        assert text.safe(shown) == shown
    assert not FORBIDDEN.search(text.safe(value))


def test_marks_have_names_people_know() -> None:
    """The usual ones are named, the rest numbered, and undecodable bytes are given as bytes."""
    assert text.line("\x1b[2J\r\n") == "⟨ESC⟩[2J⟨CR⟩⟨LF⟩"
    assert text.line("\u202e\u200b\U000e0041") == "⟨RLO⟩⟨ZWSP⟩⟨U+E0041⟩"
    assert text.line(b"caf\xe9") == "caf⟨xE9⟩"
    assert text.line("\ud800") == "⟨U+D800⟩"
    assert text.line("a\tb") == "a⇥   b"
    assert text.line("a\tb\x1b", ascii_only=True) == r"a\<TAB>b\<ESC>"
    assert text.line("a  ", exact=True) == "a⟨SPx2⟩"
    assert text.line("a  ") == "a  "
    assert text.line(None) == "" and text.block(None) == ("",)


def test_a_mark_cannot_be_counterfeited() -> None:
    """T3: text that spells a mark is shown unlike the mark."""
    assert text.line("⟨ESC⟩") == "⟨U+27E8⟩ESC⟩"
    assert text.line("\\<ESC>", ascii_only=True) == r"\<\><ESC>"
    assert text.line("⇥   ") == "⟨U+21E5⟩   "


def test_ordinary_text_is_left_alone() -> None:
    """Pleasant where it may be: letters of the world, wide ones, emoji and accents pass as they are, in both views."""
    for value in ("Grüße, ça va? Привет, κόσμε", "漢字 かな 한국어", "done ✅ 🎉", "हिन्दी ไทย", "a -> b <c> \\d+"):
        assert text.line(value) == text.line(value, exact=True) == value


def test_accents_are_capped() -> None:
    """E14: three marks on a base are drawn, the others are spelled; without a base all are."""
    assert text.line("a" + "\u0301" * 5) == "a\u0301\u0301\u0301⟨U+0301⟩⟨U+0301⟩"
    assert text.line("\u0301a") == "⟨U+0301⟩a"
    assert text.line(" \u0301") == " ⟨U+0301⟩"
