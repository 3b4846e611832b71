"""What a command prints: lines that are safe on any terminal, or one JSON object in pure ASCII.

The only place in `cli` that writes to standard output and standard error.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable

from cas_tui import text
from cas_tui.cli.errors import Fault
from cas_tui.protocol.decode import Json


def use_any_encoding() -> None:
    """Print what the terminal's encoding does not have as an escape; never fail on it."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


def json_text(value: Json, *, indent: int | None = 2) -> str:
    """JSON in which no byte can act on a terminal: ASCII only, and DEL, which JSON leaves alone, escaped as well."""
    return json.dumps(value, indent=indent, ensure_ascii=True, default=str).replace("\x7f", "\\u007f")


def emit(as_json: bool, value: Json, lines: Iterable[str]) -> None:
    """Print the object, or the lines. Lines went through `text` where they hold what others wrote."""
    if as_json:
        print(json_text(value))
        return
    for line in lines:
        print(text.safe(line))


def say(line: str) -> None:
    """One line on standard error, at once."""
    print(text.line(line), file=sys.stderr, flush=True)


def report(fault: Fault, as_json: bool) -> None:
    """Tell a failure: one line on standard error, and with `--json` an object on standard output too."""
    say(f"cas-tui: {fault.message}")
    if as_json:
        print(json_text({"error": fault.message, "exit_code": fault.exit_code, **fault.more}))


def table(rows: Iterable[Iterable[str]]) -> list[str]:
    """Rows of safe cells as lines with aligned columns."""
    cells = [list(row) for row in rows]
    if not cells:
        return []
    widths = [max(text.cells(row[at]) for row in cells) for at in range(len(cells[0]))]
    return ["  ".join(text.pad(cell, width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]
