"""The door from safe text to Textual content: literal, quoted, and closed to what did not go through the gate."""

from __future__ import annotations

import pytest
from hostile import FORBIDDEN, HOSTILE, MARKUP
from textual.content import Content

from cas_tui import text
from cas_tui.console import content


@pytest.mark.parametrize(("name", "value"), MARKUP)
def test_markup_is_literal(name: str, value: str) -> None:
    """T2, E13: brackets are characters; no style, no action, no crash."""
    made = content.plain(text.line(value))
    assert made.plain == value
    assert made.spans == []


@pytest.mark.parametrize(("name", "value"), HOSTILE)
def test_quoted_agent_text_is_inert_and_in_quotes(name: str, value: str) -> None:
    """T1, T6: whatever the text, the content holds no control character and stands in quotes."""
    made = content.quoted(value, "bold")
    assert made.plain[0] == made.plain[-1] == '"'
    assert not FORBIDDEN.search(made.plain)


def test_pieces_keep_their_styles() -> None:
    """Pieces are joined in order, styles where they were given; lines are joined by line breaks."""
    made = content.assemble("a ", ("b", "bold"), content.plain("c", "dim"))
    assert made.plain == "a bc"
    assert [(span.start, span.end, span.style) for span in made.spans] == [(2, 3, "bold"), (3, 4, "dim")]
    assert content.lines([made, content.plain("d")]).plain == "a bc\nd"
    assert content.plain("") == Content("")


@pytest.mark.parametrize("value", ["\x1b[2J", "a\nb", "\u202e", "a\ufe0f", "\ud800", "\u0301"])
def test_text_that_missed_the_gate_is_an_error_here_and_mended_elsewhere(
    value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """T1: under test it raises; in use it is made safe, at every entrance."""
    for make in (content.plain, content.assemble, content.last_words, lambda item: content.assemble((item, "bold"))):
        monkeypatch.setattr(content, "STRICT", True)
        with pytest.raises(content.UnsafeText):
            make(value)
        monkeypatch.setattr(content, "STRICT", False)
        assert make(value).plain == text.line(value)
