"""`cas-tui demo`: a scripted agent in a scratch repository, for an operator at the console or a scripted one.

The agent is a program of its own; this module makes the stage, starts `cas-tui run` around the agent, and either opens
the console or plays an operator who approves two effects, denies one and answers the question.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import rich_click as click

from cas_tui import text
from cas_tui.cli import out
from cas_tui.cli.common import clock, environ, ids, json_option
from cas_tui.cli.errors import DONE, FAILED, CliError
from cas_tui.cli.stage import MESSAGE, Stage, build
from cas_tui.cli.watch import need_terminal, open_console
from cas_tui.locations import RootPaths, runtime_paths
from cas_tui.protocol.decisions import Verdict
from cas_tui.protocol.decode import Json
from cas_tui.protocol.requests import Request, RequestKind, RequestState

if TYPE_CHECKING:
    from cas_tui.loop.operator import Door

DEADLINE_S: Final = 90.0
STEP_S: Final = 0.05
PACE_S: Final = 2.0
"""Seconds between the agent's acts when a person is watching."""

REASON: Final = "wrong content: it runs a download unseen"
ANSWER: Final = "3.11"


@click.command()
@click.option("--headless", is_flag=True, help="Play the operator too, print a summary, keep the folders.")
@click.option("--surprise", is_flag=True, help="Make the agent's first expectation false.")
@click.option("--keep", is_flag=True, help="Make the folders here, not in the system's scratch directory.")
@click.option("--pace", type=click.FloatRange(0, 60), help="Seconds between the agent's acts.")
@json_option
def demo(headless: bool, surprise: bool, keep: bool, pace: float | None, as_json: bool) -> int:
    """Watch a scripted agent work in a scratch git repository. Nothing of yours is touched."""
    if not headless:
        need_terminal()
    surroundings = {**environ(), "CAS_DEMO_PACE": str(pace if pace is not None else 0.0 if headless else PACE_S)}
    stage = build(Path.cwd() if keep else None, surprise=surprise, now=clock())
    if headless:
        value = play(stage, surroundings)
        out.emit(as_json, value, _summary(value))
        return DONE
    code = watch(stage, surroundings)
    out.emit(as_json, {"root": str(stage.root), "workspace": str(stage.workspace)}, _farewell(stage))
    return code


def start_run(stage: Stage, surroundings: Mapping[str, str], *, once: bool) -> int:
    """Start `cas-tui run` around the scripted agent; returns its pid."""
    from cas_tui.loop.spawn import spawn_run

    words = ["--message", MESSAGE, *(["--once"] if once else [])]
    words += ["--", sys.executable, "-m", "cas_tui.demo.agent"]
    log = runtime_paths(stage.root, surroundings).host_log
    return spawn_run(stage.root, stage.workspace, words, environ=surroundings, log=log)


def watch(stage: Stage, surroundings: Mapping[str, str]) -> int:
    """Open the console on the demo; the run ends with the console."""
    pid = start_run(stage, surroundings, once=False)
    try:
        return open_console((stage.root,), surroundings, demo=stage)
    finally:
        end(pid)


def end(pid: int, within_s: float = 10.0) -> None:
    """Ask the run to end, and see to it."""
    deadline = time.monotonic() + within_s
    number = signal.SIGTERM
    while ended(pid) is None:
        with suppress(OSError):
            os.kill(pid, number)
        number = signal.SIGKILL if time.monotonic() > deadline else number
        time.sleep(STEP_S * 2)


def ended(pid: int) -> int | None:
    """The exit code of a child that has ended (1 when it cannot be known any more), or None."""
    try:
        found, status = os.waitpid(pid, os.WNOHANG)
    except ChildProcessError:
        return FAILED
    return None if found == 0 else os.waitstatus_to_exitcode(status)


@dataclass(slots=True)
class Played:
    """What the scripted operator did so far."""

    approved: int = 0
    denied: int = 0
    answered: int = 0


def play(stage: Stage, surroundings: Mapping[str, str]) -> dict[str, Json]:
    """Play the operator until the story has ended; returns the summary.

    Raises:
        CliError: the run failed, or the story did not come to its end in time.
    """
    began = time.monotonic()
    pid = start_run(stage, surroundings, once=True)
    door = _door(stage.root, surroundings)
    played = Played()
    try:
        while (code := ended(pid)) is None:
            if time.monotonic() - began > DEADLINE_S:
                raise CliError(f"the demo did not end in {DEADLINE_S:g} s: {_where(stage, surroundings)}", FAILED)
            if not _act(door, played):
                time.sleep(STEP_S)
    finally:
        end(pid)
    if code != 0 or _scene(stage.root) != "done":
        raise CliError(f"the demo stopped with code {code}: {_where(stage, surroundings)}", FAILED)
    return summary(stage, door.requests(), played, time.monotonic() - began)


def _door(root: Path, surroundings: Mapping[str, str]) -> Door:
    from cas_tui.loop.operator import Door, current_operator

    return Door(root, surroundings, clock, ids, current_operator("cli"), start_hosts=False)


def _act(door: Door, played: Played) -> bool:
    """Decide the oldest request that is in front of the operator; False when there is none."""
    from cas_tui.loop.operator import ChangedSinceShown, NotFound

    try:
        waiting = [item for item in door.requests(undecided=True) if item.state is RequestState.PENDING]
    except NotFound:
        return False
    for request in waiting:
        with suppress(ChangedSinceShown):
            if _decide(door, request, played):
                return True
    return False


def _decide(door: Door, request: Request, played: Played) -> bool:
    if request.kind is RequestKind.QUESTION:
        arguments: dict[str, Json] = {"text": "", "choices": [ANSWER], "as": "belief"}
        door.decide(request.request_id, Verdict.ANSWER, digest=request.digest, arguments=arguments)
        played.answered += 1
    elif request.kind is RequestKind.EFFECT and request.op_kind == "fs_write":
        door.decide(request.request_id, Verdict.DENY, digest=request.digest, comment=REASON)
        played.denied += 1
    elif request.kind is RequestKind.EFFECT:
        door.decide(request.request_id, Verdict.APPROVE, digest=request.digest)
        played.approved += 1
    else:
        return False
    return True


def summary(stage: Stage, requests: tuple[Request, ...], played: Played, elapsed_s: float) -> dict[str, Json]:
    """What happened, counted from the ledger and from the agent's own records, without the operator's."""
    paths = RootPaths(stage.root)
    observations = _records(paths.observations)
    effects = [item for item in requests if item.kind is RequestKind.EFFECT]
    return {
        "root": str(stage.root),
        "workspace": str(stage.workspace),
        "requests": len(requests),
        "approved": played.approved,
        "denied": played.denied,
        "executed": sum(1 for item in effects if item.state is RequestState.SUCCEEDED),
        "answered": played.answered,
        "predictions": len(_records(paths.predictions)),
        "observations": len(observations),
        "mismatched": sum(1 for item in observations if item.get("match") == "mismatched" and not item.get("outcome")),
        "elapsed_s": round(elapsed_s, 2),
    }


def _records(path: Path) -> list[dict[str, Json]]:
    found = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return [record for record in found if not str(record["agent"]).startswith("operator:")]


def _scene(root: Path) -> str:
    try:
        return str(json.loads((root / "demo.json").read_text("utf-8"))["next"])
    except (OSError, ValueError, KeyError):
        return "before the first scene"


def _where(stage: Stage, surroundings: Mapping[str, str]) -> str:
    """Where the story stands and what the host said last, on one line."""
    log = runtime_paths(stage.root, surroundings).host_log
    try:
        lines = log.read_text("utf-8", "replace").strip().splitlines()
    except OSError:
        lines = []
    said = text.line(lines[-1], limit_cells=300) if lines else "nothing"
    return f"it stands before scene {_scene(stage.root)}; the host said: {said} ({stage.root})"


def _summary(value: Mapping[str, Json]) -> list[str]:
    counted = ("requests", "approved", "denied", "executed", "answered", "predictions", "observations", "mismatched")
    return [
        f"memory root: {value['root']}",
        f"workspace:   {value['workspace']}",
        ", ".join(f"{name} {value[name]}" for name in counted),
        f"done in {value['elapsed_s']} s",
    ]


def _farewell(stage: Stage) -> list[str]:
    from cas_tui.effects.git import describe
    from cas_tui.effects.workspace import Workspace

    found = describe(Workspace.open(stage.workspace, stage.root))
    return [
        f"memory root: {stage.root}",
        f"workspace:   {stage.workspace}",
        f"git log, newest first, on {text.line(str(found['branch']))}:",
        *(f"  {text.line(str(subject))}" for subject in found["subjects"]),
        "to supervise an agent of yours: cas-tui run ROOT --workspace DIR --message TEXT -- CMD, then: cas-tui ROOT",
    ]
