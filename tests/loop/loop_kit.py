"""A real root, a real git workspace, a real ledger and a host in this process, with an agent that is a list of scripts.

Time stands still unless a test moves it; ids count up.
"""

from __future__ import annotations

import itertools
import json
import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cas_tui.loop.agent import Call, Ended
from cas_tui.loop.host import Host, HostOptions
from cas_tui.loop.operator import Door
from cas_tui.protocol.decisions import Operator
from cas_tui.protocol.output import parse_frontmatter
from cas_tui.protocol.requests import Request, RequestState

Script = Callable[["World", str], str]
"""What the agent writes as output.md (without the frontmatter's id line), given the world and its input."""


class Clock:
    def __init__(self) -> None:
        self.now = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Counter:
    def __init__(self, prefix: str = "") -> None:
        self._numbers = itertools.count(1)
        self._prefix = prefix

    def __call__(self) -> str:
        return f"{self._prefix}{next(self._numbers):06x}"


@dataclass
class Done:
    ended: Ended

    def poll(self) -> Ended | None:
        return self.ended

    def stop(self) -> Ended:
        return self.ended


@dataclass
class ScriptedAgent:
    """Runs the next script at each call; after the last one it answers without ops."""

    world: World
    scripts: list[Script]
    calls: list[Call] = field(default_factory=list)
    inputs: list[str] = field(default_factory=list)
    confinement: str = "bubblewrap"

    def start(self, call: Call) -> Done:
        self.calls.append(call)
        text = (call.root / "state" / "input.md").read_text()
        self.inputs.append(text)
        script = self.scripts[len(self.calls) - 1] if len(self.calls) <= len(self.scripts) else lambda world, given: ""
        front = parse_frontmatter(text)
        answer = script(self.world, text)
        if answer is not None:
            if not answer.startswith("---"):
                answer = f"---\nid: {front.first('id')}\n{answer}\n---\n"
            (call.root / "state" / "output.md").write_text(answer)
        return Done(Ended(0, None, False, b"", 0.1))


def ops(*items: dict[str, object], extra: str = "") -> str:
    """Frontmatter lines with an ops manifest."""
    return f"ops: {json.dumps(list(items))}\n{extra}".strip()


def predict(text: str = "it works", confidence: float = 0.9) -> dict[str, object]:
    return {"expected_observation": text, "confidence": confidence, "falsifier": "it does not"}


@dataclass
class World:
    """Everything of one test: directories, clock, door, and the host when one is open."""

    base: Path
    clock: Clock = field(default_factory=Clock)
    ids: Counter = field(default_factory=Counter)
    hosts: list[Host] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.root = self.base / "agent" / "memory"
        self.root.mkdir(parents=True)
        self.workspace = self.base / "work"
        self.workspace.mkdir()
        self.environ = {"XDG_STATE_HOME": str(self.base / "xdg"), "HOME": str(self.base), "PATH": "/usr/bin:/bin"}
        (self.workspace / "README.md").write_text("# Tool\n\npython 3.9\n")
        self.git("init", "-q", "-b", "main")
        self.git("add", ".")
        self.git("commit", "-q", "-m", "first")
        self.door = Door(
            self.root, self.environ, self.clock, Counter("d"), Operator("ana", 1000, "desk", "cli"), start_hosts=False
        )

    def git(self, *words: str) -> str:
        identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
        done = subprocess.run(
            ["git", *identity, *words], cwd=self.workspace, check=True, capture_output=True, text=True
        )
        return done.stdout

    def run(self, *scripts: Script, message: str = "do it", **options: object) -> tuple[Host, ScriptedAgent]:
        """Open a host with an agent; it has not worked yet."""
        agent = ScriptedAgent(self, list(scripts))
        chosen = HostOptions(
            root=self.root,
            environ=self.environ,
            clock=self.clock,
            ids=self.ids,
            workspace=self.workspace,
            agent=agent,
            agent_name="echo",
            message=message,
            once=True,
            say=self.lines.append,
            **options,  # type: ignore[arg-type]
        )
        host = Host.start(chosen)
        self.hosts.append(host)
        return host, agent

    def drain(self) -> int:
        """Open a host without an agent, let it do what is undone, close it."""
        options = HostOptions(
            root=self.root, environ=self.environ, clock=self.clock, ids=self.ids, drain=True, say=self.lines.append
        )
        with Host.start(options) as host:
            return host.work()

    def settle(self, host: Host, rounds: int = 200) -> None:
        """Let the host look until nothing is to be done."""
        quiet = 0
        for _ in range(rounds):
            host._looked = 0.0
            quiet = 0 if host._tick() else quiet + 1
            if quiet > 2:
                return
        raise AssertionError(f"the host does not come to rest: {self.lines[-5:]}")

    def close(self) -> None:
        for host in self.hosts:
            host.close()
        self.hosts.clear()

    def pending(self) -> tuple[Request, ...]:
        return tuple(item for item in self.door.requests() if item.state is RequestState.PENDING)

    def records(self, name: str) -> list[dict[str, object]]:
        path = self.root / f"{name}.jsonl"
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def state(self) -> dict[str, object]:
        return json.loads((self.root / "STATE.json").read_text())

    def receipts(self, trigger: str) -> list[dict[str, object]]:
        return json.loads((self.root / "state" / "receipts" / f"{trigger}.json").read_text())["receipts"]


def sections(text: str) -> dict[str, object]:
    """The fenced JSON arrays of an input.md, by heading."""
    found: dict[str, object] = {}
    heading = ""
    block: list[str] | None = None
    for line in text.splitlines():
        if line.startswith("## "):
            heading = line[3:]
        elif line == "```json":
            block = []
        elif line == "```" and block is not None:
            found[heading] = json.loads("\n".join(block))
            block = None
        elif block is not None:
            block.append(line)
    return found


def only(items: Sequence[Request]) -> Request:
    assert len(items) == 1, [f"{item.kind} {item.title} {item.state}" for item in items]
    return items[0]
