"""From any failure to an exit code and one clear line: what, where, what to do (PROTOCOL §5.6)."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import rich_click as click

from cas_tui.protocol.decode import Json

DONE: Final = 0
FAILED: Final = 1
USAGE: Final = 2
CHANGED: Final = 3
EXPIRED: Final = 4
DECIDED: Final = 5
NOT_FOUND: Final = 6
REFUSED: Final = 7
NOT_NOW: Final = 8
STORAGE: Final = 9


class CliError(Exception):
    """A command that could not do what was asked; `str(error)` is the line, `more` goes into the JSON."""

    def __init__(self, message: str, exit_code: int = FAILED, more: Mapping[str, Json] | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
        self.more = dict(more or {})


@dataclass(frozen=True, slots=True)
class Fault:
    """What is told about a failure."""

    message: str
    exit_code: int
    more: Mapping[str, Json] = field(default_factory=dict)


def fault_of(error: BaseException) -> Fault:
    """Name a failure. Never raises; an exception nobody expected is named with its place in the code."""
    if isinstance(error, CliError):
        return Fault(str(error), error.exit_code, error.more)
    if isinstance(error, click.UsageError):
        where = error.ctx.command_path if error.ctx is not None else "cas-tui"
        return Fault(f"{_one_line(error.format_message())} (see {where} --help)", USAGE)
    if isinstance(error, click.ClickException):
        return Fault(error.format_message(), error.exit_code)
    if isinstance(error, click.Abort | KeyboardInterrupt):
        return Fault("interrupted", FAILED)
    if isinstance(code := getattr(error, "exit_code", None), int):
        return Fault(str(error), code, _winner(error))
    if (named := _ledger_fault(error)) is not None:
        return named
    if type(error).__name__ == "PolicyError":
        return Fault(f"{error}; nothing is decided until it is mended", REFUSED)
    if type(error).__name__ == "BadLayout":
        return Fault(f"{error}; choose other directories", USAGE)
    if isinstance(error, OSError):
        name = f"{error.filename}: " if error.filename else ""
        return Fault(f"{name}{error.strerror or error}", FAILED)
    return Fault(f"a fault in cas-tui itself: {type(error).__name__}: {error} ({_place(error)})", FAILED)


def _winner(error: BaseException) -> dict[str, Json]:
    winner = getattr(error, "winner", None)
    return {"winner": winner.as_json()} if winner is not None else {}


def _ledger_fault(error: BaseException) -> Fault | None:
    # Looked up and not imported: most commands never load the ledger.
    ledger = sys.modules.get("cas_tui.ledger")
    if ledger is None or not isinstance(error, getattr(ledger, "LedgerError", ())):
        return None
    codes = {"NoLedger": NOT_FOUND, "NotFound": NOT_FOUND, "NewerLedger": NOT_NOW, "LeaseHeld": NOT_NOW}
    return Fault(str(error), codes.get(type(error).__name__, STORAGE))


def _place(error: BaseException) -> str:
    trace = error.__traceback__
    place = "unknown place"
    while trace is not None:
        code = trace.tb_frame.f_code
        if "cas_tui" in code.co_filename:
            place = f"{code.co_filename.rpartition('cas_tui/')[2]}:{trace.tb_lineno}"
        trace = trace.tb_next
    return place


def _one_line(message: str) -> str:
    return " ".join(message.split()).rstrip(".")
