"""The terminal console. Importing this costs nothing; Textual is loaded when the console starts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cas_tui.console.view import DemoInfo


def run_console(
    roots: Sequence[Path],
    *,
    environ: Mapping[str, str],
    clock: Callable[[], datetime],
    ids: Callable[[], str],
    doors: Callable[[Path], Any],
    demo: DemoInfo | None = None,
    ascii_mode: bool = False,
    theme: str | None = None,
    keymap: Mapping[str, str] | None = None,
    mouse: bool = True,
) -> int:
    """Open the console on resolved memory roots and stay until the operator leaves. Returns the exit code.

    0 when the operator left, 143 after SIGTERM, 129 after SIGHUP, 1 after an error of ours; the terminal is restored
    in every case. Raises ValueError for a keymap that is refused.
    """
    from cas_tui.console.commands import keymap_fault

    fault = keymap_fault(keymap or {})
    if fault:
        raise ValueError(fault)
    from cas_tui.console.app import ConsoleApp

    app = ConsoleApp(
        roots,
        environ=environ,
        clock=clock,
        ids=ids,
        doors=doors,
        demo=demo,
        ascii_mode=ascii_mode,
        theme=theme,
        keymap=keymap,
    )
    app.run(mouse=mouse)
    return app.return_code or 0
