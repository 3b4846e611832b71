"""The form of a question: choices, free text, fields, and what the answer is kept as (SCREENS §4).

Pure: an answer is a value that the card keeps by request, so that a draft survives leaving; nothing here sends it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from cas_tui import text
from cas_tui.console.card.contract import words_wrap
from cas_tui.console.glyphs import Glyphs
from cas_tui.console.ink import Cells, Row
from cas_tui.model.shapes import Card
from cas_tui.protocol.decode import Json

AREA_X: Final = 5
WORDS_AT: Final = 13
_REF: Final = re.compile(r"(?:uncertainties\.)?([A-Za-z0-9][A-Za-z0-9_-]{0,15})")


@dataclass
class Answer:
    """A draft: what is chosen and typed so far."""

    chosen: set[int] = field(default_factory=set)
    text: str = ""
    values: dict[str, str] = field(default_factory=dict)
    keep: int = 0
    cursor: int = 0

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to send."""
        return not (self.chosen or self.text.strip() or any(value.strip() for value in self.values.values()))


class Item(NamedTuple):
    """Something the cursor can stand on: a choice, the text, a field, or what to keep the answer as."""

    kind: str
    number: int = 0
    name: str = ""


def field_names(card: Card) -> list[str]:
    """The names of a form's fields; one without a name is not asked for."""
    names = [item.get("name") for item in card.form_fields]
    return [name for name in dict.fromkeys(names) if isinstance(name, str) and name]


def items(card: Card) -> list[Item]:
    """Everything the cursor can stand on, in order."""
    found = [Item("choice", number) for number in range(len(card.options))]
    found += [Item("field", number, name) for number, name in enumerate(field_names(card))]
    return [*found, Item("text"), Item("keep")]


def uncertainty(card: Card) -> str:
    """The uncertainty that an answer can resolve, or empty."""
    ref = card.request.fields.get("uncertainty")
    if not isinstance(ref, str) or not ref:
        ref = next((row.text.split(" ")[0] for row in card.contract if row.label == "resolves"), "")
    match = _REF.fullmatch(ref)
    return match.group(1) if match else ""


def keeps(card: Card) -> list[tuple[str, str]]:
    """What an answer can be kept as, with the words for it."""
    ref = uncertainty(card)
    return [("belief", "belief"), ("policy", "policy"), *([("uncertainty", f"resolves {ref}")] if ref else [])]


def choose(card: Card, answer: Answer) -> None:
    """Choose what the cursor stands on; choosing it again takes it back."""
    item = at_cursor(card, answer)
    if item.kind == "choice":
        if item.number in answer.chosen:
            answer.chosen.discard(item.number)
        else:
            if card.option_mode != "many":
                answer.chosen.clear()
            answer.chosen.add(item.number)
    elif item.kind == "keep":
        answer.keep = (answer.keep + 1) % len(keeps(card))


def at_cursor(card: Card, answer: Answer) -> Item:
    """What the cursor stands on."""
    found = items(card)
    answer.cursor = max(0, min(answer.cursor, len(found) - 1))
    return found[answer.cursor]


def arguments(card: Card, answer: Answer) -> dict[str, Json]:
    """The answer as a decision carries it."""
    made: dict[str, Json] = {"text": answer.text.strip(), "as": keeps(card)[min(answer.keep, len(keeps(card)) - 1)][0]}
    if answer.chosen:
        made["choices"] = [card.options[number] for number in sorted(answer.chosen) if number < len(card.options)]
    values = {name: answer.values[name].strip() for name in field_names(card) if answer.values.get(name, "").strip()}
    if values:
        made["fields"] = values
    return made


class Form(NamedTuple):
    """The drawn form: its rows, which one the cursor is on, where the text is typed and where one field."""

    rows: list[Row]
    cursor: int
    area: tuple[int, int, int, int]
    """x, y, width, height of the text."""
    line: tuple[int, int, int]
    """x, y, width of the field under the cursor."""


def draw(card: Card, answer: Answer, width: int, height: int, glyphs: Glyphs, *, area_rows: int) -> Form:
    """The form in this room. `area_rows` is how many rows the text wants; the rest of the room gives way to it."""
    top: list[Row] = []
    at: dict[Item, int] = {}
    line = (AREA_X, 0, 10)
    for item in items(card):
        if item.kind == "choice":
            at[item] = len(top)
            top += _choice(card, answer, item, width, glyphs)
        elif item.kind == "field":
            at[item] = len(top)
            name = text.line(item.name, limit_cells=24, ascii_only=glyphs.ascii)
            cells = _cells(width, glyphs).put("   ").put(f"{name}: ", "agent")
            if item == at_cursor(card, answer):
                line = (cells.x, len(top), max(4, width - cells.x - 1))
            top.append(cells.put(text.line(answer.values.get(item.name, ""), ascii_only=glyphs.ascii)).row())
    foot = _foot(card, answer, width, glyphs)
    room = max(2, min(max(2, area_rows), 8, height - len(top) - 1 - len(foot) - 2))
    at[Item("text")] = len(top)
    rows = [*top, _cells(width, glyphs).put("   ").put("text:", "muted").row()]
    area = (AREA_X, len(rows), max(4, width - AREA_X - 1), room)
    typed = answer.text.split("\n")
    for number in range(room):
        words = text.line(typed[number], ascii_only=glyphs.ascii) if number < len(typed) else ""
        rows.append(_cells(width, glyphs).put("   ").put(">", "muted").put(" ").put(words).row())
    spare = height - len(rows) - len(foot)
    if spare > 0:
        rows.append(_cells(width, glyphs).row())
    at[Item("keep")] = len(rows)
    rows += foot
    cursor = at[at_cursor(card, answer)]
    # What does not fit is scrolled away above or below the cursor; the text is always in view when it is typed in.
    if len(rows) > height:
        start = max(0, min(cursor - height // 2, len(rows) - height))
        rows = rows[start : start + height]
        cursor -= start
        area = (area[0], area[1] - start, area[2], max(1, min(area[3], height - (area[1] - start))))
        line = (line[0], line[1] - start, line[2])
    return Form(rows, cursor, area, line)


def _cells(width: int, glyphs: Glyphs) -> Cells:
    return Cells(width, ascii_only=glyphs.ascii)


def _choice(card: Card, answer: Answer, item: Item, width: int, glyphs: Glyphs) -> list[Row]:
    on = item.number in answer.chosen
    box = ("[x]" if on else "[ ]") if card.option_mode == "many" else ("(o)" if on else "( )")
    shown = text.line(card.options[item.number][: width * 4], exact=True, ascii_only=glyphs.ascii)
    pieces = words_wrap(shown, max(8, width - 9))
    rows = []
    for place, piece in enumerate(pieces):
        cells = _cells(width, glyphs).put("   ").put(box if place == 0 else "   ", "text").put(" ").put(piece, "agent")
        if item.number == 0 and place == 0 and len(pieces) == 1:
            cells.to(max(37, cells.x + 2)).put(f"choices offered by the agent: {len(card.options)}", "muted")
        rows.append(cells.row())
    return rows


def _foot(card: Card, answer: Answer, width: int, glyphs: Glyphs) -> list[Row]:
    keep = _cells(width, glyphs).put("   ").put("keep as", "muted").to(WORDS_AT)
    for number, (_, words) in enumerate(keeps(card)):
        keep.put("    " if number else "").put("(o)" if number == answer.keep else "( )").put(f" {words}")
    kind, words = keeps(card)[min(answer.keep, len(keeps(card)) - 1)]
    said = ", ".join([card.options[n] for n in sorted(answer.chosen)] + [answer.text.strip()]).strip(", ")
    becomes = _cells(width, glyphs).put("   ").put("becomes", "muted").to(WORDS_AT)
    if answer.is_empty:
        becomes.put("nothing yet", "muted")
    else:
        start = f"resolution of {words.removeprefix('resolves ')}" if kind == "uncertainty" else kind
        becomes.put(f"{start} ").put(text.quote(said, limit_cells=31, ascii_only=glyphs.ascii))
        becomes.put(" cited to this question")
    then = f" {glyphs['then']} ".join(("sent", "written", "picked up", "cited by the next prediction"))
    after = _cells(width, glyphs).put("   ").put("then", "muted").to(WORDS_AT).put(then, "muted")
    return [keep.row(), becomes.row(), after.row()]
