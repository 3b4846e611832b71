"""What the commands share: the options, the operator's door, the picture, and finding what an id means."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import rich_click as click

from cas_tui import text
from cas_tui.cli.errors import NOT_FOUND, CliError
from cas_tui.locations import resolve_root
from cas_tui.protocol.encode import parse_timestamp

if TYPE_CHECKING:
    from cas_tui.loop.operator import Door
    from cas_tui.model.picture import Picture
    from cas_tui.protocol.requests import Request

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

DIRECTORY: Final = click.Path(path_type=Path, file_okay=True, dir_okay=True, readable=False)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
root_argument = click.argument("root", type=DIRECTORY)
roots_argument = click.argument("roots", nargs=-1, type=DIRECTORY, metavar="[ROOT]...")
id_argument = click.argument("request_id", metavar="ID")


def clock() -> datetime:
    """Now, in UTC."""
    return datetime.now(UTC)


def ids() -> str:
    """A new identifier of ours."""
    return uuid.uuid4().hex[:16]


def environ() -> Mapping[str, str]:
    """The environment of this process."""
    return dict(os.environ)


def existing_root(root: Path) -> Path:
    """The memory root a command was given, resolved. Raises CliError (6) when it is no directory."""
    found = resolve_root(root)
    if not found.is_dir():
        what = "not a directory" if found.exists() else "no such directory"
        raise CliError(f"{root}: {what}; `cas-tui init` makes a memory root", NOT_FOUND)
    return found


def chosen_roots(roots: Sequence[Path]) -> tuple[Path, ...]:
    """The roots named, each a directory, or those that are found here. Raises CliError (6) when there are none."""
    from cas_tui.sources.root import discover

    for root in roots:
        existing_root(root)
    found = discover(roots, cwd=Path.cwd(), environ=environ())
    if not found:
        raise CliError("no memory root here or above; name one, or try `cas-tui demo`", NOT_FOUND)
    return found


def door(root: Path) -> Door:
    """The operator of this process in front of one root."""
    from cas_tui.loop.operator import Door, current_operator

    return Door(existing_root(root), environ(), clock, ids, current_operator("cli"))


def refuse_agents() -> None:
    """Raise RefusedByPolicy when this process is an agent's own: it does not decide (PROTOCOL §5.1)."""
    if os.environ.get("CAS_TUI_AGENT"):
        raise CliError("an agent's own process does not decide", 7)


def read_picture(roots: Iterable[Path]) -> Picture:
    """One snapshot of the picture of these roots: the newest part of every file and the ledger."""
    from cas_tui.locations import runtime_paths
    from cas_tui.model.fold import fold
    from cas_tui.model.picture import empty
    from cas_tui.sources.run import RunSource

    picture = empty()
    for root in roots:
        source = RunSource(root, runtime_paths(root, environ()), clock=clock)
        try:
            for event in source.first():
                picture = fold(picture, event)
        finally:
            source.close()
    return picture


def age_of(request: Request) -> str:
    """How long ago a request was made, in one unit."""
    made = parse_timestamp(request.created_at)
    return text.age((clock() - made).total_seconds() if made else None)


def show_id(value: str) -> str:
    """An id as it is printed."""
    return text.line(value)
