"""Make the pictures in screenshots/ from a recorded run: `.venv/bin/python -m tests.pictures`.

Three scripted agents are run for real in a scratch folder, up to the moments worth a picture, and the console draws
what their files and ledgers say. Needs `rsvg-convert` for the PNG files.
"""

from __future__ import annotations

import asyncio
import html
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from uuid import uuid4

from cas_tui.cli import stage as stages
from cas_tui.console.app import ConsoleApp
from cas_tui.console.view import DemoInfo
from cas_tui.loop.operator import Door, OperatorError
from cas_tui.protocol.decisions import Operator, Verdict
from cas_tui.protocol.requests import Request, RequestKind, RequestState
from cas_tui.text import cells

OUT = Path(__file__).resolve().parent.parent / "screenshots"
SCRATCH = Path("/tmp/demo")
ANA = Operator("ana", 1000, "desk", "tui")


def clock() -> datetime:
    return datetime.now(UTC)


def ids() -> str:
    return uuid4().hex[:16]


@dataclass
class Recorded:
    """One run: its root and workspace, and a door for the operator who plays in it."""

    root: Path
    workspace: Path
    door: Door
    process: subprocess.Popen[bytes]

    def pending(self, kind: RequestKind) -> Request:
        """The pending request of a kind, waited for."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            try:
                for request in self.door.requests(undecided=True):
                    if request.kind is kind and request.state is RequestState.PENDING:
                        return request
            except OperatorError:
                pass  # the host has not made its ledger yet
            time.sleep(0.05)
        raise SystemExit(f"{self.root}: no {kind} was asked within a minute")

    def approve(self) -> None:
        request = self.pending(RequestKind.EFFECT)
        self.door.decide(request.request_id, Verdict.APPROVE, digest=request.digest, full_view=True)
        self.door.wait(request.request_id, 30)


def record(name: str, environ: dict[str, str], *, surprise: bool = False) -> Recorded:
    """Start one scripted run under its own name."""
    made = stages.build(SCRATCH, surprise=surprise, now=clock())
    home = SCRATCH / name
    (made.base / "docs").rename(home)
    made.base.rmdir()
    root, workspace = home / "memory", home / "workspace"
    words = [sys.executable, "-m", "cas_tui", "run", str(root), "--workspace", str(workspace)]
    words += ["--message", stages.MESSAGE, "--", sys.executable, "-m", "cas_tui.demo.agent"]
    with (SCRATCH / f"{name}.log").open("wb") as log:
        process = subprocess.Popen(words, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    return Recorded(root, workspace, Door(root, environ, clock, ids, ANA, False), process)


_TEXT = re.compile(r'(<text [^>]*?x=")([\d.]+)("[^>]*?textLength=")([\d.]+)("[^>]*>)([^<]+)(</text>)')


def _without_leading_space(found: re.Match[str]) -> str:
    """The same text, moved right by its leading spaces: converters drop them, a terminal does not."""
    head, x, middle, length, tail, words, end = found.groups()
    words = html.unescape(words)
    bare = words.lstrip(" \xa0")
    lead = len(words) - len(bare)
    if not bare or not lead:
        return found[0]
    cell = float(length) / cells(words)
    moved = f"{float(x) + lead * cell:g}", f"{float(length) - lead * cell:g}"
    return f"{head}{moved[0]}{middle}{moved[1]}{tail}{html.escape(bare)}{end}"


async def draw(
    name: str,
    size: tuple[int, int],
    runs: Sequence[Recorded],
    environ: dict[str, str],
    *,
    theme: str = "dark",
    keys: Sequence[str] = (),
    demo: DemoInfo | None = None,
) -> None:
    """One picture of the console after `keys`; a key that is a number waits so many seconds."""
    doors: Callable[[Path], Door] = lambda root: Door(root, environ, clock, ids, ANA, False)  # noqa: E731
    app = ConsoleApp(
        [run.root for run in runs], environ=environ, clock=clock, ids=ids, doors=doors, demo=demo, theme=theme
    )
    async with app.run_test(size=size, notifications=True) as pilot:
        await pilot.pause(0.5)
        for key in keys:
            if key.replace(".", "").isdigit() and "." in key:
                await pilot.pause(float(key))
            else:
                await pilot.press(key)
                await pilot.pause(0.1)
        await pilot.pause(0.3)
        svg = app.export_screenshot(title="cas-tui")
    source = OUT / f"{name}.svg"
    source.write_text(_TEXT.sub(_without_leading_space, svg))
    subprocess.run(["rsvg-convert", "-w", "1600", "-o", str(OUT / f"{name}.png"), str(source)], check=True)
    source.unlink()
    print(f"screenshots/{name}.png")


async def draw_all(environ: dict[str, str]) -> None:
    """Play the runs to their moments and draw each."""
    docs, api, tool = record("docs", environ), record("api", environ), record("tool", environ, surprise=True)
    runs = [docs, api, tool]
    try:
        api.approve()
        api.approve()
        api.pending(RequestKind.QUESTION)
        for run in (docs, tool):
            run.pending(RequestKind.EFFECT)
        up = ["n", "enter", "1.2"]
        await draw("home-80x24-dark", (80, 24), runs, environ, keys=["n"])
        await draw("home-120x40-light", (120, 40), runs, environ, theme="light", keys=["n"])
        await draw("home-200x60-dark", (200, 60), runs, environ, keys=up)
        await draw("home-200x60-light", (200, 60), runs, environ, theme="light", keys=up)
        await draw("card-80x24-dark", (80, 24), [docs], environ, keys=up)
        await draw("question-80x24-dark", (80, 24), [api], environ, keys=up)
        await draw("demo-80x24-dark", (80, 24), [docs], environ, demo=DemoInfo(SCRATCH, docs.root, docs.workspace))
    finally:
        for run in runs:
            run.process.terminate()
            run.process.wait(20)


def main() -> None:
    shutil.rmtree(SCRATCH, ignore_errors=True)
    SCRATCH.mkdir(parents=True)
    OUT.mkdir(exist_ok=True)
    environ = {
        "HOME": str(SCRATCH / "home"),
        "PATH": os.environ["PATH"],
        "LANG": "C.UTF-8",
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "CAS_DEMO_PACE": "0",
    }
    asyncio.run(draw_all(environ))
    shutil.rmtree(SCRATCH, ignore_errors=True)


if __name__ == "__main__":
    main()
