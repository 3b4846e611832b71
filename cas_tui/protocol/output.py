"""input.md and output.md: frontmatter, coordination ops, body (PROTOCOL §2.2-2.4).

The grammar is deliberately poor: first-colon split, no quoting, no types, repeated keys kept in order. Malformed
coordination ops are visible diagnostics, never dropped in silence (PROTOCOL §4 row 17).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

Entries = tuple[tuple[str, str], ...]
"""Frontmatter keys and values in file order; a key may repeat."""

COORDINATION_KEYS: Final = (
    "ack",
    "done",
    "fail",
    "reply",
    "send",
    "delegate",
    "defer",
    "delete",
    "surface",
    "mca",
)
_PIPE_REQUIRED: Final = {"reply": 2, "send": 2, "delegate": 2}
_MISPLACED: Final = (*(f"{key}: " for key in COORDINATION_KEYS if key != "mca"), "ops: [")


@dataclass(frozen=True, slots=True)
class Frontmatter:
    """A parsed document. `closed` is False when the fence never closed (which swallows the file)."""

    entries: Entries
    body: str | None
    present: bool
    closed: bool = True

    def first(self, key: str) -> str | None:
        """The first value of `key`, or None: lookups take the first (PROTOCOL §2.2)."""
        return next((value for name, value in self.entries if name == key), None)


@dataclass(frozen=True, slots=True)
class Coordination:
    """One coordination op. `target` is an id, thread or peer; `text` a reason, message, until or description."""

    key: str
    target: str
    text: str = ""
    payload: str | None = None
    ordinal: int = 0


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """Something in an output that will not be executed, and why."""

    code: str
    detail: str


@dataclass(frozen=True, slots=True)
class Output:
    """output.md as read: its id, coordination ops in order, the raw `ops:` value, body and diagnostics."""

    id: str | None
    entries: Entries
    coordination: tuple[Coordination, ...]
    ops: str | None
    body: str | None
    diagnostics: tuple[Diagnostic, ...]


def parse_frontmatter(text: str) -> Frontmatter:
    """Split a document into frontmatter and body. Never raises."""
    lines = text.split("\n")
    if not lines or lines[0] != "---":
        return Frontmatter((), text.strip() or None, present=False)
    entries: list[tuple[str, str]] = []
    for number, line in enumerate(lines[1:], start=1):
        if line == "---":
            return Frontmatter(tuple(entries), "\n".join(lines[number + 1 :]).strip() or None, present=True)
        key, colon, value = line.partition(":")
        if colon and key.strip():
            entries.append((key.strip(), value.strip()))
    return Frontmatter(tuple(entries), None, present=True, closed=False)


def format_frontmatter(entries: Entries, body: str) -> str:
    """A document with the given frontmatter and body.

    Raises:
        ValueError: a key or value holds a line break, or a key a colon or nothing, so it could not be read back.
    """
    return "\n".join(["---", *_lines(entries), "---", "", body.rstrip("\n"), ""])


def _lines(entries: Entries) -> list[str]:
    lines: list[str] = []
    for key, value in entries:
        if "\n" in key or "\n" in value or "\r" in key or "\r" in value:
            raise ValueError(f"a line break in frontmatter {key!r}")
        if ":" in key or not key.strip():
            raise ValueError(f"not a frontmatter key: {key!r}")
        lines.append(f"{key}: {value}")
    return lines


def update_frontmatter(text: str, updates: Entries) -> str:
    """The document with `updates` set: new keys come first, in reverse order of update, old values dropped (§2.2).

    Everything else stays as it was, lines that are no key included; a document without frontmatter, or with one that
    never closes, becomes the body (D5). Raises ValueError as `format_frontmatter` does.
    """
    new: dict[str, str] = {}
    for key, value in updates:
        new.pop(key, None)
        new[key] = value
    head = _lines(tuple(reversed(new.items())))
    front = parse_frontmatter(text)
    if not (front.present and front.closed):
        return "\n".join(["---", *head, "---", "", text])
    lines = text.split("\n")
    end = lines.index("---", 1)
    kept = [line for line in lines[1:end] if ":" not in line or line.partition(":")[0].strip() not in new]
    return "\n".join(["---", *head, *kept, *lines[end:]])


def parse_output(raw: bytes) -> Output:
    """output.md as read. Never raises: what cannot be used is a diagnostic."""
    diagnostics: list[Diagnostic] = []
    if raw.startswith(b"\xef\xbb\xbf"):
        diagnostics.append(Diagnostic("bom", "a byte order mark before the frontmatter hides it"))
    try:
        text = raw.decode("utf-8")
    except UnicodeDecodeError as error:
        diagnostics.append(Diagnostic("invalid_utf8", f"byte {error.start} is not UTF-8"))
        text = raw.decode("utf-8", "surrogateescape")
    front = parse_frontmatter(text)
    if not front.present:
        diagnostics.append(Diagnostic("no_frontmatter", "the first line is not ---"))
    elif not front.closed:
        diagnostics.append(Diagnostic("frontmatter_unclosed", "no closing ---"))
    coordination: list[Coordination] = []
    # A frontmatter that never closes may be half of a file: nothing in it is acted on (SAFETY A22).
    for key, value in front.entries if front.closed else ():
        if key in COORDINATION_KEYS:
            op = _coordination(key, value, len(coordination))
            if isinstance(op, Diagnostic):
                diagnostics.append(op)
            else:
                coordination.append(op)
    if sum(1 for key, _ in front.entries if key == "ops") > 1:
        diagnostics.append(Diagnostic("ops_repeated", "more than one ops line; the first one counts"))
    if front.body and (found := _misplaced(_readable(front.body) or "")):
        diagnostics.append(Diagnostic("ops_in_body", f"never executed: {found}"))
    return Output(
        id=_readable(front.first("id")),
        entries=tuple((_readable(key) or "", _readable(value) or "") for key, value in front.entries),
        coordination=tuple(coordination),
        # Left with its undecodable bytes, so that the strict decoder sees and denies them.
        ops=front.first("ops") if front.closed else None,
        body=_readable(front.body),
        diagnostics=tuple(diagnostics),
    )


def _coordination(key: str, value: str, ordinal: int) -> Coordination | Diagnostic:
    if _readable(value) != value:
        return Diagnostic("coordination_malformed", f"{key} is not UTF-8")
    if key in ("surface", "mca") and value:
        return Coordination("surface", "", value, None, ordinal)
    parts = [part.strip() for part in value.split("|", 2 if key == "send" else 1)]
    if len(parts) < _PIPE_REQUIRED.get(key, 1):
        return Diagnostic("coordination_malformed", f"{key} needs a | in {value!r}")
    if not parts[0]:
        return Diagnostic("coordination_malformed", f"{key} names nothing")
    text = parts[1] if len(parts) > 1 else ""
    if key == "fail" and not text:
        text = "unspecified"
    if key == "defer" and not text:
        text = "unspecified"
    return Coordination(key, parts[0], text, parts[2] if len(parts) > 2 else None, ordinal)


def _readable(value: str | None) -> str | None:
    """Text whose undecodable bytes are replacement characters, fit to be written again."""
    return value and value.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _misplaced(body: str) -> str | None:
    for line in body.split("\n"):
        stripped = line.strip()
        if stripped.startswith(_MISPLACED):
            return stripped[:80]
    return None
