"""Promise versus deed: does what an agent said it would do agree with the op it sends? (CONSOLE §3.5).

A comparison of words, so it can be fooled and says so: it raises a flag where the two plainly differ, and admits where
there is nothing to compare. It decides nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from cas_tui.model.words import quote
from cas_tui.protocol.decode import Json
from cas_tui.protocol.digest import normalise_path
from cas_tui.protocol.ops import KINDS
from cas_tui.protocol.requests import Request

_VERBS: Mapping[str, frozenset[str]] = {
    "write": frozenset({"fs_write", "fs_patch"}),
    "create": frozenset({"fs_write", "git_branch", "fs_patch"}),
    "add": frozenset({"fs_write", "fs_patch", "git_stage"}),
    "edit": frozenset({"fs_write", "fs_patch"}),
    "change": frozenset({"fs_write", "fs_patch"}),
    "update": frozenset({"fs_write", "fs_patch"}),
    "patch": frozenset({"fs_write", "fs_patch"}),
    "stage": frozenset({"git_stage"}),
    "commit": frozenset({"git_commit"}),
    "branch": frozenset({"git_branch"}),
    "run": frozenset({"exec"}),
    "execute": frozenset({"exec"}),
    "read": frozenset({"fs_read", "git_log", "git_status", "git_diff"}),
    "list": frozenset({"fs_list", "fs_glob"}),
    "restore": frozenset({"fs_restore"}),
    "delete": frozenset(),
    "remove": frozenset(),
}
_WORD = re.compile(r"[^\s,;:()\"'`<>]+")
_PATH = re.compile(r"(?:[\w.@+-]+/)+[\w.@+-]*|[\w@+-]*\.[A-Za-z0-9_]{1,8}\Z|Makefile\Z|Dockerfile\Z")


@dataclass(frozen=True, slots=True)
class Finding:
    """What the comparison says, in our words, and whether it is a warning."""

    text: str
    flagged: bool


def paths_of(request: Request) -> tuple[str, ...]:
    """Every workspace path the op names or touches, normalised, in order."""
    found: dict[str, None] = {}
    path = request.fields.get("path")
    if isinstance(path, str):
        found[normalise_path(path)] = None
    paths = request.fields.get("paths")
    if isinstance(paths, list):
        found.update((normalise_path(item), None) for item in paths if isinstance(item, str))
    found.update((item, None) for item in request.pre_image.paths)
    files: Json = request.display.get("files")
    for row in files if isinstance(files, list) else ():
        if isinstance(row, list) and len(row) > 1 and isinstance(row[1], str):
            found[row[1]] = None
    return tuple(found)


def promised_paths(action: str) -> tuple[str, ...]:
    """The words of a promise that look like paths, normalised."""
    words = (word.strip(".") if word.endswith(".") else word for word in _WORD.findall(action))
    return tuple(dict.fromkeys(normalise_path(word) for word in words if _PATH.match(word)))


def promised_kinds(action: str) -> frozenset[str]:
    """The op kinds a promise can mean: those it names, else those its first known verb can mean; empty if neither."""
    words = [word.lower().rstrip(".") for word in _WORD.findall(action)]
    named = frozenset(word for word in words if word in KINDS)
    if named:
        return named
    for word in words:
        if word in _VERBS:
            return _VERBS[word] or frozenset({"deletion"})
    return frozenset()


def promise_and_deed(action: str, request: Request) -> Finding:
    """Compare the predicted `action` with the op of `request`."""
    exact = _exact(action, request)
    if exact is not None:
        return exact
    kinds, said, does = promised_kinds(action), promised_paths(action), paths_of(request)
    faults = []
    if kinds and request.op_kind not in kinds:
        faults.append(f"promised {' or '.join(sorted(kinds))}, this is {request.op_kind}")
    strange = [path for path in does if not any(_same(path, other) for other in said)]
    if said and strange:
        shown = ", ".join(quote(path) for path in strange[:3]) + (
            f" and {len(strange) - 3} more" if strange[3:] else ""
        )
        faults.append(f"promised {', '.join(quote(path) for path in said[:3])}, this touches {shown}")
    if faults:
        return Finding("; ".join(faults), True)
    if said and does and kinds:
        return Finding("matches the promise: same file, same kind of act", False)
    if kinds:
        return Finding("same kind of act; the promise names no file", False)
    if said and does:
        return Finding("same file; the promise names no kind of act", False)
    return Finding("cannot be compared: the promise names no file and no kind of act", False)


def _exact(action: str, request: Request) -> Finding | None:
    """A promise in the form a host writes, kind and target, compared as that; None when it is free text."""
    kind, _, target = action.partition(" ")
    if kind != request.op_kind:
        return None
    if kind == "git_commit":
        # The rest is the commit's subject, in which a file name is only a word.
        message = request.fields.get("message")
        subject = message.split("\n", 1)[0].strip() if isinstance(message, str) else ""
        if target.strip() and subject.startswith(target.strip()):
            return Finding("matches the promise: same commit message, same kind of act", False)
        return Finding(f"promised the commit {quote(target)}, this is {quote(subject)}", True)
    path = request.fields.get("path")
    if isinstance(path, str) and normalise_path(target) == normalise_path(path):
        return Finding("matches the promise: same file, same kind of act", False)
    return None


def _same(path: str, promised: str) -> bool:
    return path == promised or path.endswith("/" + promised) or promised.endswith("/" + path)
