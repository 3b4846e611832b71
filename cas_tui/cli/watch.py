"""`cas-tui [watch] [ROOT…]`: open the console. The only command, besides `demo`, that loads Textual."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import rich_click as click

from cas_tui.cli.common import clock, environ, existing_root, ids, roots_argument
from cas_tui.cli.errors import FAILED, NOT_FOUND, USAGE, CliError
from cas_tui.cli.stage import Stage
from cas_tui.locations import config_file


@click.command()
@roots_argument
@click.option("--theme", help="The theme's name: dark, light, …")
@click.option("--ascii", "ascii_mode", is_flag=True, help="Draw with ASCII characters only.")
@click.option("--no-mouse", is_flag=True, help="Leave the mouse to the terminal.")
def watch(
    roots: tuple[Path, ...] = (), theme: str | None = None, ascii_mode: bool = False, no_mouse: bool = False
) -> int:
    """Open the console on ROOT…, or on every memory root that is found here."""
    from cas_tui.config import ConfigError, load_config
    from cas_tui.sources.root import discover

    try:
        config = load_config(config_file(environ()))
    except ConfigError as error:
        raise CliError(str(error), USAGE) from None

    for root in roots:
        _check_word(root)
    found = discover(roots, cwd=Path.cwd(), environ=environ())
    if not found:
        raise CliError("no memory root here or above; name one, or try `cas-tui demo`", NOT_FOUND)
    need_terminal()
    return open_console(
        found,
        environ(),
        theme=theme or config.theme or None,
        ascii_mode=ascii_mode or config.ascii,
        mouse=config.mouse and not no_mouse,
        keymap=config.keymap,
    )


def open_console(
    roots: Sequence[Path],
    surroundings: Mapping[str, str],
    *,
    demo: Stage | None = None,
    theme: str | None = None,
    ascii_mode: bool = False,
    mouse: bool = True,
    keymap: Mapping[str, str] | None = None,
) -> int:
    """Run the console until the operator leaves; returns its exit code."""
    from cas_tui.console import run_console
    from cas_tui.console.view import DemoInfo
    from cas_tui.loop.operator import Door, current_operator

    operator = current_operator("tui")
    return run_console(
        roots,
        environ=surroundings,
        clock=clock,
        ids=ids,
        doors=lambda root: Door(root, surroundings, clock, ids, operator),
        demo=DemoInfo(demo.base, demo.root, demo.workspace) if demo is not None else None,
        ascii_mode=ascii_mode or "utf" not in (sys.stdout.encoding or "").lower(),
        theme=theme,
        mouse=mouse,
        keymap=keymap,
    )


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
