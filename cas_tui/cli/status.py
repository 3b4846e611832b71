"""`cas-tui status`: one snapshot of the picture, the same that the console draws."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import chosen_roots, clock, json_option, read_picture, roots_argument

if TYPE_CHECKING:
    from cas_tui.model.picture import Picture
    from cas_tui.model.shapes import AttentionRow, FleetRow, Truth


@click.command()
@roots_argument
@json_option
def status(roots: tuple[Path, ...], as_json: bool) -> None:
    """Show how every run stands and what needs you."""
    picture = read_picture(chosen_roots(roots))
    if not as_json:
        out.emit(False, None, _lines(picture))
        return
    from cas_tui.model.snapshot import as_json as snapshot

    out.emit(True, snapshot(picture, clock()), ())


def _lines(picture: Picture) -> list[str]:
    from cas_tui.model.attention import attention
    from cas_tui.model.rows.fleet import fleet
    from cas_tui.model.rows.truth import truth

    now = clock()
    lines = [_truth_line(truth(picture, now)), *out.table(_run_row(row) for row in fleet(picture, now))]
    for band, heading in (("needs", "Needs you"), ("review", "Review")):
        rows = [_ask_row(row) for row in attention(picture, now) if row.band == band and not row.settled]
        if rows:
            lines += ["", heading, *out.table(rows)]
    return lines


def _truth_line(row: Truth) -> str:
    if row.alarm:
        return text.safe(row.alarm)
    waits = f"{row.needs_you} {'waits' if row.needs_you == 1 else 'wait'} for you, {row.review} to review"
    expiry = f", first expires in {text.age(row.first_expiry_s)}" if row.first_expiry_s is not None else ""
    return f"{waits}{expiry}, {row.unapproved} unapproved"


def _run_row(row: FleetRow) -> tuple[str, ...]:
    words = [row.group.lower()]
    words += ["held"] if row.held else []
    words += ["UNCONFINED: can act without asking"] if row.unconfined else []
    words += [text.safe(row.note)] if row.note else []
    return (
        text.line(row.name),
        ", ".join(words),
        f"right {row.right} of {row.judged}" if row.judged else "no record",
        "host ok" if row.host_alive else "no host",
        text.line(row.root),
    )


def _ask_row(row: AttentionRow) -> tuple[str, ...]:
    ask = text.quote(row.ask) if row.quoted else text.line(row.ask)
    after = f"  (after {text.line(row.waiting_on)})" if row.waiting_on else ""
    return (
        text.line(row.request_id or row.key),
        text.line(row.run),
        row.kind,
        row.tier or "-",
        text.age(row.age_s),
        ask + after,
    )
