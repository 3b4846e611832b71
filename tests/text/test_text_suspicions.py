"""What a reader is warned of: each finding by name, and silence for ordinary text."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hostile import HOSTILE
from hypothesis import given, settings
from hypothesis import strategies as st

from cas_tui import text


def names(value: str | bytes | None) -> set[str]:
    return {item.name for item in text.suspicious(value)}


@pytest.mark.parametrize(
    ("value", "name", "points"),
    [
        ("a\u202eb", "bidi", ("U+202E",)),
        ("שלום", "right_to_left", ("U+05E9", "U+05DC", "U+05D5", "U+05DD")),
        ("a\u200bb\U000e0041", "invisible", ("U+200B", "U+E0041")),
        ("a\u00adb", "invisible", ("U+00AD",)),
        ("\x1b[2J\x9b", "control", ("U+001B", "U+009B")),
        ("\ud800", "surrogate", ("U+D800",)),
        (b"caf\xe9", "not_utf8", ("U+DCE9",)),
        ("\ue000\u0378", "unassigned", ("U+E000", "U+0378")),
        ("a\u00a0b", "odd_space", ("U+00A0",)),
        ("src/\u0430pp.py", "mixed_script", ("U+0430",)),
        ("src/\u0430.py", "lookalike", ("U+0430",)),
        ("ｒｍ x", "lookalike", ("U+FF52", "U+FF4D")),
        ("a\u2215b", "lookalike", ("U+2215",)),
        ("e\u0301", "not_normalised", ("U+0301",)),
        ("a" + "\u0301" * 9, "mark_pile", ("U+0301",)),
        ("a \nb", "trailing_space", ()),
        ("a \r\nb", "trailing_space", ()),
        ("a\tb", "tab", ("U+0009",)),
        ("a\rb", "carriage_return", ("U+000D",)),
        ("ls" + " " * 60 + "rm", "long_space_run", ()),
        ("ls" + "\t" * 8 + "rm", "long_space_run", ()),
    ],
)
def test_each_finding_has_its_name_and_characters(value: str | bytes, name: str, points: tuple[str, ...]) -> None:
    """T3, E08-E12: the finding names itself and the characters concerned, in words that are safe to show."""
    found = {item.name: item for item in text.suspicious(value)}
    assert found[name].code_points == points
    assert found[name].count >= 1
    assert found[name].detail.isascii() and found[name].detail.isprintable()


@pytest.mark.parametrize("name", ["E10", "E11", "E12", "E14 marks", "E08", "E09", "E01", "E06", "A04", "A05"])
def test_the_corpus_is_found_suspicious(name: str) -> None:
    """E01-E14: no string of these groups goes unnoticed (counterfeit marks are text; the gate deals with them)."""
    for key, value in HOSTILE:
        if key.startswith(name) and "counterfeit" not in key:
            assert text.suspicious(value), key


@pytest.mark.parametrize(
    "value",
    [
        "", None, "plain text", "def f(x):\n    return x\n", "Grüße aus Köln", "Привет, мир", "漢字 in Latin",
        "한국어 text", "naïve café", "C:\\temp", "# ---- heading ----", "    indented by four",
    ],
)  # fmt: skip
def test_ordinary_text_raises_no_suspicion(value: str | None) -> None:
    """A warning that is always there is none: ordinary text in many languages has no finding."""
    assert names(value) == set()


def test_our_own_source_is_not_suspicious() -> None:
    """A false-positive check on real files: the protocol package has no finding at all."""
    for path in Path("cas_tui/protocol").glob("*.py"):
        assert names(path.read_bytes()) == set(), path


def test_the_number_of_characters_named_is_bounded() -> None:
    """A text with hundreds of kinds of hidden characters gets a short finding."""
    (found,) = text.suspicious("".join(map(chr, range(0xE0100, 0xE01EF))))
    assert len(found.code_points) == 8 and found.count == 239 and found.detail.endswith(", ...)")


@given(st.one_of(st.text(max_size=50), st.binary(max_size=50)))
@settings(max_examples=200)
def test_it_never_raises_and_words_are_safe(value: str | bytes) -> None:
    """T4: whatever the text, an answer; no character of the text is in the words."""
    for item in text.suspicious(value):
        assert item.detail.isascii() and text.is_safe(item.detail)


@given(st.text(max_size=30))
@settings(max_examples=200)
def test_whatever_the_gate_marks_has_a_finding(value: str) -> None:
    """T3: a mark in an exact line never comes without a named reason, unless it is a literal bracket."""
    shown = text.line(value.replace("⟨", "").replace("⇥", "").replace("\n", ""), exact=True)
    if "⟨" in shown and not shown.startswith("⟨U+03"):
        assert text.suspicious(value)


@pytest.mark.parametrize(
    "value", [" " * 200_000 + "x", "\t" * 200_000, " \t" * 100_000 + "x", "\u0430" * 200_000, "x \n" * 60_000]
)
def test_long_texts_take_linear_time(value: str) -> None:
    """E15: no pattern has a bad case."""
    start = time.process_time()
    text.suspicious(value)
    assert time.process_time() - start < 2
