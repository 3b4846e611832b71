"""`cas-tui [watch] [ROOT…]`: open the console. The only command, besides `demo`, that loads Textual."""

from __future__ import annotations

import sys
from pathlib import Path

import rich_click as click

from cas_tui.cli.common import environ, existing_root, roots_argument
from cas_tui.cli.errors import FAILED, NOT_FOUND, USAGE, CliError


@click.command()
@roots_argument
def watch(roots: tuple[Path, ...] = ()) -> None:
    """Open the console on ROOT…, or on every memory root that is found here."""
    from cas_tui.sources.root import discover

    for root in roots:
        _check_word(root)
    found = discover(roots, cwd=Path.cwd(), environ=environ())
    if not found:
        raise CliError("no memory root here or above; name one, or try `cas-tui demo`", NOT_FOUND)
    need_terminal()
    from cas_tui.console import run_console

    run_console(found, environ=environ())


def _check_word(root: Path) -> None:
    if not root.exists() and len(root.parts) == 1 and not str(root).startswith((".", "~")):
        raise CliError(f"no command and no directory named {root} (see cas-tui --help)", USAGE)
    try:
        existing_root(root)
    except PermissionError:
        # It opens all the same, and says that it cannot be read.
        return


def need_terminal() -> None:
    """Raise CliError when there is no terminal to draw on."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise CliError("the console needs a terminal; `cas-tui status` and `tail` work without one", FAILED)
