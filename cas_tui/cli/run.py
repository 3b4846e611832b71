"""`cas-tui run` and `cas-tui host`: the process that holds the lease of a root, with an agent or without one (§5.3)."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from cas_tui.cli import out
from cas_tui.cli.common import DIRECTORY, clock, environ, existing_root, ids, json_option, root_argument
from cas_tui.cli.errors import FAILED, NOT_FOUND, USAGE, CliError
from cas_tui.locations import state_home
from cas_tui.protocol.decode import Json

if TYPE_CHECKING:
    from cas_tui.loop.host import HostOptions


@click.command()
@root_argument
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="-- CMD...")
@click.option("--workspace", type=DIRECTORY, required=True, help="The directory the agent works on.")
@click.option("--message", "words", default="", help="The first input.")
@click.option("--once", is_flag=True, help="End when nothing is left to do and nobody is asked.")
@click.option("--agent", "agent_name", default="", help="The agent's name in the records; by default from ROOT.")
@click.option("--unconfined", is_flag=True, help="Run the agent without walls even where bubblewrap works.")
@click.option("--writable", multiple=True, type=DIRECTORY, help="A further directory the agent may write.")
@json_option
def run(
    root: Path,
    command: tuple[str, ...],
    workspace: Path,
    words: str,
    once: bool,
    agent_name: str,
    unconfined: bool,
    writable: tuple[Path, ...],
    as_json: bool,
) -> None:
    """Host an agent: CMD reads state/input.md in ROOT, writes state/output.md, and ends; one call a pass."""
    if not command:
        raise CliError("no agent command; put it after --, as in: cas-tui run ROOT --workspace DIR -- CMD", USAGE)
    at, place = existing_root(root), workspace.expanduser().resolve()
    if not place.is_dir():
        raise CliError(f"{workspace}: no such workspace directory", NOT_FOUND)
    from cas_tui.agents.process import ProcessAgent
    from cas_tui.loop.host import HostOptions

    surroundings = environ()
    agent = ProcessAgent(
        command,
        workspace=place,
        root=at,
        runtime_home=state_home(surroundings),
        environ=surroundings,
        confine="off" if unconfined else "auto",
        writable=writable,
        cwd_of_caller=Path.cwd(),
    )
    options = HostOptions(
        root=at,
        environ=surroundings,
        clock=clock,
        ids=ids,
        workspace=place,
        agent=agent,
        agent_name=agent_name,
        command=command,
        message=words,
        once=once,
        say=out.say,
    )
    told = {"root": str(at), "workspace": str(place), "confinement": agent.confinement}
    _work(options, {"run": told}, as_json)


@click.command()
@root_argument
@click.option("--drain", is_flag=True, help="End when nothing is undone.")
@click.option("--workspace", type=DIRECTORY, help="Where effects act; by default the workspace of the last run.")
@json_option
def host(root: Path, drain: bool, workspace: Path | None, as_json: bool) -> None:
    """Host a root without an agent: carry out what was decided."""
    at = existing_root(root)
    from cas_tui.loop.host import HostOptions

    options = HostOptions(
        root=at, environ=environ(), clock=clock, ids=ids, workspace=workspace, drain=drain, say=out.say
    )
    _work(options, {"host": {"root": str(at)}}, as_json)


def _work(options: HostOptions, value: dict[str, Json], as_json: bool) -> None:
    from cas_tui.loop.host import Host

    with Host.start(options) as working:
        _stop_on_signals(working.stop)
        code = working.work()
    out.emit(as_json, value, ())
    if code:
        raise CliError(f"{options.root}: the run ended with a failure; its journal and state/ say more", code or FAILED)


def _stop_on_signals(stop: Callable[[], None]) -> None:
    """End after the present step, on the first signal; a second one ends at once, as any process."""

    def first(number: int, frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        stop()

    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, first)
