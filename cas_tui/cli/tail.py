"""`cas-tui tail`: one line a change, as it comes, until interrupted."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import chosen_roots, clock, environ, json_option, roots_argument
from cas_tui.locations import runtime_paths
from cas_tui.protocol.encode import timestamp

if TYPE_CHECKING:
    from cas_tui.model.picture import Picture


@click.command()
@roots_argument
@click.option("--once", is_flag=True, help="Print what there is, and end.")
@json_option
def tail(roots: tuple[Path, ...], once: bool, as_json: bool) -> None:
    """Print one line a change; with --json, one JSON object a line."""
    import asyncio

    try:
        asyncio.run(_follow(chosen_roots(roots), once, as_json))
    except KeyboardInterrupt:
        return


async def _follow(roots: tuple[Path, ...], once: bool, as_json: bool) -> None:
    import asyncio

    from cas_tui.model.fold import fold
    from cas_tui.model.picture import empty
    from cas_tui.sources.run import RunSource
    from cas_tui.sources.watch import watch

    sources = [RunSource(root, runtime_paths(root, environ()), clock=clock) for root in roots]
    try:
        old = picture = empty()
        for source in sources:
            for event in source.first():
                picture = fold(picture, event)
        _print(old, picture, as_json)
        if once:
            return
        async for events in watch(sources, stop=asyncio.Event()):
            old = picture
            for event in events:
                picture = fold(picture, event)
            _print(old, picture, as_json)
    finally:
        for source in sources:
            source.close()


def _print(old: Picture, new: Picture, as_json: bool) -> None:
    from cas_tui.model.snapshot import changes

    now = clock()
    for change in changes(old, new, now):
        if as_json:
            print(out.json_text({"at": timestamp(now), "change": change}, indent=None))
        else:
            print(text.safe(change))
    sys.stdout.flush()
