"""Walking a root for names that match a pattern, within bounds (SAFETY G11).

`*` and `?` stay within one component, `**` spans any number; nothing else is special. Symlinks are named, never
followed, so a cycle cannot be walked. Matching is linear for a component and cannot be driven to backtrack.
"""

from __future__ import annotations

import stat
import time
from dataclasses import dataclass

from cas_tui.effects.errors import Refused
from cas_tui.effects.names import is_self_knowledge, normalise
from cas_tui.effects.paths import Parts, RootDir

MAX_DEPTH = 64


@dataclass(frozen=True, slots=True)
class Found:
    """Matching paths below the workspace, sorted within each directory; `complete` is False at any bound."""

    paths: tuple[str, ...]
    complete: bool


def component_matches(pattern: str, name: str) -> bool:
    """Whether `name` matches a pattern of `*` and `?`; time is the product of the lengths at worst."""
    at = star = -1
    index = mark = 0
    at = 0
    while index < len(name):
        if at < len(pattern) and pattern[at] == "*":
            star, mark = at, index
            at += 1
        elif at < len(pattern) and pattern[at] in ("?", name[index]):
            at += 1
            index += 1
        elif star >= 0:
            mark += 1
            at, index = star + 1, mark
        else:
            return False
    return pattern[at:].strip("*") == ""


def _after(states: frozenset[int], parts: Parts, name: str) -> frozenset[int]:
    """Which pattern positions remain possible after one more component."""
    result: set[int] = set()
    for state in states:
        if state < len(parts):
            if parts[state] == "**":
                result.add(state)
            elif component_matches(parts[state], name):
                result.add(state + 1)
    return _closed(result, parts)


def _closed(states: set[int], parts: Parts) -> frozenset[int]:
    """`**` may also stand for nothing."""
    todo = list(states)
    while todo:
        state = todo.pop()
        if state < len(parts) and parts[state] == "**" and state + 1 not in states:
            states.add(state + 1)
            todo.append(state + 1)
    return frozenset(states)


def glob(root: RootDir, base: str, pattern: str, *, max_entries: int, max_bytes: int, deadline: float) -> Found:
    """Files, directories and links below `base` whose path from there matches.

    Args:
        max_entries: directory entries looked at. max_bytes: size of the result. deadline: monotonic seconds.

    Raises:
        Refused: as `check_path`, of `base` or of the pattern; a bound is no refusal, it makes `complete` False.
    """
    if pattern.startswith("/"):
        raise Refused("absolute_path", pattern)
    if ".." in pattern.split("/"):
        raise Refused("path_escape", pattern)
    parts = tuple(part for part in pattern.split("/") if part not in ("", "."))
    if len(parts) > MAX_DEPTH or len(pattern) > 4096:
        raise Refused("path_denied", "the pattern is too long")
    normalise(base, write=False)
    start = root.check_path(base)
    root.list(start)
    found: list[str] = []
    size = seen = 0
    todo: list[tuple[str, frozenset[int]]] = [(start, _closed({0}, parts))]
    while todo:
        here, states = todo.pop()
        below: list[tuple[str, frozenset[int]]] = []
        try:
            entries = root.list(here)
        except Refused:
            continue
        for entry in entries:
            seen += 1
            if seen > max_entries or size > max_bytes or time.monotonic() > deadline:
                return Found(tuple(found), False)
            path = entry.name if here == "." else f"{here}/{entry.name}"
            after = _after(states, parts, entry.name)
            if not after or is_self_knowledge(tuple(path.split("/"))):
                continue
            if len(parts) in after:
                found.append(path)
                size += len(path) + 1
            if path.count("/") < MAX_DEPTH and _is_dir(root, path):
                below.append((path, after))
        todo.extend(reversed(below))
    return Found(tuple(found), True)


def _is_dir(root: RootDir, path: str) -> bool:
    try:
        info = root.stat(path)
    except Refused:
        return False
    return info is not None and stat.S_ISDIR(info.st_mode)
