"""`cas-tui init ROOT`: a new memory root, minimal and valid (PROTOCOL §1.1, §1.2). Never touches one that is there."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from cas_tui.cli import out
from cas_tui.cli.common import clock, json_option, root_argument
from cas_tui.cli.errors import FAILED, CliError
from cas_tui.locations import TELEMETRY, RootPaths, resolve_root


@click.command()
@root_argument
@json_option
def init(root: Path, as_json: bool) -> None:
    """Make a new memory root at ROOT: STATE.json and three empty journals."""
    paths = make_root(resolve_root(root))
    files = [paths.state_json.name, *TELEMETRY]
    lines = [f"{paths.root}: a new memory root ({', '.join(files)})", f"watch it: cas-tui {paths.root}"]
    out.emit(as_json, {"root": str(paths.root), "files": files}, lines)


def make_root(root: Path) -> RootPaths:
    """Make the directory and its files, durably. Raises CliError when any of them is already there."""
    from cas_tui.loop.commit import empty_state
    from cas_tui.loop.files import make_directory, replace_file
    from cas_tui.protocol.encode import encode_pretty, timestamp

    paths = RootPaths(root)
    if root.exists() and not root.is_dir():
        raise CliError(f"{root}: not a directory; choose another place", FAILED)
    for name in (paths.state_json.name, *TELEMETRY):
        if (root / name).exists() or (root / name).is_symlink():
            raise CliError(f"{root}: already a memory root ({name} is there); it was left as it is", FAILED)
    make_directory(root)
    for name in TELEMETRY:
        replace_file(root / name, b"")
    replace_file(paths.state_json, encode_pretty(empty_state(timestamp(clock()))))
    return paths
