"""`cas-tui obligations list`: what the ledger holds (PROTOCOL §3.1)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import chosen_roots, json_option, read_picture, roots_argument
from cas_tui.protocol.decode import Json


@click.group()
def obligations() -> None:
    """What has to happen when something else does."""


@obligations.command("list")
@roots_argument
@json_option
def list_(roots: tuple[Path, ...], as_json: bool) -> None:
    """List the obligations that the ledger holds."""
    picture = read_picture(chosen_roots(roots))
    found = [item for run in picture.runs.values() for item in (run.ledger.obligations if run.ledger else ())]
    lines = out.table(_row(item) for item in found) or ["No obligations."]
    out.emit(as_json, {"obligations": [dict(item) for item in found]}, lines)


def _row(item: Mapping[str, Json]) -> tuple[str, ...]:
    trigger = item.get("trigger")
    kind = trigger.get("type") if isinstance(trigger, Mapping) else ""
    wake = "wake owned" if item.get("wake_owner") else "no automatic wake"
    cells = (item.get("obligation_id"), item.get("state"), kind, item.get("owner"))
    return (*(text.line(str(cell or "-")) for cell in cells), wake)
