"""The only place that makes Textual content from text.

What a widget is given is `Content` from here or a row of ink: never a plain `str`, which Textual reads as markup
(SAFETY T2). Text must have gone through the gate in `text` before; `quoted` does that itself. What slipped past the
gate is put through it here, or, where `STRICT` is set as it is in tests, is an error.
"""

from __future__ import annotations

from collections.abc import Iterable

from rich.text import Text
from textual.content import Content
from textual.style import Style

from cas_tui import text

STRICT = False
"""Whether text that did not go through the gate raises `UnsafeText` instead of being made safe."""


class UnsafeText(AssertionError):
    """Text reached the screen's door without having gone through the gate."""


def plain(shown: str, style: str | Style = "") -> Content:
    """One line of safe text in one style. The style is ours; it never comes from data."""
    return Content.styled(_checked(shown), style)


def quoted(
    value: str | bytes | None,
    style: str | Style = "",
    *,
    limit_cells: int | None = None,
    exact: bool = False,
    ascii_only: bool = False,
) -> Content:
    """Untrusted text of the agent, made safe and set in quotes it cannot close (T6)."""
    return plain(text.quote(value, limit_cells=limit_cells, exact=exact, ascii_only=ascii_only), style)


def assemble(*parts: str | Content | tuple[str, str | Style]) -> Content:
    """One line from pieces: safe text, safe text with a style, or content made here before."""
    return Content.assemble(
        *(
            part
            if isinstance(part, Content)
            else _checked(part)
            if isinstance(part, str)
            else (_checked(part[0]), part[1])
            for part in parts
        )
    )


def lines(rows: Iterable[Content]) -> Content:
    """Several lines as one content: the only way a line break gets in."""
    return Content("\n").join(rows)


def last_words(shown: str) -> Text:
    """Safe text for the terminal the console leaves behind, in the form that Textual's panic takes."""
    return Text(_checked(shown))


def _checked(shown: str) -> str:
    if text.is_safe(shown):
        return shown
    if STRICT:
        raise UnsafeText(f"not through the gate: {shown[:80]!r}")
    return text.line(shown)
