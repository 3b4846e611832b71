"""Finds memory roots and hubs (PROTOCOL §5.6 first paragraph). Reads names and two small files; opens nothing else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from cas_tui.locations import TELEMETRY, config_file, resolve_root
from cas_tui.sources.snapshot import STATE_FILES

_ROOT_MARKS: Final = (*STATE_FILES, *TELEMETRY)
_HUB_MARKS: Final = (".cn/config.yaml", ".cn/config.json", "state/peers.md")
_PLACEMENT: Final = ".cn/placement.json"
_MAX_PLACEMENT_BYTES: Final = 64 << 10


def is_memory_root(directory: Path) -> bool:
    """Whether any file of PROTOCOL §1.1 stands there, the sandbox's `STATE/STATE.json` included."""
    return any(_is_file(directory / mark) for mark in _ROOT_MARKS)


def is_hub(directory: Path) -> bool:
    """Whether it is a cnos hub (PROTOCOL §2.1)."""
    return any(_is_file(directory / mark) for mark in _HUB_MARKS)


def discover(paths: Sequence[Path], *, cwd: Path, environ: Mapping[str, str]) -> tuple[Path, ...]:
    """The roots to watch, resolved, each once.

    Paths that were named are taken as they are, there or not: the console says what is missing. Without any: the
    memory root or hub at `cwd` or nearest above it, every `memory` directory of the agents' home, and the `roots` list
    of the config file, in this order. Never raises for what it finds.
    """
    found = [_named(cwd, path, environ) for path in paths] or list(_unnamed(cwd, environ))
    return tuple(dict.fromkeys(found))


def _named(cwd: Path, path: Path, environ: Mapping[str, str]) -> Path:
    full = cwd / _expand(str(path), environ)
    try:
        return resolve_root(full)
    except (OSError, RuntimeError):
        return full  # a loop of symbolic links: opening it says so


def _unnamed(cwd: Path, environ: Mapping[str, str]) -> Iterator[Path]:
    here = resolve_root(cwd)
    for directory in (here, *here.parents):
        if is_memory_root(directory):
            yield directory
            break
        hub = _placed_hub(directory) or (directory if is_hub(directory) else None)
        if hub is not None:
            yield hub
            break
    yield from _agents(environ)
    yield from _configured(environ)


def _placed_hub(directory: Path) -> Path | None:
    """The hub that a placement file points to; it wins over the other marks of a hub (PROTOCOL §2.1)."""
    try:
        with (directory / _PLACEMENT).open("rb") as file:
            placement = json.loads(file.read(_MAX_PLACEMENT_BYTES))
        hub = placement.get("hub_root")
        if not isinstance(hub, str) or not hub:
            return None
        target = resolve_root(directory / hub)
        return target if target.is_dir() else None
    except (OSError, ValueError, AttributeError, RecursionError):
        return None


def _agents(environ: Mapping[str, str]) -> Iterator[Path]:
    """`$CURSOR_AGENTS_ROOT/*/memory`, by default below `~/.cursor/agents`."""
    home = environ.get("CURSOR_AGENTS_ROOT") or "~/.cursor/agents"
    base = _expand(home, environ)
    try:
        agents = sorted(base.iterdir())
    except OSError:
        return
    for agent in agents:
        try:
            if (agent / "memory").is_dir():
                yield resolve_root(agent / "memory")
        except OSError:
            continue


def _configured(environ: Mapping[str, str]) -> Iterator[Path]:
    """The `roots` list of the config file; relative paths are relative to that file."""
    file = config_file(environ)
    if not file.is_file():
        return
    from cas_tui.config import ConfigError, load_config  # only when there is such a file: opening is faster without

    try:
        roots = load_config(file).roots
    except ConfigError:
        return
    for root in filter(None, roots):
        yield resolve_root(file.parent / _expand(root, environ))


def _expand(path: str, environ: Mapping[str, str]) -> Path:
    home = environ.get("HOME")
    if home and (path == "~" or path.startswith("~/")):
        return Path(home) / path[2:]
    return Path(path)


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:
        return False
