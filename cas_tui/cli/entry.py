"""The group of all commands, loaded one at a time, and the one place where failures become exit codes."""

from __future__ import annotations

import importlib
import os
import sys
from typing import Any, Final

import rich_click as click

from cas_tui import __version__
from cas_tui.cli import out
from cas_tui.cli.errors import DONE, FAILED, fault_of

COMMANDS: Final = {
    "watch": "watch:watch",
    "demo": "demo:demo",
    "init": "init:init",
    "run": "run:run",
    "host": "run:host",
    "requests": "requests:requests",
    "questions": "questions:questions",
    "obligations": "obligations:obligations",
    "issues": "issues:issues",
    "message": "message:message",
    "hold": "message:hold",
    "resume": "message:resume",
    "status": "status:status",
    "tail": "tail:tail",
    "doctor": "doctor:doctor",
}
"""Command -> module and name, in the order of the help."""


class LazyGroup(click.RichGroup):
    """Loads a command's module when it is needed. A first word that is no command is a ROOT for `watch`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Every command, in the order of the table."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, loaded now, or None."""
        place = COMMANDS.get(cmd_name)
        if place is None:
            return None
        module, _, name = place.partition(":")
        command: click.Command = getattr(importlib.import_module(f"cas_tui.cli.{module}"), name)
        return command

    def resolve_command(self, ctx: click.Context, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command and its words; `watch` and all words when the first one is no command."""
        if args and args[0] not in COMMANDS:
            return "watch", self.get_command(ctx, "watch"), args
        return super().resolve_command(ctx, args)


@click.group(
    cls=LazyGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="cas-tui")
@click.pass_context
def cas_tui(ctx: click.Context) -> None:
    """Supervise live agent runs: see what the agent expected, decide, and see it done.

    Without a command, or with ROOT… alone, opens the console.
    """
    if ctx.invoked_subcommand is None:
        command = ctx.command
        assert isinstance(command, LazyGroup)
        watch = command.get_command(ctx, "watch")
        assert watch is not None
        ctx.invoke(watch)


def run(argv: list[str]) -> int:
    """Run one command line; returns the exit code (PROTOCOL §5.6). Never raises."""
    out.use_any_encoding()
    own_words = argv[: argv.index("--")] if "--" in argv else argv
    try:
        code = cas_tui.main(args=argv, prog_name="cas-tui", standalone_mode=False)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader went away: say nothing, and keep the interpreter from complaining at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except (Exception, KeyboardInterrupt) as error:
        fault = fault_of(error)
        out.report(fault, "--json" in own_words)
        return fault.exit_code
    return code if isinstance(code, int) else DONE
