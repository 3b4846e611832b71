"""`cas-tui doctor`: what works here, tried and not guessed, and what to do about what does not."""

from __future__ import annotations

import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

import rich_click as click

from cas_tui import __version__, text
from cas_tui.cli import out
from cas_tui.cli.common import clock, environ, ids, json_option
from cas_tui.cli.errors import FAILED, CliError, fault_of
from cas_tui.locations import state_home
from cas_tui.protocol.decisions import Operator


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was tried. `needed` is whether the program is of no use without it."""

    name: str
    ok: bool
    detail: str
    fix: str = ""
    needed: bool = True


@click.command()
@json_option
def doctor(as_json: bool) -> None:
    """Try what this program depends on, and say what does not work and what to do."""
    checks = [_tried(name, check) for name, check in CHECKS.items()]
    out.emit(as_json, {"version": __version__, "checks": [asdict(check) for check in checks]}, _lines(checks))
    broken = [check.name for check in checks if check.needed and not check.ok]
    if broken:
        raise CliError(f"does not work here: {', '.join(broken)}", FAILED)


def _tried(name: str, check: Callable[[], Check]) -> Check:
    try:
        return check()
    except Exception as error:
        return Check(name, False, fault_of(error).message, "this should not happen: please report it")


def _lines(checks: list[Check]) -> Iterator[str]:
    for check in checks:
        word = "ok" if check.ok else "FAILS" if check.needed else "missing"
        yield f"{word:8}{check.name:12}{text.line(check.detail)}"
        if not check.ok and check.fix:
            yield f"{'':8}{'':12}{check.fix}"


def _python() -> Check:
    ok = sys.version_info >= (3, 11)
    return Check("python", ok, f"{platform.python_version()} at {sys.executable}", "use Python 3.11 or newer")


def _terminal() -> Check:
    size = shutil.get_terminal_size((0, 0))
    kind, encoding = os.environ.get("TERM", ""), (sys.stdout.encoding or "").lower()
    faults = []
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        faults.append("standard input and output are no terminal")
    elif size.columns < 80 or size.lines < 24:
        faults.append(f"{size.columns}×{size.lines}, 80×24 needed")
    if kind in ("", "dumb"):
        faults.append(f"TERM is {kind or 'not set'}")
    if "utf" not in encoding:
        faults.append(f"its encoding is {encoding or 'not known'}")
    detail = "; ".join(faults) or f"{kind}, {size.columns}×{size.lines}, {encoding}"
    fix = "the console needs a terminal of 80×24 with UTF-8; the other commands need none"
    return Check("terminal", not faults, detail, fix, needed=False)


@contextmanager
def _scratch() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="cas-tui-doctor-") as place:
        yield Path(place)


def _git() -> Check:
    from importlib.metadata import version

    from cas_tui.effects.git import init_repository

    with _scratch() as place:
        init_repository(
            place / "repository",
            {"README.md": b"x\n"},
            message="a trial",
            identity=("cas-tui", "cas-tui@localhost"),
            when=clock(),
        )
    return Check("git", True, f"pygit2 {version('pygit2')}: made a repository and a commit")


def _walls() -> Check:
    from cas_tui.agents.process import ProcessAgent

    with _scratch() as place:
        for name in ("root", "workspace", "zone"):
            (place / name).mkdir()
        agent = ProcessAgent(
            ["true"],
            workspace=place / "workspace",
            root=place / "root",
            runtime_home=place / "zone",
            environ=environ(),
            cwd_of_caller=place,
        )
    fix = "install it (apt install bubblewrap, or pip install 'cas-tui[sandbox]'); without it agents run unconfined"
    return Check("bubblewrap", agent.confinement == "bubblewrap", agent.confinement, fix, needed=False)


def _watcher() -> Check:
    import asyncio

    with _scratch() as place:
        label, seen = asyncio.run(_watch_trial(place))
    fix = "changes are then seen only at the next sweep; look at fs.inotify limits, or use a local disk"
    return Check("watcher", seen, f"{label}: a change was {'seen' if seen else 'not seen at once'}", fix, needed=False)


async def _watch_trial(place: Path) -> tuple[str, bool]:
    """The way of watching that is used here, and whether it sees a change before the sweep would."""
    import asyncio

    from cas_tui.locations import runtime_paths
    from cas_tui.sources.run import RunSource
    from cas_tui.sources.watch import watch

    source = RunSource(place, runtime_paths(place, {"XDG_STATE_HOME": str(place)}), clock=clock)
    source.first()
    labels: list[str] = []
    stop = asyncio.Event()
    asyncio.get_running_loop().call_later(0.3, (place / "predictions.jsonl").write_text, "{}\n")
    try:
        async with asyncio.timeout(3):
            async for events in watch([source], stop=stop, sweep_s=60, on_label=labels.append):
                if any(getattr(event, "file", "") == "predictions.jsonl" for event in events):
                    return labels[-1], True
    except TimeoutError:
        pass
    finally:
        source.close()
    return labels[-1] if labels else "nothing", False


def _ledger() -> Check:
    from cas_tui.ledger import Ledger

    home = state_home(environ())
    near = next(place for place in (home, *home.parents) if place.exists())
    if not os.access(near, os.W_OK | os.X_OK):
        return Check("ledger", False, f"{near} cannot be written", "set XDG_STATE_HOME to a directory of yours")
    with _scratch() as place:
        with Ledger.create(place / "zone" / "ledger.db", clock=clock, ids=ids) as ledger:
            ledger.messages.add(str(place), "message", "a trial", _operator())
        with Ledger.open(place / "zone" / "ledger.db", clock=clock, ids=ids, read_only=True) as ledger:
            kept = len(ledger.messages.list(str(place)))
    fix = "the scratch directory's file system does not keep what is written; set TMPDIR to another one"
    return Check("ledger", kept == 1, f"written and read back; yours are below {home}", fix)


def _operator() -> Operator:
    from cas_tui.loop.operator import current_operator

    return current_operator("cli")


CHECKS: Final[dict[str, Callable[[], Check]]] = {
    "python": _python,
    "terminal": _terminal,
    "git": _git,
    "bubblewrap": _walls,
    "watcher": _watcher,
    "ledger": _ledger,
}
