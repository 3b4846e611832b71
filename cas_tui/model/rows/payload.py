"""The payload of a request as rows: everything that would change, nothing left out, nothing summed up (SAFETY E2, E4).

Every changed line is a row, however many there are. What the display does not cover falls back to the bare fields of
the op, so that an approval never covers what has no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cas_tui.model.shapes import PayloadRow
from cas_tui.model.words import plural, size
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import sha256
from cas_tui.protocol.encode import canonical
from cas_tui.protocol.requests import Request, RequestKind


@dataclass(frozen=True, slots=True)
class Payload:
    """Title and foot (ours, but for the path in a title), rows, and an id that changes with any row."""

    title: str
    rows: tuple[PayloadRow, ...]
    foot: str = ""

    @property
    def id(self) -> str:
        """A hash of everything that is drawn."""
        rows = [[row.mark, row.old, row.new, _encodable(row.text), row.ours] for row in self.rows]
        return sha256(canonical([_encodable(self.title), _encodable(self.foot), rows]))


def _encodable(text: str) -> str:
    # A lone surrogate may stand in agent text; the id only has to differ when the text does (SAFETY A05).
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return ascii(text)
    return text


def payload(request: Request) -> Payload:
    """The payload of any request."""
    if request.kind is RequestKind.EFFECT:
        return _effect(request)
    if request.kind is RequestKind.UNAPPROVED:
        return _unapproved(request)
    if request.kind is RequestKind.QUESTION:
        return Payload("Question", _text(str(request.fields.get("text") or request.title)))
    if request.kind is RequestKind.ISSUE:
        text = request.fields.get("description") or request.fields.get("body") or request.fields.get("title")
        return Payload("Issue", _text(str(text or request.title)))
    if request.kind is RequestKind.MISMATCH:
        return _mismatch(request)
    return Payload("What is held", _fields(request.fields))


def ours(text: str) -> PayloadRow:
    """A row in our words."""
    return PayloadRow("", None, None, text, ours=True)


def _text(text: str) -> tuple[PayloadRow, ...]:
    return tuple(PayloadRow("", None, None, part) for part in text.split("\n"))


def _effect(request: Request) -> Payload:
    shown = request.display
    kind = shown.get("kind")
    if kind in ("diff", "restore") and isinstance(shown.get("rows"), list):
        return _diff(shown)
    if kind == "commit":
        return _commit(shown)
    if kind == "stage":
        return _stage(shown)
    if kind == "branch":
        rows = _named(shown, (("name", "new branch"), ("at", "at"), ("from", "leaving")))
        return Payload("Exact change: a branch", (*rows, *_rest(shown, "name", "at", "from")))
    if kind == "opaque":
        return _opaque(request)
    return Payload(f"Exact change: {request.op_kind}", _fields(request.fields))


def _str(value: Json) -> str:
    return value if isinstance(value, str) else "" if value is None else _compact(value)


def _compact(value: Json) -> str:
    try:
        return canonical(value).decode("utf-8")
    except ValueError:
        return ascii(value)


def _number(value: Json) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _diff(shown: Mapping[str, Json]) -> Payload:
    rows = []
    for row in shown["rows"]:
        if isinstance(row, list) and len(row) == 4 and isinstance(row[0], str):
            rows.append(PayloadRow(row[0], _number(row[1]), _number(row[2]), _str(row[3])))
        else:
            rows.append(PayloadRow("", None, None, _compact(row)))
    if not rows:
        rows.append(ours("no line changes"))
    mode = _str(shown.get("mode"))
    if mode and not mode.startswith("stays"):
        rows.append(ours(f"mode {mode}"))
    if shown.get("was") == "symlink":
        rows.append(ours("it was a symbolic link"))
    rest = _rest(shown, "path", "rows", "added", "removed", "foot", "mode", "was")
    return Payload(f"Exact change: {_str(shown.get('path'))}", (*rows, *rest), _str(shown.get("foot")))


def _rest(shown: Mapping[str, Json], *known: str) -> tuple[PayloadRow, ...]:
    """What a display holds beyond what its kind is known to hold: drawn plainly, never left out."""
    rest = {name: value for name, value in shown.items() if name not in (*known, "kind", "summary")}
    return _fields(rest) if rest else ()


def _named(shown: Mapping[str, Json], names: tuple[tuple[str, str], ...]) -> list[PayloadRow]:
    rows = []
    for name, words in names:
        value = shown.get(name)
        if value not in (None, ""):
            rows += [ours(words), *_text(_str(value))]
    return rows


def _stage(shown: Mapping[str, Json]) -> Payload:
    rows = _files(shown.get("files")) or [ours("no file")]
    left = shown.get("left_out")
    if isinstance(left, list) and left:
        rows.append(ours(f"left out, not staged: {plural(len(left), 'file')}"))
        rows.extend(
            PayloadRow("", None, None, ": ".join(map(_str, item)) if isinstance(item, list) else _str(item))
            for item in left
        )
    return Payload("Exact change: the index", (*rows, *_rest(shown, "files", "left_out")))


def _files(value: Json) -> list[PayloadRow]:
    rows = []
    for row in value if isinstance(value, list) else ():
        if not isinstance(row, list) or len(row) < 2:
            rows.append(PayloadRow("", None, None, _compact(row)))
            continue
        counts = ""
        if len(row) >= 4 and (row[2] is not None or row[3] is not None):
            counts = f"  +{row[2]} -{row[3]}"
        rows.append(PayloadRow("", None, None, f"{_str(row[0])} {_str(row[1])}{counts}"))
    return rows


def _commit(shown: Mapping[str, Json]) -> Payload:
    files = _files(shown.get("files"))
    rows = [ours("message"), *_text(_str(shown.get("message")))]
    rows += _named(shown, (("author", "author"), ("parent", "parent"), ("branch", "branch")))
    if not shown.get("parent"):
        rows.append(ours("no parent: the first commit"))
    rows += [ours(plural(len(files), "file"))]
    rest = _rest(shown, "message", "author", "parent", "branch", "files")
    return Payload("Exact change: a commit", (*rows, *files, *rest))


def _opaque(request: Request) -> Payload:
    shown = request.display
    length = _number(shown.get("size"))
    words = f"cannot be shown: {_str(shown.get('reason')) or 'no reason given'}"
    rows = [ours(words)]
    if length is not None:
        rows.append(ours(f"{size(length)}; approving means approving what was not seen"))
    named = {name: value for name, value in request.fields.items() if name not in ("content", "unified_diff")}
    path = _str(shown.get("path") or request.fields.get("path"))
    rest = _rest(shown, "path", "size", "reason")
    return Payload(f"Not shown: {path}", (*rows, *rest, *(_fields(named) if named else ())))


def _fields(fields: Mapping[str, Json]) -> tuple[PayloadRow, ...]:
    """Every field: its name in a row of ours, then its value, a list one item a row."""
    rows: list[PayloadRow] = []
    for name, value in fields.items():
        # A field's name in an op comes from our own table; in other records it may be anything, so it is not ours.
        rows.append(PayloadRow("", None, None, name, ours=name.isidentifier() and len(name) <= 32))
        if isinstance(value, list):
            rows.extend(row for item in value for row in _text(_str(item)))
            if not value:
                rows.append(ours("empty list"))
        else:
            rows.extend(_text(_str(value)) if value is not None else (ours("nothing"),))
    return tuple(rows) or (ours("no fields"),)


def _unapproved(request: Request) -> Payload:
    rows: list[PayloadRow] = []
    changes = request.fields.get("changes")
    for change in changes if isinstance(changes, list) else ():
        if not isinstance(change, dict):
            rows.append(PayloadRow("", None, None, _compact(change)))
            continue
        rows.append(PayloadRow("", None, None, _str(change.get("path"))))
        rows.append(PayloadRow("-", None, None, image_words(change.get("was"))))
        rows.append(PayloadRow("+", None, None, image_words(change.get("now"))))
    shown = request.display.get("rows")
    if isinstance(shown, list) and shown:
        rows.extend(_diff(request.display).rows)
    count = len(changes) if isinstance(changes, list) else 0
    return Payload(f"What changed: {plural(count, 'path')}", tuple(rows) or (ours("nothing named"),))


def image_words(image: Json) -> str:
    """One path at one moment: `absent`, or type, mode and the start of its hash; git values as they are."""
    if image is None or image == "absent":
        return "absent"
    if isinstance(image, dict):
        digest = _str(image.get("sha256"))
        return " ".join(part for part in (_str(image.get("type")), _str(image.get("mode")), digest[:19]) if part)
    return _str(image)


def _mismatch(request: Request) -> Payload:
    rows: list[PayloadRow] = []
    for name, words in (("expected", "said"), ("observed", "came"), ("action", "act")):
        value = request.fields.get(name)
        if value is not None:
            rows += [ours(words), *_text(_str(value))]
    rest = {name: item for name, item in request.fields.items() if name not in ("expected", "observed", "action")}
    return Payload("Said and came", (*rows, *(_fields(rest) if rest else ())) or (ours("nothing named"),))
