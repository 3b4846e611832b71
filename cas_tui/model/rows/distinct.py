"""Keys that never repeat: an agent may give two items one id, and a cursor that follows keys must tell them apart."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from cas_tui.model.shapes import Line


def distinct(lines: Iterable[Line]) -> tuple[Line, ...]:
    """The lines, the second and later ones of one key with a count added to theirs."""
    seen: dict[str, int] = {}
    made = []
    for line in lines:
        count = seen.get(line.key, 0)
        seen[line.key] = count + 1
        made.append(line if count == 0 else replace(line, key=f"{line.key}#{count + 1}"))
    return tuple(made)
