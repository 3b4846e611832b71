"""How one file op is shown: title, summary, rows and flags, all of them ours and all from bytes (SAFETY E4, T6)."""

from __future__ import annotations

from dataclasses import dataclass

from cas_tui.effects import difference, flags, names
from cas_tui.effects.file_plan import FilePlan
from cas_tui.effects.limits import MAX_AFTER_IMAGE
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import ABSENT


@dataclass(frozen=True, slots=True)
class ShownFile:
    """See `prepare.Prepared` for the meaning of each."""

    title: str
    summary: str
    display: dict[str, Json]
    flags: frozenset[str]


def show_file(plan: FilePlan, *, restore: bool) -> ShownFile:
    """The card's material for a planned file op."""
    found = _flags(plan, restore=restore)
    before, after = plan.before or b"", plan.after or b""
    opaque = _opaque(plan)
    change = None if opaque else difference.difference(before, after)
    if change is None:
        reason = opaque or "the difference cannot be shown"
        found.add(flags.BINARY if reason == "binary content" else flags.OVERSIZE)
        title, summary = _words(plan, None, restore=restore)
        display: dict[str, Json] = {
            "kind": "opaque",
            "path": plan.path,
            "size": len(after),
            "reason": reason,
            "sha256": plan.will.sha256 or "absent",
        }
        return ShownFile(title, summary, display, frozenset(found))
    found.update(difference.text_flags(row[3] for row in change.rows if row[0] != " "))
    if any(flag == flags.NOT_UTF8 for flag in difference.text_flags(row[3] for row in change.rows)):
        found.add(flags.NOT_UTF8)
    title, summary = _words(plan, change, restore=restore)
    display = {
        "kind": "restore" if restore else "diff",
        "path": plan.path,
        "rows": difference.rows_json(change.rows),
        "added": change.added,
        "removed": change.removed,
        "foot": difference.foot(plan.before, plan.after),
        "mode": _mode_words(plan),
    }
    if plan.was.type == "symlink":
        display["was"] = "symlink"
    return ShownFile(title, summary, display, frozenset(found))


def _opaque(plan: FilePlan) -> str:
    before, after = plan.before or b"", plan.after or b""
    if difference.is_binary(before) or difference.is_binary(after):
        return "binary content"
    if len(after) > MAX_AFTER_IMAGE or len(before) > 4 * MAX_AFTER_IMAGE:
        return f"larger than {MAX_AFTER_IMAGE >> 20} MiB"
    return ""


def _flags(plan: FilePlan, *, restore: bool) -> set[str]:
    found: set[str] = set()
    if restore:
        found.add(flags.RESTORE)
    if plan.was == ABSENT:
        found.add(flags.NEW_PATH)
    if plan.after is None:
        found.add(flags.DELETION)
    if names.runs_later(tuple(plan.path.split("/"))):
        found.add(flags.PROTECTED)
    if plan.was.type == "file" and plan.after is not None and plan.was.mode != plan.will.mode:
        found.add(flags.MODE_CHANGE)
    # An empty file has no last line, so nothing is missing from it.
    if plan.after and not plan.after.endswith(b"\n") and (not plan.before or plan.before.endswith(b"\n")):
        found.add(flags.NO_FINAL_NEWLINE)
    found.update(difference.text_flags([plan.path.encode()]))
    return found


def _mode_words(plan: FilePlan) -> str:
    if plan.after is None:
        return "removed"
    if plan.was.type != "file":
        return f"{plan.will.mode:04o}"
    if plan.was.mode == plan.will.mode:
        return f"stays {plan.will.mode:04o}"
    return f"{plan.was.mode:04o} becomes {plan.will.mode:04o}"


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number} lines"


def _words(plan: FilePlan, change: difference.Difference | None, *, restore: bool) -> tuple[str, str]:
    """Title and summary."""
    path = plan.path
    where = ", in a new directory" if plan.makes_dirs else ""
    if plan.after is None:
        size = f"{len(plan.before or b'')} bytes" if change is None else _lines(change.removed)
        verb = "Put back" if restore else "Delete"
        return f"{verb} {path}" + (" to absent" if restore else f", {size}"), f"Remove {path}: {size}, the file is gone"
    verb = "Put back" if restore else "New file" if plan.was == ABSENT else "Change"
    if change is None:
        return (
            f"{verb} {path}, {len(plan.after)} bytes",
            f"{verb} {path}: {len(plan.after)} bytes, mode {_mode_words(plan)}",
        )
    if plan.was == ABSENT:
        size = _lines(change.added)
        return f"{verb} {path}, {size}", f"{verb} {path}: {size}, mode {_mode_words(plan)}{where}"
    if not change.rows:
        return f"{verb} {path}, same content", f"{verb} {path}: the content stays as it is, mode {_mode_words(plan)}"
    return (
        f"{verb} {path} +{change.added} -{change.removed}",
        f"{verb} {path}: {_lines(change.added)} added, {change.removed} removed, mode {_mode_words(plan)}",
    )
