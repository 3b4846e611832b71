"""`cas-tui message`, `hold`, `resume`: speak to a run, stop it from starting effects, let it go on (PROTOCOL §5.5)."""

from __future__ import annotations

from pathlib import Path

import rich_click as click

from cas_tui.cli import out
from cas_tui.cli.common import door, json_option, refuse_agents, root_argument


@click.command()
@root_argument
@click.argument("words", metavar="TEXT")
@json_option
def message(root: Path, words: str, as_json: bool) -> None:
    """Queue an input for the agent of ROOT."""
    refuse_agents()
    message_id = door(root).message(words)
    out.emit(as_json, {"message_id": message_id}, [f"queued as message {message_id}"])


@click.command()
@root_argument
@click.option("--reason", default="", help="Why.")
@json_option
def hold(root: Path, reason: str, as_json: bool) -> None:
    """Start no new effect of ROOT until it is resumed. Kills nothing."""
    refuse_agents()
    door(root).hold(reason)
    out.emit(as_json, {"root": str(root), "held": True}, ["held: no new effect starts until `cas-tui resume`"])


@click.command()
@root_argument
@json_option
def resume(root: Path, as_json: bool) -> None:
    """Let effects of ROOT start again."""
    refuse_agents()
    door(root).resume()
    out.emit(as_json, {"root": str(root), "held": False}, ["resumed: approved effects may start"])
