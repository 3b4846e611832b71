"""The first rows of a card: who asks, what stands, what would be done, why this tier. All of it is ours (T6)."""

from __future__ import annotations

from typing import Final

from cas_tui import text
from cas_tui.console.card.contract import words_wrap
from cas_tui.console.card.guard import Guard
from cas_tui.console.card.standing import State
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row, Span
from cas_tui.model.shapes import Card
from cas_tui.protocol.requests import RequestKind, RequestState

STATE_INK: Final = {
    State.READY: "ok strong",
    State.ARMING: "text strong",
    State.UNSEEN: "need strong",
    State.CHANGED: "danger strong",
    State.EXPIRED: "danger strong",
    State.LOCKED: "mode strong",
    State.SMALL: "danger strong",
}
MOST_SUMMARY: Final = 4
UNCONFINED: Final = "UNCONFINED: can act without asking"


def state_words(guard: Guard, card: Card, state: State) -> str:
    """The state word of the first row."""
    if state is State.PEEK:
        return _decided(card) or "PEEK, Enter opens"
    if state is State.UNSEEN:
        return text.plural(guard.lines_unseen, "line") + " unseen" if guard.lines_unseen else "lines unseen"
    if state is State.DECIDED:
        return _decided(card) or "DECIDED"
    return str(state)


def _decided(card: Card) -> str:
    if not card.settled:
        return ""
    _, by, who = text.line(card.settled, limit_cells=40).partition(" by ")
    return f"DECIDED BY {who}" if by else "DECIDED"


def _who(card: Card, glyphs: Glyphs) -> tuple[str, str]:
    """The run, and what kind of request it is."""
    name = text.line(card.run, limit_cells=16, ascii_only=glyphs.ascii)
    request = card.request
    if request.kind is RequestKind.EFFECT:
        op = text.line(request.op_kind, limit_cells=20, ascii_only=glyphs.ascii)
        kind = f"{'unknown outcome' if request.state is RequestState.UNKNOWN else 'effect'} {op}"
        middle = str(request.tier) if request.tier else "no tier"
    else:
        kind, middle = str(request.kind), f"waits {text.age(card.age_s)}"
    place = f"   {card.position} of {card.total}" if card.position else ""
    return text.pad(name, max(4, text.cells(name))), f"   {kind}   {middle}{place}"


def _right(card: Card, guard: Guard, state: State) -> list[Span]:
    word = state_words(guard, card, state)
    left = card.left_s
    expiry = "no expiry" if left is None else f"{text.age(left)} left" if left > 0 else "no answer in time"
    digest = f"{card.request.digest.partition(':')[2] or card.request.digest}"[:8]
    spans = [Span(word, STATE_INK.get(state, "muted")), Span("   "), Span(expiry, "muted")]
    if digest:
        spans += [Span("   "), Span(f"sha256:{text.line(digest)}", "muted")]
    return spans


def first_row(card: Card, guard: Guard, state: State, width: int, glyphs: Glyphs) -> Row:
    """Row 1 of a card on the whole screen."""
    name, rest = _who(card, glyphs)
    needs = not card.settled and card.request.needs_you
    right = _right(card, guard, state)
    while sum(text.cells(span.text) for span in right) + text.cells(name + rest) + 6 > width and len(right) > 1:
        del right[-2:]
    cells = Cells(width, ascii_only=glyphs.ascii).put(" ")
    cells.put(glyphs["needs"] if needs else " ", "need").put(" ").put(name, "text strong").put(rest, "text")
    cells.to(width - 1 - sum(text.cells(span.text) for span in right))
    for span in right:
        cells.put(span.text, span.ink)
    return cells.row()


def rule_row(card: Card, guard: Guard, state: State, width: int, glyphs: Glyphs, *, focused: bool) -> Row:
    """The same as a rule line, where the card is one region among others; its strokes show the focus."""
    name, rest = _who(card, glyphs)
    stroke, ink = glyphs["rule"], "need" if focused else "rule"
    right = _right(card, guard, state)
    while sum(text.cells(span.text) for span in right) + text.cells(name + rest) + 10 > width and len(right) > 1:
        del right[-2:]
    cells = Cells(width, ascii_only=glyphs.ascii).put(stroke * 2, ink).put(" ")
    cells.put(name, "text strong" if focused else "text").put(rest, "text" if focused else "muted").put(" ")
    cells.to(width - sum(text.cells(span.text) for span in right) - 4, stroke, ink).put(" ")
    for span in right:
        cells.put(span.text, span.ink)
    return cells.put(" ").put(stroke * 2, ink).row()


def act_rows(card: Card, width: int, glyphs: Glyphs, *, most: int = MOST_SUMMARY) -> tuple[list[Row], bool]:
    """The act in one line, wrapped if it must; and whether all of it is there (C3)."""
    limit = width * (most + 1)
    value = card.summary[:limit]
    shown = (
        text.quote(value, exact=True, ascii_only=glyphs.ascii)
        if card.summary_quoted
        else text.line(value, exact=True, ascii_only=glyphs.ascii)
    )
    pieces = words_wrap(shown, width - 2)
    fits = len(pieces) <= most and len(value) == len(card.summary)
    if not fits:
        pieces = pieces[:most]
        pieces[-1] = text.clip(pieces[-1], width - 6) + " ..."
    ink = "agent" if card.summary_quoted else "text strong"
    return [Cells(width).put(" ").put(piece, ink).row() for piece in pieces], fits


def why_rows(card: Card, width: int, glyphs: Glyphs, *, most: int = 3) -> list[Row]:
    """Why this tier: what is dangerous first, and in the danger ink."""
    flags = [UNCONFINED] if card.unconfined else []
    flags += [text.line(flag, ascii_only=glyphs.ascii) for flag in card.tier_flags]
    words = text.line(card.tier_because[: width * most * 2], ascii_only=glyphs.ascii)
    start = f"{card.request.tier} because: " if card.request.tier else ""
    rest = words.removeprefix(start)
    if not start and not rest and not flags:
        rest = str(card.request.kind)
    dangers = ", ".join(flags)
    whole = start + dangers + (", " if dangers and rest else "") + rest
    pieces = words_wrap(whole, width - 2)
    if len(pieces) > most:
        pieces = pieces[:most]
        pieces[-1] = text.clip(pieces[-1], width - 6) + " ..."
    bad = range(len(start), len(start) + len(dangers))
    rows, at = [], 0
    for piece in pieces:
        at = whole.find(piece, at) if whole.find(piece, at) >= 0 else at
        cells = Cells(width).put(" ")
        cut = [max(0, min(len(piece), edge - at)) for edge in (bad.start, bad.stop)]
        cells.put(piece[: cut[0]], "muted").put(piece[cut[0] : cut[1]], "danger strong").put(piece[cut[1] :], "muted")
        rows.append(cells.row())
        at += len(piece)
    return rows
